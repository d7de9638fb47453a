from grader import Array, BugLine, Exercise, Values

VALUES = Values(exact_low=0, exact_high=2**22)

EXERCISE = Exercise(
    name="debug_me_6",
    order=1128,
    idea="find the bug: a compressor that stops at some lengths",
    minutes=25,
    after=("reduce_v3",),
    arrays=(
        Array("x", "int32", "rows*length", values=VALUES),
        Array("delta", "int32", "rows*length", role="out"),
        Array("widest", "int32", "rows", role="out"),
    ),
    oracle="debugging:delta_rows",
    small=tuple(
        {"rows": r, "length": n} for r, n in ((1, 128), (3, 256), (1, 1), (4, 2), (5, 3), (2, 127), (3, 129), (2, 1000))
    ),
    secret={"rows": (1, 9, 1), "length": (3, 700, 1)},
    simulated={"rows": 32, "length": 512},
    answers=(BugLine(lines=("for (int i = t; i < length",)),),
    points=(60, 40, 0),
    paths=("debugging",),
)
