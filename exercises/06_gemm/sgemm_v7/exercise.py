from grader import AlsoTimed, Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# Exact cases: sums of k terms of ±A stay below 4095 · 4096 < 2^24 up to k = 4096, where floats are exact in any order.
# Elements of A need 12 bits: of those above 2048, tf32 and fp16 (11 bits) hold every other one, bf16 (8) one in 16.
WIDE = Values(exact_low=-4095, exact_high=4095)
SIGNS = Values(exact_low=-1, exact_high=1)

EXERCISE = Exercise(
    name="sgemm_v7",
    order=607,
    ladder="sgemm",
    idea="warp tiles: lanes in squares share what they load",
    minutes=90,
    after=("sgemm_v6",),
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
    large=Large({"m": 4_193_983, "n": 640, "k": 640}, period={"m": 31}),
    timed={"m": 4096, "n": 4096, "k": 4096},
    also_timed=(AlsoTimed({"m": 8192, "n": 2048, "k": 4096}),),
    work=Work(bytes="4*(m*k + k*n + m*n)", flops="2*m*n*k"),
    target=Target(
        unit="fp32",
        ceiling="fma_f32",
        reach=0.70,
        note="the warp tile alone; what it wins, and what else six ideas won: docs/results/h200-gemm-limits.md",
    ),
    technique=(
        # 8 × 8 a thread: lanes in rows of 16 take 12 wavefronts for 2048 multiply-adds, 0.0059; in squares 8, 0.0039.
        # 8 × 16: 20 for 4096 with lanes in rows, 0.0049, and 12 in squares, 0.0029. All of these but the first pass.
        Expect(
            "shared_load_wavefronts",
            at_most=0.0052,
            per="m*n*k",
            why="A wavefront of shared memory serves too few multiplications: neighbouring lanes do not share float4.",
            hint="number lanes in squares of 2 x 2: lane and lane ^ 1 in one column, lane and lane ^ 2 in one row",
        ),
    ),
    # Real values are uniform in [-1, 1): partial sums are near √k / 3, and k roundings in a row err by 0.05·eps·k at
    # root mean square. In a simulation with NumPy at k = 4096 the worst of 2^18 such sums was off by 0.51·eps·k, which
    # is a third of what is allowed; with factors rounded to tf32, half of the sums were off by 7.7·eps·k or more, five
    # times what is allowed.
    tolerance=Tolerance(chain="k", scale="sqrt(k)", chain_factor=1.5),
    baseline="gemm:sgemm",
)
