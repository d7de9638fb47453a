from grader import Array, Exercise, Expect, Target, Values, Variant, Work

# The floats are only moved: integers of up to 24 bits must arrive unchanged, and no 11-bit format carries them.
WIDE = Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)

EXERCISE = Exercise(
    name="aos_to_soa",
    order=203,
    idea="an array of structures becomes a structure of arrays",
    minutes=20,
    after=("coalescing_stride",),
    paths=("memory",),
    arrays=(
        Array("particles", "float32", "4 * n", values=WIDE),
        Array("planes", "float32", "4 * n", role="out"),
    ),
    oracle="layout:split_fields",
    small=tuple({"n": n} for n in (1, 2, 7, 8, 31, 32, 33, 127, 255, 256, 257, 1000, 1025, 4099)),
    secret={"n": (2, 9000, 1)},
    simulated={"n": 2**18},  # a multiple of 8: every plane begins at a sector
    timed={"n": 2**26},
    work=Work(bytes="32 * n"),
    target=Target(
        unit="bandwidth",
        reach=0.95,
        of="ceiling",
        ceiling="copy_f32x4",
    ),
    technique=(
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="The lanes of a warp pick single floats out of records, or write them far apart: sectors go half used.",
            hint="load a whole particle at once, a float4 (a struct of four floats is aligned to 4 bytes, so it takes "
            "four loads); and let neighbouring lanes have neighbouring particles",
        ),
    ),
    baseline="layout:split_fields",
    rivals=("pytorch:split_fields",),
    variants=(
        Variant(
            "joined",
            task="the way back: particles[4 * i + f] = planes[f * n + i], four planes become n particles",
            arrays=(
                Array("planes", "float32", "4 * n", values=WIDE),
                Array("particles", "float32", "4 * n", role="out"),
            ),
            oracle="layout:join_fields",
            technique=(
                Expect(
                    "sector_efficiency",
                    at_least=0.99,
                    why="The lanes of a warp store single floats into records, or read them far apart: sectors go half "
                    "used.",
                    hint="store a whole particle at once, a float4 (a struct of four floats is aligned to 4 bytes, so "
                    "it takes four stores); and let neighbouring lanes have neighbouring particles",
                ),
            ),
        ),
    ),
)
