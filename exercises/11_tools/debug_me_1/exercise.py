from grader import Array, BugLine, Exercise, Tolerance, Values

EXERCISE = Exercise(
    name="debug_me_1",
    order=1123,
    idea="find the bug: a frame's energy that changes from GPU to GPU",
    minutes=25,
    after=("reduce_v5",),
    arrays=(
        # The squares of 1000 such integers stay below 2^24, and pass 2^11, where a lower precision loses the last bits.
        Array("x", "float32", "frames*length", values=Values(exact_low=-99, exact_high=99)),
        Array("energy", "float32", "frames", role="out"),
    ),
    oracle="debugging:frame_energy",
    small=tuple(
        {"frames": f, "length": n} for f, n in ((1, 1), (1, 31), (3, 33), (2, 127), (5, 128), (7, 129), (2, 1000))
    ),
    secret={"frames": (1, 9, 1), "length": (3, 900, 1)},
    simulated={"frames": 32, "length": 1024},
    answers=(BugLine(lines=(("for (int s = 16", "sum += part[t + s]"),)),),
    tolerance=Tolerance(chain="length", scale="sqrt(length)", chain_factor=2),
    points=(60, 40, 0),
    paths=("debugging",),
)
