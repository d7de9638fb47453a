from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# Exact cases: sums of k terms of ±A stay below 4095 · 4096 < 2^24 up to k = 4096, where floats are exact in any order.
# Elements of A need 12 bits: of those above 2048, tf32 and fp16 (11 bits) hold every other one, bf16 (8) one in 16.
WIDE = Values(exact_low=-4095, exact_high=4095)
SIGNS = Values(exact_low=-1, exact_high=1)

EXERCISE = Exercise(
    name="sgemm_v2",
    order=602,
    ladder="sgemm",
    idea="coalesced: the lanes of a warp along a row of C",
    minutes=10,
    after=("coalescing_stride", "sgemm_v1"),
    paths=("interview", "attention", "gemm"),
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
        # Lanes along a row: 1 sector of A and 4 of B for 32 multiply-adds, 5/32 = 0.156; along a column: 33/32.
        Expect(
            "global_load_sectors",
            at_most=0.2,
            per="m*n*k",
            why="The lanes of a warp read down a column: every lane's float lies in a sector of its own.",
            hint="let threadIdx.x count columns of C: then the lanes read neighbours of B, and share one element of A",
        ),
    ),
    # Real values are uniform in [-1, 1): partial sums are near √k / 3, and k roundings in a row err by 0.05·eps·k at
    # root mean square. In a simulation with NumPy at k = 4096 the worst of 2^18 such sums was off by 0.51·eps·k, which
    # is a third of what is allowed; with factors rounded to tf32, half of the sums were off by 7.7·eps·k or more, five
    # times what is allowed.
    tolerance=Tolerance(chain="k", scale="sqrt(k)", chain_factor=1.5),
    baseline="gemm:sgemm",
)
