from grader import Array, Exercise, Expect, Target, Tolerance, Work

EXERCISE = Exercise(
    name="cooperative_grid",
    order=907,
    idea="grid-wide sync: the state stays on the chip, several steps for one barrier",
    minutes=75,
    after=("cuda_graph",),
    paths=("host",),
    # The arrays and the oracle of cuda_graph: the same rod, the same steps, in one kernel instead of one for each.
    arrays=(
        Array("x", "float32", "n"),
        Array("heat", "float32", "steps"),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="stencil:heated",
    # 300001 points are more than the simulated A100 or an H200 has threads at once. 255 points leave the last
    # warp of the solution three; 2 points and 40 steps are more steps than points.
    small=(
        {"n": 1, "steps": 1},
        {"n": 2, "steps": 40},
        {"n": 33, "steps": 5},
        {"n": 255, "steps": 19},
        {"n": 1000, "steps": 36},
        {"n": 1025, "steps": 7},
        {"n": 4099, "steps": 37},
        {"n": 300001, "steps": 3},
    ),
    secret={"n": (3, 9000, 1), "steps": (1, 40, 1)},
    simulated={"n": 2**17, "steps": 40},
    timed={"n": 2**18, "steps": 200},
    work=Work(bytes="4*n + 4*steps", flops="4*n*steps", launches="steps"),
    target=Target(unit="launches", of="ceiling", note="no line: technique alone decides"),
    technique=(
        Expect(
            "launches",
            at_most=1,
            why="Each step is a launch of its own: the host orders the steps, one call after the other.",
            hint="put the loop over the steps into the kernel, with this_grid().sync() between them",
        ),
        Expect(
            "cooperative_launches",
            at_least=1,
            why="An ordinary launch does not promise that all blocks run at once, nor does one block use the GPU.",
            hint="a kernel that uses cooperative_groups::this_grid().sync() is launched cooperatively here",
        ),
        # 4 blocks of 1024 threads for 131072 points. The shipped solution has 66 of 256.
        Expect(
            "threads",
            at_least=0.03125,
            per="n",
            why="With fewer than one thread for 32 points, most multiprocessors have nothing to do.",
            hint="give each thread a few points, and launch as many blocks as that takes",
        ),
        # A point that is loaded and stored once in 40 steps costs at most 0.05 sectors a step. The shipped solution has
        # 0.07 with its edges; a rod that is read and written in each step has 0.56.
        Expect(
            "sectors",
            at_most=0.1,
            per="n*steps",
            why="The rod goes through global memory again and again, though the threads that need it stay on the chip.",
            hint="keep the points in registers or shared memory for all steps; only edges go through global memory",
        ),
        # In a barrier of the grid each block adds to a counter once. 54 a step: 108 blocks that wait every other step.
        # The shipped solution has 3, from 66 blocks that wait twice in 40 steps.
        Expect(
            "global_atomic_requests",
            at_most=54,
            per="steps",
            why="The grid waits for itself in each step, and a barrier takes longer than the step.",
            hint="hold a halo of H points more on either side: H steps need no neighbour, and then one barrier",
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
