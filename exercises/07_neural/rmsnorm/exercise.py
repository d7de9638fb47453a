from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# A mean square of 1.3e-4 to 2.7e-4: eps counts for some per cent, so that it shows where it is added.
NARROW = Values(low=-0.02, high=0.02)
# The square of 10^4 is no half, and sums of such squares are near 10^12.
LARGE = Values(low=-10000.0, high=10000.0, shape="normal")
# One value in 64 is far from all others; and rows whose values are all equal.
DOMINATED = Values(low=-4.0, high=4.0, shape="normal", outlier=1000.0)
EQUAL = Values(low=3.0, high=3.0)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="rmsnorm",
    order=707,
    idea="the residual added and the row normalised in one kernel",
    minutes=40,
    after=("softmax_v1", "reduce_v9"),
    paths=("attention",),
    arrays=(
        Array(
            "x",
            "float32",
            "rows*cols",
            values=NARROW,
            timed=ORDINARY,
            unusual=(LARGE, DOMINATED, EQUAL),
            special=True,
        ),
        Array("residual", "float32", "rows*cols", values=NARROW, timed=ORDINARY, unusual=(LARGE, ORDINARY, ORDINARY)),
        Array("weight", "float32", "cols", values=Values(low=-2.0, high=2.0)),
        Array("h", "float32", "rows*cols", role="out"),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    scalars={"eps": 1e-5},
    oracle="norms:rms_norm",
    small=(
        {"rows": 1, "cols": 4},
        {"rows": 3, "cols": 8},
        {"rows": 257, "cols": 4},
        {"rows": 5, "cols": 36},
        {"rows": 4, "cols": 128},
        {"rows": 33, "cols": 1000},
        {"rows": 7, "cols": 1028},
        {"rows": 2, "cols": 4100},
        {"rows": 2, "cols": 16384},
    ),
    # A row that needs every register of the block: it stays there, too.
    counted=({"rows": 2, "cols": 16384},),
    secret={"rows": (1, 40, 1), "cols": (8, 1600, 4)},
    simulated={"rows": 64, "cols": 1024},
    timed={"rows": 16384, "cols": 4096},  # 1 GiB read and written
    work=Work(bytes="16*rows*cols + 4*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.95,
        ceiling="add_copy_f32x4",
        note="trials reached 0.98 of the ceiling",
    ),
    technique=(
        # x, residual, and weight for each row: 12 bytes for each element. Fewer where rows share a thread's weights.
        # A kernel that adds and one that normalises load 16.
        Expect(
            "global_load_bytes",
            at_most=12.5,
            per="rows*cols",
            why="More is loaded than x, residual and weight: h comes back from memory, or a value is loaded twice.",
            hint="keep h in registers from the addition to the product with scale and weight",
        ),
        Expect(
            "global_store_bytes",
            at_most=8.2,
            per="rows*cols",
            why="More is stored than h and y.",
            hint="each value of h and of y is stored once; what lies between stays in registers",
        ),
        Expect(
            "local_bytes",
            at_most=0.1,
            per="rows*cols",
            why="The row lies in local memory, which is device memory behind L1.",
            hint="registers have no addresses: every loop over the array is unrolled, with a constant as its bound; "
            "the end of the row is a condition inside",
        ),
        # 12 bytes loaded and 8 stored are 0.625 sectors for each element. A thread for each row takes more than 3.
        Expect(
            "sectors",
            at_most=0.75,
            per="rows*cols",
            why="Neighbouring lanes use values far from each other: sectors are moved of which one lane wants a part.",
            hint="a block or a warp for each row: thread t takes pack t, t + T, t + 2 * T, and so on",
        ),
    ),
    # h is rounded once: 6e-8. The sum of squares has positive terms only: 2e-6 with 16384 of them in one chain, 1e-6
    # for its root. Half precision is off by 5e-4. Where x and residual cancel, h is exact.
    tolerance=Tolerance(relative=1e-5, absolute=1e-30),
    exact=False,
    rivals=("pytorch:rms_norm", "pytorch:rms_norm_compiled"),
)
