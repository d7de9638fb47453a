from grader import Array, BugLine, Exercise, Tolerance, Values

EXERCISE = Exercise(
    name="debug_me_7",
    order=1129,
    idea="find the bug: a quiet sensor with a negative variance",
    minutes=25,
    after=("reduce_v9",),
    arrays=(
        Array(
            "x",
            "float32",
            "channels*length",
            values=Values(low=-1, high=1),
            unusual=Values(low=9999, high=10001),
        ),
        Array("mean", "float32", "channels", role="out"),
        Array("variance", "float32", "channels", role="out"),
    ),
    oracle="debugging:channel_stats",
    small=tuple({"channels": c, "length": n} for c, n in ((1, 1), (3, 31), (2, 127), (5, 128), (7, 129), (2, 1000))),
    secret={"channels": (1, 9, 1), "length": (3, 900, 1)},
    simulated={"channels": 16, "length": 1024},
    exact=False,
    answers=(BugLine(lines=("squares += channel[i] * channel[i]", "float v = block_sum(squares)")),),
    tolerance=Tolerance(relative=1e-4, absolute=1e-6),
    points=(60, 40, 0),
    paths=("debugging",),
)
