from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v3",
    order=403,
    idea="sequential addressing: a tree in shared memory without bank conflicts",
    arrays=(
        Array("x", "float32", "n", values=ZERO_MEAN),
        Array("out", "float32", "1", role="out"),
    ),
    oracle="reduction:sum",
    small=tuple({"n": n} for n in (1, 2, 31, 33, 127, 255, 256, 257, 1000, 1023, 1025, 4099, 65537)),
    secret={"n": (3, 70000, 1)},
    simulated={"n": 2**20},
    timed={"n": 2**28},
    work=Work(bytes="4 * n + 4", flops="n - 1"),
    target=Target(
        unit="bandwidth",
        fraction=0.175,
        ceiling="read_f32x1",
        note="0.95 × the solution's median on an H200, 2026-11-21: 0.184",
    ),
    technique=(
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Several lanes of a warp use different words of one bank, and take turns: a bank conflict.",
            hint="let thread t work on word t: add word t + s to it, with s = 128, 64, 32, … 1",
        ),
        Expect(
            "shared_requests",
            at_most=0.25,
            per="n",
            why="Too many warps take part in each step, although only a few of their lanes work.",
            hint="pack the working threads into the first warps: `if (t < s)` instead of a test with %",
        ),
        Expect(
            "shared_atomic_requests",
            at_most=0,
            why="Atomics on one word of shared memory are done one after the other: a row of additions, no tree.",
            hint="let each thread write a word of its own, and add the words in pairs",
        ),
        Expect(
            "global_requests",
            at_most=0.04,
            per="n",
            why="Global memory is used more often than once per 32 elements and once per block.",
            hint="read each element once into shared memory, and let one thread of a block write the block's sum",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
)
