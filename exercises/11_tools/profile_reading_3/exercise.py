from grader import Array, Bound, Exercise, Forecast, Tolerance, Values

EXERCISE = Exercise(
    name="profile_reading_3",
    order=1133,
    idea="read a profile: bodies that cool down",
    minutes=20,
    after=("profile_reading_1",),
    arrays=(
        Array("start", "float32", "n", values=Values(low=-50, high=500), unusual=Values(low=1e6, high=1e7)),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="profiles:cooled",
    small=tuple({"n": n} for n in (1, 31, 33, 255, 257, 1000)),
    secret={"n": (3, 3000, 1)},
    simulated={"n": 2**14},
    exact=False,
    answers=(Bound(), Forecast("f64_instructions", per="n//32")),
    tolerance=Tolerance(relative=1e-5),
    points=(0, 100, 0),
    paths=("debugging",),
)
