from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

EXERCISE = Exercise(
    name="streams_overlap",
    order=903,
    idea="chunks on several streams: copies and kernels at the same time",
    minutes=50,
    after=("pinned_copy",),
    paths=("host",),
    arrays=(
        # At -1, 0 and 1 every Chebyshev polynomial is -1, 0 or 1, and all sums are multiples of 1/512: exact in any
        # order. Elsewhere the recurrence magnifies roundings by up to 1 / sqrt(1 - x²), which is 2.3 at 0.9.
        Array("x", "float32", "n", values=Values(exact_low=-1, exact_high=1, low=-0.9, high=0.9)),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="waveshaper:harmonics",
    # 50021 samples: chunks longer than a block, and no multiple of it.
    small=tuple({"n": n} for n in (1, 2, 33, 257, 1000, 50021)),
    secret={"n": (3, 40000, 1)},
    simulated={"n": 2**18},
    timed={"n": 2**25},  # 128 MiB cross the link in each direction
    work=Work(bytes="4*n", flops="3*895*n"),
    target=Target(
        unit="overlap", of="ceiling", fraction=0.85, reach=0.85, note="below the solution, docs/results/h200-host.md"
    ),
    technique=(
        Expect(
            "pageable_bytes",
            at_most=0,
            why="Memory that is not pinned is copied through a buffer of the driver, and the host waits meanwhile.",
            hint="pin x and out in setup, and copy from and to them themselves, not to an array in between",
        ),
        Expect(
            "copied_bytes",
            at_most=8.1,
            per="n",
            why="A sample has to cross the link once, and its result once: 8 bytes in all.",
            hint="copy each chunk's own samples in and its own results out, and nothing else",
        ),
        Expect(
            "streams",
            at_least=2,
            why="On one stream everything happens one after another: no copy goes on beside a kernel.",
            hint="cut the work into a few dozen chunks at every size, make a few streams, and give chunk number i to "
            "stream i % STREAMS",
        ),
        # 32 chunks on four streams reach 0.94, on two 0.71; 8 chunks 0.82; everything one after another 0.36.
        Expect(
            "modelled_overlap",
            at_least=0.7,
            why="Copies and kernels waited for one another: even those with the most to do stood still for long.",
            hint="each of a few dozen chunks has its copy in, its kernel and its copy out on one stream, and buffers "
            "of its own; where the drawing has gaps, look at what the next operation waits for",
            note="no_overlap",
        ),
    ),
    # The given kernel errs by up to 3e-7; a plain sum of T_k may be ten times as far off.
    tolerance=Tolerance(absolute=4e-6),
    host=True,
)
