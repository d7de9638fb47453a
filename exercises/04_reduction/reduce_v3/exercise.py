from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v3",
    order=403,
    ladder="reduce",
    idea="sequential addressing: a tree in shared memory without bank conflicts",
    minutes=20,
    after=("reduce_v1",),
    paths=("interview", "attention", "debugging"),
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
        ceiling="read_f32x1",
    ),
    technique=(
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Several lanes of a warp use different words of one bank, and take turns: a bank conflict.",
            hint="let thread t work on word t: add word t + s to it, with s = 128, 64, 32, … 1",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
)
