from grader import Array, Exercise, Expect, Target, Values, Work

# The floats are only moved: integers of up to 24 bits must arrive unchanged, and no 11-bit format carries them.
WIDE = Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)

EXERCISE = Exercise(
    name="transpose_v4",
    order=207,
    idea="a tile of 64 x 64: eight elements, and eight loads in flight, per thread",
    minutes=30,
    after=("transpose_v3",),
    paths=("memory",),
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
        reach=0.83,
        ceiling="copy_f32x4",
    ),
    technique=(
        # 0.125 with eight elements for each thread, 0.25 with four.
        Expect(
            "threads",
            at_most=0.15,
            per="rows * cols",
            why="Each thread moves fewer than eight elements: too few bytes are in flight at any time.",
            hint="launch fewer threads for a tile, each of which moves eight elements: all loads first, then stores",
        ),
    ),
    baseline="layout:transpose",
    rivals=("pytorch:transpose",),
    only_timed="eight loads of each thread in flight",
)
