from grader import Array, Exercise, Expect, Tolerance, Values, Work

# Sums of 1024 such integers are exact in floats, and pass what fp16 holds.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)

EXERCISE = Exercise(
    name="scan_block",
    order=501,
    idea="prefix sums in one block: Hillis and Steele's steps, Blelloch's tree",
    minutes=60,
    after=("reduce_v3",),
    arrays=(
        Array("x", "float32", "n", values=ZERO_MEAN),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="scan:tiles",
    small=tuple({"n": n} for n in (1, 2, 31, 33, 512, 513, 1023, 1024, 1025, 2047, 5000)),
    secret={"n": (3, 6000, 1)},
    simulated={"n": 2**14},
    work=Work(bytes="8 * n", flops="2 * n"),
    technique=(
        # Blelloch: 12 B for each node up, 16 B down, 4 B in and out. Ten steps of Hillis and Steele are 120 B.
        Expect(
            "shared_bytes",
            at_most=48,
            per="n",
            why="Each of the ten steps adds up all elements: that is n · log n additions, where a tree needs 2n.",
            hint="let step d work on groups of 2d elements: one addition for each group, by as many threads",
        ),
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Elements that lie a power of two apart are in the same bank, so that a request is served in parts.",
            hint="put element i at i + i / 32: one unused word after each 32",
        ),
    ),
    # One warp may add 32 values in a row, on top of trees; partial sums are near √1024 / 2.
    tolerance=Tolerance(chain="64", scale="32", chain_factor=1.5),
)
