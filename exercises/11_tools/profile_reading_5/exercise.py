from grader import Array, Bound, Exercise, Forecast, Values

EXERCISE = Exercise(
    name="profile_reading_5",
    order=1135,
    idea="read a profile: how many floats of a row lie above a level",
    minutes=25,
    after=("profile_reading_1", "reduce_v9"),
    arrays=(
        Array("x", "float32", "256*rows", values=Values(exact_low=-1, exact_high=3, low=-1, high=3)),
        Array("counts", "int32", "8*rows", role="out"),
    ),
    oracle="profiles:above",
    small=tuple({"rows": n} for n in (1, 2, 3, 7, 12)),
    secret={"rows": (1, 16, 1)},
    simulated={"rows": 128},
    answers=(Bound(), Forecast("shuffles", per="rows")),
    points=(0, 100, 0),
    paths=("debugging",),
)
