from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Sums stay within ±2048, so halves hold them exactly; most of them need more than the 8 bits of bf16.
HALVES = Values(exact_low=-1024, exact_high=1024)

EXERCISE = Exercise(
    name="elementwise_pack",
    order=104,
    idea="packs of eight halves: 16 bytes a lane and request",
    minutes=30,
    after=("vector_add",),
    paths=("memory",),
    arrays=(
        Array("a", "float16", "n", values=HALVES, slices=True),
        Array("b", "float16", "n", values=HALVES, slices=True),
        Array("c", "float16", "n", role="out", slices=True),
    ),
    oracle="elementwise:add_relu",
    # Every remainder of 8, and sizes around a warp of packs (256) and a block of packs (2048).
    small=tuple({"n": n} for n in (1, 7, 8, 9, 30, 101, 250, 255, 256, 257, 1000, 2047, 2048, 2051, 4100, 10_006)),
    secret={"n": (2, 20_000, 1)},
    simulated={"n": 2**20},
    timed={"n": 2**29},
    work=Work(bytes="6 * n", flops="2 * n"),
    target=Target(unit="bandwidth", reach=0.91, ceiling="add_f16x8"),
    technique=(
        Expect(
            "bytes_per_lane",
            at_least=16,
            why="No load or store moves 16 bytes for each lane, although one instruction can.",
            hint="load a uint4 through reinterpret_cast<const uint4*>(a), and look at it as four __half2",
        ),
        # 3 requests of 32 · 16 bytes for 256 elements are 0.0117 per n; stores of 4 bytes make it 0.0234.
        Expect(
            "global_requests",
            at_most=0.0125,
            per="n",
            why="Not all of a, b and c are moved in packs: 3 requests for 256 elements are 0.0117 per n.",
            hint="use uint4 for both loads and for the store; single halves only for the last n % 8, and for slices",
        ),
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="Neighbouring threads do not have neighbouring packs: a part of each sector is wasted.",
            hint="pack i belongs to thread i. A thread with several packs takes them a whole block or grid apart",
        ),
    ),
    tolerance=Tolerance(relative=2**-10),  # one addition, rounded once: at most half of this
    baseline="elementwise:add_relu",
    rivals=("pytorch:add_relu",),
)
