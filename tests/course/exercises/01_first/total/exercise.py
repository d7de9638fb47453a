from grader import Array, Exercise, Expect, Tolerance, Values, Work

EXERCISE = Exercise(
    name="total",
    order=102,
    idea="a tree in shared memory, until one number is left",
    arrays=(
        Array("x", "float32", "n", values=Values(exact_low=-255, exact_high=255)),
        Array("out", "float32", "1", role="out"),
    ),
    oracle="mini:total",
    small=tuple({"n": n} for n in (1, 2, 63, 64, 65, 1000, 4097)),
    simulated={"n": 2**14},
    work=Work(bytes="4 * n + 4", flops="n - 1"),
    technique=(
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="lanes of a warp use different words of one bank",
            hint="let thread t add word t + s to word t",
        ),
    ),
    tolerance=Tolerance(chain="cdiv(n, 64) + 64", scale="sqrt(n)", chain_factor=1.5),
)
