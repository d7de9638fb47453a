from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

EXERCISE = Exercise(
    name="streams_events",
    order=904,
    idea="events between streams: who waits for whom, and never the host",
    minutes=75,
    after=("streams_overlap",),
    paths=("host",),
    arrays=(
        # Exact sounds are -1, 0 or 1 with their echo, after the limit; real ones stay below 0.9 (see streams_overlap).
        Array("x", "float32", "n", values=Values(exact_low=-1, exact_high=1, low=-0.45, high=0.45)),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="waveshaper:echo",
    # The echo is 4096 samples late: chunks are at least as long, so these are up to 13 chunks.
    small=tuple({"n": n} for n in (1, 33, 1000, 4095, 4096, 4097, 8193, 12289, 50021)),
    secret={"n": (3, 40000, 1)},
    simulated={"n": 600_000},  # chunks longer than the echo is late, even 128 of them
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
            "host_waits",
            at_most=0,
            why="While the host waits it issues nothing, and whatever is done first has nothing to do next.",
            hint="let a stream wait in the host's place: stream.wait_event(event). The host waits once, at the end",
        ),
        Expect(
            "device_bytes",
            at_most=2,
            per="n",
            why="The recording may be larger than the GPU's memory: only a few chunks of it may be there at a time.",
            hint="cut it into a few dozen chunks, and make a few buffers for samples and as many for results: chunk i "
            "uses number i % RING, when it is free again",
        ),
        Expect(
            "copied_bytes",
            at_most=8.1,
            per="n",
            why="A sample has to cross the link once, and its result once: 8 bytes in all.",
            hint="the end of the chunk before is on the GPU already, in the buffer before",
        ),
        Expect(
            "streams",
            at_least=2,
            why="On one stream everything happens one after another: no copy goes on beside a kernel.",
            hint="one stream for each role: copy in, compute, copy out",
        ),
        # 32 chunks in a ring of three reach 0.95; what waits too much reaches 0.6 or less.
        Expect(
            "modelled_overlap",
            at_least=0.7,
            why="Copies and kernels waited for one another: even those with the most to do stood still for long.",
            hint="wait only for what is needed: with three buffers a copy in need not wait for the kernel before it",
            note="no_overlap",
        ),
    ),
    # As in streams_overlap.
    tolerance=Tolerance(absolute=4e-6),
    host=True,
)
