from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

EXERCISE = Exercise(
    name="index_add",
    order=509,
    idea="scattered rows without float atomics: sort their numbers, then add them up",
    minutes=75,
    after=("histogram",),
    arrays=(
        Array("x", "float32", "64 * n", timed=Values(low=-4.0, high=4.0, shape="normal"), special=True),
        # `width` 0: in ascending order, every row of the result about equally often. `rows`: any row, at random.
        Array("index", "int32", "n", values=Values(exact_low=0, exact_high="rows - 1", rising=True, width="width")),
        Array("out", "float32", "64 * rows", role="out", axes={"row": "rows", "column": "64"}),
    ),
    oracle="counting:index_add",
    small=(
        {"n": 1, "rows": 1, "width": 0},
        {"n": 1, "rows": 300, "width": 300},
        {"n": 33, "rows": 7, "width": 7},
        {"n": 257, "rows": 1, "width": 0},
        {"n": 500, "rows": 2000, "width": 0},
        {"n": 1023, "rows": 129, "width": 3},
        {"n": 3001, "rows": 65, "width": 65},
    ),
    secret={"n": (1, 3000, 1), "rows": (1, 500, 1), "width": (0, 500, 1)},
    simulated={"n": 1 << 14, "rows": 1 << 10, "width": 1 << 10},
    timed={"n": 1 << 20, "rows": 1 << 16, "width": 1 << 16},
    work=Work(bytes="260 * n + 256 * rows"),
    target=Target(
        unit="bandwidth",
        fraction=0.26,
        reach=0.26,
        ceiling="read_f32x4",
        note="twice PyTorch's index_add_, which has 0.130",
    ),
    technique=(
        # A count for each row of x. 64 floats added by atomics are 256.
        # Bytes, not requests: an atomic of four floats (sm_90) moves as many, and the L2 adds each of them.
        Expect(
            "global_atomic_bytes",
            at_most=12.0,
            per="n",
            why="Floats are added by atomics: 64 for each row of x.",
            hint="count rows by atomics, sort their numbers, and let one warp add up all rows of a row of the result",
        ),
        # x, 4 for the index twice, the rank, the start and the number, and 16 for what lanes share: near 293.
        Expect(
            "global_load_bytes",
            at_most=400,
            per="n",
            why="x is loaded more than once.",
            hint="sort numbers of rows, not rows: x is read where it lies, when it is added",
        ),
        # A rank, a number, and the result: 24 with 16 rows of x for each row of the result.
        Expect(
            "global_store_bytes",
            at_most=48,
            per="n",
            why="More is stored than the result and some numbers for each row.",
            hint="sort numbers of rows, not rows; sums stay in registers until the last row is added",
        ),
        # 8 for x, 3 for a count, a start and a number at random places, and 1 for the rest.
        Expect(
            "sectors",
            at_most=15,
            per="n",
            why="Neighbouring lanes load from different rows: each request touches sectors of which it wants a part.",
            hint="16 neighbouring lanes load the 16 packs of one row",
        ),
    ),
    # Sums of n / rows values, more in some rows, in any order.
    tolerance=Tolerance(chain="cdiv(n, rows) + 16", scale="4"),
    also_timed=(AlsoTimed({"n": 1 << 20, "rows": 1 << 16, "width": 0}, reach=0.26),),
    baseline="counting:index_add",
    rivals=("pytorch:index_add", "pytorch:index_add_compiled"),
    compared=("wrong/float_atomics.cu", "wrong/atomics_for_runs.cu"),
)
