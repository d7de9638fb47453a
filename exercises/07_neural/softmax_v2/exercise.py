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
    name="softmax_v2",
    order=702,
    page="softmax",
    idea="online: a running maximum and a sum that is rescaled, in one pass",
    minutes=45,
    after=("softmax_v1", "reduce_v9"),
    paths=("attention",),
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
        {"rows": 2, "cols": 255},
        {"rows": 2, "cols": 257},
        {"rows": 3, "cols": 1025},
        {"rows": 2, "cols": 5000},
        {"rows": 13, "cols": 1000},
    ),
    secret={"rows": (1, 20, 1), "cols": (2, 1500, 1)},
    simulated={"rows": 64, "cols": 1024},
    large=Large({"rows": 270_001, "cols": 16_411}, period={"rows": 31}),
    timed={"rows": 16384, "cols": 4096},  # 512 MiB read and written
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        fraction=0.72,
        ceiling="copy_f32x4",
        note="0.78 on an H200",
    ),
    technique=(
        # Two reads of each element, and a little for what a solution keeps elsewhere. softmax_v1 loads 12 bytes.
        Expect(
            "global_load_bytes",
            at_most=8.2,
            per="rows*cols",
            why="More is loaded than the row, twice.",
            hint="find the largest value and the sum in the same loop: when the largest value rises, multiply the sum "
            "so far by expf(old - new). A number that each thread loads from global memory counts for each of them: "
            "load it once for a block",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.1,
            per="rows*cols",
            why="More is stored than the result.",
            hint="keep what the passes tell each other in registers and shared memory",
        ),
        # Two reads and one write are 3 × 1/8.
        Expect(
            "sectors",
            at_most=0.42,
            per="rows*cols",
            why="Neighbouring lanes use values far from each other.",
            hint="one block or warp for each row: thread t takes columns t, t + BLOCK, t + 2 * BLOCK, and so on",
        ),
    ),
    # As in softmax_v1, and a term is rescaled by further exponentials.
    tolerance=Tolerance(relative=5e-5, absolute=2e-38),
    exact=False,
    baseline="softmax:rows",
    rivals=("pytorch:softmax", "pytorch:softmax_compiled"),
)
