from grader import Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# expf overflows from 88.8 on, and a whole row below -104 is 0 / 0 where the maximum begins at 0.
WIDE = Values(low=-120.0, high=120.0)
FAR_BELOW = Values(low=-120.0, high=-100.0)
DOMINATED = Values(low=-4.0, high=4.0, shape="normal", outlier=60.0)
EQUAL = Values(low=100.0, high=100.0)
ORDINARY = Values(low=-8.0, high=8.0, shape="normal")
# One row in nine has a negative label, which does not count. Timed rows all count.
SOME_IGNORED = Values(exact_low="-cdiv(cols, 8)", exact_high="cols-1")
ALL_COUNT = Values(exact_low=0, exact_high="cols-1")

EXERCISE = Exercise(
    name="cross_entropy",
    order=711,
    idea="log-softmax and gather in one read of the logits",
    minutes=45,
    after=("softmax_v2", "reduce_v9"),
    arrays=(
        Array(
            "logits",
            "float32",
            "rows*cols",
            values=WIDE,
            timed=ORDINARY,
            unusual=(FAR_BELOW, DOMINATED, EQUAL),
            masked=True,
            special=True,
        ),
        # Only before the first row is there nothing: a read with its label, which is none, shows.
        Array("labels", "int32", "rows", values=SOME_IGNORED, timed=ALL_COUNT, first=(-100,)),
        Array("loss", "float32", "rows", role="out"),
    ),
    oracle="softmax:cross_entropy",
    small=(
        {"rows": 1, "cols": 4},
        {"rows": 65, "cols": 8},
        {"rows": 5, "cols": 36},
        {"rows": 6, "cols": 1020},
        {"rows": 4, "cols": 1024},
        {"rows": 60, "cols": 1028},
        {"rows": 3, "cols": 4096},
        {"rows": 5, "cols": 5004},
        {"rows": 1, "cols": 16388},
    ),
    # A long row, of which a thread has many packs: read once, too.
    counted=({"rows": 1, "cols": 16388},),
    secret={"rows": (1, 20, 1), "cols": (4, 3000, 4)},
    simulated={"rows": 16, "cols": 4096},
    large=Large({"rows": 70_001, "cols": 32_772}, period={"rows": 31}),
    timed={"rows": 8192, "cols": 32768},  # 1 GiB
    work=Work(bytes="4*rows*cols + 8*rows"),
    target=Target(
        unit="bandwidth",
        fraction=0.89,
        ceiling="read_f32x4",
        reach=0.88,  # 0.93 of the ceiling
        note="a prediction until it is calibrated: 0.95 of what a trial reached",
    ),
    technique=(
        # One read is 4 bytes, and the label, by each of 512 threads, 0.5. A second pass over the row makes it 8.
        Expect(
            "global_load_bytes",
            at_most=5,
            per="rows*cols",
            why="The logits are loaded more than once: for the largest value, and again for the sum.",
            hint="keep a running maximum and sum; when the maximum rises, multiply the sum by exp(old - new)",
        ),
        Expect(
            "global_store_bytes",
            at_most=0.25,
            per="rows*cols",
            why="More than the losses is stored: only one of a row's shares is needed.",
            hint="m + log(sum) - x[label] needs no share at all: one number a row is stored",
        ),
        Expect(
            "sectors",
            at_most=0.16,
            per="rows*cols",
            why="Lanes of one request use values that lie far apart.",
            hint="one block for each row: thread t takes packs t, t + BLOCK, and so on",
        ),
    ),
    # Rounding x - m near 240 changes a term by 2^-17 of itself, and __expf as much; the sum's relative error is the
    # absolute one of its logarithm. Half precision is off by 5e-4.
    tolerance=Tolerance(relative=1e-6, absolute=3e-5),
    exact=False,
    compared=("wrong/two_passes.diff", "wrong/one_load_at_a_time.diff"),
    rivals=("pytorch:cross_entropy", "pytorch:cross_entropy_compiled"),
)
