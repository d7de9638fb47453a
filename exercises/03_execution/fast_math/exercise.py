from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Stars in the frame of 1024 pixels; and some that are far outside of it.
FRAME = Values(low=0.0, high=1.0)
AROUND = Values(low=-2.0, high=3.0)
# Their light; and some that expose every pixel near them.
LIGHT = Values(low=0.0, high=1.0)
BRIGHT = Values(low=0.0, high=100.0)

EXERCISE = Exercise(
    name="fast_math",
    order=303,
    idea="intrinsics, 1.0f instead of 1.0, and no integer division",
    minutes=35,
    after=("vector_add",),
    arrays=(
        Array("x", "float32", "m", values=FRAME, unusual=(AROUND, FRAME)),
        Array("y", "float32", "m", values=FRAME, unusual=(AROUND, FRAME)),
        Array("light", "float32", "m", values=LIGHT, unusual=(LIGHT, BRIGHT)),
        Array("out", "float32", "rows*cols", role="out"),
    ),
    scalars={"pitch": 0.0009765625, "sharp": 1024.0},
    oracle="execution:stars",
    small=(
        {"rows": 1, "cols": 1, "m": 1},
        {"rows": 7, "cols": 3, "m": 2},
        {"rows": 1, "cols": 100, "m": 5},
        {"rows": 100, "cols": 1, "m": 31},
        {"rows": 31, "cols": 33, "m": 7},
        {"rows": 33, "cols": 31, "m": 16},
        {"rows": 40, "cols": 65, "m": 33},
    ),
    secret={"rows": (1, 70, 1), "cols": (1, 70, 1), "m": (1, 40, 1)},
    simulated={"rows": 64, "cols": 64, "m": 64},
    timed={"rows": 2048, "cols": 2048, "m": 512},
    # Of each pixel and star two differences, two squares and their sum, times sharp, plus 1, a quotient and a sum.
    work=Work(bytes="12 * m + 4 * rows * cols", flops="9 * rows * cols * m"),
    target=Target(
        unit="fp32",
        of="ceiling",
        fraction=0.84,
        reach=0.85,
        ceiling="quotient_f32",
        # A warp's reciprocal takes 8 clocks of its scheduler's special-function unit, and its star and pixel seven
        # instructions; __fdividef makes ten of them. A quotient for two stars, (a·d + b·c) / (c·d), has half of the
        # reciprocals and as many instructions more: no faster.
        note="0.8 of the unit's 16 reciprocals a clock; with __fdividef 0.74 of the ceiling",
    ),
    technique=(
        Expect(
            "f64_instructions",
            at_most=0,
            why="Something is computed in double precision, at a half of the rate or far less.",
            hint="1.0 is a double, and with it every expression that it is in: write 1.0f. So is pow(x, 2.0)",
        ),
        Expect(
            "slow_divisions",
            at_most=0,
            why="A quotient is an exact one of floats, or one of integers: ten to thirty instructions each.",
            hint="__fdividef for floats; a grid of two dimensions for i / cols and i % cols",
        ),
        # A reciprocal for each star and pixel, and an exponential for each pixel: (1 + 1/64) / 32.
        Expect(
            "special_function_instructions",
            at_most=0.034,
            per="rows*cols*m",
            why="There is more than one special function for each pixel and star.",
            hint="a square is a product, and no pow; the exponential is outside of the loop",
        ),
    ),
    tolerance=Tolerance(absolute=2e-5),
    exact=False,
    rivals=("pytorch:stars", "pytorch:stars_compiled"),
    compared=("wrong/quotient_with_scaling.diff", "wrong/exact_division.diff", "wrong/as_in_the_book.diff"),
)
