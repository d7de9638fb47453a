from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
# Mean 10^4 and deviation 1: x - mean is exact there, but x · rstd - mean · rstd has lost three digits.
FAR_FROM_ZERO = Values(low=9996.5, high=10003.5, shape="normal")
# One value in 64 is far from all others, and rules the row's second sum.
DOMINATED = Values(low=-4.0, high=4.0, shape="normal", outlier=16.0)

EXERCISE = Exercise(
    name="layernorm_backward",
    order=714,
    idea="sums along rows and down columns from one read: a block keeps its columns' sums",
    minutes=60,
    after=("layernorm", "softmax_backward"),
    arrays=(
        Array("x", "float32", "rows*cols", values=ORDINARY, unusual=(FAR_FROM_ZERO, DOMINATED)),
        Array("dy", "float32", "rows*cols", values=ORDINARY),
        Array("gamma", "float32", "cols", values=Values(low=-2.0, high=2.0)),
        Array("mean", "float32", "rows", values=Values(low=-1.0, high=1.0), unusual=Values(low=9999.0, high=10001.0)),
        Array("rstd", "float32", "rows", values=Values(low=0.5, high=1.5)),
        Array("dx", "float32", "rows*cols", role="out"),
        Array("dgamma", "float32", "cols", role="out"),
        Array("dbeta", "float32", "cols", role="out"),
    ),
    oracle="backward:layer_norm",
    # Rows around those of a block at least (32), columns around a warp's packs (128 and 256), and the longest row.
    small=(
        {"rows": 1, "cols": 4},
        {"rows": 3, "cols": 8},
        {"rows": 257, "cols": 4},
        {"rows": 32, "cols": 36},
        {"rows": 65, "cols": 256},
        {"rows": 130, "cols": 260},
        {"rows": 33, "cols": 1000},
        {"rows": 2, "cols": 4100},
        {"rows": 3, "cols": 8192},
    ),
    secret={"rows": (1, 150, 1), "cols": (8, 800, 4)},
    simulated={"rows": 128, "cols": 1024},
    timed={"rows": 16384, "cols": 4096},  # 512 MiB read, 256 MiB written
    work=Work(bytes="12*rows*cols + 8*rows + 12*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.85,
        reach=0.93,
        ceiling="add_f32x4",
        note="0.93 on an H200, as predicted; the second kernel is 0.02 of the time, the barriers are 0.01",
    ),
    technique=(
        # x and dy, once each; sums of blocks are an eighth of a byte. Lanes that all load mean and rstd add up to 2.
        Expect(
            "global_load_bytes",
            at_most=10.5,
            per="rows*cols",
            why="x or dy is read more than once.",
            hint="the thread that has a value for dx adds it to its column's sums, too, before the next row",
        ),
        # A block that stores its sums after each row stores 8 bytes more.
        Expect(
            "global_store_bytes",
            at_most=4.6,
            per="rows*cols",
            why="More is stored than dx and the sums of some blocks.",
            hint="a block works on many rows, and its threads keep their columns' sums in registers until the last one",
        ),
        Expect(
            "local_bytes",
            at_most=0.1,
            per="rows*cols",
            why="Packs or sums lie in local memory, which is device memory behind L1.",
            hint="registers have no addresses: every loop over the packs is unrolled, with a constant as its bound",
        ),
        # Three arrays are 3/8 of a sector. Two atomic additions for each element are a quarter more.
        Expect(
            "sectors",
            at_most=0.47,
            per="rows*cols",
            why="Sectors are moved beside those of x, dy and dx: for sums in memory, or for lanes far from each other.",
            hint="sums of columns stay in registers; thread t has packs t, t + T, and so on",
        ),
    ),
    # Sums of 16384 products reach 500; one chain of that length errs by 5e-4 at worst, 64 and then 256 terms by 3e-5. A
    # row's sum errs by 1e-5, times n. Half precision for any value is off by 1e-3.
    tolerance=Tolerance(relative=1e-5, absolute=3e-4),
    exact=False,
    rivals=("pytorch:layer_norm_backward", "pytorch:layer_norm_backward_compiled"),
)
