from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v1",
    order=401,
    ladder="reduce",
    idea="a tree in shared memory: barriers, and interleaved addressing with %",
    minutes=40,
    after=("vector_add",),
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
        # The tree makes 24 at 256 threads, 22 at 32 threads; one thread that adds a block's words in a row makes 8.
        Expect(
            "active_lanes",
            at_least=14,
            why="Most instructions run for one or a few lanes while the others wait: a row of additions, no tree.",
            hint="let many threads add at the same time: in each step every second sum takes its right neighbour",
        ),
        Expect(
            "shared_atomic_requests",
            at_most=0,
            why="Atomics on one word of shared memory are done one after the other: a row of additions, no tree.",
            hint="let each thread write a word of its own, and add the words in pairs",
        ),
        # One for each block is fine: 0.004 at 256 threads. One for each warp is 0.031.
        Expect(
            "global_atomic_requests",
            at_most=0.02,
            per="n",
            why="Atomics on one address of global memory are done one after the other, and there is one for each warp.",
            hint="add up the block's elements in shared memory first, so that one thread has the whole sum",
        ),
        Expect(
            "global_load_requests",
            at_most=0.04,
            per="n",
            why="Elements are read more than once, or without 32 neighbours in a request.",
            hint="let neighbouring threads read neighbouring elements, each once, and keep them in shared memory",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
)
