from grader import Array, Exercise, Expect, Target, Values, Work

# Integers of up to 21 bits: no 11-bit format holds them.
WIDE = Values(exact_low=-(2**21) + 1, exact_high=2**21 - 1, low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="max_pool",
    order=214,
    idea="wide loads where a thread needs a square, and a maximum that keeps NaN",
    minutes=35,
    after=("coalescing_stride",),
    arrays=(
        Array("x", "float32", "planes*h*w", values=WIDE, masked=True, special=True),
        Array("y", "float32", "planes*(h//2)*(w//2)", role="out"),
    ),
    oracle="images:max_pool",
    # Odd and even widths and heights, one square, one row, one column, and around 64 and 128 columns.
    small=tuple(
        {"planes": planes, "h": h, "w": w}
        for planes, h, w in (
            (1, 2, 2),
            (3, 2, 4),
            (2, 5, 2),
            (1, 7, 3),
            (5, 3, 6),
            (2, 9, 31),
            (1, 4, 127),
            (3, 5, 128),
            (2, 3, 258),
            (3, 35, 130),
            (5, 67, 132),
        )
    ),
    secret={"planes": (1, 6, 1), "h": (2, 40, 1), "w": (2, 150, 1)},
    simulated={"planes": 4, "h": 64, "w": 128},
    timed={"planes": 2048, "h": 128, "w": 128},
    work=Work(bytes="4*planes*h*w + 4*planes*(h//2)*(w//2)", flops="3*planes*(h//2)*(w//2)"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.85,
        reach=0.90,
        ceiling="narrow_32_to_8",
        note="0.98 on an H200",
    ),
    technique=(
        # Two loads of 16 bytes and a store of 8 are 3/256; with loads of 8 bytes and a value a thread, 3/128. Float by
        # float, it is 5/128.
        Expect(
            "global_requests",
            at_most=0.026,
            per="planes*h*w",
            why="A square is loaded float by float: each load uses every other float of its sectors.",
            hint="two columns of a row are neighbours: load them, or four, at once",
        ),
        # One division a warp and value of y is 1/128.
        Expect(
            "slow_divisions",
            at_most=0.001,
            per="planes*h*w",
            why="Indices are taken apart by / and %, which are 20 to 30 instructions each.",
            hint="take plane, row and column from blockIdx and threadIdx",
        ),
    ),
    baseline="images:max_pool",
    rivals=("pytorch:max_pool", "pytorch:max_pool_compiled"),
    compared=("wrong/value_of_y_a_thread.cu",),
)
