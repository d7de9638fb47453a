from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# A variance of 1.3e-4: eps counts for 4 %, so that it shows where it is added, and n - 1 in place of n shows, too.
NARROW = Values(low=-0.01, high=0.03)
# Mean 10^4 and deviation 1: E[x²] - m² is the difference of two numbers near 10^8, where floats are 8 apart.
FAR_FROM_ZERO = Values(low=9996.5, high=10003.5, shape="normal")
# One value in 64 is far from all others; and rows whose values are all equal, so that the variance is 0.
DOMINATED = Values(low=-4.0, high=4.0, shape="normal", outlier=1000.0)
EQUAL = Values(low=0.1, high=0.1)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="layernorm",
    order=706,
    idea="mean and variance of a row that stays on the chip: one read, one write",
    minutes=60,
    after=("softmax_v1", "reduce_v9"),
    paths=("attention",),
    headers=("load_kept.cuh",),
    arrays=(
        Array(
            "x",
            "float32",
            "rows*cols",
            values=NARROW,
            timed=ORDINARY,
            unusual=(FAR_FROM_ZERO, DOMINATED, EQUAL),
            special=True,
        ),
        Array(
            "gamma", "float32", "cols", values=Values(low=-2.0, high=2.0), unusual=Values(low=-0.03125, high=0.03125)
        ),
        Array("beta", "float32", "cols", values=Values(low=-2.0, high=2.0)),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    scalars={"eps": 1e-5},
    oracle="norms:layer_norm",
    small=(
        {"rows": 1, "cols": 1},
        {"rows": 3, "cols": 2},
        {"rows": 3, "cols": 31},
        {"rows": 257, "cols": 1},
        {"rows": 5, "cols": 36},
        {"rows": 4, "cols": 256},
        {"rows": 33, "cols": 1000},
        {"rows": 7, "cols": 1025},
        {"rows": 2, "cols": 16388},
        {"rows": 1, "cols": 8209},
        {"rows": 1, "cols": 32768},
    ),
    # A row that does not fit into registers, and one that cannot be read as float4: read once, too.
    counted=({"rows": 1, "cols": 8209}, {"rows": 1, "cols": 32768}),
    secret={"rows": (1, 40, 1), "cols": (2, 1500, 1)},
    simulated={"rows": 64, "cols": 1024},
    timed={"rows": 16384, "cols": 4096},  # 512 MiB read and written
    also_timed=(
        AlsoTimed({"rows": 16384, "cols": 1024}, reach=0.95),
        AlsoTimed({"rows": 4096, "cols": 32768}, reach=0.93),
    ),
    work=Work(bytes="8*rows*cols + 8*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.92,
        reach=0.97,
        ceiling="copy_f32x4",
        note="trials reached 0.99, 0.96 and 0.94 of a copy with the same cache policy; at 32768 columns gamma and beta "
        "come from the L2 for each row: without them it was 0.97",
    ),
    technique=(
        # x once, and gamma and beta for each row: 12 bytes for each element. Fewer where rows share what a thread has
        # loaded of gamma and beta. A second read of x makes 16.
        Expect(
            "global_load_bytes",
            at_most=12.5,
            per="rows*cols",
            why="A value of x is loaded more than once: 4 bytes of x, gamma and beta for each element are enough.",
            hint="keep what a thread has loaded of x in registers until it is written: mean, variance and result "
            "come from the same values",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.1,
            per="rows*cols",
            why="More than the result is stored: y is no place for what lies between.",
            hint="a difference from the mean stays in a register, or is computed again",
        ),
        Expect(
            "local_bytes",
            at_most=0.1,
            per="rows*cols",
            why="The row lies in local memory, which is device memory behind L1.",
            hint="registers have no addresses: every loop over the array is unrolled, with a constant as its bound; "
            "the end of the row is a condition inside",
        ),
        # 12 bytes loaded and 4 stored are 0.5 sectors for each element. A thread for each row takes more than 2.
        Expect(
            "sectors",
            at_most=0.7,
            per="rows*cols",
            why="Neighbouring lanes use values far from each other: sectors are moved of which one lane wants a part.",
            hint="a block or a warp for each row: thread t takes pack t, t + T, t + 2 * T, and so on",
        ),
    ),
    # Near 10^4 floats are 2^-10 apart. The mean is off by up to half of that, and y, in a simulation with NumPy, by up
    # to 0.003 with 1024 terms in a chain; times gamma, a 32nd there, 9e-5. One chain for a row of 4096 values is off by
    # 0.02, or 7e-4. Half precision for a factor of any value is off by 1e-3.
    tolerance=Tolerance(absolute=2e-4),
    exact=False,
    rivals=("pytorch:layer_norm", "pytorch:layer_norm_compiled"),
)
