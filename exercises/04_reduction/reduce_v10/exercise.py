from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v10",
    order=410,
    ladder="reduce",
    idea="one launch: the last block to finish adds up the sums",
    minutes=60,
    after=("reduce_v9",),
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
        reach=0.945,
        ceiling="read_f32x4",
        note="H200s differ: reads alone reach 0.95 to 0.97 of their peak",
    ),
    technique=(
        Expect(
            "launches",
            at_most=1,
            why="A launch more is made for the few sums of the blocks, and it begins only when the first has ended.",
            hint="let each block draw a ticket with atomicInc when its sum is stored; who draws the last one finishes",
        ),
        # Each block's sum, and the result: whatever finishes the sum in one launch and in a fixed order stores them.
        Expect(
            "global_store_requests",
            at_least=1,
            why="Atomics alone make the result, in the order of arrival: its last bits change from run to run.",
            hint="store each block's sum in a scratch array, and let the last block add them up in a fixed order",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    also_timed=(AlsoTimed({"n": 2**22}, reach=0.36),),
    baseline="reduction:sum",
    rivals=("reduction:cupy_sum", "pytorch:sum"),
    paths=("debugging",),
)
