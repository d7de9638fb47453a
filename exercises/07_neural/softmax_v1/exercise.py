from grader import Array, Exercise, Expect, Large, Target, Tolerance, Values, Variant, Work

# Wide enough that every mistake shows: expf overflows from 88.8 on, so a row without its maximum subtracted gives
# inf / inf; and expf gives 0 below -104, so a maximum that starts at 0 gives 0 / 0 where a whole row lies there.
WIDE = Values(low=-120.0, high=120.0)
# A long row of these always reaches nearly 120, so that this number would do for its maximum. Not where all values lie
# far below zero.
FAR_BELOW = Values(low=-120.0, high=-100.0)
# Rows that wide have 0 or a subnormal number in most places, for which a division takes a slow path: times would be
# those of that path.
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")

EXERCISE = Exercise(
    name="softmax_v1",
    order=701,
    page="softmax",
    idea="three passes over a row, its largest value subtracted first",
    minutes=45,
    after=("reduce_v3",),
    paths=("interview", "attention"),
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE, timed=ORDINARY, unusual=FAR_BELOW, masked=True, special=True),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    oracle="softmax:rows",
    small=(
        {"rows": 1, "cols": 1},
        {"rows": 1, "cols": 2},
        {"rows": 3, "cols": 31},
        {"rows": 257, "cols": 1},  # one in 15 rows is a single value below -104
        {"rows": 5, "cols": 33},
        {"rows": 2, "cols": 255},
        {"rows": 4, "cols": 256},
        {"rows": 2, "cols": 257},
        {"rows": 33, "cols": 1000},
        {"rows": 7, "cols": 1025},
    ),
    secret={"rows": (1, 40, 1), "cols": (2, 1500, 1)},
    simulated={"rows": 256, "cols": 1024},
    large=Large({"rows": 270_001, "cols": 16_411}, period={"rows": 31}),
    timed={"rows": 16384, "cols": 4096},  # 512 MiB read and written
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        ceiling="copy_f32x4",
    ),
    technique=(
        # Three passes that read and one result are 4 × 1/8; one more pass that reads or writes is 0.625. Lanes in
        # different rows take a sector for each element, in every pass.
        Expect(
            "sectors",
            at_most=0.75,
            per="rows*cols",
            why="Neighbouring lanes use values far from each other, or the row is walked over too often.",
            hint="one block or warp for each row: thread t takes columns t, t + BLOCK, t + 2 * BLOCK, and so on",
        ),
    ),
    # Rounding x - largest costs up to 2^-18 of the result where the two are far apart, __expf another 1.2e-5 there,
    # and a sum of 1025 terms in one chain about 2e-6. Half precision is off by 5e-4. Results below the smallest normal
    # float (1.2e-38) may be flushed to zero.
    tolerance=Tolerance(relative=3e-5, absolute=2e-38),
    exact=False,
    baseline="softmax:rows",
    rivals=("pytorch:softmax",),
    variants=(
        Variant(
            "log",
            task="the logarithms of the shares, y = x - m - log(sum), without computing the shares",
            arrays=(
                Array("x", "float32", "rows*cols", values=WIDE, timed=ORDINARY, unusual=FAR_BELOW),
                Array("y", "float32", "rows*cols", role="out"),
            ),
            oracle="softmax:log_rows",
            # x - m is rounded to 2^-17 near 240, and log(sum) errs by a few 1e-6; half precision is off by 0.06 there.
            tolerance=Tolerance(relative=2e-6, absolute=3e-5),
        ),
    ),
)
