from grader import AlsoTimed, Array, Exercise, Expect, Target, Values, Work

EXERCISE = Exercise(
    name="radix_sort_pass",
    order=506,
    idea="a stable scatter by 4 bits: count, scan, put in order on the chip",
    minutes=90,
    after=("scan_three_phase", "compaction"),
    arrays=(
        # `spread` keys in the upper half occur: with 1 all are equal, with 2^31 nearly all numbers.
        Array("keys", "uint32", "n", values=Values(exact_low="2**32 - spread", exact_high="2**32 - 1")),
        # All different, so that equal keys can be told apart.
        Array("values", "int32", "n", values=Values(permutation=True)),
        Array("out_keys", "uint32", "n", role="out"),
        Array("out_values", "int32", "n", role="out"),
    ),
    oracle="counting:digit_pass",
    # A tile of the solution has 4096 keys.
    small=(
        {"n": 1, "shift": 0, "spread": 1 << 32},
        {"n": 31, "shift": 28, "spread": 1 << 32},
        {"n": 513, "shift": 0, "spread": 1},
        {"n": 1000, "shift": 4, "spread": 40},
        {"n": 4095, "shift": 16, "spread": 1 << 32},
        {"n": 4097, "shift": 28, "spread": 1 << 31},
        {"n": 9001, "shift": 0, "spread": 3},
        {"n": 8195, "shift": 12, "spread": 1 << 32},
        # With tiles of 512 keys and blocks of 64 threads, the scan of the counts has a second round.
        {"n": 33_000, "shift": 20, "spread": 1 << 32},
    ),
    secret={"n": (40, 9000, 1), "shift": (0, 28, 4), "spread": (1, 1 << 32, 1)},
    simulated={"n": 1 << 15, "shift": 8, "spread": 1 << 32},
    timed={"n": 1 << 26, "shift": 8, "spread": 1 << 32},
    work=Work(bytes="16 * n"),
    target=Target(
        unit="bandwidth",
        fraction=0.50,
        ceiling="copy_f32x4",
        note="20 bytes are moved for each key where the task needs 16: 0.68 of peak if all were as fast as a copy. "
        "On an H200 the counts take 72 us and the scan of them 17; putting keys in order takes 341, a copy of its "
        "bytes 252",
    ),
    technique=(
        # The key to count it, key and value to move them: 12 B.
        Expect(
            "global_load_bytes",
            at_most=12.8,
            per="n",
            why="More is loaded than the keys twice and the values once.",
            hint="ranks and places are made from the keys, in registers and shared memory",
        ),
        Expect(
            "global_store_bytes",
            at_most=8.8,
            per="n",
            why="More is stored than each key and each value once, and 16 counts for each tile.",
            hint="flags, ranks and places of single keys belong in registers and shared memory",
        ),
        # 0.375 for the loads, 0.25 for full stores, and what the borders of runs cost. Stored where a lane finds them,
        # 32 keys with 16 digits touch more than 16 sectors: 0.75 more.
        Expect(
            "sectors",
            at_most=0.9,
            per="n",
            why="Neighbouring lanes store to places apart from each other: each request touches many sectors.",
            hint="put the tile in order in shared memory first; then neighbouring lanes have neighbouring places",
        ),
    ),
    also_timed=(AlsoTimed({"n": 1 << 26, "shift": 8, "spread": 1}),),
    baseline="counting:digit_pass",
    rivals=("pytorch:digit_pass", "pytorch:digit_pass_compiled"),
)
