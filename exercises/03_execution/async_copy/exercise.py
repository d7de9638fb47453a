from grader import Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# Neighbouring samples differ by 2000 on average, twice the rate: about three of four steps are limited. Integers up to
# 3000 do not survive in an 11-bit format.
WIDE = Values(exact_low=-3000, exact_high=3000, low=-3000.0, high=3000.0)

EXERCISE = Exercise(
    name="async_copy",
    order=305,
    idea="cp.async: the next tile arrives while this one is worked on",
    minutes=45,
    after=("bank_conflicts",),
    paths=("memory", "attention", "gemm"),
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    scalars={"rate": 1000.0},
    oracle="execution:slew",
    # Tiles of 64 × 64 that are full, that have one row or one chunk more, and rows shorter than a tile.
    small=tuple(
        {"rows": rows, "cols": cols}
        for rows, cols in (
            (1, 4),
            (1, 256),
            (3, 36),
            (31, 68),
            (64, 128),
            (65, 132),
            (130, 260),
            (257, 12),
            (2, 1000),
        )
    ),
    secret={"rows": (1, 200, 1), "cols": (4, 400, 4)},
    simulated={"rows": 128, "cols": 1024},
    large=Large({"rows": 2_100_011, "cols": 2052}, period={"rows": 31}),
    timed={"rows": 16384, "cols": 16384},
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        ceiling="copy_f32x4",
        reach=0.845,  # 0.95 of the copy
        note="0.89 of the copy: the way through tiles costs it, not what overlaps; without the work it is 1 % faster",
    ),
    technique=(
        # Rows padded by 16 bytes make 0.97: half of them begin in the middle of a sector.
        Expect(
            "sector_efficiency",
            at_least=0.9,
            why="Neighbouring lanes load or store far from each other: sectors go half used.",
            hint="let neighbouring threads copy neighbouring chunks of a row, in both directions",
        ),
        Expect(
            "async_copy_bytes",
            at_least=1,
            per="4*rows*cols",
            why="Tiles go through registers on their way to shared memory.",
            hint="__pipeline_memcpy_async copies 16 bytes from global to shared memory, and the thread goes on at once",
        ),
        Expect(
            "overlap",
            at_least=0.4,
            why="A tile is asked for and waited for at once: nothing is done while it is on its way.",
            hint="ask for the next tile before the work on this one, into a second stage; wait for it a round later",
        ),
        # One conflict for each chunk would be 1/32 · 7.
        Expect(
            "excess_wavefronts",
            at_most=0.02,
            per="rows*cols",
            why="Lanes of one request use different words of the same bank: threads with a row each need rows that are "
            "shifted against each other.",
            hint="keep `place`, or pad each row by 16 bytes",
        ),
    ),
    # A limited step is one rounding of a sum below 4096, by at most 2^-13; a few of them in a row, until a sample is
    # reached, which is then taken as it is.
    tolerance=Tolerance(absolute=2**-9),
    rivals=("execution:one_tile_at_a_time",),
    requires="sm_80",
)
