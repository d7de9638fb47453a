from grader import Array, BugLine, Exercise, Tolerance, Values

EXERCISE = Exercise(
    name="debug_me_8",
    order=1130,
    idea="find the bug: a contrast that depends on the width of the image",
    minutes=25,
    after=("reduce_v9",),
    arrays=(
        Array("x", "float32", "rows*cols", values=Values(low=0, high=1), unusual=Values(low=-100, high=300)),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    oracle="debugging:stretch_rows",
    small=tuple({"rows": r, "cols": c} for r, c in ((1, 2), (3, 31), (2, 128), (5, 129), (3, 257), (2, 1000))),
    secret={"rows": (1, 9, 1), "cols": (3, 700, 1)},
    simulated={"rows": 16, "cols": 1024},
    exact=False,
    answers=(BugLine(lines=("float* highs = words",)),),
    tolerance=Tolerance(relative=1e-5, absolute=1e-6),
    points=(60, 40, 0),
    paths=("debugging",),
)
