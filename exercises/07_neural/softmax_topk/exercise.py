from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

ORDINARY = Values(low=-8.0, high=8.0, shape="normal")
WIDE = Values(low=-100.0, high=100.0)
# Zeros of both signs, which are equal.
EQUAL = Values(low=-1e-46, high=1e-46)
LARGE = Values(low=-3e38, high=-2e38, outlier=-90.0)

EXERCISE = Exercise(
    name="softmax_topk",
    order=705,
    idea="the gate of a mixture of experts: top-k and softmax in one read",
    minutes=75,
    after=("softmax_v1",),
    arrays=(
        Array(
            "logits", "float32", "rows*64", values=WIDE, timed=ORDINARY, unusual=(ORDINARY, EQUAL, LARGE), masked=True
        ),
        Array("weights", "float32", "rows*8", role="out", axes={"row": "rows", "place": "8"}),
        Array("experts", "int32", "rows*8", role="out", axes={"row": "rows", "place": "8"}),
    ),
    oracle="softmax:topk",
    small=({"rows": 1}, {"rows": 2}, {"rows": 31}, {"rows": 33}, {"rows": 127}, {"rows": 300}),
    secret={"rows": (1, 400, 1)},
    simulated={"rows": 1024},
    timed={"rows": 1 << 20},  # 256 MiB of logits, 64 MiB of results
    work=Work(bytes="rows*(64*4 + 8*8)"),
    target=Target(
        unit="bandwidth",
        reach=0.85,
        of="ceiling",
        fraction=0.80,
        ceiling="read_f32x4",
        note="the solution had 0.821 in one run, below its reach; with the next rows loaded during the selection, "
        "and so half the warps, 0.740",
    ),
    technique=(
        # Each logit once, 4 B; a kernel that writes all shares and reads them again has 8 B more.
        Expect(
            "global_load_bytes",
            at_most=4.2,
            per="rows*64",
            why="The logits are loaded more than once, or an intermediate result comes back from memory.",
            hint="keep a row in registers or in shared memory from its load to its eight results",
        ),
        Expect(
            "global_store_bytes",
            at_most=1.1,
            per="rows*64",
            why="More is stored than eight weights and eight places for each row.",
            hint="nothing between the logits and the results belongs in global memory",
        ),
        # 1/8 for the loads and 1/32 for the stores make 0.156; lanes with a row each have 32 sectors in every request.
        Expect(
            "sectors",
            at_most=0.20,
            per="rows*64",
            why="Neighbouring lanes load from different rows: each request touches 32 sectors for a part of each.",
            hint="let 16 lanes load a row, 16 bytes each, and hand the rows to the lanes through shared memory",
        ),
    ),
    # The argument of expf is rounded to 2^-18 near 100; a sum of eight terms and a division are near it.
    tolerance=Tolerance(relative=3e-5, absolute=2e-38),
    exact=False,
    baseline="softmax:topk",
    rivals=("pytorch:softmax_topk", "pytorch:softmax_topk_compiled"),
)
