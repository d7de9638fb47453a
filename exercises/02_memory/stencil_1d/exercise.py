from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# 17 products of at most 1023 · 31 stay below 2^20: a float holds each sum exactly. Halves hold the factors, integers of
# 10 and of 5 bits, and neither the products nor the sums.
TEN_BITS = Values(exact_low=-1023, exact_high=1023, low=-4.0, high=4.0, shape="normal")
FIVE_BITS = Values(exact_low=-31, exact_high=31)

EXERCISE = Exercise(
    name="stencil_1d",
    order=211,
    idea="a tile with a halo in shared memory: neighbours are loaded once",
    minutes=35,
    after=("transpose_v2",),
    paths=("memory",),
    arrays=(
        Array("x", "float32", "n", values=TEN_BITS),
        Array("weights", "float32", "17", values=FIVE_BITS),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="stencil:weighted_line",
    # Shorter than the radius and than the window, every remainder of 4, and around tiles of 256, 1024 and 2048 floats.
    small=tuple({"n": n} for n in (1, 2, 7, 9, 18, 31, 255, 1031, 2047, 2048, 2056, 4099)),
    secret={"n": (2, 9000, 1)},
    simulated={"n": 2**16},
    timed={"n": 2**28},
    work=Work(bytes="8*n + 68", flops="34*n"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.88,
        reach=0.93,
        ceiling="copy_f32x4",
        note="0.95 on an H200",
    ),
    technique=(
        # Tiles of 256 floats load 4.25 bytes an element, tiles of 2048 floats 4.03. Without a tile it is 68.
        Expect(
            "global_load_bytes",
            at_most=4.4,
            per="n",
            why="Floats of x, or the weights, are loaded from global memory more often than a tile needs.",
            hint="load each float of the tile and of its halo once, into shared memory, and keep the weights in "
            "__constant__ memory",
        ),
        # One read and one write are 2 × 1/8.
        Expect(
            "sectors",
            at_most=0.3,
            per="n",
            why="Floats are loaded again for each result, or neighbouring lanes use floats far from each other.",
            hint="neighbouring threads load and store neighbouring packs of four floats",
        ),
    ),
    # 17 products, each below 4 · 1, in one chain.
    tolerance=Tolerance(chain="17", scale="4"),
    baseline="stencil:weighted_line",
    rivals=("pytorch:weighted_line", "pytorch:weighted_line_compiled"),
    compared=("wrong/one_float_a_thread.cu", "wrong/no_tile.cu"),
)
