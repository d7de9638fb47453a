from grader import Array, Exercise, Expect, Large, Target, Tolerance, Values, Work

NORMAL = Values(low=-4.0, high=4.0, shape="normal")
# As in flash_decoding: scores of about ±100; and all of them near -280.
STEEP = Values(low=-10.0, high=10.0)
ABOVE = Values(low=4.0, high=6.0)
BELOW = Values(low=-6.0, high=-4.0)
SHIFTED = Values(low=-3.5, high=4.5, shape="normal")
# Of the pool: the pages that the table names, a page for each 16 tokens.
OF_SEQUENCES = "seqs*kv_heads*tokens*128"

EXERCISE = Exercise(
    name="paged_attention",
    order=805,
    idea="a cache in pages, found through a block table",
    minutes=60,
    after=("flash_decoding",),
    paths=("attention",),
    arrays=(
        Array("q", "float16", "seqs*kv_heads*group*128", values=NORMAL, unusual=(STEEP, ABOVE)),
        Array("k", "float16", "pool*kv_heads*16*128", values=NORMAL, unusual=(STEEP, BELOW), moved=OF_SEQUENCES),
        Array("v", "float16", "pool*kv_heads*16*128", values=SHIFTED, moved=OF_SEQUENCES),
        # `far` is 1 but for the large size, whose pool repeats its first pages: there entries go up to far - 1
        Array("table", "int32", "seqs*cdiv(tokens, 16)", values=Values(exact_low=0, exact_high="max(pool, far) - 1")),
        # Where sequences differ by enough, the first three are empty, shorter than any share, and whole.
        Array(
            "lengths",
            "int32",
            "seqs",
            values=Values(exact_low="max(tokens - spread, 0)", exact_high="tokens"),
            first=("max(tokens - spread, 0)", "max(tokens - spread, 1)", "tokens"),
        ),
        Array(
            "out",
            "float16",
            "seqs*kv_heads*group*128",
            role="out",
            axes={"sequence": "seqs", "head": "kv_heads*group", "column": "128"},
        ),
    ),
    oracle="decoding:paged",
    small=(
        {"seqs": 1, "kv_heads": 1, "group": 1, "tokens": 1, "spread": 1, "pool": 1, "far": 1},
        {"seqs": 40, "kv_heads": 1, "group": 2, "tokens": 1, "spread": 1, "pool": 7, "far": 1},  # lengths 0 and 1
        {"seqs": 3, "kv_heads": 2, "group": 4, "tokens": 48, "spread": 48, "pool": 50, "far": 1},
        {"seqs": 1, "kv_heads": 3, "group": 8, "tokens": 127, "spread": 1, "pool": 20, "far": 1},
        {"seqs": 2, "kv_heads": 2, "group": 1, "tokens": 257, "spread": 200, "pool": 33, "far": 1},
        {"seqs": 5, "kv_heads": 1, "group": 3, "tokens": 300, "spread": 300, "pool": 100, "far": 1},
    ),
    secret={
        "seqs": (1, 4, 1),
        "kv_heads": (1, 2, 1),
        "group": (1, 8, 1),
        "tokens": (1, 500, 1),
        "spread": (1, 500, 1),
        "pool": (1, 100, 1),
        "far": (1, 1, 1),
    },
    simulated={"seqs": 1, "kv_heads": 2, "group": 4, "tokens": 4096, "spread": 1, "pool": 400, "far": 1},
    large=Large(
        {"seqs": 2, "kv_heads": 8, "group": 1, "tokens": 600, "spread": 1, "pool": 1_600_003, "far": 1_600_003},
        period={"pool": 31},
    ),
    # A pool of four times the pages, so that few of them are drawn twice.
    timed={"seqs": 64, "kv_heads": 8, "group": 4, "tokens": 8192, "spread": 1, "pool": 131_072, "far": 1},
    work=Work(
        bytes="512*seqs*kv_heads*tokens + 512*seqs*kv_heads*group + seqs*tokens/4 + 4*seqs",
        flops="512*seqs*kv_heads*group*tokens",
    ),
    target=Target(
        unit="bandwidth",
        fraction=0.87,
        reach=0.90,
        ceiling="read_f32x4",
        note="the pages cost it 2 % beside flash_decoding in the same run: docs/results/h200-neural.md",
    ),
    technique=(
        # As in flash_decoding; the table is a sector for each page, at most a few.
        Expect(
            "global_load_sectors",
            at_most=20,
            per="seqs*kv_heads*tokens",
            why="Keys or values are loaded more than once, or in sectors of which a part is used: pages need not "
            "cost more than a cache in one piece.",
            hint="read the page where it lies, 16 bytes for each lane, once for all query heads; a copy of the pages "
            "to one place reads everything twice",
        ),
        Expect(
            "threads",
            at_least=1280,
            per="seqs*kv_heads",
            why="The tokens of a sequence are not divided among blocks: with few sequences most of the GPU has nothing "
            "to do.",
            hint="as in flash_decoding: a share of the tokens for each block, and a second launch that joins them",
        ),
    ),
    tolerance=Tolerance(relative=1.5e-3, absolute=1e-3),
    exact=False,
    rivals=("pytorch:decode_pages", "pytorch:decode_pages_compiled"),
    only_timed="entries of the table that arrive before they are needed",
)
