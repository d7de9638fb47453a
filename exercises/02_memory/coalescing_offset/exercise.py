from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# x - 0.75 * c is a multiple of 1/4 below 2^21: a float holds it exactly, with or without fma, and no 11-bit format
# does.
WIDE = Values(exact_low=-(2**20), exact_high=2**20)

EXERCISE = Exercise(
    name="coalescing_offset",
    order=201,
    idea="a misaligned start: scalar head and tail, float4 from the first whole sector on",
    minutes=40,
    after=("elementwise_pack",),
    paths=("memory",),
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE, slices=True),
        Array("out", "float32", "rows*cols", role="out", slices=True),
    ),
    scalars={"slope": 0.75},
    oracle="elementwise:remove_drift",
    # Rows shorter than a sector, and of lengths around 8, 32, 256 and 1024; nearly all begin anywhere but at a sector.
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
    target=Target(
        unit="bandwidth",
        reach=0.88,
        ceiling="copy_f32x4",
    ),
    technique=(
        # Float by float from the row's start it is 0.82; packs that begin at any multiple of 16 bytes have 0.97. Heads
        # and tails with a request for each float still have 0.997.
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="Warps begin in the middle of a sector: 5 sectors for 32 floats where 4 hold them, 17 for 32 packs.",
            hint="the first pack of a row begins at a multiple of 32 bytes, and lane i + 1 has the pack after lane i's",
        ),
        # A load and a store of 32 packs for 128 floats are 0.0156; 8 bytes a lane on one side alone make it 0.023.
        Expect(
            "global_requests",
            at_most=0.02,
            per="rows * cols",
            why="Not all of x and out is moved in packs: a load and a store of float4 are 2 requests for 128 floats.",
            hint="load and store a float4 wherever a whole one lies in the row; single floats only before and after",
        ),
    ),
    # One rounding of the result; the product is exact for columns below 2^22.
    tolerance=Tolerance(relative=2**-23),
    baseline="elementwise:remove_drift",
    rivals=("pytorch:remove_drift",),
    points=(40, 40, 20),
)
