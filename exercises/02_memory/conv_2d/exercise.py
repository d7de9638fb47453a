from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# 49 products of at most 511 · 31 stay below 2^20: a float holds each sum exactly.
PIXELS = Values(exact_low=-511, exact_high=511, low=-4.0, high=4.0, shape="normal")
FIVE_BITS = Values(exact_low=-31, exact_high=31)

EXERCISE = Exercise(
    name="conv_2d",
    order=212,
    idea="a 2-D tile with a halo; weights as constants, results in registers",
    minutes=60,
    after=("stencil_1d",),
    paths=("memory",),
    arrays=(
        Array("image", "float32", "rows*cols", values=PIXELS),
        Array("mask", "float32", "49", values=FIVE_BITS),
        Array("out", "float32", "rows*cols", role="out"),
    ),
    oracle="stencil:weighted_image",
    # Smaller than the window in both directions, widths with every remainder of 4, around 32 x 128; more rows than the
    # solution's strips have.
    small=tuple(
        {"rows": rows, "cols": cols}
        for rows, cols in (
            (1, 1),
            (1, 9),
            (11, 1),
            (2, 3),
            (6, 4),
            (32, 128),
            (33, 132),
            (213, 34),
            (67, 259),
        )
    ),
    secret={"rows": (1, 80, 1), "cols": (1, 300, 1)},
    simulated={"rows": 128, "cols": 512},
    timed={"rows": 8192, "cols": 8192},
    work=Work(bytes="8*rows*cols + 196", flops="98*rows*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.77,
        reach=0.80,
        ceiling="copy_f32x4",
        note="the fma alone take three quarters of the copy's time; with tiles that a block loads, computes and stores "
        "one after another the solution had 0.59, with a ring of rows that cp.async fills 0.74. A relative of it takes "
        "152 us, 129 without accesses to memory, 143 without fma, and a copy 124",
    ),
    technique=(
        # 4 bytes, and the halo: 4.4 with strips, 5.0 with tiles of 32 x 128, 5.6 of 32 x 32, 8.3 of 8 x 32.
        # Without a tile 196.
        Expect(
            "global_load_bytes",
            at_most=9.0,
            per="rows*cols",
            why="Pixels, or the mask, are loaded from global memory more often than a tile and its halo need.",
            hint="load each pixel of the tile and of its halo once, into shared memory, and keep the mask in "
            "__constant__ memory",
        ),
        # One read and one write are 2 × 1/8. With the halo 0.28, with tiles of 16 x 16 0.52.
        Expect(
            "sectors",
            at_most=0.6,
            per="rows*cols",
            why="Pixels are loaded again for each result, or neighbouring lanes use pixels far from each other.",
            hint="neighbouring lanes load and store neighbouring pixels of a row, or neighbouring packs of four",
        ),
    ),
    # 49 products, each below 4 · 1, in one chain.
    tolerance=Tolerance(chain="49", scale="8"),
    baseline="stencil:weighted_image",
    rivals=("pytorch:weighted_image", "pytorch:weighted_image_compiled"),
    compared=("wrong/no_tile.cu", "wrong/one_result_a_thread.cu"),
)
