from grader import Array, BugLine, Exercise, Values

EXERCISE = Exercise(
    name="debug_me_4",
    order=1126,
    idea="find the bug: bright pixels that nobody photographed",
    minutes=20,
    after=("reduce_v3",),
    arrays=(
        Array("image", "uint8", "n", values=Values(exact_low=0, exact_high=255)),
        Array("bins", "int32", "256", role="out"),
    ),
    oracle="debugging:grey_histogram",
    small=tuple({"n": n} for n in (1, 31, 191, 193, 1000, 1537, 5003)),
    secret={"n": (3, 6000, 1)},
    simulated={"n": 2**14},
    answers=(BugLine(lines=(("if (threadIdx.x < BINS)", "counts[threadIdx.x] = 0"),)),),
    points=(60, 40, 0),
    paths=("debugging",),
)
