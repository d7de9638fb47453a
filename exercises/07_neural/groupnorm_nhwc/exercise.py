from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# A variance of 1.3e-4: eps counts for 4 %, so that it shows where it is added, and n - 1 in place of n shows, too.
NARROW = Values(low=-0.01, high=0.03)
# Mean 10^4 and deviation 1: E[x²] - m² is the difference of two numbers near 10^8, where floats are 8 apart.
FAR_FROM_ZERO = Values(low=9996.5, high=10003.5, shape="normal")
# One value in 64 is far from all others: a poor choice for a shift.
DOMINATED = Values(low=-4.0, high=4.0, shape="normal", outlier=1000.0)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="groupnorm_nhwc",
    order=708,
    idea="channels last: x stays on the chip, in blocks that tell each other its means",
    minutes=120,
    after=("layernorm", "reduce_v10"),
    headers=("slices.cuh",),
    arrays=(
        Array(
            "x",
            "float32",
            "samples*pixels*groups*width",
            values=NARROW,
            timed=ORDINARY,
            unusual=(FAR_FROM_ZERO, DOMINATED),
            special=True,
        ),
        Array(
            "gamma",
            "float32",
            "groups*width",
            values=Values(low=-2.0, high=2.0),
            unusual=Values(low=-0.03125, high=0.03125),
        ),
        Array("beta", "float32", "groups*width", values=Values(low=-2.0, high=2.0)),
        Array(
            "y",
            "float32",
            "samples*pixels*groups*width",
            role="out",
            axes={"sample": "samples", "pixel": "pixels", "group": "groups", "channel": "width"},
        ),
    ),
    scalars={"eps": 1e-5},
    oracle="norms:group_norm_nhwc",
    small=(
        {"samples": 1, "pixels": 1, "groups": 2, "width": 2},
        {"samples": 2, "pixels": 3, "groups": 4, "width": 1},
        {"samples": 3, "pixels": 49, "groups": 6, "width": 10},
        {"samples": 1, "pixels": 1, "groups": 32, "width": 10},
        {"samples": 2, "pixels": 257, "groups": 1, "width": 4},
        {"samples": 1, "pixels": 33, "groups": 2, "width": 330},
        {"samples": 3, "pixels": 65, "groups": 32, "width": 10},
        # A sample needs blocks of more than half of the multiprocessors, where it stays on the chip: they go over the
        # samples in five iterations.
        {"samples": 5, "pixels": 3, "groups": 640, "width": 2},
    ),
    secret={"samples": (1, 4, 1), "pixels": (2, 120, 1), "groups": (2, 12, 2), "width": (2, 12, 2)},
    simulated={"samples": 3, "pixels": 64, "groups": 32, "width": 10},
    timed={"samples": 32, "pixels": 4096, "groups": 32, "width": 10},  # 160 MiB read and written
    work=Work(bytes="8*samples*pixels*groups*width + 8*groups*width"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.82,
        reach=0.85,
        ceiling="copy_f32x4",
        note="0.86 on an H200: 91 us, where a copy takes 78. Without what blocks publish and read they took 86: "
        "the first slices come and the last ones go alone. With sums that are published and read in one iteration, 99",
    ),
    technique=(
        # x twice, and what a block needs of gamma, beta and other blocks. A third read is 12 bytes for each element.
        Expect(
            "global_load_bytes",
            at_most=14.0,
            per="samples*pixels*groups*width",
            why="x is read more than twice: once to measure, once to normalise, is enough.",
            hint="mean and squares of what a thread has loaded can both be computed from registers, and combined later",
        ),
        # Whole pixels are whole sectors. A block for each group takes 40 bytes of each pixel: 2 sectors or 3.
        Expect(
            "sector_efficiency",
            at_least=0.9,
            why="A request takes a part of each sector only: 10 channels are 40 bytes, at a distance of a whole pixel.",
            hint="let neighbouring lanes take neighbouring channels, across the borders of groups; sort the sums by "
            "group afterwards, in shared memory",
        ),
    ),
    # As for layernorm: near 10^4 the mean is off by half a unit in the last place, 2^-11, and a little more from the
    # sums; times gamma, a 32nd there, it is below 1e-4.
    tolerance=Tolerance(absolute=2e-4),
    exact=False,
    rivals=("pytorch:group_norm_nhwc", "pytorch:group_norm_nhwc_compiled"),
    only_timed="a block needs nothing that was published only just now, and the next slice is on its way meanwhile",
)
