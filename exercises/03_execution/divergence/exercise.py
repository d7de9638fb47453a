from grader import Array, Exercise, Expect, Target, Values, Work

EXERCISE = Exercise(
    name="divergence",
    order=301,
    idea="regroup the work so that the lanes of a warp agree",
    minutes=30,
    after=("vector_add",),
    arrays=(
        Array("x", "uint32", "n", values=Values(exact_low=0, exact_high=2**32 - 1)),
        Array("out", "uint32", "n", role="out"),
    ),
    oracle="execution:decode",
    # Around a run (8), a pair of runs (16), a warp and a pair of warps (64): most ends cut a run of A or of B in two.
    small=tuple({"n": n, "rounds": 1 + n % 3} for n in (1, 7, 9, 16, 31, 33, 63, 71, 127, 257, 1000, 1025, 4099)),
    secret={"n": (2, 9000, 1), "rounds": (1, 4, 1)},
    simulated={"n": 2**20, "rounds": 1},
    timed={"n": 2**21, "rounds": 16},
    # A round of A is 20 steps of 6 operations, one of B 32 steps of 4.
    work=Work(bytes="8 * n", flops="124 * n * rounds"),
    target=Target(
        unit="int32",
        of="ceiling",
        ceiling="decode_u32",
        warm=True,
    ),
    compared=("stub", "wrong/half_warps.diff", "wrong/both_for_all.diff"),
    technique=(
        Expect(
            "active_lanes",
            at_least=30.4,  # 0.95 of 32
            why="Lanes of one warp have words of different sensors: while some decode, the others wait.",
            hint="give a warp words of one sensor only, for example four runs of 8 words that lie 16 words apart",
        ),
        # As it comes 9.1, with both computations for every word 9.0; regrouped 4.4 to 6.1, exchange through shared
        # memory included.
        Expect(
            "instructions",
            at_most=7.2,
            per="n*rounds",
            why="Each warp works through both computations, or through loops that are no longer unrolled.",
            hint="let no word go through the computation of the other sensor, and leave the two functions as they are",
        ),
        Expect(
            "sector_efficiency",
            at_least=0.5,
            why="The lanes agree, but their words lie scattered: most of each sector is moved in vain.",
            hint="keep the 8 words of a run together: 8 neighbouring lanes take them, and move one whole sector",
        ),
    ),
    points=(40, 40, 20),
)
