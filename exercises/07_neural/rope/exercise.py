from grader import Array, Exercise, Expect, Target, Tolerance, Values, Variant, Work

# Ordinary, and large enough that a wrong angle shows.
ACTIVATIONS = Values(low=-4.0, high=4.0, shape="normal")
# A second distribution, all of one sign: a kernel that is right for sums near 0 alone does not pass.
POSITIVE = Values(low=0.5, high=4.0)
# A context of a million tokens, in any order: tokens of several sequences stand side by side.
POSITIONS = Values(exact_low=0, exact_high=2**20 - 1)

EXERCISE = Exercise(
    name="rope",
    order=709,
    idea="rotary positions: an angle for all heads, exact far beyond a float's digits",
    minutes=60,
    after=("elementwise_pack",),
    arrays=(
        Array("x", "float32", "tokens*heads*dim", values=ACTIVATIONS, unusual=POSITIVE),
        Array("positions", "int32", "tokens", values=POSITIONS),
        Array(
            "y", "float32", "tokens*heads*dim", role="out", axes={"token": "tokens", "head": "heads", "column": "dim"}
        ),
    ),
    scalars={"base": 10000.0},
    oracle="transformer:rope",
    # Heads of 8 to 256; tokens smaller than a warp of packs, and larger than a block's registers hold.
    small=(
        {"tokens": 3, "heads": 1, "dim": 8},
        {"tokens": 7, "heads": 3, "dim": 8},
        {"tokens": 5, "heads": 2, "dim": 24},
        {"tokens": 9, "heads": 1, "dim": 64},
        {"tokens": 3, "heads": 5, "dim": 80},
        {"tokens": 2, "heads": 9, "dim": 96},
        {"tokens": 2, "heads": 33, "dim": 128},
        {"tokens": 1, "heads": 20, "dim": 256},
    ),
    secret={"tokens": (1, 6, 1), "heads": (1, 24, 1), "dim": (8, 128, 8)},
    simulated={"tokens": 8, "heads": 32, "dim": 128},
    timed={"tokens": 16384, "heads": 32, "dim": 128},
    work=Work(bytes="8*tokens*heads*dim + 4*tokens"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.94,
        reach=0.95,
        ceiling="copy_f32x4",
        note="0.99 on an H200, 0.96 without the cache policy; torch.compile has tables made before",
    ),
    technique=(
        # One read is 4 bytes; the position, by each of 128 threads, is 0.125. A cosine and a sine that are loaded for
        # each pair make it 8.
        Expect(
            "global_load_bytes",
            at_most=5,
            per="tokens*heads*dim",
            why="More is loaded than x: each element once, and a position for each token.",
            hint="a thread loads both halves of its pairs, and stores both",
        ),
        Expect(
            "sectors",
            at_most=0.35,
            per="tokens*heads*dim",
            why="One read and one write are 2/8 sectors for each element; here sectors are touched more often.",
            hint="neighbouring lanes take neighbouring packs of 16 bytes, in a head's first half and in its second",
        ),
        # 0.45 if each pair computes its own angle, 0.03 if the token's are shared; in between, threads have the angles
        # of some heads for themselves.
        Expect(
            "f64_instructions",
            at_most=0.3,
            per="tokens*heads*dim",
            why="The angles are computed for each head anew, in float64.",
            hint="all heads of a token share their angles: compute dim / 2 of them, into shared memory",
        ),
    ),
    # The turned part of the angle is rounded to a float: 2e-7, times a pair of at most 5.7; cosine, sine, products and
    # sum add a few 1e-7 more. Angles that are computed as floats are off by 0.03 at 2^20.
    tolerance=Tolerance(absolute=2e-5),
    exact=False,
    compared=("wrong/table_for_each_head.diff", "wrong/angles_for_each_head.diff"),
    rivals=("pytorch:rope", "pytorch:rope_compiled"),
    variants=(
        Variant(
            "neighbours",
            task="pair i of a head is (x[2i], x[2i + 1]), as in GPT-J, and is turned by the same angle",
            oracle="transformer:rope_neighbours",
        ),
    ),
)
