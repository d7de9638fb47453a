from grader import Array, Bound, Exercise, Forecast, Tolerance, Values

EXERCISE = Exercise(
    name="profile_reading_6",
    order=1136,
    idea="read a profile: the squares of matrices",
    minutes=30,
    after=("profile_reading_2",),
    arrays=(
        # a sum of 64 products of such integers is below 2^24
        Array("a", "float32", "4096*matrices", values=Values(exact_low=-511, exact_high=511)),
        Array("out", "float32", "4096*matrices", role="out"),
    ),
    oracle="profiles:squares",
    small=tuple({"matrices": n} for n in (1, 2, 3, 5)),
    secret={"matrices": (1, 6, 1)},
    simulated={"matrices": 8},
    # a quarter of all wavefronts, stores included, is 2.3 % off
    answers=(Bound(), Forecast("wavefronts", per="matrices", tolerance=0.01)),
    # partial sums of 64 products of numbers below 1 are near sqrt(64) / 3
    tolerance=Tolerance(chain="64", scale="3"),
    points=(0, 100, 0),
    paths=("debugging",),
)
