from grader import AlsoTimed, Array, Exercise, Expect, Target, Values, Work

EXERCISE = Exercise(
    name="histogram",
    order=504,
    idea="private counters on the chip: no two lanes ever meet",
    minutes=60,
    after=("reduce_v9",),
    arrays=(
        # `spread` neighbouring keys occur: with 1 all are equal, the worst case for counters that threads share.
        Array("x", "int32", "n", values=Values(exact_low="256 - spread", exact_high=255)),
        Array("counts", "int32", "256", role="out"),
    ),
    oracle="counting:histogram",
    small=(
        {"n": 1, "spread": 256},
        {"n": 33, "spread": 256},
        {"n": 255, "spread": 7},
        {"n": 2049, "spread": 256},
        {"n": 5000, "spread": 2},
        {"n": 36001, "spread": 1},
        {"n": 129_029, "spread": 1},  # the first of the solution's blocks has 65536 equal keys
    ),
    secret={"n": (1, 9000, 1), "spread": (1, 256, 1)},
    simulated={"n": 1 << 20, "spread": 256},
    timed={"n": 1 << 28, "spread": 256},
    work=Work(bytes="4 * n + 4 * 256"),
    target=Target(
        unit="bandwidth",
        reach=0.80,
        fraction=0.80,
        ceiling="read_f32x4",
        note="a prediction: 8 instructions and 2.5 wavefronts of shared memory for 32 keys, so memory is the limit",
    ),
    technique=(
        # 4 if each key is an atomic; 256 sums of each of 540 blocks are 0.53 here, and nothing at the timed size.
        Expect(
            "global_atomic_bytes",
            at_most=0.7,
            per="n",
            why="Keys are counted in global memory: atomics on 256 words that the whole GPU shares.",
            hint="count in shared memory, and add each block's 256 sums to the result at its end",
        ),
        Expect(
            "global_load_bytes",
            at_most=4.2,
            per="n",
            why="The keys are loaded more than once.",
            hint="count all 256 keys in one pass over x",
        ),
        # 1 / 32 if each key is an atomic in shared memory, where equal keys of a warp wait for each other.
        Expect(
            "shared_atomic_requests",
            at_most=0.005,
            per="n",
            why="Keys are counted by atomics in shared memory: lanes with equal keys wait for each other.",
            hint="give each lane counters of its own, and use atomics only for the sums",
        ),
        # One histogram in shared memory with atomics has about 0.08: random keys in 32 banks.
        Expect(
            "excess_wavefronts",
            at_most=0.25,
            per="n",
            why="Lanes of a request meet in a bank: 32 words take many turns.",
            hint="where lanes count, put the words of a lane's column 32 words apart: each lane has a bank of its own; "
            "where they add up rows of 32 words, let each lane begin at another word",
        ),
    ),
    also_timed=(AlsoTimed({"n": 1 << 28, "spread": 1}, reach=0.60),),
    baseline="counting:histogram",
    rivals=("pytorch:histogram", "pytorch:histogram_compiled", "pytorch:histogram_bincount"),
    only_timed="several loads in flight for each thread",
)
