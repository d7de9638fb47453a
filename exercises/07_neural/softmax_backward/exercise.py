from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="softmax_backward",
    order=713,
    idea="two rows kept on the chip: the sum of products first, then the result",
    minutes=40,
    after=("softmax_v4", "rmsnorm"),
    arrays=(
        # Small integers: sums and products of them are exact. Shares of a row otherwise.
        Array("y", "float32", "rows*cols", values=Values(exact_low=0, exact_high=3, low=0.0, high=0.01)),
        Array("dy", "float32", "rows*cols", values=ORDINARY),
        Array("dx", "float32", "rows*cols", role="out"),
    ),
    oracle="backward:softmax",
    # Rows shorter than a pack for each lane, around a warp (128) and a block's packs, and the longest.
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
    simulated={"rows": 32, "cols": 2048},
    timed={"rows": 16384, "cols": 4096},  # 512 MiB read, 256 MiB written
    work=Work(bytes="12*rows*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.95,
        ceiling="add_f32x4",
        note="a prediction, until it is measured",
    ),
    technique=(
        # y and dy, once each. Who reads them for the sum, and again for the result, loads 16 bytes.
        Expect(
            "global_load_bytes",
            at_most=8.2,
            per="rows*cols",
            why="y or dy is read more than once.",
            hint="both rows stay in registers from the sum to the result: 16 floats of each in a thread fit",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.1,
            per="rows*cols",
            why="More is stored than dx.",
            hint="products of y and dy are added up where they are computed, and not kept",
        ),
        Expect(
            "local_bytes",
            at_most=0.1,
            per="rows*cols",
            why="The rows lie in local memory, which is device memory behind L1.",
            hint="registers have no addresses: every loop over the arrays is unrolled, with a constant as its bound; "
            "the end of the row is a condition inside",
        ),
        # Three arrays are 3/8 of a sector. A thread for each row takes more than 2.
        Expect(
            "sectors",
            at_most=0.45,
            per="rows*cols",
            why="Neighbouring lanes use values far from each other: sectors are moved of which one lane wants a part.",
            hint="a block for each row: thread t takes packs t, t + T, t + 2 * T, and so on",
        ),
    ),
    # The sum has up to 16384 terms below 0.04, and errs by 2e-5 where they are added one by one; times y, 2e-7.
    tolerance=Tolerance(relative=1e-5, absolute=3e-7),
    rivals=("pytorch:softmax_backward", "pytorch:softmax_backward_compiled"),
    compared=("wrong/read_again.diff", "wrong/two_kernels.cu"),
)
