from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Integers of up to 23 bits: every sum fits a float's 24 bits exactly, and no 11-bit format (fp16, tf32) holds them.
WIDE = Values(exact_low=-(2**23) + 1, exact_high=2**23 - 1)

EXERCISE = Exercise(
    name="vector_add",
    order=102,
    idea="one thread adds one element; the last block sticks out",
    minutes=10,
    after=("hello_index",),
    paths=("interview", "memory", "attention", "gemm", "debugging"),
    arrays=(
        Array("a", "float32", "n", values=WIDE),
        Array("b", "float32", "n", values=WIDE),
        Array("c", "float32", "n", role="out"),
    ),
    oracle="elementwise:add",
    small=tuple({"n": n} for n in (1, 31, 32, 33, 127, 256, 257, 1000, 1023, 1025, 4099)),
    secret={"n": (2, 9000, 1)},
    simulated={"n": 2**20},
    timed={"n": 2**28},
    work=Work(bytes="12 * n", flops="n"),
    target=Target(
        unit="bandwidth",
        reach=0.70,
        ceiling="add_f32x1",
    ),
    technique=(
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="The 32 threads of a warp do not touch 32 neighbouring floats: a part of each sector is wasted.",
            hint="let the index grow by one from one thread to the next: blockIdx.x * blockDim.x + threadIdx.x",
        ),
    ),
    tolerance=Tolerance(relative=2**-23),  # one addition, rounded once: at most half of this
    baseline="elementwise:add",
    rivals=("pytorch:add",),
)
