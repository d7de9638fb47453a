from grader import Array, Exercise, Tolerance, Values

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
    name="attention_naive",
    order=801,
    idea="scores, softmax, product: three kernels, and the scores go through memory",
    minutes=45,
    after=("softmax_v1", "reduce_v9", "sgemm_v2"),
    paths=("attention",),
    page="attention",
    arrays=(
        Array("Q", "float32", "heads*n_q*d", values=ORDINARY, unusual=(STEEP, ORDINARY, ABOVE)),
        Array("K", "float32", "heads*n_k*d", values=ORDINARY, unusual=(STEEP, DOMINANT, BELOW)),
        Array("V", "float32", "heads*n_k*d", values=VALUES),
        Array("O", "float32", "heads*n_q*d", role="out", axes={"head": "heads", "query": "n_q", "column": "d"}),
    ),
    oracle="attention:forward",
    small=(
        {"heads": 1, "n_q": 1, "n_k": 1, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 3, "n_k": 20, "d": 64, "causal": 0},
        {"heads": 1, "n_q": 4, "n_k": 70, "d": 64, "causal": 0},
        {"heads": 2, "n_q": 16, "n_k": 31, "d": 128, "causal": 0},
        {"heads": 1, "n_q": 5, "n_k": 70, "d": 128, "causal": 1},
        {"heads": 2, "n_q": 33, "n_k": 33, "d": 64, "causal": 1},
        {"heads": 1, "n_q": 70, "n_k": 40, "d": 64, "causal": 1},
    ),
    secret={"heads": (1, 3, 1), "n_q": (1, 70, 1), "n_k": (1, 70, 1), "d": (64, 128, 64), "causal": (0, 1, 1)},
    simulated={"heads": 2, "n_q": 128, "n_k": 128, "d": 64, "causal": 0},
    # Scores near 100 are rounded to 2^-18 and more, which changes a share by as much of itself; __expf adds 1e-5 there.
    # Halves are off by 5e-4, and scores in tf32 by percents.
    tolerance=Tolerance(relative=1e-4, absolute=1e-4),
    exact=False,
)
