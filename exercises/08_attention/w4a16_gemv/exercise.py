from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Exact cases: eight products of x with q - z add up to 15 · 15 · 8 = 1800 at most, below 2048, where halves are
# integers; a whole row stays far below 2^24. All x are positive and near 15, so that sixteen products pass 2048 in some
# groups whose zero point is near 0 or 15, and odd sums are rounded there. Real cases have x of both signs.
BITS = Values(exact_low=0, exact_high=2**32 - 1)
ZEROS = Values(exact_low=0, exact_high=15)
SCALES = Values(exact_low=1, exact_high=3, low=0.005, high=0.02)
SMALL = Values(exact_low=12, exact_high=15)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="w4a16_gemv",
    order=807,
    idea="4-bit weights: the bytes are the speed-up, unpacked in pairs by lop3",
    minutes=75,
    after=("gemv", "hgemm_mma"),
    paths=("attention",),
    arrays=(
        Array("W", "uint32", "m*k/8", values=BITS),
        Array("scales", "float16", "m*k/128", values=SCALES),
        Array("zeros", "uint8", "m*k/128", values=ZEROS),
        Array("x", "float16", "k", values=SMALL, timed=ORDINARY),
        Array("y", "float32", "m", role="out"),
    ),
    oracle="quantised:w4a16_gemv",
    small=(
        {"m": 1, "k": 128},
        {"m": 3, "k": 256},
        {"m": 17, "k": 384},
        {"m": 130, "k": 640},
        {"m": 33, "k": 1024},
        {"m": 5, "k": 4224},
    ),
    secret={"m": (1, 150, 1), "k": (128, 1664, 128)},
    simulated={"m": 64, "k": 4096},
    timed={"m": 16384, "k": 28672},  # a layer of a model with 70 · 10⁹ parameters: 224 MiB instead of 896 in fp16
    work=Work(bytes="m*k/2 + 3*m*k/128 + 2*k + 4*m", flops="2*m*k"),
    target=Target(
        unit="bandwidth",
        reach=0.91,
        of="ceiling",
        fraction=0.87,
        ceiling="read_f32x4",
        # Counted on an H200, with 64 bytes of 16 rows a warp: 59 wavefronts of the L1's data pipe for 1024 bytes,
        # 77 % of its time, and 163 instructions. With 512 bytes of a row: 23 wavefronts and 97 instructions.
        note="0.76 by 64 bytes of each of 16 rows, because of the L1; 0.75 with scales that are asked for a step "
        "ahead, not a strip; 0.90 with the zero point subtracted from each weight",
    ),
    technique=(
        # Eight weights in four pairs: a `lop3`, or an `and` with an `or`, for each pair, and a shift for each word make
        # 0.63 to 1.2 integer instructions a weight, and addresses up to 0.8. A shift and an `and` for each weight are 2
        # alone. They count per warp, so 32 to a weight: 1.9 / 32 = 0.06.
        Expect(
            "integer_instructions",
            at_most=0.06,
            per="m*k",
            why="Each weight costs several integer instructions: at 4 bits a weight they take longer than memory does.",
            hint="unpack two weights at once: `(word & 0x000f000f) | 0x64006400` is a half2 of 1024 + q, one `lop3`",
        ),
        # Weights are 0.5 B each, x 0.25 with 16 rows for each load of it, scales and zero points 0.5: a sector for a
        # lone number. 1.6 B / 32.
        Expect(
            "global_load_sectors",
            at_most=0.05,
            per="m*k",
            why="Something is loaded again and again: W twice, or x for every row or two.",
            hint="read each word once, and let a warp, or a block, use what it has loaded of x for many rows",
        ),
    ),
    # The statement allows sums of eight products in halves. They err by about 2^-10 of their size, near 10 · scale: a
    # row by about √(k / 8) · 10 · 0.02 · 2^-10 at root mean square, a sixth of what is allowed. A row added up in
    # halves is off by twice what is allowed. (8192 turns the float's eps, 2^-23, into a half's.)
    tolerance=Tolerance(chain="k", scale="8192 * 0.06"),
    baseline="quantised:w4a16_gemv",
    rivals=("pytorch:w4a16_gemv", "pytorch:w4a16_gemv_compiled"),
    only_timed="several copies of each lane in flight",
)
