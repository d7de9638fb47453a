from grader import Array, Bound, Exercise, Forecast, Tolerance, Values

EXERCISE = Exercise(
    name="profile_reading_2",
    order=1132,
    idea="read a profile: rows that are added up in shared memory",
    minutes=25,
    after=("bank_conflicts",),
    arrays=(
        # sums of 32 such integers are exact in float32, and not with 11 bits
        Array("x", "float32", "1024*tiles", values=Values(exact_low=-99999, exact_high=99999)),
        Array("sums", "float32", "32*tiles", role="out"),
    ),
    oracle="profiles:row_sums",
    small=tuple({"tiles": n} for n in (1, 2, 3, 7, 12)),
    secret={"tiles": (1, 16, 1)},
    simulated={"tiles": 128},
    answers=(Bound(), Forecast("wavefronts", per="tiles")),
    tolerance=Tolerance(chain="32", scale="4"),
    points=(0, 100, 0),
    paths=("debugging",),
)
