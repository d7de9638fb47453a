from grader import AlsoTimed, Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# Exact cases: sums of k terms of ±A stay below 1023 · 16384 < 2^24, where floats are exact in any order of summation.
# They pass 2048 after a handful of terms, where halves are 2 apart: accumulated in fp16, or rounded to it, they are
# wrong. Elements of A need 10 bits, which bf16 lacks.
TEN_BITS = Values(exact_low=-1023, exact_high=1023)
SIGNS = Values(exact_low=-1, exact_high=1)

EXERCISE = Exercise(
    name="gemv",
    order=609,
    idea="matrix times vector: a warp for each row, bound by memory",
    minutes=60,
    after=("reduce_v9",),
    paths=("attention",),
    arrays=(
        Array("A", "float16", "m*k", values=TEN_BITS),
        Array("x", "float16", "k", values=SIGNS),
        Array("y", "float32", "m", role="out"),
    ),
    oracle="gemm:matvec",
    small=(
        {"m": 1, "k": 8},
        {"m": 3, "k": 24},
        {"m": 33, "k": 264},
        {"m": 7, "k": 1000},
        {"m": 130, "k": 512},
        {"m": 257, "k": 72},
        {"m": 64, "k": 1032},
        {"m": 5, "k": 4104},
    ),
    secret={"m": (1, 200, 1), "k": (8, 1600, 8)},
    simulated={"m": 256, "k": 4096},
    large=Large({"m": 270_001, "k": 16384}, period={"m": 31}),
    timed={"m": 32768, "k": 16384},
    # What one layer of a small language model multiplies by when it makes a word, and a matrix of 256 MiB.
    also_timed=(AlsoTimed({"m": 14336, "k": 4096}), AlsoTimed({"m": 32768, "k": 4096})),
    work=Work(bytes="2*m*k + 2*k + 4*m", flops="2*m*k"),
    target=Target(
        unit="bandwidth",
        reach=0.90,
        ceiling="read_f32x4",
        note="cuBLAS in the same run: docs/results/h200-gemm.md",
    ),
    technique=(
        Expect(
            "bytes_per_lane",
            at_least=16,
            why="No load brings more than a few halves: a lane's load can carry eight of them, 16 bytes.",
            hint="read A and x through a `const uint4*`: each row begins at a multiple of 16 bytes",
        ),
        # For each element of A 1/256 of a request, and as much for x where every row loads it from global memory. Twice
        # as many where one of the two comes in pieces of 8 bytes make 0.0117; pieces of 4 bytes, 0.0195.
        Expect(
            "global_load_requests",
            at_most=0.0125,
            per="m*k",
            why="A or x is loaded in small pieces: one request can bring 256 halves, eight for each lane.",
            hint="load both A and x sixteen bytes at a time, with the same index: eight halves of the row and the "
            "eight of x that belong to them",
        ),
        # A store of a lone float for each row is the only sector that is not full: 0.998, and 0.997 without loads of x.
        # A thread for each row, with 16-byte loads, has 0.97: half of each sector of A, and x shared by all lanes.
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="Neighbouring lanes read far from each other: sectors are fetched of which one lane wants a part.",
            hint="give a row to a whole warp: lane 0 takes the first 16 bytes, lane 1 the next ones, and so on",
        ),
    ),
    # Real values are uniform in [-1, 1): partial sums are near √k / 3. In a simulation with NumPy at k = 16384 the
    # worst of 4096 sums, made in one row, was off by 0.3·eps·k, a fifth of what is allowed; with products rounded to
    # fp16, and added up exactly, they were off by 0.0088 at root mean square, three times what is allowed. The
    # relative part is for tensor cores, which cut off instead of rounding.
    tolerance=Tolerance(relative=2**-16, chain="k", scale="sqrt(k)", chain_factor=1.5),
    baseline="gemm:matvec",
    only_timed="several loads of each lane in flight",
)
