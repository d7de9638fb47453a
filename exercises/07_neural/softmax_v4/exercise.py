from grader import AlsoTimed, Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# As in softmax_v1: expf overflows without the row's largest value, and gives 0 for a whole row if that began at 0.
WIDE = Values(low=-120.0, high=120.0)
FAR_BELOW = Values(low=-120.0, high=-100.0)
DOMINANT = Values(low=-4.0, high=4.0, shape="normal", outlier=90.0)
EQUAL = Values(low=7.0, high=7.0)
# Only the largest value of a row has a share.
LARGE = Values(low=-1e30, high=1e30)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

# A block of the simulated A100 has 163 KiB of shared memory: 160 for a row, 3 for the rest. An H200 has 227.
LONGEST = 40 * 1024

EXERCISE = Exercise(
    name="softmax_v4",
    order=704,
    page="softmax",
    idea="long rows: a block holds a row in shared memory, and reads it once",
    minutes=60,
    after=("softmax_v3", "async_copy"),
    headers=("load_kept.cuh",),
    arrays=(
        Array(
            "x",
            "float32",
            "rows*cols",
            values=WIDE,
            timed=ORDINARY,
            unusual=(FAR_BELOW, DOMINANT, EQUAL, LARGE),
            masked=True,
            masked_rows="cols",
            special=True,
        ),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    oracle="softmax:rows",
    small=(
        {"rows": 1, "cols": 1},
        {"rows": 3, "cols": 31},
        {"rows": 65, "cols": 1},
        {"rows": 5, "cols": 36},
        {"rows": 41, "cols": 1000},
        {"rows": 2, "cols": 1023},
        {"rows": 3, "cols": 1025},
        {"rows": 2, "cols": 4100},
        {"rows": 1, "cols": LONGEST - 1},
        {"rows": 1, "cols": LONGEST},
    ),
    # The longest row, and one that cannot be copied as float4: read once, too.
    counted=({"rows": 1, "cols": LONGEST - 1}, {"rows": 1, "cols": LONGEST}),
    secret={"rows": (1, 8, 1), "cols": (2, 6000, 1)},
    simulated={"rows": 16, "cols": 4096},
    large=Large({"rows": 270_001, "cols": 16_411}, period={"rows": 31}),
    timed={"rows": 16384, "cols": 4096},
    # The longest row that is a power of two: 128 KiB, so that a multiprocessor has one at a time.
    also_timed=(AlsoTimed({"rows": 4096, "cols": 32768}, reach=0.93),),
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.95,
        ceiling="copy_f32x4",
        note="0.99 on an H200, 0.97 at 32768 columns",
    ),
    technique=(
        # One read of each element, and a little for what a solution keeps elsewhere.
        Expect(
            "global_load_bytes",
            at_most=4.1,
            per="rows*cols",
            why="The row is read more than once.",
            hint="copy the row to shared memory, and read it there from then on",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.1,
            per="rows*cols",
            why="More is stored than the result.",
            hint="what is no result yet stays in shared memory",
        ),
        # One read and one write are 2 × 1/8.
        Expect(
            "sectors",
            at_most=0.35,
            per="rows*cols",
            why="Neighbouring lanes use values far from each other.",
            hint="thread t takes packs t, t + blockDim.x, t + 2 * blockDim.x, and so on",
        ),
    ),
    # As in softmax_v1, and a share is a product of two exponentials.
    tolerance=Tolerance(relative=5e-5, absolute=2e-38),
    exact=False,
    baseline="softmax:rows",
    rivals=("pytorch:softmax", "pytorch:softmax_compiled"),
)
