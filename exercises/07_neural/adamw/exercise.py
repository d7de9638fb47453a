from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Near 1, so that one tolerance is right for all outputs; only the quotient of m and the root of v counts.
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
MEANS = Values(low=-2.0, high=2.0, shape="normal")
SQUARES = Values(low=0.01, high=4.0)
# The first step of all, in which some gradients are 0; and gradients so small that eps counts.
SOME_ZEROS = Values(low=-4.0, high=4.0, shape="normal", outlier=0.0)
ZERO = Values(low=0.0, high=0.0)
TINY = Values(low=-4e-8, high=4e-8, shape="normal")
TINY_SQUARES = Values(low=0.0, high=4e-16)

EXERCISE = Exercise(
    name="adamw",
    order=715,
    idea="an optimizer's step in one pass: four arrays in, three out",
    minutes=30,
    after=("swiglu",),
    arrays=(
        Array("p", "float32", "n", values=ORDINARY),
        Array("g", "float32", "n", values=ORDINARY, unusual=(SOME_ZEROS, TINY)),
        Array("m", "float32", "n", values=MEANS, unusual=(ZERO, TINY)),
        Array("v", "float32", "n", values=SQUARES, unusual=(ZERO, TINY_SQUARES)),
        Array("p_new", "float32", "n", role="out"),
        Array("m_new", "float32", "n", role="out"),
        Array("v_new", "float32", "n", role="out"),
    ),
    # The tenth step: correction1 = 1 - beta1^10, correction2 = 1 - beta2^10.
    scalars={
        "lr": 0.001,
        "decay": 0.1,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "correction1": 0.6513215599,
        "correction2": 0.00995511979,
    },
    oracle="optimizer:adamw",
    # Around a warp of packs (128) and a block of packs (1024).
    small=tuple({"n": n} for n in (4, 8, 124, 128, 132, 1000, 1024, 1028, 4100, 10_004)),
    secret={"n": (4, 20_000, 4)},
    simulated={"n": 2**16},
    timed={"n": 2**26},
    work=Work(bytes="28 * n", flops="15 * n"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.95,
        ceiling="read_4_write_3_f32x4",
        note="a prediction, until it is measured",
    ),
    technique=(
        # Four arrays are 16 bytes. A pass for m, a pass for v and a pass for p load 32.
        Expect(
            "global_load_bytes",
            at_most=16.5,
            per="n",
            why="More is loaded than p, g, m and v, once each: something comes back from memory.",
            hint="the new m and the new v stay in registers until p has its step; one launch does it all",
        ),
        Expect(
            "global_store_bytes",
            at_most=12.5,
            per="n",
            why="More is stored than the new p, m and v, once each.",
            hint="what lies between stays in registers",
        ),
        # Seven arrays are 7/8 of a sector.
        Expect(
            "sectors",
            at_most=0.9,
            per="n",
            why="Lanes of one request use values that lie far apart: sectors are moved more than once.",
            hint="neighbouring threads take neighbouring packs of four floats, in all seven arrays",
        ),
        # 1/32 for each element is one instruction for each of its warps.
        Expect(
            "f64_instructions",
            at_most=0.001,
            per="n",
            why="Something is computed in double: a literal like 1.0, or sqrt and pow of double.",
            hint="write 1.0f, sqrtf and fmaf; the corrections are given, so that nobody needs pow",
        ),
    ),
    # Each result is a sum of two products of numbers below 4, which may cancel: two roundings near 4 are 5e-7.
    tolerance=Tolerance(relative=1e-6, absolute=5e-7),
    exact=False,
    baseline="optimizer:adamw",
    rivals=("pytorch:adamw", "pytorch:adamw_fused", "pytorch:adamw_compiled"),
    compared=("wrong/three_kernels.cu", "wrong/one_float_a_thread.diff"),
)
