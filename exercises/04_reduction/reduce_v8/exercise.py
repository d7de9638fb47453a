from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n such integers stays near 147·√n: below 2^24 up to 2^28 of them, so floats add them exactly in any order;
# from a few hundred on it passes 2^11, where fp16 and tf32 lose the last bits.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="reduce_v8",
    order=408,
    ladder="reduce",
    idea="float4: 16 bytes in each load",
    minutes=30,
    after=("elementwise_pack", "reduce_v7"),
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
        reach=0.93,
        ceiling="read_f32x4",
        note="H200s differ: reads alone reach 0.95 to 0.97 of their peak",
    ),
    technique=(
        # 1/32 where a lane loads a float, 1/64 for a float2, 1/128 for a float4.
        Expect(
            "global_load_requests",
            at_most=0.012,
            per="n",
            why="A lane's load carries fewer than 16 bytes: the same elements take two or four times as many requests.",
            hint="load float4s through a `const float4*`, and the last m % 4 elements one by one",
        ),
    ),
    # The longest chain that the statement allows: one addition for each block of 256, on top of the trees. Uniform
    # inputs make partial sums near √n; a chain of L additions then errs by about 0.12·eps·√(n·L).
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="reduction:sum",
    rivals=("reduction:cupy_sum", "pytorch:sum"),
    only_timed="several loads of each thread in flight",
)
