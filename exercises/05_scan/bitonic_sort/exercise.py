from grader import Array, Exercise, Expect, Values, Work

EXERCISE = Exercise(
    name="bitonic_sort",
    order=507,
    idea="a sorting network: partners by exclusive or, in a warp by shuffles",
    minutes=45,
    after=("reduce_v9",),
    arrays=(
        # Keys between 1 - spread and spread - 1: with 1 all are equal, with 2^31 nearly all numbers occur.
        Array("keys", "int32", "rows*cols", values=Values(exact_low="1 - spread", exact_high="spread - 1")),
        Array("sorted", "int32", "rows*cols", role="out"),
    ),
    oracle="counting:sort_rows",
    small=(
        {"rows": 1, "cols": 1, "spread": 9},
        {"rows": 2, "cols": 2, "spread": 9},
        {"rows": 1, "cols": 31, "spread": 1},
        {"rows": 2, "cols": 33, "spread": 100},
        {"rows": 1, "cols": 257, "spread": 2},
        {"rows": 1, "cols": 1000, "spread": 1 << 31},
        {"rows": 1, "cols": 1024, "spread": 1 << 31},
    ),
    secret={"rows": (1, 2, 1), "cols": (1, 1024, 1), "spread": (1, 1 << 31, 1)},
    simulated={"rows": 2, "cols": 1024, "spread": 1 << 31},
    work=Work(bytes="8*rows*cols"),
    technique=(
        # 15 of the 55 rounds have partners in different warps; a second barrier for each of them is allowed.
        Expect(
            "barriers",
            at_most=34,
            per="rows*32",
            why="Warps wait at a barrier in rounds whose partners are lanes of one warp.",
            hint="partners less than 32 apart hand their keys over by __shfl_xor_sync: 40 of the 55 rounds",
        ),
        # About 600; a thread that compares its key with all others has ten times as many.
        Expect(
            "instructions",
            at_most=2500,
            per="rows*32",
            why="Each thread executes far more than the 55 rounds of the network.",
            hint="a round is one exchange and one minimum or maximum",
        ),
    ),
)
