from grader import Array, Exercise, Target, Tolerance, Values, Work

# As in softmax_v1: expf overflows without the row's largest value, and gives 0 for a whole row if that began at 0.
WIDE = Values(low=-120.0, high=120.0)
FAR_BELOW = Values(low=-120.0, high=-100.0)
ORDINARY = Values(low=-4.0, high=4.0)

EXERCISE = Exercise(
    name="cluster_reduce",
    order=1001,
    idea="distributed shared memory: a cluster holds a softmax row that no block can hold",
    minutes=75,
    after=("softmax_v4",),
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE, timed=ORDINARY, unusual=FAR_BELOW),
        Array("y", "float32", "rows*cols", role="out"),
    ),
    oracle="softmax:rows",
    # Rows begin at multiples of 16 bytes. The shortest leave blocks of a cluster without an element; of 4196 in 8 parts
    # some threads have one pack, others none; 220000 are 110 KB a block. A cluster of the solution takes 32 rows.
    small=(
        {"rows": 1, "cols": 4},
        {"rows": 3, "cols": 8},
        {"rows": 257, "cols": 20},
        {"rows": 5, "cols": 36},
        {"rows": 33, "cols": 1000},
        {"rows": 40, "cols": 4196},
        {"rows": 35, "cols": 65540},
        {"rows": 3, "cols": 200_000},
        {"rows": 1, "cols": 220_000},
    ),
    secret={"rows": (1, 80, 1), "cols": (8, 20_000, 4)},
    simulated={"rows": 8, "cols": 200_000},
    timed={"rows": 960, "cols": 200_000},  # 768 MB read and written
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        ceiling="copy_f32x4",
        reach=0.77,
        note="the ceiling is a copy of the same bytes; without clusters each row is read twice",
    ),
    # No technique: the simulator is an A100, which has no clusters, and can count nothing.
    # As in softmax_v1, and a share is a product of two exponentials.
    tolerance=Tolerance(relative=5e-5, absolute=2e-38),
    exact=False,
    baseline="softmax:rows",
    rivals=("softmax:in_two_kernels", "pytorch:softmax"),
    requires="sm_90",
)
