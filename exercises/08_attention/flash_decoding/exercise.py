from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

NORMAL = Values(low=-4.0, high=4.0, shape="normal")
# Scores of about ±100: without the maximum subtracted they overflow, and in fp16 they lose 0.03 each. Shares have
# maxima far from each other.
STEEP = Values(low=-10.0, high=10.0)
# Products of a query and a key of these are near -280, so that a maximum that begins with 0 makes all weights 0.
ABOVE = Values(low=4.0, high=6.0)
BELOW = Values(low=-6.0, high=-4.0)
# A query of zeros but for about two elements, and so for the keys: a key that has one in the same place has a score of
# 7.7, all others 0. Their weights are just below half of a half's last place at 1: a sum in fp16 that has met such a
# key does not grow by them, which is percents of it.
FEW = Values(low=0.0, high=0.0, outlier=4.0)
FEW_KEYS = Values(low=0.0, high=0.0, outlier=21.75)
# Not around zero: a sum in fp16 stops growing, and weights that do not add up to 1 show at any length.
SHIFTED = Values(low=-3.5, high=4.5, shape="normal")

EXERCISE = Exercise(
    name="flash_decoding",
    order=804,
    idea="attention of one token: keys and values split over the GPU",
    minutes=150,
    after=("gemv", "softmax_v1"),
    paths=("attention",),
    arrays=(
        Array("q", "float16", "seqs*kv_heads*group*128", values=NORMAL, unusual=(STEEP, ABOVE, FEW)),
        Array("k", "float16", "seqs*kv_heads*tokens*128", values=NORMAL, unusual=(STEEP, BELOW, FEW_KEYS)),
        Array("v", "float16", "seqs*kv_heads*tokens*128", values=SHIFTED),
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
    oracle="decoding:flash",
    # lengths[s] is a random number from tokens - spread, or 0, to tokens; of four and more, the first three are given
    small=(
        {"seqs": 1, "kv_heads": 1, "group": 1, "tokens": 1, "spread": 1},
        {"seqs": 40, "kv_heads": 1, "group": 2, "tokens": 1, "spread": 1},  # lengths 0 and 1, side by side
        {"seqs": 3, "kv_heads": 2, "group": 3, "tokens": 40, "spread": 40},
        {"seqs": 1, "kv_heads": 3, "group": 5, "tokens": 127, "spread": 1},
        {"seqs": 2, "kv_heads": 2, "group": 7, "tokens": 257, "spread": 200},
        {"seqs": 5, "kv_heads": 1, "group": 6, "tokens": 300, "spread": 300},
        {"seqs": 4, "kv_heads": 1, "group": 8, "tokens": 1025, "spread": 1025},
    ),
    secret={
        "seqs": (1, 4, 1),
        "kv_heads": (1, 2, 1),
        "group": (1, 8, 1),
        "tokens": (1, 500, 1),
        "spread": (1, 500, 1),
    },
    simulated={"seqs": 1, "kv_heads": 2, "group": 4, "tokens": 4096, "spread": 1},
    timed={"seqs": 64, "kv_heads": 8, "group": 4, "tokens": 8192, "spread": 1},
    also_timed=(AlsoTimed({"seqs": 1, "kv_heads": 32, "group": 1, "tokens": 131_072, "spread": 1}, reach=0.93),),
    # 512 bytes of keys and values for each token and KV head; a query and a result for each query head; lengths.
    work=Work(
        bytes="512*seqs*kv_heads*tokens + 512*seqs*kv_heads*group + 4*seqs",
        flops="512*seqs*kv_heads*group*tokens",
    ),
    target=Target(
        unit="bandwidth",
        fraction=0.90,
        reach=0.93,
        ceiling="read_f32x4",
        note="as fast as the fastest of PyTorch in the same run: docs/results/h200-neural.md",
    ),
    technique=(
        # Keys and values are 16 sectors of 32 bytes for each token and KV head. Queries, and what the blocks leave for
        # the second launch, are a twentieth of that with 8 of them. A block for each query head reads them four times.
        Expect(
            "global_load_sectors",
            at_most=20,
            per="seqs*kv_heads*tokens",
            why="Keys or values are loaded more than once, or in sectors of which a part is used.",
            hint="let one block, or warp, take a token's key and value for all query heads; 16 bytes for "
            "each lane, neighbouring lanes side by side",
        ),
        # A block for each KV head has at most 1024 threads, and needs no second launch. Eight shares of
        # 512 tokens in blocks of 256 are 2048, with or without a second launch.
        Expect(
            "threads",
            at_least=1280,
            per="seqs*kv_heads",
            why="The tokens of a sequence are not divided among blocks: with few sequences most of the GPU has nothing "
            "to do.",
            hint="a grid with a further dimension, the shares of a sequence; each leaves its maximum, its sum and its "
            "128 sums in a scratch array, and a second launch joins them",
        ),
    ),
    # Weights are rounded to halves for the tensor cores, 2^-12 of each, and so is the result. Sums are fp32.
    tolerance=Tolerance(relative=1.5e-3, absolute=1e-3),
    exact=False,
    rivals=("pytorch:decode", "pytorch:decode_flash", "pytorch:decode_cudnn", "pytorch:decode_compiled"),
    only_timed="enough bytes in flight",
)
