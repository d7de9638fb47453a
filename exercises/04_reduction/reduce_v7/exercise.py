from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v7",
    order=407,
    ladder="reduce",
    idea="many elements per thread: a loop over the grid",
    minutes=25,
    after=("saxpy_grid_stride", "reduce_v6"),
    arrays=(
        Array("x", "float32", "n", values=ZERO_MEAN),
        Array("out", "float32", "1", role="out"),
    ),
    oracle="reduction:sum",
    small=tuple({"n": n} for n in (1, 2, 31, 33, 127, 255, 256, 257, 1000, 1023, 1025, 4099, 32767, 49151, 65537)),
    secret={"n": (3, 70000, 1)},
    simulated={"n": 2**20},
    timed={"n": 2**28},
    work=Work(bytes="4 * n + 4", flops="n - 1"),
    target=Target(
        unit="bandwidth",
        ceiling="read_f32x4",  # with several floats of each thread in flight; x1 has one
    ),
    technique=(
        # Four elements or more for each thread: 2048 threads on each of 108 multiprocessors are 0.211 threads per
        # element, a fixed grid of 1024 blocks of 256 threads 0.2502. More blocks need a smaller grid at this size.
        Expect(
            "threads",
            at_most=0.26,
            per="n",
            why="There is a thread for every few elements, and each pays for its index and its share of the tree.",
            hint="start a block only for 16 elements of each thread, and let the grid stop growing: "
            "max(1, min(n / (16 * THREADS), BLOCKS)), with 4096 blocks of 1024 threads",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
)
