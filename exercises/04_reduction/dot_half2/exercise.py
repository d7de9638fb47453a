from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# The sum of n products stays near 200·√n: 3 300 000 for 2^28 of them, below 2^24, so that floats add them exactly in
# any order.
FIVE_BITS = Values(exact_low=-24, exact_high=24)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="dot_half2",
    order=411,
    idea="dot product of halves: eight in a load, products and sums in fp32",
    minutes=45,
    after=("reduce_v10",),
    arrays=(
        Array("x", "float16", "n", values=FIVE_BITS, timed=ORDINARY),
        Array("y", "float16", "n", values=FIVE_BITS, timed=ORDINARY),
        Array("out", "float32", "1", role="out"),
    ),
    oracle="reduction:dot",
    small=tuple({"n": n} for n in (1, 2, 7, 8, 9, 31, 255, 1001, 4099, 32767, 65537)),
    secret={"n": (3, 70000, 1)},
    simulated={"n": 2**18},
    timed={"n": 2**28},
    work=Work(bytes="4 * n + 4", flops="2 * n"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.92,
        reach=0.97,
        ceiling="read_f32x4",
        note="a prediction, until it is measured",
    ),
    technique=(
        # Two loads of eight halves: 2/256 of a request for each element. Loads of a half2 are 2/64.
        Expect(
            "global_load_requests",
            at_most=0.012,
            per="n",
            why="The vectors are loaded in small pieces: one request can bring 256 halves, eight for each lane.",
            hint="read both through a `const uint4*`, sixteen bytes at a time",
        ),
        # A ticket or an addition for each block, or for each warp of 4096 elements at most.
        Expect(
            "global_atomic_requests",
            at_most=1 / 1024,
            per="n",
            why="There are more atomics than one for each warp.",
            hint="add up in registers, in the warp, and in the block first",
        ),
        Expect(
            "launches",
            at_most=1,
            why="A launch more is made for the few sums of the blocks.",
            hint="let each block draw a ticket when its sum is stored; who draws the last one finishes",
        ),
    ),
    # As in the reduction ladder: one addition for each 256 elements, on top of trees. Timed values have the deviation
    # 1.16, so that partial sums are near 1.4·√n.
    tolerance=Tolerance(chain="cdiv(n, 256) + 64", scale="sqrt(n)", chain_factor=2.0),
    baseline="reduction:dot",
    rivals=("pytorch:dot", "pytorch:dot_compiled"),
)
