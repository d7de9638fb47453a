from grader import Array, BugLine, Exercise, Tolerance, Values

EXERCISE = Exercise(
    name="debug_me_5",
    order=1127,
    idea="find the bug: one vector is right, and two are not",
    minutes=25,
    after=("reduce_v9",),
    arrays=(
        Array("x", "float32", "rows*cols", unusual=Values(low=-1000, high=1000)),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    oracle="debugging:unit_vectors",
    small=tuple({"rows": r, "cols": c} for r, c in ((2, 16), (8, 33), (16, 5), (1, 1), (3, 31), (9, 64), (33, 100))),
    secret={"rows": (1, 60, 1), "cols": (2, 150, 1)},
    simulated={"rows": 256, "cols": 64},
    exact=False,
    answers=(BugLine(lines=("unsigned int mask",)),),
    tolerance=Tolerance(relative=1e-5, absolute=1e-7),
    points=(60, 40, 0),
    paths=("debugging",),
)
