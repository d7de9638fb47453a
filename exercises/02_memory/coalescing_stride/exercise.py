from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# 1.5 * x + 0.75 is a multiple of 1/4 below 2^21: a float holds it exactly, with or without fma, and no 11-bit format
# does.
WIDE = Values(exact_low=-(2**20), exact_high=2**20)

EXERCISE = Exercise(
    name="coalescing_stride",
    order=202,
    idea="no thread has a piece of its own: neighbours take neighbours",
    minutes=20,
    after=("vector_add",),
    paths=("interview", "memory", "attention", "gemm", "debugging"),
    arrays=(
        Array("x", "float32", "n", values=WIDE),
        Array("out", "float32", "n", role="out"),
    ),
    scalars={"gain": 1.5, "offset": 0.75},
    oracle="elementwise:calibrate",
    # Around a piece of 8, a warp of pieces (256) and a block of pieces (2048).
    small=tuple({"n": n} for n in (1, 7, 8, 33, 255, 256, 257, 1000, 2047, 2048, 2049, 4099, 20_011)),
    secret={"n": (2, 20_000, 1)},
    simulated={"n": 2**20},
    timed={"n": 2**28},
    work=Work(bytes="8 * n", flops="2 * n"),
    target=Target(
        unit="bandwidth",
        reach=0.95,
        of="ceiling",
        ceiling="copy_f32x1_8",
    ),
    technique=(
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="The lanes of a warp use elements that lie apart: of each sector moved, only a part was asked for.",
            hint="let the element grow by one from lane to lane; only a thread's own elements lie step apart",
        ),
        # One load and one store for each 32 elements: 0.0625, and a little for the ends of the blocks.
        Expect(
            "global_requests",
            at_most=0.07,
            per="n",
            why="Elements are loaded and stored more often than once: several threads do the same ones.",
            hint="give each block its own PER_THREAD * blockDim.x elements, and each thread its own of those",
        ),
    ),
    # Two roundings without fma: of the product, below 2 and so by at most 2^-24, and of the sum.
    tolerance=Tolerance(relative=2**-23, absolute=2**-23),
    baseline="elementwise:calibrate",
    rivals=("pytorch:calibrate",),
)
