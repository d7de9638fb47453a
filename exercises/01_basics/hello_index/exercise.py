from grader import Array, Exercise, Work

EXERCISE = Exercise(
    name="hello_index",
    order=101,
    idea="the index of every thread, in 1-D, 2-D and 3-D",
    minutes=15,
    paths=("interview", "memory", "attention", "gemm", "debugging"),
    arrays=(
        Array("line", "int32", "n", role="out"),
        Array("plane", "int32", "height * width", role="out"),
        Array("box", "int32", "depth * height * width", role="out"),
    ),
    oracle="elementwise:coordinates",
    # Neither square nor whole blocks, wide planes before high ones; each axis stays below 1000, so that its three
    # digits can be read in the values.
    small=tuple(
        {"n": n, "depth": depth, "height": height, "width": width}
        for n, depth, height, width in (
            (1, 1, 1, 1),
            (5, 2, 3, 4),
            (31, 3, 5, 7),
            (33, 1, 1, 33),
            (255, 2, 9, 31),
            (256, 2, 8, 32),
            (257, 3, 33, 9),
            (1000, 5, 20, 37),
            (1023, 1, 130, 65),
            (1025, 9, 7, 129),
            (4099, 2, 257, 33),
        )
    ),
    secret={"n": (2, 9000, 1), "depth": (2, 12, 1), "height": (2, 90, 1), "width": (2, 150, 1)},
    simulated={"n": 2**18 + 1, "depth": 30, "height": 100, "width": 210},
    work=Work(bytes="4 * n + 4 * height * width + 4 * depth * height * width"),
    points=(100, 0, 0),
)
