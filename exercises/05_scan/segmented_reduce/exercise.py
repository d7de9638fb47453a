from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
EQUAL = {"n": 1 << 28, "segments": 1 << 22, "skew": 0}
POWER_LAW = {**EQUAL, "skew": 2}
HUGE = {"n": 1 << 28, "segments": 5, "skew": 0}

EXERCISE = Exercise(
    name="segmented_reduce",
    order=511,
    idea="sums of segments of any length: a scan whose operator stops where a segment ends",
    minutes=90,
    after=("scan_block",),
    arrays=(
        Array("x", "float32", "n", timed=ORDINARY, special=True),
        Array("offsets", "int32", "segments + 1", values=Values(exact_low=0, exact_high="n", rising=True, skew="skew")),
        Array("out", "float32", "segments", role="out"),
    ),
    oracle="sparse:segmented_sum",
    small=(
        {"n": 1, "segments": 1, "skew": 0},
        {"n": 31, "segments": 3000, "skew": 0},
        {"n": 999, "segments": 33, "skew": 1},
        {"n": 4097, "segments": 4097, "skew": 0},
        {"n": 8192, "segments": 130, "skew": 0},
        {"n": 9001, "segments": 301, "skew": 3},
        {"n": 20003, "segments": 2, "skew": 0},
        {"n": 33333, "segments": 700, "skew": 6},
    ),
    secret={"n": (1, 20000, 1), "segments": (1, 4000, 1), "skew": (0, 6, 1)},
    # A mean of 64 elements; half of the segments have fewer than 27, the first has 6900.
    simulated={"n": 1 << 15, "segments": 1 << 9, "skew": 2},
    timed=EQUAL,
    also_timed=(AlsoTimed(POWER_LAW, reach=0.90), AlsoTimed(HUGE, reach=0.90)),
    work=Work(bytes="4 * n + 4 * (segments + 1) + 4 * segments", flops="n"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.88,
        reach=0.90,
        ceiling="read_f32x4",
        note="0.925 on an H200. In a trial copies without evict_first had 0.965 of the rate, and "
        "find_firsts with one segment for each thread 0.973; in an earlier one, tiles that search for their first "
        "segment had 0.84 of the rate of tiles that are told",
    ),
    technique=(
        Expect(
            "sectors",
            at_most=0.18,
            per="n",
            why="Neighbouring lanes load far from each other: each request touches sectors for a part of them.",
            hint="let the lanes of a warp load neighbouring float4s, whichever segment they belong to",
        ),
        Expect(
            "instructions",
            at_most=36,
            per="n/32",
            why="Most lanes have nothing to add, or an element takes too many instructions.",
            hint="give each thread the same number of elements; for each of them an addition, and a test of its mark",
        ),
    ),
    # A chain of one addition for each 1024 elements, on top of trees; and plain loops over segments of the small sizes.
    # A sum of millions may be far from 0, and then its last digits are worth more.
    tolerance=Tolerance(relative=1e-5, chain="cdiv(n, 1024) + 4096", scale="64 + sqrt(n) / 16", chain_factor=1.5),
    self_test_copies=False,
    baseline="sparse:segmented_sum",
    rivals=("pytorch:segmented_sum", "pytorch:segmented_sum_compiled", "pytorch:segmented_sum_cumsum"),
)
