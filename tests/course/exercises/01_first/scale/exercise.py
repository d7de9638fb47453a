from grader import Array, Exercise, Expect, Tolerance, Values, Work

EXERCISE = Exercise(
    name="scale",
    order=101,
    idea="one thread multiplies one element",
    arrays=(
        # 2.5 · x is 5x / 2: exact in a float for integers of up to 21 bits
        Array("x", "float32", "n", values=Values(exact_low=-(2**20), exact_high=2**20)),
        Array("y", "float32", "n", role="out"),
    ),
    scalars={"factor": 2.5},
    oracle="mini:scale",
    small=tuple({"n": n} for n in (1, 31, 33, 257)),
    simulated={"n": 4096},
    work=Work(bytes="8 * n", flops="n"),
    technique=(
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="neighbouring threads do not touch neighbouring elements",
            hint="let the element's index grow by one from thread to thread",
        ),
    ),
    tolerance=Tolerance(relative=2**-23),
)
