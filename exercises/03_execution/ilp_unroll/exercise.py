from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

# Orbits around the point of rest at (1, 1), up to 2.2: neither kind dies out, and no island comes to rest.
AROUND = Values(low=0.5, high=1.5)
# Orbits up to 4.
MANY = Values(low=1.5, high=2.5)

EXERCISE = Exercise(
    name="ilp_unroll",
    order=304,
    idea="independent work in each thread hides latency, at the same occupancy",
    minutes=40,
    after=("saxpy_grid_stride", "occupancy"),
    paths=("memory",),
    arrays=(
        Array("hares", "float32", "n", values=AROUND, unusual=MANY),
        Array("foxes", "float32", "n", values=AROUND),
        Array("out", "float32", "n", role="out"),
    ),
    scalars={"h": 0.03125},
    oracle="execution:hares",
    # The last ones are longer than the grid, of 13 824 threads on the simulated A100, and than eight of it.
    small=tuple(
        {"n": n, "steps": steps}
        for n, steps in (
            (1, 1),
            (1, 100),
            (31, 7),
            (33, 1),
            (127, 16),
            (257, 200),
            (1000, 33),
            (13_825, 5),
            (120_011, 2),
        )
    ),
    secret={"n": (2, 30_000, 1), "steps": (1, 60, 1)},
    simulated={"n": 110_500, "steps": 64},  # eight islands for each of the 13 824 threads, nearly
    # 15.9 rounds of eight islands a thread on an H200, so that the last round is nearly full
    timed={"n": 2_150_000, "steps": 2048},
    work=Work(bytes="12 * n", flops="8 * n * steps"),
    target=Target(
        unit="fp32",
        ceiling="fma_f32",
    ),
    technique=(
        Expect(
            "threads",
            at_most=13_824,
            why="There are more warps than one for each scheduler: other warps hide the latency, not a thread's own "
            "work.",
            hint="leave the launch line as it is, sm_count blocks of 128 threads, and give each thread more to do at "
            "once",
        ),
        # One island at a time makes 1.05 to 1.75, two 2.1 to 2.75, three 3 and more, four 4 and more.
        Expect(
            "ilp",
            at_least=2.9,
            why="Nearly every instruction needs the result of the one before: the warp waits for each of them.",
            hint="take several islands through the same step before any of them takes the next one",
        ),
        # Four fma, and what the loop costs: 0.05 to 0.75.
        Expect(
            "thread_instructions",
            at_most=5.5,
            per="n*steps",
            why="A step costs more instructions than its four fused multiply-adds and a share of the loop.",
            hint="write both lines of a step with fmaf, as the stub has them, and take no island twice",
        ),
    ),
    # Roundings also move an island along its orbit, more and more: in units of eps √steps by 1.4 after 100 steps, by 10
    # after 2048 where there are many hares. Half precision is off by 2^-11 after one step, and one step more or less by
    # up to 0.02.
    tolerance=Tolerance(chain="steps", scale="2 + steps / 256"),
    exact=False,
    rivals=("execution:one_island_at_a_time", "execution:one_island_and_all_warps"),
)
