from grader import Array, BugLine, Exercise, Large, Tolerance, Values

EXERCISE = Exercise(
    name="debug_me_3",
    order=1125,
    idea="find the bug: a table that works until it is large",
    minutes=20,
    after=("reduce_v9",),
    arrays=(
        Array("x", "float32", "rows*cols", unusual=Values(low=-100, high=300)),
        Array("out", "float32", "rows", role="out"),
    ),
    oracle="debugging:row_length",
    small=tuple({"rows": r, "cols": c} for r, c in ((1, 1), (3, 31), (8, 32), (9, 33), (17, 127), (5, 1000))),
    secret={"rows": (2, 40, 1), "cols": (3, 300, 1)},
    simulated={"rows": 64, "cols": 512},
    # 4.4 · 10^9 elements; 93 of its rows exist
    large=Large({"rows": 270001, "cols": 16384}, period={"rows": 93}),
    exact=False,
    answers=(BugLine(lines=("size_t begin",)),),
    tolerance=Tolerance(relative=1e-5),
    points=(60, 40, 0),
    paths=("debugging",),
)
