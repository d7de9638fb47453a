from grader import Array, Exercise, Expect, Target, Values, Work

# The floats are only moved: integers of up to 24 bits must arrive unchanged, and no 11-bit format carries them.
WIDE = Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)

EXERCISE = Exercise(
    name="transpose_v3",
    order=206,
    idea="padding: a column of the tile meets every bank once",
    minutes=20,
    after=("transpose_v2",),
    paths=("interview", "memory"),
    ladder="transpose",
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE),
        Array("out", "float32", "cols*rows", role="out"),  # a row of out is a column of x
    ),
    oracle="layout:transpose",
    # Squares hide an exchanged rows and cols, so nearly none is one; 36 x 68 is for loads of four floats.
    small=(
        {"rows": 1, "cols": 1},
        {"rows": 1, "cols": 7},
        {"rows": 33, "cols": 1},
        {"rows": 2, "cols": 3},
        {"rows": 31, "cols": 33},
        {"rows": 32, "cols": 32},
        {"rows": 64, "cols": 32},
        {"rows": 33, "cols": 65},
        {"rows": 36, "cols": 68},
        {"rows": 127, "cols": 64},
        {"rows": 100, "cols": 257},
        {"rows": 1025, "cols": 3},
    ),
    secret={"rows": (2, 300, 1), "cols": (2, 300, 1)},
    # Whole tiles up to 256 x 256: what a solution does at the edges, it may do slowly. The small sizes have the edges.
    simulated={"rows": 768, "cols": 1280},
    timed={"rows": 8192, "cols": 8192},
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        ceiling="copy_f32x4",
    ),
    technique=(
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Several lanes of a warp use different words of one bank, and take turns: a bank conflict.",
            hint="work out the word's number % 32 for lanes 0, 1, 2 …: one spare word in each row of the tile moves it",
        ),
    ),
    baseline="layout:transpose",
)
