from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# x - 0.75 * c is a multiple of 1/4 below 2^21: a float holds it exactly, with or without fma, and no 11-bit format
# does.
WIDE = Values(exact_low=-(2**20), exact_high=2**20)

EXERCISE = Exercise(
    name="coalescing_offset",
    order=201,
    idea="a misaligned start: 5 sectors a request instead of 4",
    minutes=30,
    after=("vector_add",),
    paths=("memory",),
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE, slices=True),
        Array("out", "float32", "rows*cols", role="out", slices=True),
    ),
    scalars={"slope": 0.75},
    oracle="elementwise:remove_drift",
    # Rows of every length around 8, 32 and 256; nearly all of them begin anywhere but at a sector.
    small=(
        {"rows": 1, "cols": 1},
        {"rows": 9, "cols": 1},
        {"rows": 10, "cols": 7},
        {"rows": 3, "cols": 8},
        {"rows": 17, "cols": 31},
        {"rows": 9, "cols": 33},
        {"rows": 8, "cols": 249},
        {"rows": 9, "cols": 255},
        {"rows": 4, "cols": 256},
        {"rows": 9, "cols": 257},
        {"rows": 300, "cols": 5},
        {"rows": 5, "cols": 4097},
    ),
    secret={"rows": (2, 40, 1), "cols": (2, 2000, 1)},
    # Long rows: the sectors that two rows share at their ends are 1 in 1000.
    simulated={"rows": 128, "cols": 8185},
    timed={"rows": 32768, "cols": 8185},
    work=Work(bytes="8*rows*cols", flops="2*rows*cols"),
    # To reach: 0.95 of a copy with one float a thread. A thread of the loop along a row has several floats, one at a
    # time: so has the ceiling, and the copy with one is slower than the solution.
    target=Target(unit="bandwidth", reach=0.54, ceiling="copy_f32x1_8"),
    technique=(
        # Aligned to 16 bytes it is 0.889. An aligned loop whose lanes make unequal numbers of rounds may be unrolled so
        # that a row's last warp goes on in two groups: 0.97 with blocks of 256 threads, 0.90 with blocks of 64.
        Expect(
            "sector_efficiency",
            at_least=0.9,
            why="Warps begin in the middle of a sector: 5 sectors a request, where 4 hold 32 floats.",
            hint="move all threads of a row to the left, until start + c of the first thread is divisible by 8",
        ),
    ),
    # One rounding of the result; the product is exact for columns below 2^22.
    tolerance=Tolerance(relative=2**-23),
    baseline="elementwise:remove_drift",
    rivals=("pytorch:remove_drift",),
    points=(40, 40, 20),
)
