from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

EXERCISE = Exercise(
    name="pinned_copy",
    order=901,
    idea="pinned memory, and one large copy instead of many small ones",
    minutes=40,
    paths=("host",),
    arrays=(
        # The largest of 1024 such integers is near 999 000: exact in floats, and beyond fp16 and tf32. Were the range
        # small, every frame would have the same answer.
        Array("x", "float32", "1024*frames", values=Values(exact_low=-1_000_000, exact_high=1_000_000)),
        Array("out", "float32", "frames", role="out"),
    ),
    oracle="frames:peak",
    small=tuple({"frames": frames} for frames in (1, 2, 33, 129, 1025)),
    secret={"frames": (3, 200, 1)},
    simulated={"frames": 1024},  # 4 MiB
    timed={"frames": 65536},  # 256 MiB cross the link, 256 KiB come back
    work=Work(bytes="4096*frames", flops="1023*frames"),
    target=Target(
        unit="transfer",
        fraction=0.93,
        reach=0.95,
        of="ceiling",
        ceiling="link_to_device",
        note="below the solution; pageable memory reaches a fifth of it",
    ),
    technique=(
        Expect(
            "pageable_bytes",
            at_most=0,
            why="The copy engine cannot use pageable memory: all goes through a pinned buffer of the driver first.",
            hint="pin all of x and out in setup: cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0); "
            "and copy with .set(x) and .get(out=out), because asarray and asnumpy copy through arrays of their own",
        ),
        # 32 KiB a copy on average: in less, a call takes several times as long as its bytes take on the link.
        Expect(
            "copies",
            at_most=1 / 8,
            per="frames",
            why="Each copy costs microseconds to call and to begin, however small it is; the link waits meanwhile.",
            hint="copy the whole array in one call, or in a few pieces of several MiB",
        ),
        Expect(
            "pinned_bytes",
            at_most=0,
            why="Pinning takes longer than copying: each page is found and locked.",
            hint="pin in setup, once: the arrays stay where they are, and only their values change",
        ),
    ),
    # A maximum is one of the samples: it is not rounded.
    tolerance=Tolerance(relative=1e-7),
    baseline="frames:peak",
    host=True,
)
