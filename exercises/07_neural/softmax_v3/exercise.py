from grader import Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

# As in softmax_v1: expf overflows without the row's largest value, and gives 0 for a whole row if that began at 0.
WIDE = Values(low=-120.0, high=120.0)
FAR_BELOW = Values(low=-120.0, high=-100.0)
DOMINANT = Values(low=-4.0, high=4.0, shape="normal", outlier=90.0)
EQUAL = Values(low=7.0, high=7.0)
# Only the largest value of a row has a share.
LARGE = Values(low=-1e30, high=1e30)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="softmax_v3",
    order=703,
    page="softmax",
    idea="short rows: a warp holds a row in registers, and reads it once",
    minutes=45,
    after=("softmax_v2",),
    paths=("attention",),
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
        {"rows": 1, "cols": 2},
        {"rows": 3, "cols": 31},
        {"rows": 65, "cols": 1},
        {"rows": 5, "cols": 36},
        {"rows": 2, "cols": 127},
        {"rows": 6, "cols": 128},
        {"rows": 13, "cols": 1000},
        {"rows": 7, "cols": 1023},
        {"rows": 5, "cols": 1024},
    ),
    secret={"rows": (1, 40, 1), "cols": (2, 1024, 1)},
    simulated={"rows": 128, "cols": 1024},
    large=Large({"rows": 4_300_001, "cols": 1021}, period={"rows": 31}),
    timed={"rows": 16384, "cols": 1024},  # 64 MiB read and written
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.92,
        reach=0.97,
        ceiling="copy_f32x4",
        note="1.00 on an H200",
    ),
    technique=(
        # One read of each element, and a little for what a solution keeps elsewhere. softmax_v2 loads 8 bytes.
        Expect(
            "global_load_bytes",
            at_most=4.1,
            per="rows*cols",
            why="The row is read more than once.",
            hint="a lane keeps its 32 elements in registers from the first load to the last store",
        ),
        Expect(
            "local_bytes",
            at_most=0.1,
            per="rows*cols",
            why="The row lies in local memory, which is device memory behind L1.",
            hint="registers have no addresses: unroll every loop over the array, so that each index is a constant",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.1,
            per="rows*cols",
            why="More is stored than the result.",
            hint="a lane keeps its terms in registers, and stores them when they are divided by the sum",
        ),
        # One read and one write are 2 × 1/8.
        Expect(
            "sectors",
            at_most=0.35,
            per="rows*cols",
            why="Neighbouring lanes use values far from each other.",
            hint="lane l takes packs l, l + 32, l + 64, and so on",
        ),
    ),
    # As in softmax_v1.
    tolerance=Tolerance(relative=5e-5, absolute=2e-38),
    exact=False,
    baseline="softmax:rows",
    rivals=("pytorch:softmax", "pytorch:softmax_compiled"),
)
