from grader import Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# The sum of four integers of up to 21 bits fits a float exactly, and no 11-bit format holds them.
WIDE = Values(exact_low=-(2**21) + 1, exact_high=2**21 - 1, low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="upsample_nearest_2d",
    order=213,
    idea="index arithmetic that vanishes: rows of all planes, no division",
    minutes=35,
    after=("coalescing_stride",),
    arrays=(
        Array("x", "float32", "planes*h*w", values=WIDE),
        Array("dy", "float32", "4*planes*h*w", values=WIDE),
        Array("y", "float32", "4*planes*h*w", role="out"),
        Array("dx", "float32", "planes*h*w", role="out"),
    ),
    oracle="images:upsample_nearest_2d",
    # Odd and even widths and heights, one pixel, one row, one column, and around 64 and 128 columns.
    small=tuple(
        {"planes": planes, "h": h, "w": w}
        for planes, h, w in (
            (1, 1, 1),
            (3, 1, 2),
            (2, 5, 1),
            (1, 7, 3),
            (5, 3, 6),
            (2, 9, 31),
            (1, 4, 127),
            (3, 5, 128),
            (1, 2, 130),
            (2, 3, 257),
        )
    ),
    secret={"planes": (1, 6, 1), "h": (1, 20, 1), "w": (1, 150, 1)},
    simulated={"planes": 4, "h": 64, "w": 128},
    # More than 2^32 elements of y and dy: an int is negative before the end, and an unsigned one has begun again.
    large=Large({"planes": 276_001, "h": 64, "w": 64}, period={"planes": 31}),
    timed={"planes": 2048, "h": 128, "w": 128},
    work=Work(bytes="40*planes*h*w", flops="3*planes*h*w"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.88,
        reach=0.93,
        ceiling="copy_f32x4",
        note="0.95 on an H200; as many bytes are read as written, like in a copy",
    ),
    technique=(
        # 4 bytes of x and 16 of dy. A thread for each value of y loads x four times: 32.
        Expect(
            "global_load_bytes",
            at_most=21.0,
            per="planes*h*w",
            why="A value of x is loaded for each of the four places that it goes to.",
            hint="give a thread values of x, not places of y: load once, store into both rows",
        ),
        # 1/8 and 4/8 each way.
        Expect(
            "sectors",
            at_most=1.35,
            per="planes*h*w",
            why="Lanes of one request leave gaps between them: sectors go half used.",
            hint="let a lane store 16 bytes next to its neighbour's: two values of x make one pack of y",
        ),
        # One division a warp and value is 1/32.
        Expect(
            "slow_divisions",
            at_most=0.001,
            per="planes*h*w",
            why="Indices are taken apart by / and %, which are 20 to 30 instructions each.",
            hint="take row and column from blockIdx and threadIdx; the plane is not needed at all",
        ),
    ),
    # Three additions of numbers below 16.
    tolerance=Tolerance(chain="4", scale="4"),
    baseline="images:upsample_nearest_2d",
    rivals=("pytorch:upsample_nearest_2d", "pytorch:upsample_nearest_2d_compiled"),
    compared=("wrong/value_of_y_a_thread.cu",),
)
