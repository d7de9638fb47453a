from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# Exact cases: no sum of k products is above 7 · k, which stays below 2^24 up to k = 2^21: there floats are exact in any
# order of summation. The mean is 1.5 · k, so that from k = 1400 on sums pass 2048, where halves are 2 apart. A format
# with fewer bits holds such inputs; it is the real values that reject it.
GROWING = Values(exact_low=-1, exact_high=7)
BITS = Values(exact_low=0, exact_high=1)

EXERCISE = Exercise(
    name="splitk_gemm",
    order=623,
    idea="a small product of long sums: divide the sums among blocks",
    minutes=90,
    after=("sgemm_v5",),
    paths=("gemm",),
    headers=("tile_product.cuh",),
    arrays=(
        Array("A", "float32", "m*k", values=GROWING),
        Array("B", "float32", "k*n", values=BITS),
        Array("C", "float32", "m*n", role="out"),
    ),
    oracle="gemm:matmul",
    checker="gemm:matmul_f32",
    small=(
        {"m": 1, "n": 4, "k": 4},
        {"m": 5, "n": 20, "k": 12},
        {"m": 64, "n": 64, "k": 64},
        {"m": 33, "n": 36, "k": 1028},
        {"m": 64, "n": 64, "k": 2052},
        {"m": 65, "n": 132, "k": 260},
        {"m": 3, "n": 8, "k": 16388},
        {"m": 128, "n": 96, "k": 520},
    ),
    secret={"m": (1, 128, 1), "n": (4, 128, 4), "k": (4, 2000, 4)},
    simulated={"m": 32, "n": 32, "k": 16384},
    timed={"m": 64, "n": 64, "k": 2**21},
    # Four tiles of C, and a sum that is 16 times shorter.
    also_timed=(AlsoTimed({"m": 128, "n": 128, "k": 2**19}), AlsoTimed({"m": 64, "n": 64, "k": 2**17})),
    work=Work(bytes="4*(m*k + k*n + m*n)", flops="2*m*n*k"),
    target=Target(
        unit="fp32",
        ceiling="fma_f32",
    ),
    technique=(
        # Of all launches together. A thread for each element of C, and nothing divided, is 1; a tile in a block's
        # registers is less. Slices of 1024 elements, with 128 threads each, are 2; the solution's first launch is 40.
        Expect(
            "threads",
            at_least=1.5,
            per="m*n",
            why="C alone is divided among threads, and C is small: most of the GPU has nothing to do.",
            hint="divide k as well: a grid with a third dimension, and as many slices as blocks fit on the GPU, "
            "e.g. min(cdiv(k, 128), 3 * sm_count)",
        ),
    ),
    # Real values are uniform in [-1, 1). A chain of L products errs by 0.05·eps·L at root mean square, S = k / L
    # chains by 0.05·eps·√(k·L): the statement allows slices of k / 64, whose sums are added one by one, and any order
    # up to k = 16384. In a simulation with NumPy at k = 2^21 such sums were off by 0.0016 at root mean square and by
    # 0.0054 at worst, where 0.048 is allowed. With inputs rounded to tf32 they were off by 0.13, and the device's
    # check of whole rows rejected 6 to 14 of 64, whatever its random signs.
    tolerance=Tolerance(chain="min(k, cdiv(k, 64) + 16384)", scale="sqrt(k)", chain_factor=1.25),
    baseline="gemm:sgemm",
    rivals=("gemm:sgemm_tf32",),
)
