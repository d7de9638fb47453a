from grader import Array, Exercise, Expect, Target, Values, Work

EXERCISE = Exercise(
    name="l2_persistence",
    order=906,
    idea="an access-policy window: an index stays in L2 while a scan passes",
    minutes=75,
    after=("pinned_copy",),
    paths=("host",),
    arrays=(
        Array("keys", "uint32", "searches", values=Values(exact_low=0, exact_high=2**32 - 1)),
        Array("out", "uint32", "searches*rounds", role="out"),
    ),
    oracle="tables:walks",
    small=tuple(
        {"searches": searches, "rounds": rounds} for searches, rounds in ((1, 1), (2, 5), (31, 3), (33, 2), (65, 4))
    ),
    secret={"searches": (3, 70, 1), "rounds": (1, 4, 1)},
    simulated={"searches": 64, "rounds": 3},  # an index of 768 KiB, a log of 3 MiB
    timed={"searches": 2048, "rounds": 16},  # an index of 24 MiB, a log of 96 MiB
    # In each round a search reads 128 nodes of 32 bytes, and the scan 49152 bytes for each search.
    work=Work(bytes="53248*searches*rounds", flops="0"),
    target=Target(unit="bandwidth", note="on an H200 the same rounds without a window stay a third below"),
    technique=(
        Expect(
            "persisting_bytes",
            at_least=1,
            per="12288*searches",
            why="Each scan drives the index out of L2: after it, every step of a search waits for memory.",
            hint="it takes all of these: L2 that is set aside, and on the kernels' stream a window over the index, "
            "with its size in bytes, persisting hits and a hitRatio of 1",
        ),
    ),
    baseline="tables:walks",
    host=True,
)
