from grader import Array, Exercise, Expect, Tolerance, Values, Work

EXERCISE = Exercise(
    name="constant_broadcast",
    order=210,
    idea="constant memory: one address for a warp is one wavefront, 32 are 32",
    minutes=25,
    after=("bank_conflicts",),
    paths=("memory",),
    arrays=(
        # Small integers: powers up to the seventh, and their sum, are exact.
        Array("x", "float32", "n", values=Values(exact_low=-2, exact_high=2)),
        Array("sensor", "uint8", "n", values=Values(exact_low=0, exact_high=255)),
        Array("curve", "float32", "8"),
        Array("offset", "float32", "256", values=Values(exact_low=-1000, exact_high=1000)),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="tables:corrected",
    # Around a warp, a block, and a block's items (2048).
    small=tuple({"n": n} for n in (1, 31, 33, 255, 257, 1000, 2047, 2049, 4099)),
    secret={"n": (2, 9000, 1)},
    simulated={"n": 2**16},
    work=Work(bytes="9*n + 4*8 + 4*256"),
    technique=(
        # A table that is read by data costs about 29 for each request: 0.9 for each element.
        Expect(
            "constant_excess_wavefronts",
            at_most=0,
            why="Lanes of a warp read different places of constant memory, and take turns.",
            hint="only what all lanes read at the same place belongs there: the curve, but not the offsets",
        ),
        # A reading and its sensor are 5 bytes, a table for 2048 of them half a byte. An offset from global memory is 4
        # more for each, and a curve from there 32.
        Expect(
            "global_load_bytes",
            at_most=7.5,
            per="n",
            why="A table is read from global memory for each element.",
            hint="copy the offsets to shared memory once for a block of many elements; the curve is in CURVE",
        ),
    ),
    tolerance=Tolerance(relative=1e-5, absolute=1e-5),
    points=(60, 40, 0),
)
