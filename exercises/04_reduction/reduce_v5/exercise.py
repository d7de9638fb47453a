from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v5",
    order=405,
    ladder="reduce",
    idea="the last warp works alone: __syncwarp() instead of barriers",
    minutes=30,
    after=("reduce_v4",),
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
        ceiling="read_f32x4",  # two floats a thread; x1 stops below that,
    ),
    technique=(
        Expect(
            "barriers",
            at_most=0.08,
            per="n",
            why="All warps stop at every barrier of the block, although in the last six steps only one of them works.",
            hint="end the loop at s > 32; what is left belongs to warp 0, which synchronises with `__syncwarp()`",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
    paths=("debugging",),
)
