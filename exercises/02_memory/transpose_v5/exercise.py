from grader import Array, Exercise, Expect, Target, Values, Work

# The floats are only moved: integers of up to 24 bits must arrive unchanged, and no 11-bit format carries them.
WIDE = Values(exact_low=-(2**24) + 1, exact_high=2**24 - 1)

EXERCISE = Exercise(
    name="transpose_v5",
    order=208,
    idea="float4 on both sides, and a swizzle instead of padding",
    minutes=60,
    after=("transpose_v4", "elementwise_pack"),
    paths=("memory",),
    ladder="transpose",
    arrays=(
        Array("x", "float32", "rows*cols", values=WIDE),
        Array("out", "float32", "cols*rows", role="out"),  # a row of out is a column of x
    ),
    oracle="layout:transpose",
    # Squares hide an exchanged rows and cols, so nearly none is one; 36 x 68 is for loads of four floats.
    small=(
        {"rows": 1, "cols": 1},
        {"rows": 1, "cols": 7},
        {"rows": 33, "cols": 1},
        {"rows": 2, "cols": 3},
        {"rows": 31, "cols": 33},
        {"rows": 32, "cols": 32},
        {"rows": 64, "cols": 32},
        {"rows": 33, "cols": 65},
        {"rows": 36, "cols": 68},
        {"rows": 127, "cols": 64},
        {"rows": 100, "cols": 257},
        {"rows": 1025, "cols": 3},
    ),
    secret={"rows": (2, 300, 1), "cols": (2, 300, 1)},
    # Whole tiles up to 256 x 256: what a solution does at the edges, it may do slowly. The small sizes have the edges.
    simulated={"rows": 768, "cols": 1280},
    timed={"rows": 8192, "cols": 8192},
    work=Work(bytes="8*rows*cols"),
    target=Target(
        unit="bandwidth",
        reach=0.84,
        ceiling="copy_f32x4",
        note="0.842 to 0.848 on H200s: where the tiles go keeps it below the copy, see transpose.md",
    ),
    technique=(
        # 1/128 where each lane moves 16 bytes; 8 bytes a lane are 1/64. Edges and odd rows may be done float by float.
        Expect(
            "global_load_requests",
            at_most=0.0125,
            per="rows * cols",
            why="The loads move fewer than 16 bytes for each lane: more requests, and more instructions around them.",
            hint="load a float4 through reinterpret_cast<const float4*>(x + …) wherever its address allows that",
        ),
        Expect(
            "global_store_requests",
            at_most=0.0125,
            per="rows * cols",
            why="The stores move fewer than 16 bytes for each lane: more requests, and more instructions around them.",
            hint="a thread needs four neighbours of a row of out: those are four neighbours of a column of x",
        ),
        # As in transpose_v3; but the spare word that helps there would misalign every float4.
        Expect(
            "excess_wavefronts",
            at_most=0,
            why="Of 8 lanes that are served together, 16 bytes each, some have their float4 in the same four banks.",
            hint="write down the place in the tile % 8 for 8 neighbouring lanes, on both ways: all must differ",
        ),
    ),
    baseline="layout:transpose",
    rivals=("pytorch:transpose",),
    only_timed="four loads of each thread in flight",
)
