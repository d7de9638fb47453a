from grader import AlsoTimed, Array, Exercise, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="cluster_reduce",
    order=1001,
    idea="distributed shared memory: the blocks of a cluster add up",
    minutes=60,
    after=("reduce_v10",),
    arrays=(
        Array("x", "float32", "n", values=ZERO_MEAN),
        Array("out", "float32", "1", role="out"),
    ),
    oracle="reduction:sum",
    # One cluster reaches to 65536 elements with the blocks of the solution: sizes on both sides of that, and of two.
    small=tuple({"n": n} for n in (1, 2, 31, 33, 127, 255, 257, 1000, 1023, 1025, 4099, 65535, 65537, 131073, 1000003)),
    secret={"n": (3, 300000, 1)},
    simulated={"n": 2**20},
    timed={"n": 2**28},
    work=Work(bytes="4 * n + 4", flops="n - 1"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.92,
        reach=0.97,
        ceiling="read_f32x4",
        note="reads alone, as in reduce_v10, are the ceiling",
    ),
    # No technique: the simulator is an A100, which has no clusters, and can count nothing.
    # As in reduce_v1 … v10: one addition for each block of 256, on top of the trees. Uniform inputs make partial sums
    # near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    also_timed=(AlsoTimed({"n": 2**22}),),
    baseline="reduction:sum",
    requires="sm_90",
)
