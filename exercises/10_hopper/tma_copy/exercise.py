from grader import AlsoTimed, Array, Exercise, Target, Values, Work

# The floats are only moved: integers of up to 24 bits must arrive unchanged, and no 11-bit format carries them.
WIDE = Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)

EXERCISE = Exercise(
    name="tma_copy",
    order=1002,
    idea="bulk tensor copies: TMA moves boxes, mbarriers say when",
    minutes=75,
    after=("transpose_v2",),
    paths=("gemm",),
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE),
        Array("out", "float32", "rows*cols", role="out"),
    ),
    oracle="windows:shift",
    # Columns and the shift to the right are multiples of 4: TMA wants rows, and boxes, that begin on 16 bytes. Hardly a
    # size is a whole number of boxes. In the two with many rows, each block of a grid that fits the GPU has several
    # boxes, so that the buffers of a ring are used again: else its first round would be the only one.
    small=(
        {"rows": 2, "cols": 4, "down": 1, "right": 4},
        {"rows": 3, "cols": 8, "down": 1, "right": 4},
        {"rows": 16, "cols": 256, "down": 2, "right": 8},
        {"rows": 17, "cols": 260, "down": 5, "right": 12},
        {"rows": 33, "cols": 256, "down": 1, "right": 252},
        {"rows": 100, "cols": 516, "down": 7, "right": 132},
        {"rows": 300, "cols": 64, "down": 31, "right": 20},
        {"rows": 257, "cols": 1024, "down": 256, "right": 4},
        {"rows": 64, "cols": 2052, "down": 20, "right": 2048},
        {"rows": 100003, "cols": 4, "down": 9, "right": 4},
        {"rows": 30001, "cols": 36, "down": 1000, "right": 28},
    ),
    secret={"rows": (2, 2000, 1), "cols": (8, 1200, 4), "down": (1, 40, 1), "right": (4, 40, 4)},
    simulated={"rows": 1024, "cols": 1024, "down": 5, "right": 32},
    timed={"rows": 16384, "cols": 8192, "down": 5, "right": 32},
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.94,
        reach=0.98,
        ceiling="copy_f32x4",
        note="0.98 of a copy whose loads ask the L2 to keep their lines; 0.995 if these do, too, in a trial",
    ),
    # No technique: the simulator is an A100, which has no TMA, and can count nothing.
    also_timed=(AlsoTimed({"rows": 16384, "cols": 8192, "down": 5, "right": 4}),),
    baseline="windows:shift",
    requires="sm_90",
)
