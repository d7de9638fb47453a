from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# As in the reduction ladder: running sums of such integers stay near 147·√n, below 2^24 up to 2^26 of them, so that
# floats add them exactly in any order.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="scan_three_phase",
    order=502,
    idea="prefix sums of any length: reduce tiles, scan their sums, scan tiles",
    minutes=75,
    after=("scan_block", "reduce_v9"),
    arrays=(
        Array("x", "float32", "n", values=ZERO_MEAN, timed=ORDINARY),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="scan:inclusive",
    # A tile of the solution has 4096 elements: one less, one more, many; and more tiles than a warp has lanes.
    small=tuple({"n": n} for n in (1, 3, 31, 129, 1023, 4095, 4096, 4097, 20483, 139265)),
    secret={"n": (3, 30000, 1)},
    simulated={"n": 2**18},
    timed={"n": 2**26},
    work=Work(bytes="8 * n", flops="n - 1"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.60,
        ceiling="copy_f32x4",
        note="a prediction, until it is measured: two of three parts of a copy's rate",
    ),
    technique=(
        # x twice, 8 B, and the sums of tiles.
        Expect(
            "global_load_bytes",
            at_most=8.8,
            per="n",
            why="More is loaded than x twice: running sums come back from memory.",
            hint="phase 1 stores the sum of each tile, and nothing else; phase 3 loads x again",
        ),
        # The result, 4 B. Tiles that are scanned and stored first, and completed later, are 8 B.
        Expect(
            "global_store_bytes",
            at_most=4.4,
            per="n",
            why="Running sums are stored before they are complete, and stored again later.",
            hint="reduce first: a tile's sum needs no store of its elements. Scan each tile when its prefix is known",
        ),
        # 1/8 for each of two loads and the store.
        Expect(
            "sectors",
            at_most=0.43,
            per="n",
            why="Neighbouring lanes load or store far from each other: sectors are fetched for a part of them.",
            hint="in each request lane l takes the float4 beside lane l - 1's; or turn the tile in shared memory",
        ),
    ),
    # Partial sums of uniform numbers are near √n / 2. The statement allows a chain of one addition for each 1024
    # elements, on top of trees; a chain of L additions then errs by about 0.12·eps·√(n·L), as in the reduction ladder.
    tolerance=Tolerance(chain="cdiv(n, 1024) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="scan:inclusive",
    rivals=("pytorch:scan", "pytorch:scan_compiled"),
)
