from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
BANDED = {"rows": 1 << 21, "cols": 1 << 21, "nnz": 1 << 26, "skew": 0, "band": 512}
RANDOM = {**BANDED, "band": 1 << 21}
POWER_LAW = {**RANDOM, "skew": 2}

EXERCISE = Exercise(
    name="spmv_csr",
    order=510,
    idea="sparse rows of any length: equal pieces, a tree of sums for all rows",
    minutes=120,
    after=("scan_block",),
    arrays=(
        Array("offsets", "int32", "rows + 1", values=Values(exact_low=0, exact_high="nnz", rising=True, skew="skew")),
        Array("columns", "int32", "nnz", values=Values(exact_low=0, exact_high="cols - 1", rising=True, width="band")),
        Array("values", "float32", "nnz", timed=ORDINARY),
        Array("x", "float32", "cols", timed=ORDINARY),
        Array("y", "float32", "rows", role="out"),
    ),
    oracle="sparse:spmv_csr",
    small=(
        {"rows": 1, "cols": 1, "nnz": 1, "skew": 0, "band": 1},
        {"rows": 1, "cols": 100, "nnz": 7000, "skew": 0, "band": 100},
        {"rows": 33, "cols": 1000, "nnz": 999, "skew": 1, "band": 20},
        {"rows": 5000, "cols": 700, "nnz": 31, "skew": 0, "band": 700},
        {"rows": 301, "cols": 3000, "nnz": 9001, "skew": 3, "band": 3000},
        {"rows": 64, "cols": 50, "nnz": 4544, "skew": 0, "band": 3},
    ),
    secret={"rows": (1, 4000, 1), "cols": (1, 4000, 1), "nnz": (1, 9000, 1), "skew": (0, 6, 1), "band": (1, 4000, 1)},
    # A mean of four non-zeros a row; the first has one in 11.
    simulated={"rows": 1 << 13, "cols": 1 << 13, "nnz": 1 << 15, "skew": 2, "band": 32},
    timed=BANDED,
    also_timed=(AlsoTimed(RANDOM), AlsoTimed(POWER_LAW)),
    work=Work(bytes="8 * nnz + 4 * (rows + 1) + 4 * cols + 4 * rows", flops="2 * nnz"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.69,
        reach=0.70,
        ceiling="read_f32x4",
        note="cuSPARSE has 0.65. With random columns the L2 is asked for 2^26 sectors, and finds one of a slice a "
        "clock: bare gathers take 0.475 ms of the solution's 0.49",
    ),
    technique=(
        Expect(
            "sectors",
            at_most=1.1,
            per="nnz",
            why="Neighbouring lanes load from different rows: each request touches 32 sectors for a part of each.",
            hint="let the lanes of a warp load neighbouring non-zeros, whichever row they belong to",
        ),
        Expect(
            "instructions",
            at_most=150,
            per="nnz/32",
            why="Most lanes of a warp have nothing to do: rows are shorter than a warp.",
            hint="give each thread the same number of products and row ends",
        ),
    ),
    # A chain of one addition for each 1024 non-zeros, on top of trees. Most rows are short.
    tolerance=Tolerance(chain="cdiv(nnz, 1024) + 64", scale="64 + sqrt(nnz) / 16", chain_factor=1.5),
    self_test_copies=False,
    baseline="sparse:spmv_csr",
    rivals=("pytorch:spmv_csr", "pytorch:spmv_csr_compiled"),
)
