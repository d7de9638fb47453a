from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v9",
    order=409,
    ladder="reduce",
    idea="warp shuffles instead of a tree in shared memory",
    minutes=30,
    after=("reduce_v3",),
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
        reach=0.94,
        ceiling="read_f32x4",
        note="H200s differ: reads alone reach 0.95 to 0.97 of their peak",
    ),
    technique=(
        # A word for each of 32 warps, the most that a block has, and 32 bytes for flags and the like. reduce_v8's tree
        # has a word for each thread.
        Expect(
            "shared_memory_bytes",
            at_most=160,
            why="The block keeps more in shared memory than one word for each of its warps.",
            hint="add up each warp in registers with `__shfl_down_sync`; only its lane 0 stores a word",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
    rivals=("reduction:cupy_sum", "pytorch:sum"),
)
