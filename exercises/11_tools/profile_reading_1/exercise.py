from grader import Array, Bound, Exercise, Forecast, Values

EXERCISE = Exercise(
    name="profile_reading_1",
    order=1131,
    idea="read a profile: one field of a record",
    minutes=20,
    after=("coalescing_stride",),
    arrays=(
        # halves of 24 bits: no 11-bit format carries them
        Array("p", "float32", "4*n", values=Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="profiles:heights",
    small=tuple({"n": n} for n in (1, 31, 33, 255, 257, 1000)),
    secret={"n": (3, 3000, 1)},
    simulated={"n": 2**15},
    answers=(Bound(), Forecast("sectors_per_request")),
    points=(0, 100, 0),
    paths=("debugging",),
)
