from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

EXERCISE = Exercise(
    name="allreduce_ring",
    order=1003,
    idea="GPUs add up gradients, both ways round a ring, piece by piece",
    minutes=120,
    after=("streams_events",),
    paths=("host",),
    arrays=(
        Array("x", "float32", "gpus*n"),
        # The weights tell how many GPUs there are, the rates how many rounds.
        Array("weight", "float32", "gpus", values=Values(exact_low=1, exact_high=2, low=0.5, high=1.0)),
        Array("rate", "float32", "rounds", values=Values(exact_low=1, exact_high=2, low=0.5, high=1.0)),
        Array("out", "float32", "gpus*n", role="out"),
    ),
    oracle="training:descent",
    baseline="training:descent",
    # n is no multiple of the number of GPUs, or less than it: chunks of unequal length, and empty ones.
    small=(
        {"gpus": 2, "n": 1, "rounds": 1},
        {"gpus": 3, "n": 2, "rounds": 1},
        {"gpus": 2, "n": 1000, "rounds": 2},
        {"gpus": 3, "n": 1025, "rounds": 1},
        {"gpus": 4, "n": 4099, "rounds": 1},
    ),
    secret={"gpus": (2, 3, 1), "n": (2, 5000, 1), "rounds": (1, 2, 1)},
    # On two GPUs even a ring in one direction uses both ways of the link.
    simulated={"gpus": 3, "n": 2**16, "rounds": 2},
    timed={"gpus": 2, "n": 2**25, "rounds": 64},  # on as many GPUs as there are
    # What each GPU has to send, whichever way: its link to a neighbour is held against that.
    work=Work(bytes="8*n*rounds*(gpus-1)/gpus", flops="rounds*n*(gpus-1)"),
    target=Target(
        unit="transfer",
        of="ceiling",
        ceiling="link_between_devices",
        note="no line: it is not measured on several GPUs yet, so technique alone decides",
    ),
    technique=(
        Expect(
            "peer_bytes",
            at_least=0.95,
            per="8*n*rounds*(gpus-1)",
            why="Gradients take another way than from GPU to GPU, or rounds are skipped.",
            hint="enable peer access in `allow`, and copy with memcpyPeerAsync; once in every round",
        ),
        Expect(
            "peer_bytes",
            at_most=1.1,
            per="8*n*rounds*(gpus-1)",
            why="More bytes go from GPU to GPU than an all-reduce needs.",
            hint="cut the gradient into as many chunks as there are GPUs: in each step a GPU gets one chunk",
        ),
        Expect(
            "two_way_peer_bytes",
            at_least=0.9,
            per="8*n*rounds*(gpus-1)",
            why="Between two neighbours nearly all bytes go one way: the other way of their link is idle.",
            hint="one half of the gradient goes round to the right, the other half to the left, at the same time",
        ),
        # Adding is 0.229 of the kernels' time. 0.229 with two pieces or more, 0.172 with one, 0 on a single stream.
        Expect(
            "modelled_peer_overlap",
            at_least=0.2,
            why="Additions wait for whole chunks, or copies wait for additions: the links are idle meanwhile.",
            hint="cut a chunk into pieces, copy on one stream and add on another: while a piece is added, the next one "
            "is on its way; in the drawing, what does the second copy wait for?",
        ),
    ),
    # The parameters go towards a weighted mean, and errors of earlier rounds fade: a few roundings of numbers around 1
    # are left. Exact cases: after t rounds p is a multiple of 2^-4t; four rounds on four GPUs need 21 bits.
    tolerance=Tolerance(chain="16*gpus"),
    host=True,
    gpus=2,
)
