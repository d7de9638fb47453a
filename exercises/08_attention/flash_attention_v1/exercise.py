from grader import AlsoTimed, Array, Exercise, Expect, Target, Tolerance, Values, Work

# Normal, as in life. Then scores of about ±100, which overflow without the maximum subtracted; then keys of which a few
# are far larger than all others.
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
STEEP = Values(low=-36.0, high=36.0, shape="normal")
DOMINANT = Values(low=-4.0, high=4.0, shape="normal", outlier=60.0)
# All scores below -100: where a largest value begins with 0, all shares are 0.
ABOVE = Values(low=3.5, high=4.5)
BELOW = Values(low=-4.5, high=-3.5)
# Not around zero, so that shares that do not add up to 1 show.
VALUES = Values(low=-2.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="flash_attention_v1",
    order=802,
    idea="tiles of keys and an online softmax: the scores never reach memory",
    minutes=120,
    after=("attention_naive", "softmax_v2", "sgemm_v3"),
    paths=("attention",),
    page="attention",
    arrays=(
        Array("Q", "float32", "heads*n_q*d", values=ORDINARY, unusual=(STEEP, ORDINARY, ABOVE)),
        Array("K", "float32", "heads*n_k*d", values=ORDINARY, unusual=(STEEP, DOMINANT, BELOW)),
        Array("V", "float32", "heads*n_k*d", values=VALUES),
        Array("O", "float32", "heads*n_q*d", role="out", axes={"head": "heads", "query": "n_q", "column": "d"}),
    ),
    oracle="attention:forward",
    checker="attention:forward_f32",
    small=(
        {"heads": 1, "n_q": 1, "n_k": 1, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 3, "n_k": 20, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 5, "n_k": 100, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 65, "n_k": 130, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 17, "n_k": 100, "d": 64, "causal": 1},
        {"heads": 3, "n_q": 64, "n_k": 64, "d": 64, "causal": 1},
        {"heads": 1, "n_q": 150, "n_k": 80, "d": 64, "causal": 1},
    ),
    secret={"heads": (1, 2, 1), "n_q": (1, 140, 1), "n_k": (1, 140, 1), "d": (64, 64, 64), "causal": (0, 1, 1)},
    simulated={"heads": 2, "n_q": 128, "n_k": 192, "d": 64, "causal": 0},
    timed={"heads": 16, "n_q": 4096, "n_k": 4096, "d": 64, "causal": 0},
    also_timed=(AlsoTimed({"heads": 16, "n_q": 4096, "n_k": 4096, "d": 64, "causal": 1}),),
    work=Work(bytes="8*heads*(n_q + n_k)*d", flops="4*heads*n_q*n_k*d/(1 + causal)"),
    target=Target(
        unit="fp32",
        fraction=0.44,
        ceiling="fma_f32",
        note="until it is calibrated: the solution reached 0.467",
    ),
    technique=(
        # The scores, written once, are n_k / d more: 3 at the simulated size.
        Expect(
            "global_store_bytes",
            at_most=1.02,
            per="4*heads*n_q*d",
            why="More than O is written: scores or shares, or O again for each tile.",
            hint="keep a tile's scores in registers or shared memory, and O's sums in registers until the last tile",
        ),
        Expect(
            "local_bytes",
            at_most=0.1,
            per="4*heads*n_q*d",
            why="Scores or sums lie in local memory, which is device memory behind L1.",
            hint="registers have no addresses: every loop over the arrays of a thread is unrolled, with a constant as "
            "its bound",
        ),
        # Tiles of 64 query rows load Q once, and K and V once each; larger tiles load less.
        Expect(
            "global_load_bytes",
            at_most=1.02,
            per="4*heads*d*(n_q + 2*n_k*cdiv(n_q, 64))",
            why="K and V are loaded for too few query rows at a time.",
            hint="give a block 64 query rows, load tiles of K and V into shared memory, and use them for all 64 rows",
        ),
    ),
    # Scores near 100 are rounded to 2^-18 and more, which changes a share by as much of itself; __expf adds 1e-5 there.
    # Halves are off by 5e-4, and scores in tf32 by percents.
    tolerance=Tolerance(relative=1e-4, absolute=1e-4),
    exact=False,
    rivals=("pytorch:attention_efficient", "pytorch:attention_compiled"),
)
