from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# GELU bends between -4 and 4, and exp(2u) overflows from 10 on.
WIDE = Values(low=-16.0, high=16.0)
ORDINARY = Values(low=-4.0, high=4.0, shape="normal")
MIDDLE = Values(low=-6.0, high=1.0)


def sizes(rows: int, cols: int, seed: int, offset: int) -> dict[str, int]:
    return {"rows": rows, "cols": cols, "seed": seed, "offset": offset}


EXERCISE = Exercise(
    name="gelu_bias_dropout",
    order=710,
    idea="bias, GELU and dropout in one pass; random bits from a counter",
    minutes=60,
    after=("elementwise_pack",),
    headers=("load_kept.cuh", "philox.cuh"),
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE, timed=ORDINARY, unusual=MIDDLE),
        Array("bias", "float32", "cols", values=Values(low=-1.0, high=1.0)),
        Array("y", "float32", "rows*cols", role="out"),
        Array("mask", "uint32", "rows*cols/32", role="out"),
    ),
    scalars={"p": 0.1},
    oracle="transformer:gelu_bias_dropout",
    # Rows of one group of 8 lanes, of less than a warp, of more than a block; rows that are no multiple of 4.
    small=(
        sizes(1, 32, 1, 1),
        sizes(1, 64, 1, 2),
        sizes(3, 96, 7, 1),
        sizes(5, 128, 2**31 - 1, 3),
        sizes(4, 160, 11, 2**31 - 1),
        sizes(3, 1024, 12345, 5),
        sizes(2, 1056, 54321, 8),
        sizes(5, 2080, 99, 100),
        sizes(17, 256, 31415, 9),
    ),
    secret={"rows": (1, 10, 1), "cols": (32, 1280, 32), "seed": (1, 2**31 - 1, 1), "offset": (1, 2**31 - 1, 1)},
    simulated=sizes(16, 1024, 2718, 28),
    timed=sizes(16384, 4096, 42, 7),
    work=Work(bytes="8*rows*cols + rows*cols/8 + 4*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.92,
        reach=0.93,
        ceiling="copy_f32x4",
        note="0.98 on an H200, 0.91 with loads behind an if and a branch for each element",
    ),
    technique=(
        # x is 4 bytes, and a bias for each element would be 4 more: 8. Stored and loaded again, one more 4 each.
        Expect(
            "global_load_bytes",
            at_most=8.25,
            per="rows*cols",
            why="More is loaded than x and the bias: something in between goes through global memory.",
            hint="bias, GELU and dropout belong into one kernel: each value stays in a register",
        ),
        Expect(
            "global_store_bytes",
            at_most=4.3,
            per="rows*cols",
            why="More is stored than y and one bit for each element.",
            hint="32 bits of the mask are one word: collect those of eight lanes with shuffles, and store it once",
        ),
        # Ten rounds for four elements are about 80 integer instructions of PTX: 20 an element. For each element: 80.
        Expect(
            "integer_instructions",
            at_most=1.5,
            per="rows*cols",
            why="The generator runs more often than once for four elements.",
            hint="a call gives four words: let a thread take four neighbouring elements, and use all of them",
        ),
    ),
    # |y| is at most 19: GELU by __expf errs by 1e-6 of it, and 1 / (1 - p) by 1e-7. tanh.approx is off by 2e-3.
    # Absolute only: bits of the mask are right or wrong.
    tolerance=Tolerance(absolute=4e-5),
    exact=False,
    compared=(
        "wrong/exact_quotient.diff",
        "wrong/library_tanh.diff",
        "wrong/call_for_each_element.diff",
        "wrong/two_kernels.diff",
    ),
    rivals=("pytorch:gelu_bias_dropout", "pytorch:gelu_bias_dropout_compiled"),
)
