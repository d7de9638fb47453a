from grader import Array, Exercise, Expect, Target, Tolerance, Work

EXERCISE = Exercise(
    name="cooperative_grid",
    order=907,
    idea="grid-wide sync: all steps in one cooperative launch",
    minutes=45,
    after=("cuda_graph",),
    paths=("host",),
    # The arrays and the oracle of cuda_graph: the same rod, the same steps, in one kernel instead of one for each.
    arrays=(
        Array("x", "float32", "n"),
        Array("heat", "float32", "steps"),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="stencil:heated",
    # 300001 points are more blocks of 1024 threads than the simulated A100 or an H200 holds at once; odd and even
    # numbers of steps end in different buffers.
    small=(
        {"n": 1, "steps": 1},
        {"n": 2, "steps": 4},
        {"n": 33, "steps": 5},
        {"n": 255, "steps": 2},
        {"n": 1000, "steps": 12},
        {"n": 1025, "steps": 7},
        {"n": 4099, "steps": 20},
        {"n": 300001, "steps": 3},
    ),
    secret={"n": (3, 9000, 1), "steps": (1, 16, 1)},
    simulated={"n": 2**18, "steps": 40},
    timed={"n": 2**18, "steps": 200},
    work=Work(bytes="4*n + 4*steps", flops="4*n*steps", launches="steps"),
    # No line: the figure is how many steps pass in the time in which a plain loop would launch one kernel.
    target=Target(unit="launches", of="ceiling", note="no line: technique alone decides"),
    technique=(
        Expect(
            "launches",
            at_most=1,
            why="Each step is a launch of its own: the host orders the steps, one call after the other.",
            hint="put the loop over the steps into the kernel, with this_grid().sync() at the end of each",
        ),
        Expect(
            "cooperative_launches",
            at_least=1,
            why="An ordinary launch does not promise that all blocks run at once, nor does one block use the GPU.",
            hint="a kernel that uses cooperative_groups::this_grid().sync() is launched cooperatively here",
        ),
        # 16 blocks of 1024 threads for 262144 points. The shipped solution has 108 of them on the simulated A100.
        Expect(
            "threads",
            at_least=0.0625,
            per="n",
            why="With fewer than one thread for 16 points, most multiprocessors have nothing to do.",
            hint="launch as many blocks as fit on the GPU at once, or as the rod has points for",
        ),
    ),
    # Each step rounds twice, and the average that it takes evens errors out. Halves would be 100 times as far off after
    # a single step. No exact cases: each step would need two bits more.
    tolerance=Tolerance(chain="2*steps"),
    exact=False,
    host=True,
    blocks_race=(
        "All blocks must wait for each other between the two accesses: "
        "cooperative_groups::this_grid().sync(). A __syncthreads() waits for its own block only."
    ),
)
