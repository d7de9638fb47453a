from grader import Array, Exercise, Expect, Target, Tolerance, Values, Variant, Work

# alpha * x + y is a multiple of 1/2 below 2^23: a float holds it exactly, with or without fma, and no 11-bit format
# (fp16, tf32) does.
WIDE = Values(exact_low=-(2**20), exact_high=2**20)

EXERCISE = Exercise(
    name="saxpy_grid_stride",
    order=103,
    idea="a GPU-sized grid strides over the arrays, loads in flight",
    minutes=25,
    after=("vector_add",),
    paths=("memory",),
    arrays=(
        Array("x", "float32", "n", values=WIDE),
        Array("y", "float32", "n", values=WIDE),
        Array("out", "float32", "n", role="out"),
    ),
    scalars={"alpha": 2.5},
    oracle="elementwise:saxpy",
    # The last three are longer than the grid: 221 184 threads on the simulated A100, 270 336 on an H200.
    small=tuple({"n": n} for n in (1, 31, 33, 255, 257, 1000, 1023, 4099, 221_185, 300_007, 700_001)),
    secret={"n": (2, 400_000, 1)},
    simulated={"n": 2**20},
    timed={"n": 2**28},
    work=Work(bytes="12 * n", flops="2 * n"),
    target=Target(
        unit="bandwidth",
        reach=0.86,
        ceiling="add_f32x4",
        note="0.851 to 0.859 on H200s; of 1 to 8 rounds at once, two are the fastest",
    ),
    technique=(
        Expect(
            "grid_growth",
            at_most=1.0,
            why="The grid grows with n: each thread still has one element, or a fixed number of them.",
            hint="size the grid from sm_count, and let each thread loop: i += gridDim.x * blockDim.x",
        ),
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="The 32 threads of a warp do not touch 32 neighbouring floats: a part of each sector is wasted.",
            hint="give no thread a piece of its own: neighbours take neighbouring elements, then all of them move on",
        ),
        Expect(
            "global_requests",
            at_most=0.1,
            per="n",
            why="Elements are read or written more than once: 3 requests for 32 elements are 0.094 per n.",
            hint="let a round move on by as many elements as the whole grid takes in it, and a second loop go on "
            "where the first ends",
        ),
    ),
    # Two roundings without fma: of the product, below 4 and so by at most 2^-23, and of the sum.
    tolerance=Tolerance(relative=2**-23, absolute=2**-23),
    baseline="elementwise:saxpy",
    rivals=("pytorch:saxpy",),
    only_timed="two loads of each array in flight",
    variants=(
        Variant(
            "reversed",
            task="out[i] = alpha * x[n - 1 - i] + y[i], so x is read from its end",
            oracle="elementwise:saxpy_reversed",
        ),
        Variant(
            "clamped",
            task="out[i] = max(alpha * x[i] + y[i], 0), so no result is negative",
            oracle="elementwise:saxpy_clamped",
        ),
    ),
)
