from grader import AlsoTimed, Array, Exercise, Expect, Large, Target, Values, Work

# Bytes of either sign down to -128 and up to 127, so that a byte that is taken for unsigned shows. Their means are 47.5
# and -48.5, so the sums fall by 2304 a step: at k = 8208 they are near -19 million, beyond 2^24, where a float no
# longer holds every integer. |a·b| is at most 2^14: no sum of up to 2^16 products leaves 32 bits.
MOSTLY_POSITIVE = Values(exact_low=-32, exact_high=127)
MOSTLY_NEGATIVE = Values(exact_low=-128, exact_high=31)

EXERCISE = Exercise(
    name="igemm_mma",
    order=622,
    idea="int8 on the tensor cores: ldmatrix and mma.sync m16n8k32",
    minutes=120,
    after=("igemm_dp4a", "hgemm_mma"),
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
        {"m": 64, "n": 64, "k": 128},
        {"m": 65, "n": 132, "k": 112},
        {"m": 130, "n": 260, "k": 32},
        {"m": 127, "n": 68, "k": 528},
        {"m": 3, "n": 16, "k": 8208},
    ),
    secret={"m": (1, 160, 1), "n": (4, 160, 4), "k": (16, 400, 16)},
    simulated={"m": 256, "n": 128, "k": 1024},
    large=Large({"m": 4_193_983, "n": 640, "k": 640}, period={"m": 31}),
    timed={"m": 4096, "n": 4096, "k": 4096},
    also_timed=(AlsoTimed({"m": 8192, "n": 2048, "k": 4096}),),
    work=Work(bytes="m*k + n*k + 4*m*n", flops="2*m*n*k"),
    target=Target(
        unit="int8_tensor",
        ceiling="mma_i8",
        reach=0.43,
    ),
    technique=(
        # A product of m16n8k32, or of WMMA's 16 × 16 × 16, is 4096 multiply-adds.
        Expect(
            "wmma_instructions",
            at_least=1,
            per="m*n*k/4096",
            why="The product is not computed on the tensor cores: one m16n8k32 does 16 · 8 · 32 = 4096 multiply-adds.",
            hint="call mma_16832 for every 16 × 8 elements of the warp's tile, once for every 32 steps along k",
        ),
        # A tile of 64 × 64 a warp takes 8 ldmatrix.x4 for 131072 multiply-adds, 0.000061; one of 32 × 32 0.000122.
        # Loads of 4 bytes a lane take four times as many, and those of single bytes sixteen times.
        Expect(
            "shared_load_requests",
            at_most=0.00015,
            per="m*n*k",
            why="Fragments are loaded in small pieces: an ldmatrix.x4 brings 16 bytes a lane, a plain word 4.",
            hint="load 16 lines of 32 bytes with one ldmatrix.x4, and let a warp compute 32 × 32 elements of C or more",
        ),
        # A tile of BM × BN takes (1/BM + 1/BN) / 32 sectors for each multiply-add: 1/1024 at 64 × 64, 3/8192 at
        # 256 × 128.
        Expect(
            "global_load_sectors",
            at_most=1 / 1000,
            per="m*n*k",
            why="The matrices are read from global memory too often.",
            hint="let a block's tile have 64 × 64 elements of C or more, and copy every byte of its lines once",
        ),
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Lanes that use shared memory together, 16 bytes each, meet in the same banks.",
            hint="all lines of a tile begin at the same bank: chunk c of line l lies at place c ^ (l % 8) of its line",
        ),
        # From the first copy to the last wait nearly all instructions of a warp have copies in flight beside them.
        Expect(
            "overlap",
            at_least=0.55,
            why="A step waits for tiles that it has just asked for: nothing is multiplied while they are on their way.",
            hint="ask for a later step's tiles before the products of this one; cp_async_wait<N> leaves the N youngest "
            "groups in flight",
        ),
    ),
    baseline="gemm:igemm",
    requires="sm_80",
)
