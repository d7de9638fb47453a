from grader import Array, BugLine, Exercise, Values

EXERCISE = Exercise(
    name="debug_me_2",
    order=1124,
    idea="find the bug: a peak that is missed once in a million runs",
    minutes=30,
    after=("reduce_v10",),
    arrays=(
        Array("x", "float32", "n", values=Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)),
        Array("out", "float32", "1", role="out"),
    ),
    oracle="debugging:peak_level",
    small=tuple({"n": n} for n in (1, 31, 255, 1000, 1025, 4099, 9001)),
    secret={"n": (3, 9000, 1)},
    simulated={"n": 2**14},
    answers=(BugLine(lines=(("peaks[blockIdx.x] = peak", "last = atomicInc"),)),),
    points=(60, 40, 0),
    paths=("debugging",),
)
