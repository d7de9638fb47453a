from grader import Array, Exercise, Expect, Target, Tolerance, Work

EXERCISE = Exercise(
    name="cuda_graph",
    order=905,
    idea="a graph: thousands of small kernels in one launch",
    minutes=50,
    after=("streams_overlap",),
    paths=("host",),
    arrays=(
        Array("x", "float32", "n"),
        Array("heat", "float32", "steps"),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="stencil:heated",
    # Odd and even numbers of steps end in different buffers.
    small=(
        {"n": 1, "steps": 1},
        {"n": 2, "steps": 4},
        {"n": 33, "steps": 5},
        {"n": 255, "steps": 2},
        {"n": 1000, "steps": 12},
        {"n": 1025, "steps": 7},
        {"n": 4099, "steps": 20},
    ),
    secret={"n": (3, 9000, 1), "steps": (1, 16, 1)},
    simulated={"n": 4096, "steps": 200},
    timed={"n": 32768, "steps": 2000},  # 128 blocks a step: too much for one block in the time that a launch takes
    work=Work(bytes="4*n + 4*steps", flops="4*n*steps", launches="steps"),
    target=Target(unit="launches", of="ceiling", fraction=3.0, reach=3.0, note="5 to 8 on H200s, by the host's speed"),
    technique=(
        Expect(
            "launches",
            at_least=1,
            per="steps",
            why="Here each step is a kernel of its own: the graph is to launch them, not to do without them.",
            hint="capture one launch for each step; cooperative_grid is about all steps in one launch",
        ),
        Expect(
            "launch_calls",
            at_most=0.1,
            per="steps",
            why="A call that launches or captures a kernel costs the host microseconds, more than the kernel takes.",
            hint="capture the steps once, in setup, and launch the graph in run",
        ),
    ),
    # Each step rounds twice, and the average that it takes evens errors out: 1.4e-7 is left after 2000 steps. No exact
    # cases: each step would need two bits more.
    tolerance=Tolerance(chain="2*steps"),
    exact=False,
    host=True,
)
