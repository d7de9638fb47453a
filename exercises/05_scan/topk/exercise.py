from grader import Array, Exercise, Expect, Target, Values, Work

ORDINARY = Values(low=-8.0, high=8.0, shape="normal")
# Each element is larger than all before it; all are equal, zeros of both signs; one in 64 is the largest, more than 8
# of a long row.
RISING = Values(low=-8.0, high=8.0, rising=True)
EQUAL = Values(low=-1e-46, high=1e-46)
SEVERAL = Values(low=-2.0, high=-1.0, outlier=5.0)

EXERCISE = Exercise(
    name="topk",
    order=508,
    idea="a limit that all lanes know: nearly every element costs one comparison",
    minutes=75,
    after=("argmax",),
    arrays=(
        Array(
            "x",
            "float32",
            "rows*cols",
            values=ORDINARY,
            unusual=(RISING, EQUAL, SEVERAL),
            masked=True,
            masked_rows="cols",
            special=True,
        ),
        Array("values", "float32", "rows*8", role="out", axes={"row": "rows", "rank": "8"}),
        Array("places", "int32", "rows*8", role="out", axes={"row": "rows", "rank": "8"}),
    ),
    oracle="counting:topk",
    small=(
        {"rows": 1, "cols": 8},
        {"rows": 3, "cols": 9},
        {"rows": 9, "cols": 31},
        {"rows": 2, "cols": 128},
        {"rows": 5, "cols": 1027},
        {"rows": 4, "cols": 2048},
        {"rows": 5, "cols": 4099},
    ),
    secret={"rows": (1, 9, 1), "cols": (8, 4000, 1)},
    simulated={"rows": 4, "cols": 8192},
    counted=({"rows": 5, "cols": 4099},),
    timed={"rows": 4096, "cols": 32768},
    work=Work(bytes="rows * (4 * cols + 8 * 8)"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.76,
        reach=0.80,
        ceiling="read_f32x4",
        note="a prediction: 18 instructions of a lane for each element of a row of 8192, fewer in longer rows, where "
        "memory allows 30",
    ),
    technique=(
        # Once, and up to 6 floats around a row that does not begin at a multiple of 16 bytes.
        Expect(
            "global_load_bytes",
            at_most=4.1,
            per="rows*cols",
            why="The row is loaded more than once.",
            hint="keep the best eight while the row goes by: one pass finds all of them",
        ),
        # 1/8. A lane with a row of its own uses half of each sector that a request touches: 1/4.
        Expect(
            "sectors",
            at_most=0.16,
            per="rows*cols",
            why="Neighbouring lanes load from different rows: each request touches 32 sectors for a part of each.",
            hint="let the lanes of a warp load 512 bytes side by side, from one row",
        ),
        # The solution has 18 here. With lists of the lanes' own there is nearly always a lane that inserts.
        Expect(
            "instructions",
            at_most=40,
            per="rows*cols/32",
            why="Elements that cannot be among the best eight cost more than a comparison.",
            hint="compare with the eighth best of the whole warp, and do the rest only for what passes",
        ),
    ),
    exact=False,
    baseline="counting:topk",
    rivals=("pytorch:topk", "pytorch:topk_compiled"),
)
