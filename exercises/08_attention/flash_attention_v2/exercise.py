from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# Normal, as in life. Then scores of about ±100: without the maximum subtracted they overflow, and added up in fp16 they
# lose far more than the result allows. Then keys of which a few are far larger than all others.
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
STEEP = Values(low=-36.0, high=36.0, shape="normal")
DOMINANT = Values(low=-4.0, high=4.0, shape="normal", outlier=60.0)
# All scores below -100: where a largest value begins with 0, all shares are 0.
ABOVE = Values(low=3.5, high=4.5)
BELOW = Values(low=-4.5, high=-3.5)
# Not around zero, so that shares that do not add up to 1 show.
VALUES = Values(low=-2.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="flash_attention_v2",
    order=803,
    idea="flash attention on tensor cores, each warp its own query rows",
    minutes=180,
    after=("flash_attention_v1", "hgemm_mma"),
    paths=("attention",),
    page="attention",
    headers=("tensor_core.cuh",),
    arrays=(
        Array("Q", "float16", "heads*n_q*d", values=ORDINARY, unusual=(STEEP, ORDINARY, ABOVE)),
        Array("K", "float16", "heads*n_k*d", values=ORDINARY, unusual=(STEEP, DOMINANT, BELOW)),
        Array("V", "float16", "heads*n_k*d", values=VALUES),
        Array("O", "float16", "heads*n_q*d", role="out", axes={"head": "heads", "query": "n_q", "column": "d"}),
    ),
    oracle="attention:forward",
    checker="attention:forward_f16",
    small=(
        {"heads": 1, "n_q": 1, "n_k": 1, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 3, "n_k": 20, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 5, "n_k": 150, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 129, "n_k": 130, "d": 128, "causal": 0},
        {"heads": 1, "n_q": 17, "n_k": 100, "d": 64, "causal": 1},
        {"heads": 3, "n_q": 64, "n_k": 64, "d": 128, "causal": 1},
        {"heads": 1, "n_q": 200, "n_k": 70, "d": 64, "causal": 1},
        {"heads": 1, "n_q": 150, "n_k": 150, "d": 128, "causal": 1},
    ),
    secret={"heads": (1, 2, 1), "n_q": (1, 140, 1), "n_k": (1, 140, 1), "d": (64, 128, 64), "causal": (0, 1, 1)},
    simulated={"heads": 2, "n_q": 128, "n_k": 192, "d": 128, "causal": 0},
    timed={"heads": 64, "n_q": 4096, "n_k": 4096, "d": 128, "causal": 0},
    also_timed=(
        AlsoTimed({"heads": 64, "n_q": 4096, "n_k": 4096, "d": 128, "causal": 1}),
        AlsoTimed({"heads": 64, "n_q": 4096, "n_k": 4096, "d": 64, "causal": 0}),
    ),
    work=Work(bytes="4*heads*(n_q + n_k)*d", flops="4*heads*n_q*n_k*d/(1 + causal)"),
    target=Target(
        unit="fp16_tensor",
        ceiling="mma_f16",
        fraction=0.34,
        reach=0.359,
        note="5 % below FlashAttention-2 in the same run, until it is calibrated; the solution reached 0.383",
    ),
    technique=(
        Expect(
            "global_store_bytes",
            at_most=1.02,
            per="2*heads*n_q*d",
            why="More than O is written: scores or shares, or O again for each tile.",
            hint="a tile's shares are in the registers that the second product takes; O's sums stay in registers, too",
        ),
        # Blocks of 128 query rows load Q once, and K and V half as often.
        Expect(
            "global_load_bytes",
            at_most=1.02,
            per="2*heads*d*(n_q + 2*n_k*cdiv(n_q, 64))",
            why="K and V are loaded too often: a block loads each of them once, for all of its query rows.",
            hint="the warps of a block share the tiles of K and V, and have at least 64 query rows together",
        ),
        # Two products of n_q × n_k × d multiply-adds, 2048 in each instruction.
        Expect(
            "wmma_instructions",
            at_least=1,
            per="2*heads*n_q*n_k*d/2048",
            why="The products are not computed with mma.sync: one m16n8k16 does 16 · 8 · 16 = 2048 multiply-adds.",
            hint="call mma_16816 for both products, Q · Kᵀ and shares · V",
        ),
        # One for each product at most; without a swizzle or padding 28 for each load, 8.75 for each product.
        Expect(
            "excess_wavefronts",
            at_most=1,
            per="2*heads*n_q*n_k*d/2048",
            why="Rows of a tile begin at the same bank, so that eight rows one below the other are read one by one.",
            hint="put chunk c of row r at place c ^ (r & 7) of its row, for copies and loads alike",
        ),
    ),
    # Shares are rounded to halves, 2^-12 of themselves on average, and so is O.
    tolerance=Tolerance(relative=1e-3, absolute=1e-3),
    exact=False,
    rivals=("pytorch:attention_flash", "pytorch:attention_cudnn"),
    requires="sm_80",
)
