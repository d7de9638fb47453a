from grader import AlsoTimed, Array, Exercise, Expect, Large, Target, Values, Work

# Bytes of either sign down to -128 and up to 127, so that a byte that is taken for unsigned shows. Their means are 47.5
# and -48.5, so the sums fall by 2304 a step: at k = 8208 they are near -19 million, beyond 2^24, where a float no
# longer holds every integer. |a·b| is at most 2^14: no sum of up to 2^16 products leaves 32 bits.
MOSTLY_POSITIVE = Values(exact_low=-32, exact_high=127)
MOSTLY_NEGATIVE = Values(exact_low=-128, exact_high=31)

EXERCISE = Exercise(
    name="igemm_dp4a",
    order=621,
    idea="int8 matrix product: four multiply-adds in one instruction",
    minutes=120,
    after=("sgemm_v7", "async_copy"),
    paths=("gemm",),
    arrays=(
        Array("A", "int8", "m*k", values=MOSTLY_POSITIVE),
        Array("B", "int8", "n*k", values=MOSTLY_NEGATIVE),
        Array("C", "int32", "m*n", role="out"),
    ),
    oracle="gemm:matmul_i8",
    small=(
        {"m": 1, "n": 4, "k": 16},
        {"m": 5, "n": 20, "k": 48},
        {"m": 33, "n": 36, "k": 80},
        {"m": 64, "n": 64, "k": 64},
        {"m": 65, "n": 132, "k": 112},
        {"m": 130, "n": 260, "k": 32},
        {"m": 127, "n": 68, "k": 272},
        {"m": 3, "n": 16, "k": 8208},
    ),
    secret={"m": (1, 160, 1), "n": (4, 160, 4), "k": (16, 256, 16)},
    simulated={"m": 128, "n": 256, "k": 512},
    large=Large({"m": 4_193_983, "n": 640, "k": 640}, period={"m": 31}),
    timed={"m": 4096, "n": 4096, "k": 4096},
    also_timed=(AlsoTimed({"m": 8192, "n": 2048, "k": 4096}),),
    work=Work(bytes="m*k + n*k + 4*m*n", flops="2*m*n*k"),
    target=Target(
        unit="int8",
        ceiling="dp4a_i8",
        reach=0.85,
    ),
    technique=(
        # A warp's dp4a does 32 · 4 multiply-adds. With 8 × 8 sums a thread there are about 1.5 instructions for each of
        # them, with 4 × 4 sums about 2.3; products of single bytes need more than 4, tensor cores fewer than 1.
        Expect(
            "instructions",
            at_most=3,
            per="m*n*k/128",
            why="There are more than 3 instructions for each four multiply-adds of a warp: one dp4a does all four.",
            hint="keep four bytes along k in an int, and call sum = __dp4a(a, b, sum) on such words, "
            "for many sums in each thread",
        ),
        # Each word of A and of B serves as many dp4a as the thread has columns or rows: 0.25 bytes for each
        # multiply-add with 8 × 8 sums, 0.5 with 4 × 4, 2 with one.
        Expect(
            "shared_bytes",
            at_most=0.8,
            per="m*n*k",
            why="Words are loaded from shared memory for too few products each.",
            hint="let each thread compute 8 × 8 elements of C: load 8 words of A and 8 of B, and make 64 dp4a of them",
        ),
        # A tile of T × T elements reads 2·m·n·k / T bytes, in sectors of 32: 1/1024 for 64, 1/512 for 32.
        Expect(
            "global_load_sectors",
            at_most=1 / 400,
            per="m*n*k",
            why="The matrices are read from global memory too often.",
            hint="let a block keep BM rows of A and BN columns of B in shared memory, 128 bytes along k at a time, "
            "and read every byte of them in whole sectors",
        ),
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Lanes that use shared memory together, 16 bytes each, meet in the same banks.",
            hint="all lines of a tile begin at the same bank: exchange the chunks of a line by XOR, so that chunk c of "
            "eight neighbouring lines lies in eight different groups of four banks",
        ),
        # From the first copy to the last wait most instructions of a warp are products, if copies are in flight then.
        Expect(
            "overlap",
            at_least=0.4,
            why="A step waits for tiles that it has just asked for: nothing is multiplied while they are on their way.",
            hint="ask for a later step's tiles before the products of this one; cp_async_wait<N> leaves the N youngest "
            "groups in flight",
        ),
    ),
    baseline="gemm:igemm",
    requires="sm_80",
)
