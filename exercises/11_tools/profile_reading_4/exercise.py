from grader import Array, Bound, Exercise, Forecast, Tolerance, Values

EXERCISE = Exercise(
    name="profile_reading_4",
    order=1134,
    idea="read a profile: the potential of charges above a plane",
    minutes=25,
    after=("profile_reading_1",),
    arrays=(
        Array("points", "float32", "2*n", values=Values(low=-4, high=4), unusual=Values(low=-1, high=9)),
        Array("charges", "float32", "4*m", values=Values(low=-4, high=4), unusual=Values(low=-1, high=9)),
        Array("out", "float32", "n", role="out"),
    ),
    scalars={"length": 1.5},
    oracle="profiles:potential",
    small=tuple({"n": n, "m": m} for n, m in ((1, 1), (31, 3), (33, 7), (255, 2), (257, 5), (1000, 4))),
    secret={"n": (3, 1000, 1), "m": (1, 9, 1)},
    simulated={"n": 2**12, "m": 64},
    exact=False,
    answers=(Bound(), Forecast("special_function_instructions", per="n//32")),
    tolerance=Tolerance(relative=1e-5, chain="m", scale="10"),
    points=(0, 100, 0),
    paths=("debugging",),
)
