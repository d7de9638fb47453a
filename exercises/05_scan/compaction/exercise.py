from grader import Array, Exercise, Expect, Target, Values, Work

ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
# All elements are kept, none is, and a few: outliers above 0 among numbers below.
ALL = Values(low=0.5, high=2.0)
NONE = Values(low=-2.0, high=-0.5)
FEW = Values(low=-2.0, high=-0.5, outlier=3.0)

EXERCISE = Exercise(
    name="compaction",
    order=505,
    idea="keep some elements, in their order: count, look back, store side by side",
    minutes=90,
    after=("scan_lookback",),
    arrays=(
        Array("x", "float32", "n", values=ORDINARY, unusual=(FEW, ALL, NONE), special=True),
        Array("out", "float32", "n", role="out", moved="n / 2"),
        Array("count", "int32", "1", role="out"),
    ),
    oracle="scan:positive",
    # A tile of the solution has 6144 elements.
    small=tuple({"n": n} for n in (1, 3, 31, 129, 1023, 6143, 6144, 6145, 20483)),
    secret={"n": (40, 30000, 1)},
    simulated={"n": 2**17},
    timed={"n": 2**26},
    # Half of the elements are kept, and stored.
    work=Work(bytes="6 * n + 4"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.89,
        reach=0.90,
        ceiling="narrow_16_to_8",
        note="without the look-back (and with wrong results) the same kernel has more than the ceiling. A block for "
        "each tile that walks to the nearest prefix has 0.77, CUB 13.0 has 0.66",
    ),
    technique=(
        Expect(
            "global_load_bytes",
            at_most=4.4,
            per="n",
            why="x is loaded more than once: to count, and to move.",
            hint="keep the tile in registers from the count to the store",
        ),
        # Half of the elements; a word for each tile. Flags or places in memory are 4 B or more.
        Expect(
            "global_store_bytes",
            at_most=2.4,
            per="n",
            why="More is stored than the elements that are kept.",
            hint="flags and places belong in registers and shared memory",
        ),
        # Loads are 1/8. Neighbouring places stored by neighbouring lanes are 1/16, and a fifth sector for each request.
        Expect(
            "sectors",
            at_most=0.22,
            per="n",
            why="Lanes store to places apart from each other: each request touches many sectors for a few bytes each.",
            hint="put the kept elements of the tile side by side in shared memory first, then store them together",
        ),
    ),
    exact=False,
    baseline="scan:positive",
    rivals=("pytorch:positive", "pytorch:positive_compiled"),
)
