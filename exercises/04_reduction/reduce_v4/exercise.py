from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v4",
    order=404,
    ladder="reduce",
    idea="first addition during the load: no idle half",
    minutes=20,
    after=("reduce_v3",),
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
        # Half of what `reduce_v2` asks: each thread brings two elements.
        Expect(
            "shared_requests",
            at_most=0.25,
            per="n",
            why="Too many warps take part in each step, although only a few of their lanes work.",
            hint="pack the working threads into the first warps: `t < s`, and two elements for each thread",
        ),
        Expect(
            "threads",
            at_most=0.51,
            per="n",
            why="A thread that brings one element and hands it over adds nothing itself: half of the block never adds.",
            hint="give each thread two elements to add while it loads, and launch half as many blocks",
        ),
        # 8 floats in a sector are 0.125; elements two apart are 0.25.
        Expect(
            "global_load_sectors",
            at_most=0.15,
            per="n",
            why="The lanes of a warp leave gaps between their elements, so each sector is fetched more than once.",
            hint="let neighbouring threads read neighbouring elements in each round: a thread's own ones lie far apart",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
    paths=("debugging",),
)
