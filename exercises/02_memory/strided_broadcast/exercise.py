from grader import Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# The sum of two integers of up to 21 bits fits a float exactly, and no 11-bit format holds them.
WIDE = Values(exact_low=-(2**21) + 1, exact_high=2**21 - 1, low=-4.0, high=4.0, shape="normal")

OUT = "n0*n1*n2*n3"
# From the first element of an operand to its last one, with the gaps between.
A = "1 + (n0-1)*a0 + (n1-1)*a1 + (n2-1)*a2 + (n3-1)*a3"
B = "1 + (n0-1)*b0 + (n1-1)*b1 + (n2-1)*b2 + (n3-1)*b3"

NAMES = ("n0", "n1", "n2", "n3", "a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3")

EXERCISE = Exercise(
    name="strided_broadcast",
    order=216,
    idea="n-dimensional indices by counting, with two divisions for many elements",
    minutes=45,
    after=("coalescing_stride",),
    arrays=(
        Array("a", "float32", A, values=WIDE),
        Array("b", "float32", B, values=WIDE),
        Array("out", "float32", OUT, role="out", axes={"i0": "n0", "i1": "n1", "i2": "n2", "i3": "n3"}),
    ),
    oracle="elementwise:strided_broadcast",
    # Shape, strides of a, strides of b.
    small=tuple(
        dict(zip(NAMES, size, strict=True))
        for size in (
            (1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
            (1, 1, 3, 5, 0, 0, 5, 1, 0, 0, 0, 1),  # a matrix and a row
            (1, 1, 7, 31, 0, 0, 1, 0, 0, 0, 0, 1),  # a column and a row
            (2, 3, 4, 8, 96, 32, 8, 1, 0, 0, 0, 1),
            (3, 5, 2, 6, 12, 36, 6, 1, 0, 1, 0, 0),  # the first two axes of a exchanged; a number for each i1
            (2, 2, 3, 132, 792, 396, 1, 3, 0, 0, 132, 1),  # the last two axes of a exchanged
            (5, 1, 9, 64, 576, 0, 64, 1, 64, 0, 0, 1),
            (2, 7, 11, 128, 9856, 128, 896, 1, 0, 128, 0, 1),  # as the timed size
            (3, 2, 5, 130, 1330, 665, 133, 1, 0, 0, 0, 0),  # rows with gaps; a single number
            (3, 2, 5, 36, 390, 195, 39, 1, 0, 0, 0, 1),  # rows of a begin anywhere, those of out do not
            (2, 3, 4, 260, 3168, 1056, 264, 1, 1600, 540, 540, 2),  # every second value of b
            (70, 1, 1, 4, 4, 0, 0, 1, 0, 0, 0, 1),
            (2, 3, 41, 8, 984, 328, 8, 1, 41, 0, 1, 0),
        )
    ),
    secret={
        "n0": (1, 4, 1),
        "n1": (1, 5, 1),
        "n2": (1, 9, 1),
        "n3": (1, 140, 1),
        "a0": (0, 3000, 1),
        "a1": (0, 1500, 1),
        "a2": (0, 160, 1),
        "a3": (0, 2, 1),
        "b0": (0, 3000, 1),
        "b1": (0, 1500, 1),
        "b2": (0, 160, 1),
        "b3": (0, 2, 1),
    },
    simulated=dict(zip(NAMES, (4, 8, 16, 256, 32768, 256, 2048, 1, 0, 256, 0, 1), strict=True)),
    # As the timed size, with more than 2^32 elements in a and out: an int is negative before the end, and an unsigned
    # one has begun again.
    large=Large(
        dict(zip(NAMES, (120_001, 9, 16, 256, 36864, 256, 2304, 1, 0, 256, 0, 1), strict=True)), period={"n0": 31}
    ),
    timed=dict(zip(NAMES, (64, 32, 256, 256, 2097152, 256, 8192, 1, 0, 256, 0, 1), strict=True)),
    work=Work(bytes=f"4*({OUT} + {A} + {B})", flops=OUT),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.95,
        ceiling="copy_f32x4",
        note="0.97 on an H200; b is so small that it stays in the caches",
    ),
    technique=(
        # Two divisions a warp, for four rows of 128 columns, are 1/256. Three for each element are 3/32, and three for
        # each pack of four 3/128.
        Expect(
            "slow_divisions",
            at_most=0.05,
            per=OUT,
            why="The index of each element is taken apart by / and %, which are 20 to 30 instructions each.",
            hint="divide for the first row of a thread only; the next row is one step further on the last axis",
        ),
        # Two loads and a store of 16 bytes are 3/128, packs of two 3/64. Float by float, it is 3/32.
        Expect(
            "global_requests",
            at_most=0.05,
            per=OUT,
            why="Values are loaded and stored one by one.",
            hint="four columns a thread, in packs where the last stride is 1 and the others keep rows aligned",
        ),
    ),
    # One addition of numbers below 4.
    tolerance=Tolerance(chain="1", scale="4"),
    baseline="elementwise:strided_broadcast",
    rivals=("pytorch:strided_broadcast", "pytorch:strided_broadcast_compiled"),
    compared=("wrong/index_taken_apart.cu",),
)
