from grader import Array, Exercise, Expect, Target, Values, Work

# Integers of up to 21 bits: no 11-bit format holds them.
WIDE = Values(exact_low=-(2**21) + 1, exact_high=2**21 - 1, low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="im2col",
    order=215,
    idea="nine stores for each load: patches of an image as columns of a matrix",
    minutes=40,
    after=("coalescing_stride",),
    arrays=(
        Array("x", "float32", "planes*h*w", values=WIDE, special=True),
        Array(
            "y",
            "float32",
            "9*planes*h*w",
            role="out",
            axes={"plane": "planes", "tap": "9", "row": "h", "column": "w"},
        ),
    ),
    oracle="images:im2col",
    # Odd and even widths and heights, one value, one row, one column, and around 64 and 128 columns.
    small=tuple(
        {"planes": planes, "h": h, "w": w}
        for planes, h, w in (
            (1, 1, 1),
            (3, 1, 4),
            (2, 5, 1),
            (1, 7, 3),
            (5, 3, 6),
            (2, 9, 31),
            (1, 4, 127),
            (3, 5, 128),
            (2, 3, 258),
            (2, 19, 132),
            (40, 2, 132),
        )
    ),
    secret={"planes": (1, 4, 1), "h": (1, 24, 1), "w": (1, 150, 1)},
    simulated={"planes": 4, "h": 32, "w": 128},
    timed={"planes": 2048, "h": 128, "w": 128},
    work=Work(bytes="40*planes*h*w"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.95,
        ceiling="spread_16_to_144",
        note="0.96 on an H200",
    ),
    technique=(
        # A thread with two rows loads 12 bytes, with one row 18. Without sharing, it is 36.
        Expect(
            "global_load_bytes",
            at_most=26.0,
            per="planes*h*w",
            why="A value of x is loaded for each of its nine places in y.",
            hint="neighbouring patches overlap: keep what several of a thread's patches need in registers",
        ),
        # 9/8. Where a lane stores its four floats one by one, it is 36/8.
        Expect(
            "global_store_sectors",
            at_most=1.6,
            per="planes*h*w",
            why="Lanes of one store leave gaps between them: sectors go partly used.",
            hint="let a lane store 16 bytes next to its neighbour's",
        ),
        # 18 stores and 12 loads for 256 values are 0.117, packs of two and one row 0.28. Float by float, 9 stores for
        # 32 values are 0.28 without any load.
        Expect(
            "global_requests",
            at_most=0.3,
            per="planes*h*w",
            why="Values are stored one by one: nine stores for each value of x.",
            hint="four columns a thread: one store for four values of y",
        ),
        # One division a warp and value of y is 9/32.
        Expect(
            "slow_divisions",
            at_most=0.001,
            per="planes*h*w",
            why="Indices are taken apart by / and %, which are 20 to 30 instructions each.",
            hint="take plane, row and column from blockIdx and threadIdx; the tap is a loop of nine rounds",
        ),
    ),
    baseline="images:im2col",
    rivals=("pytorch:im2col", "pytorch:im2col_compiled"),
    compared=("wrong/value_of_y_a_thread.cu",),
)
