from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# Distances of at most 6000, added up over at most 2700 points: a float holds every partial sum exactly. Coordinates of
# 12 bits do not survive in an 11-bit format.
WIDE = Values(exact_low=-3000, exact_high=3000)

EXERCISE = Exercise(
    name="occupancy",
    order=302,
    idea="what a block needs decides how many warps are resident",
    minutes=40,
    after=("vector_add",),
    paths=("memory",),
    arrays=(
        Array("x", "float32", "n", values=WIDE),
        Array("y", "float32", "m", values=WIDE),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="execution:distances",
    # Few and many points of y, so that a chunk is seldom full and some need several; more than one block of 9216 in x.
    small=tuple(
        {"n": n, "m": m}
        for n, m in (
            (1, 1),
            (1, 33),
            (7, 1),
            (31, 100),
            (257, 31),
            (1000, 1023),
            (1025, 257),
            (2049, 2600),
            (10007, 300),
        )
    ),
    secret={"n": (2, 9000, 1), "m": (2, 2600, 1)},
    simulated={"n": 2**15, "m": 1000},
    # Few points of y: a block is on its way to memory for a good part of its life, and others have to fill that time.
    timed={"n": 2**26, "m": 32},
    also_timed=(AlsoTimed({"n": 2**20, "m": 4096}),),
    work=Work(bytes="4 * (2 * n + m)", flops="2 * n * m"),
    target=Target(
        unit="fp32",
        of="ceiling",
        ceiling="distance_f32",
    ),
    compared=("stub", "wrong/fewer_registers_only.diff", "wrong/half_the_warps.diff", "wrong/one_point_each.diff"),
    technique=(
        Expect(
            "occupancy",
            at_least=0.9,
            why="Places for warps stay empty: registers, shared memory or the places themselves hold no further block.",
            hint="find what limits the blocks, fix that one, and ask again",
        ),
        # None with 4 to 6 points a thread, or 8; 28 with 7 and 20 with 10 where 32 registers have to do, 116 with 12.
        Expect(
            "spill_bytes",
            at_most=64,
            why="More is kept in each thread than its registers hold: the rest goes to local memory and back.",
            hint="give each thread fewer points: coordinate and sum of each want a register all the time",
        ),
        # A point of y is 4 bytes for each lane: with 4 points a thread it is 1 byte for each pair, and a little more
        # where the last block is not full. 3 points a thread make 1.33.
        Expect(
            "shared_load_bytes",
            at_most=1.2,
            per="n*m",
            why="Registers were saved on the points of a thread, and each word of the chunk is read more often for it.",
            hint="keep 4 points a thread or more, and let the compiler know how many blocks have to fit",
        ),
        # 8 points a thread make 0.5, and a chunk that goes from lane to lane by shuffles 0.016.
        Expect(
            "shared_load_bytes",
            at_least=0.01,
            per="n*m",
            why="The chunk is hardly used: the limit of shared memory is avoided, and every warp loads y for itself.",
            hint="keep the chunk in shared memory, and choose how much of y it holds",
        ),
    ),
    # One long chain of additions, whose partial sums grow up to about m.
    tolerance=Tolerance(chain="m", scale="m"),
    points=(40, 40, 20),
)
