from grader import Array, Exercise, Expect, Target, Values, Work

EXERCISE = Exercise(
    name="relu_backward",
    order=712,
    idea="one bit an element in place of four bytes: eight lanes share a word",
    minutes=20,
    after=("elementwise_pack",),
    arrays=(
        Array("dy", "float32", "n", values=Values(low=-4.0, high=4.0, shape="normal"), special=True),
        Array("mask", "uint32", "n/32", values=Values(exact_low=0, exact_high=2**32 - 1)),
        Array("dx", "float32", "n", role="out"),
    ),
    oracle="backward:relu",
    # A word, less than a warp of packs (128), more; a block of packs (1024) and some words.
    small=tuple({"n": n} for n in (32, 64, 96, 128, 160, 992, 1024, 1056, 4128)),
    secret={"n": (32, 20_000, 32)},
    simulated={"n": 2**17},
    timed={"n": 2**27},  # 512 MiB read, 512 MiB written
    work=Work(bytes="8*n + n/8"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.95,
        ceiling="copy_f32x4",
        note="0.99 on an H200",
    ),
    technique=(
        # A pack of dy and a word: 20 bytes for four elements. A word for each element is 8.
        Expect(
            "global_load_bytes",
            at_most=5.1,
            per="n",
            why="Each element brings a word of the mask of its own.",
            hint="a thread takes four neighbouring elements: they need one word, and four bits of it",
        ),
        # 1/8 for dy, 1/8 for dx, 1/256 for the mask.
        Expect(
            "sectors",
            at_most=0.27,
            per="n",
            why="Neighbouring lanes use values far from each other.",
            hint="thread i takes pack i: elements 4 · i to 4 · i + 3",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.1,
            per="n",
            why="More is stored than dx.",
            hint="decide in a register which values are 0, then store the pack once",
        ),
    ),
    rivals=("pytorch:relu_backward", "pytorch:relu_backward_compiled"),
    compared=("wrong/one_float_a_thread.diff",),
)
