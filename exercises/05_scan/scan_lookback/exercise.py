from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# As in the reduction ladder: running sums of such integers stay near 147·√n, below 2^24 up to 2^26 of them, so that
# floats add them exactly in any order.
ZERO_MEAN = Values(exact_low=-255, exact_high=255)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="scan_lookback",
    order=503,
    idea="a prefix sum in one pass: each tile looks back at what earlier tiles published",
    minutes=120,
    after=("scan_three_phase", "reduce_v10"),
    arrays=(
        Array("x", "float32", "n", values=ZERO_MEAN, timed=ORDINARY),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="scan:inclusive",
    # A tile of the solution has 6144 elements: one less, one more, many; and more tiles than a warp has lanes.
    small=tuple({"n": n} for n in (1, 3, 31, 129, 1023, 4096, 6143, 6144, 6145, 20483, 208897)),
    secret={"n": (3, 30000, 1)},
    simulated={"n": 2**18},
    timed={"n": 2**26},
    work=Work(bytes="8 * n", flops="n - 1"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.90,
        reach=0.93,
        ceiling="copy_f32x4",
        note="the look-back is a third of what is missing: without it (and with wrong results) the "
        "same kernel has 0.97 of the ceiling. A block for each tile that walks to the nearest prefix has 0.86 at most, "
        "with pauses, wider windows, a second level or prefetches; CUB 13.0, which does that, has 0.73",
    ),
    technique=(
        # Each element once, 4 B, and the words that tiles publish. scan_three_phase loads 8 B.
        Expect(
            "global_load_bytes",
            at_most=4.4,
            per="n",
            why="x is loaded more than once, or running sums come back from memory.",
            hint="keep the tile in registers while the block looks back; then add what is before the tile, and store",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.2,
            per="n",
            why="More is stored than the result.",
            hint="store the running sums once, when the sum of everything before the tile is known",
        ),
        # 1/8 for the loads, 1/8 for the stores.
        Expect(
            "sectors",
            at_most=0.29,
            per="n",
            why="Neighbouring lanes load or store far from each other: sectors are fetched for a part of them.",
            hint="in each request lane l takes the float4 beside lane l - 1's; or turn the tile in shared memory",
        ),
    ),
    # Partial sums of uniform numbers are near √n / 2. The statement allows a chain of one addition for each 1024
    # elements, on top of trees; a chain of L additions then errs by about 0.12·eps·√(n·L), as in the reduction ladder.
    tolerance=Tolerance(chain="cdiv(n, 1024) + 64", scale="sqrt(n)", chain_factor=1.5),
    baseline="scan:inclusive",
    rivals=("pytorch:scan", "pytorch:scan_compiled"),
)
