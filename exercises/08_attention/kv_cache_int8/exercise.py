from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Keys have channels of very different size. An outlier of one in 64 elements makes most channels' largest value one.
ORDINARY = Values(low=-8.0, high=8.0, shape="normal")
OUTLIERS = Values(low=-1.0, high=1.0, outlier=-60000.0)
ZEROS = Values(low=0.0, high=0.0)
TINY = Values(low=-6e-8, high=6e-8)  # the smallest subnormal half, and 0

EXERCISE = Exercise(
    name="kv_cache_int8",
    order=806,
    idea="keys to int8: a largest value for each channel, the tile kept in registers",
    minutes=60,
    after=("softmax_v1",),
    paths=("attention",),
    arrays=(
        Array("K", "float16", "batch*heads*tokens*128", values=ORDINARY, unusual=(OUTLIERS, ZEROS, TINY)),
        Array(
            "q",
            "int8",
            "batch*heads*tokens*128",
            role="out",
            axes={"sequence": "batch", "head": "heads", "token": "tokens", "column": "128"},
        ),
        Array(
            "scales",
            "float32",
            "batch*heads*cdiv(tokens, 64)*128",
            role="out",
            axes={"sequence": "batch", "head": "heads", "tile": "cdiv(tokens, 64)", "column": "128"},
        ),
    ),
    oracle="quantised:keys_int8",
    small=(
        {"batch": 1, "heads": 1, "tokens": 1},
        {"batch": 1, "heads": 2, "tokens": 63},
        {"batch": 2, "heads": 1, "tokens": 64},
        {"batch": 1, "heads": 3, "tokens": 65},
        {"batch": 2, "heads": 2, "tokens": 200},
    ),
    secret={"batch": (1, 3, 1), "heads": (1, 3, 1), "tokens": (1, 300, 1)},
    simulated={"batch": 2, "heads": 2, "tokens": 512},
    timed={"batch": 64, "heads": 8, "tokens": 8192},  # 1 GiB of halves, 0.5 GiB of bytes
    work=Work(bytes="batch*heads*(tokens*128*3 + cdiv(tokens, 64)*128*4)"),
    target=Target(
        unit="bandwidth",
        reach=0.92,
        of="ceiling",
        fraction=0.87,
        ceiling="narrow_16_to_8",
        note="5 % below what the solution has to reach; it had 0.969 in two runs",
    ),
    technique=(
        # Two bytes of K once; a second pass over the tile makes 4.
        Expect(
            "global_load_bytes",
            at_most=2.1,
            per="batch*heads*tokens*128",
            why="K is loaded more than once: for the largest values, and again to be divided by them.",
            hint="a block's 64 rows are 16 KiB: keep them in registers or in shared memory between the two steps",
        ),
        # 3 B an element and a scale in 64: 0.096 sectors. Lanes that go down a channel touch a sector for each element.
        Expect(
            "sectors",
            at_most=0.11,
            per="batch*heads*tokens*128",
            why="Neighbouring lanes are in different rows: each touches a sector of its own.",
            hint="let the lanes lie along the channels of a row, eight halves each, and each thread go down its rows",
        ),
    ),
    # q is exact, because every step of its formula is a rounded operation that CUDA and IEEE 754 define.
    tolerance=Tolerance(relative=1e-6),
    exact=False,
    baseline="quantised:keys_int8",
    rivals=("pytorch:keys_int8", "pytorch:keys_int8_compiled"),
)
