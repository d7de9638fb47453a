from grader import AlsoTimed, Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# Small integers that are mostly positive: the products' mean is 64, so the sums grow like 64·k. Up to k = 4096 they
# stay below 400 · 4096 < 2^24, where floats are exact in any order of summation. From k = 80 on they pass 2048, where
# halves are 2 apart: accumulated in fp16, or rounded to it, every odd sum is wrong.
GROWING = Values(exact_low=-4, exact_high=20)

EXERCISE = Exercise(
    name="hgemm_wmma_v4",
    order=613,
    ladder="hgemm",
    idea="cp.async, two stages: copy while multiplying",
    minutes=60,
    after=("hgemm_wmma_v3", "async_copy"),
    paths=("attention", "gemm"),
    arrays=(
        Array("A", "float16", "m*k", values=GROWING),
        Array("B", "float16", "k*n", values=GROWING),
        Array("C", "float32", "m*n", role="out"),
    ),
    oracle="gemm:matmul",
    small=(
        {"m": 16, "n": 16, "k": 16},
        {"m": 16, "n": 48, "k": 32},
        {"m": 48, "n": 32, "k": 80},
        {"m": 64, "n": 64, "k": 64},
        {"m": 80, "n": 16, "k": 112},
        {"m": 16, "n": 16, "k": 1040},
        {"m": 128, "n": 96, "k": 160},
        {"m": 144, "n": 272, "k": 48},
    ),
    secret={"m": (16, 160, 16), "n": (16, 160, 16), "k": (16, 256, 16)},
    simulated={"m": 256, "n": 256, "k": 256},
    large=Large({"m": 4_194_000, "n": 640, "k": 640}, period={"m": 31}),
    timed={"m": 4096, "n": 4096, "k": 4096},
    also_timed=(AlsoTimed({"m": 8192, "n": 2048, "k": 4096}),),
    work=Work(bytes="2*m*k + 2*k*n + 4*m*n", flops="2*m*n*k"),
    target=Target(
        unit="fp16_tensor",
        ceiling="mma_f16",
    ),
    technique=(
        Expect(
            "async_copy_bytes",
            at_least=1,
            per="2*m*k + 2*k*n",
            why="Tiles go through registers on their way to shared memory: they cannot be fetched far ahead.",
            hint="copy with cp_async16 or __pipeline_memcpy_async: global to shared memory, without waiting",
        ),
        Expect(
            "overlap",
            at_least=0.55,
            why="A step waits for tiles that it has just asked for: nothing is computed while they are on their way.",
            hint="ask for a later step's tiles before the products of this one; __pipeline_wait_prior(N) leaves the N "
            "youngest groups in flight",
        ),
    ),
    # Real values are uniform in [-1, 1): sums are near √k / 3, and a chain of k roundings errs by about eps·√k times
    # that. Tensor cores cut off instead of rounding, which adds up in one direction: hence the relative part. A sum
    # rounded to fp16 is off by up to 2^-11 of itself, far outside from k = 16 on: 5e-4 against 8e-6 + 1.5e-5.
    tolerance=Tolerance(relative=2**-16, chain="k", scale="sqrt(k)", chain_factor=4.0),
    baseline="gemm:matmul",
    requires="sm_80",
)
