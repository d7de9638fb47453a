from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# Exact cases: sums of k terms of ±A stay below 4095 · 4096 < 2^24 up to k = 4096, where floats are exact in any order.
# Elements of A need 12 bits: of those above 2048, tf32 and fp16 (11 bits) hold every other one, bf16 (8) one in 16.
WIDE = Values(exact_low=-4095, exact_high=4095)
SIGNS = Values(exact_low=-1, exact_high=1)

EXERCISE = Exercise(
    name="sgemm_v4",
    order=604,
    ladder="sgemm",
    idea="a column of results for each thread, in registers",
    minutes=45,
    after=("sgemm_v3",),
    paths=("gemm",),
    arrays=(
        Array("A", "float32", "m*k", values=WIDE),
        Array("B", "float32", "k*n", values=SIGNS),
        Array("C", "float32", "m*n", role="out"),
    ),
    oracle="gemm:matmul",
    checker="gemm:matmul_f32",
    small=(
        {"m": 1, "n": 4, "k": 4},
        {"m": 5, "n": 20, "k": 12},
        {"m": 33, "n": 36, "k": 68},
        {"m": 64, "n": 64, "k": 64},
        {"m": 65, "n": 132, "k": 100},
        {"m": 130, "n": 260, "k": 28},
        {"m": 127, "n": 68, "k": 260},
        {"m": 16, "n": 16, "k": 2052},
    ),
    secret={"m": (1, 160, 1), "n": (4, 160, 4), "k": (4, 200, 4)},
    simulated={"m": 256, "n": 256, "k": 256},
    timed={"m": 4096, "n": 4096, "k": 4096},
    also_timed=(AlsoTimed({"m": 8192, "n": 2048, "k": 4096}),),
    work=Work(bytes="4*(m*k + k*n + m*n)", flops="2*m*n*k"),
    target=Target(
        unit="fp32",
        ceiling="fma_f32",
    ),
    technique=(
        # One result a thread: 4 + 4 bytes for each multiply-add. TM in a column: one of B and TM of A for TM: 4 + 4/TM.
        Expect(
            "shared_load_bytes",
            at_most=5.1,
            per="m*n*k",
            why="Nearly every multiplication loads both factors from shared memory; nothing stays in a register.",
            hint="give each thread 4 or more elements of one column of C: they share the element of B",
        ),
        # (1/BM + 1/BN) / 8 sectors: 0.0039 with 64 x 64, 0.0078 with 32 x 32; with A down its columns 0.018.
        Expect(
            "global_load_sectors",
            at_most=0.012,
            per="m*n*k",
            why="The lanes leave gaps while they load tiles: a sector is fetched for a few bytes, and then again.",
            hint="let neighbouring threads bring neighbouring elements of a row, of A as of B",
        ),
    ),
    # Real values are uniform in [-1, 1): partial sums are near √k / 3, and k roundings in a row err by 0.05·eps·k at
    # root mean square. In a simulation with NumPy at k = 4096 the worst of 2^18 such sums was off by 0.51·eps·k, which
    # is a third of what is allowed; with factors rounded to tf32, half of the sums were off by 7.7·eps·k or more, five
    # times what is allowed.
    tolerance=Tolerance(chain="k", scale="sqrt(k)", chain_factor=1.5),
    baseline="gemm:sgemm",
)
