from grader import Array, Exercise, Expect, Large, Target, Values, Work

ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
# One element in 64 is the largest; all are, zeros of both signs; and none is above 0.
SEVERAL = Values(low=-2.0, high=-1.0, outlier=5.0)
EQUAL = Values(low=-1e-46, high=1e-46)
NEGATIVE = Values(low=-9.0, high=-1.0)
# The largest is among the last ones: of 2^31 elements and more, its place is no int.
RISING = Values(low=-2.0, high=2.0, rising=True)

EXERCISE = Exercise(
    name="argmax",
    order=412,
    idea="reduce pairs of value and place: ties, NaN, one launch",
    minutes=60,
    after=("reduce_v10",),
    arrays=(
        Array(
            "x",
            "float32",
            "n",
            values=ORDINARY,
            unusual=(SEVERAL, EQUAL, NEGATIVE, RISING),
            masked=True,
            special=True,
        ),
        Array("index", "int64", "1", role="out"),
    ),
    oracle="reduction:argmax",
    small=tuple({"n": n} for n in (1, 2, 31, 33, 255, 1000, 1025, 4099, 32767, 65537)),
    secret={"n": (40, 70000, 1)},
    simulated={"n": 2**18},
    # Not a multiple of 4. As an int, 4 * (n / 4) is below 0. Packs do not cross the end of a period.
    large=Large({"n": 2_700_000_011}, period={"n": 8 * 125_001}),
    timed={"n": 2**28},
    work=Work(bytes="4 * n + 8"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.92,
        reach=0.96,
        ceiling="read_f32x4",
        note="0.963 to 0.969 on an H200; with an int index it was 0.970",
    ),
    technique=(
        Expect(
            "launches",
            at_most=1,
            why="A launch more is made for the few pairs of the blocks.",
            hint="let each block draw a ticket when its pair is stored; who draws the last one finishes",
        ),
        # x once, and a pair for each block. The maximum first and its place in a second pass are 8 B.
        Expect(
            "global_load_bytes",
            at_most=4.4,
            per="n",
            why="x is loaded more than once: a second pass looks for the place of the largest value.",
            hint="carry the place along with the value, in two registers",
        ),
        # 1/128 for each element. Loads of single floats are 1/32.
        Expect(
            "global_load_requests",
            at_most=0.012,
            per="n",
            why="Loads bring fewer than 16 bytes to a lane: the same elements take more requests.",
            hint="read x through a `const float4*`, and the last n % 4 elements one by one",
        ),
    ),
    exact=False,
    baseline="reduction:argmax",
    rivals=("pytorch:argmax", "pytorch:argmax_compiled"),
)
