from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
# Squares near 1e50, which no float holds, and squares near 1e-50, which a float has as 0.
HUGE = Values(low=-1e25, high=1e25, shape="normal")
VANISHING = Values(low=-1e-25, high=1e-25, shape="normal")
# A norm below the limit at all sizes: 0.24 for 2^26 elements.
SHORT = Values(low=-1e-4, high=1e-4, shape="normal")

EXERCISE = Exercise(
    name="grad_norm_clip",
    order=716,
    idea="a scale that depends on all elements: two passes, the second from the end",
    minutes=40,
    after=("reduce_v10",),
    arrays=(
        Array("g", "float32", "n", values=ORDINARY, unusual=(HUGE, SHORT, VANISHING), special=True),
        Array("out", "float32", "n", role="out"),
        Array("norm", "float32", "1", role="out"),
    ),
    scalars={"max_norm": 1.0},
    oracle="optimizer:grad_norm_clip",
    # Around a warp of packs (128), a block of packs (1024), and a piece of the solution (16384).
    small=tuple({"n": n} for n in (4, 8, 124, 132, 1000, 1024, 1028, 4100, 16_380, 16_388, 40_004)),
    secret={"n": (4, 40_000, 4)},
    simulated={"n": 2**17},
    timed={"n": 2**26},
    work=Work(bytes="8 * n + 4", flops="3 * n"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.60,
        reach=0.64,
        ceiling="copy_f32x4",
        note="0.65 on an H200: x is read twice and written once, and the copy of the ceiling moves two parts of three",
    ),
    technique=(
        # g twice is 8 bytes, and the norm for every thread of four elements 1. A third pass is 12.
        Expect(
            "global_load_bytes",
            at_most=9.5,
            per="n",
            why="The gradient is read more than twice.",
            hint="one pass adds up squares, in a type in which they do not overflow; one pass scales",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.3,
            per="n",
            why="More is stored than the result: squares, or a copy of the gradient.",
            hint="squares are added up where they are computed; the second pass reads g itself",
        ),
        # Three arrays are 3/8 of a sector, and the norm adds one for each warp.
        Expect(
            "sectors",
            at_most=0.41,
            per="n",
            why="Neighbouring lanes use values far from each other: sectors are moved of which one lane wants a part.",
            hint="in each request lane l takes the float4 beside lane l - 1's",
        ),
    ),
    # The norm, its quotient and the product round once each; a sum in float by trees has room, too.
    tolerance=Tolerance(relative=2e-6),
    exact=False,
    baseline="optimizer:grad_norm_clip",
    rivals=("pytorch:grad_norm_clip", "pytorch:grad_norm_clip_compiled"),
    compared=("wrong/scaled_by_the_maximum.diff",),
)
