from grader import Array, Exercise, Expect, Target, Values, Work

# The words are only moved: integers of up to 24 bits must arrive unchanged, and no 11-bit format carries them.
WIDE = Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)

EXERCISE = Exercise(
    name="bank_conflicts",
    order=209,
    idea="find and remove a 2-way, an 8-way and a 32-way conflict",
    minutes=40,
    after=("vector_add",),
    paths=("memory", "attention", "gemm", "debugging"),
    arrays=(
        Array("x", "float32", "32 * rows", values=WIDE),
        Array("planes", "float32", "32 * rows", role="out"),
        Array("merged", "float32", "32 * rows", role="out"),
        Array("columns", "float32", "32 * rows", role="out"),
    ),
    oracle="layout:regroup",
    small=tuple(
        {"rows": rows, "rounds": rounds}
        for rows, rounds in (
            (1, 1),
            (2, 3),
            (3, 2),
            (7, 1),
            (8, 1),
            (9, 2),
            (31, 1),
            (32, 3),
            (33, 1),
            (100, 2),
            (257, 1),
        )
    ),
    secret={"rows": (4, 500, 1), "rounds": (1, 4, 1)},
    simulated={"rows": 2**12, "rounds": 1},
    timed={"rows": 2**15, "rounds": 128},
    # Each kernel stores a row of 128 bytes in a tile and loads it: there once, and back and there again in each round.
    work=Work(bytes="4 * 128 * rows", shared_bytes="6 * 128 * rows * (2 * rounds + 1)"),
    target=Target(
        unit="shared",
        of="ceiling",
        ceiling="shared_f32",
        warm=True,
    ),
    compared=("stub", "wrong/two_of_three.diff", "wrong/the_worst_only.diff"),
    technique=(
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Lanes of a warp use different words of one bank, and take turns.",
            hint="write down the slot for lanes 0, 1, 2 … there: slot % 32 is the bank. Then change the slot function",
        ),
        # Each kernel stores and loads each row of 32 words once for each way: 6 requests. Without one of the kernels it
        # is 4; an 8-byte load of pairs, or one tile shared by two kernels, still makes 4.5 or more.
        Expect(
            "shared_requests",
            at_least=4.2,
            per="rows*(2*rounds+1)",
            why="One of the kernels does without its tile on some of the ways: the conflict is avoided, not removed.",
            hint="keep the three tiles and all of their rounds, and change where in them each word lives",
        ),
        Expect(
            "sector_efficiency",
            at_least=0.99,
            why="The conflict has moved to global memory: neighbouring threads no longer use neighbouring words there.",
            hint="leave the indices of x, planes, merged and columns as they are",
        ),
    ),
    points=(40, 40, 20),
)
