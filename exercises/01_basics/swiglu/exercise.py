from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# exp(-x) is infinity below -88.7, and exp(x) above 88.7: one form of the formula survives both.
WIDE = Values(low=-120.0, high=120.0)
# Where silu bends, and where 1 + tanh(x / 2) has lost all digits.
MIDDLE = Values(low=-20.0, high=4.0)
# What matrix products after a normalisation are like.
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="swiglu",
    order=106,
    idea="silu(gate) * up in one pass; what a division costs",
    minutes=30,
    after=("elementwise_pack",),
    arrays=(
        Array("gate", "float32", "n", values=WIDE, timed=ORDINARY, unusual=MIDDLE),
        Array("up", "float32", "n", values=ORDINARY),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="elementwise:swiglu",
    # Every remainder of 4, around a warp of packs (128) and a block of packs (1024).
    small=tuple({"n": n} for n in (1, 2, 3, 4, 5, 31, 127, 128, 129, 1000, 1023, 1025, 2051, 4096, 10_006)),
    secret={"n": (2, 20_000, 1)},
    simulated={"n": 2**17},
    timed={"n": 2**26},  # 16384 tokens of 4096
    work=Work(bytes="12 * n"),
    target=Target(
        unit="bandwidth",
        fraction=0.864,
        ceiling="add_f32x4",
        reach=0.9,  # above 0.97 of the ceiling; torch.compile reaches 0.91
        note="a prediction until it is calibrated: 0.95 of what a trial reached; 0.999 of the ceiling, with / as well",
    ),
    technique=(
        # Two loads are 8 bytes. A second kernel that multiplies what the first has stored loads 12.
        Expect(
            "global_load_bytes",
            at_most=8.5,
            per="n",
            why="More is loaded than gate and up, once each: something in between goes through global memory.",
            hint="load an element of each array, compute in registers, store one result; one launch does it all",
        ),
        Expect(
            "sectors",
            at_most=0.4,
            per="n",
            why="Three arrays are 3/8 sectors for each element; here lanes share sectors with other requests.",
            hint="neighbouring threads take neighbouring packs",
        ),
        # 1/32 for each element is one instruction for each of its warps: a division by / or with 1.0, a double.
        Expect(
            "slow_divisions",
            at_most=0.001,
            per="n",
            why="The quotient is an exact division or reciprocal, which takes many instructions and a branch.",
            hint="__fdividef(x, y) takes two instructions, an approximate reciprocal and a product. Where a literal is "
            "a double, like 1.0, write 1.0f",
        ),
    ),
    # __expf errs by 5e-6 of its result at 88, __fdividef by 1e-7. Results below the smallest normal float, times up,
    # may be flushed to zero, and so may those whose divisor is above 2^126.
    tolerance=Tolerance(relative=2e-5, absolute=1e-33),
    exact=False,
    baseline="elementwise:swiglu",
    rivals=("pytorch:swiglu", "pytorch:swiglu_compiled"),
    compared=(
        "wrong/exact_division.diff",
        "wrong/double_literals.diff",
        "wrong/two_kernels.diff",
        "wrong/one_float_a_thread.cu",
    ),
)
