from grader import Array, Exercise, Expect, Values, Work

EXERCISE = Exercise(
    name="warp_primitives",
    order=306,
    idea="sets of lanes are bit masks: ballot, match, popc, ffs, clz, shuffle",
    minutes=35,
    after=("divergence",),
    arrays=(
        # With one sensor and no gaps all lanes are peers, with many sensors nearly none are.
        Array("sensors", "int32", "n", values=Values(exact_low="-gaps", exact_high="bins - 1")),
        Array("readings", "int32", "n", values=Values(exact_low=-(2**20), exact_high=2**20)),
        Array("counts", "int32", "bins", role="out"),
        Array("changes", "int32", "n", role="out"),
    ),
    oracle="execution:messages",
    small=(
        {"n": 1, "bins": 1, "gaps": 0},
        {"n": 7, "bins": 2, "gaps": 1},
        {"n": 31, "bins": 1, "gaps": 0},
        {"n": 32, "bins": 1, "gaps": 0},
        {"n": 33, "bins": 3, "gaps": 2},
        {"n": 63, "bins": 40, "gaps": 1},
        {"n": 255, "bins": 1, "gaps": 0},
        {"n": 257, "bins": 8, "gaps": 3},
        {"n": 1000, "bins": 1000, "gaps": 0},
        {"n": 1025, "bins": 5, "gaps": 9},
        {"n": 4099, "bins": 20, "gaps": 1},
    ),
    secret={"n": (2, 9000, 1), "bins": (1, 60, 1), "gaps": (0, 20, 1)},
    simulated={"n": 2**14, "bins": 8, "gaps": 1},
    work=Work(bytes="12*n + 4*bins"),
    technique=(
        # Eight sensors: at most 8 of 32 lanes add, 4 bytes each.
        Expect(
            "global_atomic_bytes",
            at_most=1.02,
            per="n",
            why="More than one lane of a warp adds to the same count: these additions wait for each other.",
            hint="of the lanes with the same sensor only the lowest one adds, and it adds how many they are",
        ),
        Expect(
            "shared_requests",
            at_most=0,
            why="Lanes of one warp exchange words through shared memory.",
            hint="__shfl_sync reads a register of another lane, and each lane may name another source",
        ),
        Expect(
            "global_load_bytes",
            at_most=8.2,
            per="n",
            why="A lane loads the message of another lane, which already has it in a register.",
            hint="load sensors[i] and readings[i] once, and fetch the earlier reading by __shfl_sync",
        ),
        # About 1.5; a loop over the 32 lanes is 4 or more.
        Expect(
            "instructions",
            at_most=3,
            per="n",
            why="The lanes are asked one by one.",
            hint="__match_any_sync finds all peers at once; __clz and __ffs find the highest and lowest bit of a mask",
        ),
    ),
)
