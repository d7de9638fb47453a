from grader import Array, Exercise, Expect, Values, Work

ZERO = 1 << 31  # as a `begin`

EXERCISE = Exercise(
    name="bitonic_sort",
    order=507,
    idea="a sorting network: partners by exclusive or, in a warp by shuffles",
    minutes=45,
    after=("reduce_v9",),
    arrays=(
        # `spread` different numbers, the first of them `begin` after the lowest `int`; at most those up to the highest.
        Array(
            "keys",
            "int32",
            "rows*cols",
            values=Values(exact_low="begin - 2**31", exact_high="min(begin - 2**31 + spread, 2**31) - 1"),
        ),
        Array("sorted", "int32", "rows*cols", role="out"),
    ),
    oracle="counting:sort_rows",
    small=(
        {"rows": 1, "cols": 1, "begin": ZERO - 9, "spread": 19},
        {"rows": 2, "cols": 2, "begin": ZERO - 9, "spread": 19},
        {"rows": 1, "cols": 31, "begin": ZERO, "spread": 1},
        {"rows": 2, "cols": 33, "begin": ZERO - 100, "spread": 200},
        {"rows": 1, "cols": 257, "begin": 0, "spread": 3},
        {"rows": 1, "cols": 300, "begin": (1 << 32) - 3, "spread": 3},
        {"rows": 1, "cols": 1000, "begin": 0, "spread": 1 << 32},
        {"rows": 1, "cols": 1024, "begin": 0, "spread": 1 << 32},
    ),
    secret={"rows": (1, 2, 1), "cols": (1, 1024, 1), "begin": (0, (1 << 32) - 1, 1), "spread": (1, 1 << 32, 1)},
    simulated={"rows": 2, "cols": 1024, "begin": 0, "spread": 1 << 32},
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
