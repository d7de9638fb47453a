from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Integers of -1, 0 and 1: products and sums are exact, also in halves, up to 2048.
ORDINARY = Values(exact_low=-1, exact_high=1, low=-4.0, high=4.0, shape="normal")
# Not around zero: the state grows with the tokens, and an output that misses some of them is far off.
VALUES = Values(exact_low=-1, exact_high=1, low=-2.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="linear_attention",
    order=808,
    idea="no softmax: all earlier tokens are one matrix, in chunks for tensor cores",
    minutes=120,
    after=("hgemm_wmma_v2", "softmax_v1"),
    paths=("attention",),
    arrays=(
        Array("Q", "float16", "heads*n*64", values=ORDINARY),
        Array("K", "float16", "heads*n*64", values=ORDINARY),
        Array("V", "float16", "heads*n*64", values=VALUES),
        Array("O", "float16", "heads*n*64", role="out", axes={"head": "heads", "token": "n", "column": "64"}),
    ),
    oracle="linear_attention:causal",
    small=(
        {"heads": 5, "n": 1},  # of one head q·k may be 0, and any output right
        {"heads": 1, "n": 63},
        {"heads": 2, "n": 64},
        {"heads": 1, "n": 65},
        {"heads": 3, "n": 130},
        {"heads": 1, "n": 200},
    ),
    secret={"heads": (1, 3, 1), "n": (1, 200, 1)},
    simulated={"heads": 1, "n": 320},
    timed={"heads": 512, "n": 2048},  # 128 MiB each of Q, K, V and O
    work=Work(bytes="8*heads*n*64", flops="4*heads*n*64*64"),
    target=Target(
        unit="bandwidth",
        fraction=0.62,
        ceiling="copy_f32x4",
        note="5 % below what the solution reached on an H200; with all loops unrolled an earlier trial reached more",
    ),
    technique=(
        # Each of three arrays once. Without the state, the keys and values of all earlier chunks are loaded again: at
        # 5 chunks 7/3 as many bytes in all.
        Expect(
            "global_load_bytes",
            at_most=1.1,
            per="6*heads*n*64",
            why="Keys and values are loaded more than once, or the state goes through global memory.",
            hint="keep the state of a head on the chip: a block walks through all chunks of its head, in order",
        ),
        Expect(
            "global_store_bytes",
            at_most=1.1,
            per="2*heads*n*64",
            why="More than the output is written.",
            hint="keep the state of a head on the chip: a block walks through all chunks of its head, in order",
        ),
    ),
    # An output is the sum of 64 products q·S, where S adds up √n: near 8·√n. Halves of S, of the scores and of the
    # output are each off by up to 2^-11 of themselves.
    tolerance=Tolerance(relative=1e-3, chain="n", scale="8", chain_factor=4.0),
    rivals=("pytorch:linear_attention", "pytorch:linear_attention_compiled"),
    requires="sm_80",
)
