"""Verdicts that the renderers' tests share; built by hand, as a stage would build them."""

from __future__ import annotations

from dataclasses import replace

from grader.verdict import (
    STAGES,
    Access,
    CaseResult,
    Diagnostic,
    LaunchRecord,
    LineCounters,
    Measurement,
    Operation,
    Place,
    Roof,
    StageResult,
    Status,
    Timeline,
    Verdict,
    WorstRequest,
)

SOURCE = """\
// launch reduce_v3(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4
extern "C" __global__ void reduce_v3(const float *src, float *dst, int m)
{
    extern __shared__ float partial[];
    int tid = threadIdx.x;
    partial[tid] = tid < m ? src[tid] : 0;

    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s)
            partial[tid] += partial[tid + s];
    }
    if (tid == 0) dst[blockIdx.x] = partial[0];
}
"""


def request(offsets: list[int], *, space: str = "global", taken: int, least: int) -> WorstRequest:
    """A load of floats at line 10."""
    return WorstRequest("vector_add", 10, space, "load", "src", 0, (0, 0, 0), 0, 4, tuple(offsets), taken, least)


STRIDED = request([8 * lane for lane in range(32)], taken=8, least=4)


def stages(*statuses: Status) -> tuple[StageResult, ...]:
    reasons = {"not_graded": "no GPU was found"}
    return tuple(
        StageResult(name, status, reasons.get(status, "")) for name, status in zip(STAGES, statuses, strict=True)
    )


RACE = Diagnostic(
    kind="race",
    message="race on shared partial[49]: written by thread 49 at reduce_v3.cu:6, read by thread 17 at reduce_v3.cu:10",
    file="reduce_v3.cu",
    line=10,
    column=29,
    kernel="reduce_v3",
    thread=(17, 0, 0),
    block=(0, 0, 0),
    space="shared",
    array="partial",
    index=49,
    address=196,
    accesses=(Access("write", (49, 0, 0), (0, 0, 0), 6), Access("read", (17, 0, 0), (2, 0, 0), 10)),
    count=31,
)

RACY = Verdict(
    exercise="reduce_v3",
    backend="sim",
    verdict="race",
    score=0,
    max_score=80,
    seed=42,
    stages=stages("passed", "failed", "passed", "skipped", "not_graded"),
    cases=(CaseResult({"n": 1}, "passed"), CaseResult({"n": 33}, "failed", "race", values="exact")),
    diagnostics=(
        RACE,
        Diagnostic("uninitialised_read", "dst[3] was read before it was written", severity="warning", line=12),
    ),
    file="reduce_v3.cu",
    next_step="Put a barrier between the two accesses.",
)

PASSED = Verdict(
    exercise="vector_add",
    backend="sim+gpu",
    verdict="pass",
    score=100,
    max_score=100,
    seed=7,
    stages=stages("passed", "passed", "passed", "passed", "passed"),
    cases=(CaseResult({"n": 1}, "passed"), CaseResult({"n": 2**28}, "passed", backend="gpu")),
    launches=(
        LaunchRecord(
            "vector_add",
            (4096, 1, 1),
            (256, 1, 1),
            0,
            {
                "sector_efficiency": 1.0,
                "excess_wavefronts": 0.0,
                "active_lanes": 0.998,
                "conflict_degree": float("nan"),
            },
            lines=(LineCounters(6, {"sector_efficiency": 1.0}),),
        ),
    ),
    measured=Measurement(
        9.0e-4, (8.9e-4, 9.1e-4), 30, "B", 3.41e12, 4.8e12, 0.71, 3.44e12, 0.991, "0.70 of peak", 0.70, False
    ),
    device="NVIDIA H200",
    file="vector_add.cu",
    next_step="Next exercise: `grade start saxpy_grid_stride`.",
    elapsed_s=1.5,
)

HOSTILE = replace(
    RACY,
    printed="\x1b[2J\x1b[31mpass\x07 \u202egnihton\u202c [bold]markup[/bold] :boom:\r\nsecond\n",
    diagnostics=(replace(RACE, message="\x1b]0;title\x07 [red]not markup[/red] \u2066hidden\u2069", array="a\x1b[0m"),),
    exercise="reduce\x1b[1m_v3",
)


def plainly(verdict: Verdict, word: str) -> Verdict:
    """A verdict of each word, with one finding."""
    found = () if word == "pass" else (Diagnostic(word, f"this is about {word}", line=10, hint="do this"),)
    return replace(verdict, verdict=word, diagnostics=found, next_step="Do this.")


WASTEFUL = Verdict(
    exercise="vector_add",
    backend="sim+gpu",
    verdict="technique",
    score=60,
    max_score=100,
    seed=3,
    stages=stages("passed", "passed", "passed", "failed", "skipped"),
    cases=PASSED.cases,
    launches=(
        LaunchRecord(
            "vector_add",
            (4096, 1, 1),
            (256, 1, 1),
            1024,
            {"instructions": 720896.0, "sectors": 196608.0, "sector_efficiency": 0.5, "excess_wavefronts": 32768.0},
            lines=(
                LineCounters(6, {"instructions": 98304.0, "wavefronts": 65536.0, "excess_wavefronts": 32768.0}),
                LineCounters(10, {"instructions": 622592.0, "sectors": 196608.0, "sector_efficiency": 0.5}),
            ),
            worst=(
                STRIDED,
                request([128 * lane for lane in range(32)], taken=32, least=4),
                request([8 * lane for lane in range(32)], space="shared", taken=2, least=1),
            ),
        ),
    ),
    measured=Measurement(
        2.1e-3,
        (2.0e-3, 2.2e-3),
        30,
        "B",
        1.7e12,
        4.8e12,
        0.354,
        3.44e12,
        0.494,
        "0.70 of peak",
        0.70,
        False,
        roof=Roof(1 / 12, 1.4e11, 4.8e12, 6.69e13),
    ),
    diagnostics=(
        Diagnostic(
            "technique",
            "sector efficiency is 0.5; this step asks for at least 0.99. Line 10 stands out with a "
            "sector efficiency of 0.5.",
            file="vector_add.cu",
            line=10,
            kernel="vector_add",
            hint="let the index grow by one from one thread to the next: `blockIdx.x * blockDim.x + threadIdx.x`",
            counter="sector_efficiency",
        ),
    ),
    device="NVIDIA H200",
    file="vector_add.cu",
    next_step="Let the index grow by one from one thread to the next.",
    elapsed_s=2.5,
    notes=("vector_add.cu(4): warning: variable `k` was declared but never referenced",),
)


# ------------------------------------------------------------------------------------------------------- host exercises

HOST_SOURCE = """\
import cupy

streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]


def run():
    for i in range(4):
        copying, computing = streams[i % 2], streams[(i + 1) % 2]
        chunk[i].set(x[i], stream=copying)
        with computing:
            smooth(GRID, BLOCK, (chunk[i], result[i]))
        result[i].get(stream=computing, out=out[i], blocking=False)
    cupy.cuda.Device().synchronize()
"""


def overlapped(chunks: int, streams: int) -> Timeline:
    """Chunks that come in, are worked on and go out, each in one of the streams in turn."""
    operations: list[Operation] = []
    free = {"to_device": 0.0, "kernel": 0.0, "to_host": 0.0}
    steps = (("to_device", "x", 1e-3, 9), ("kernel", "smooth", 8e-4, 11), ("to_host", "out", 9e-4, 12))
    ends = dict.fromkeys(range(1, streams + 1), 0.0)
    for chunk in range(chunks):
        stream = 1 + chunk % streams
        for kind, name, seconds, line in steps:
            start = max(free[kind], ends[stream])
            free[kind] = ends[stream] = start + seconds
            moved = 0 if kind == "kernel" else 1 << 26
            operations.append(Operation(kind, name, stream, start, start + seconds, moved, line))
    return Timeline(tuple(operations), max(ends.values()), True, "A100 (PCIe 4)")


def replayed(nodes: int) -> Timeline:
    """A graph of many short kernels, and a copy out."""
    operations = [Operation("kernel", "step", 1, 2e-6 * i, 2e-6 * i + 1.5e-6, line=20) for i in range(nodes)]
    end_s = 2e-6 * nodes
    operations.append(Operation("to_host", "out", 1, end_s, end_s + 3e-5, 1 << 20, 22))
    return Timeline(tuple(operations), end_s + 3e-5, False, "NVIDIA H200")


MISSING_WAIT = Diagnostic(
    kind="missing_wait",
    message="kernel smooth on stream 2 (streams_overlap_host.py:11) reads the device copy of x before the copy on "
    "stream 1 (streams_overlap_host.py:9) that fills it; no event between them",
    file="streams_overlap_host.py",
    line=11,
    kernel="smooth",
    hint="record an event behind the copy, and let stream 2 wait for it: `computing.wait_event(copying.record())`",
    places=(
        Place("accused", 11, "streams_overlap_host.py", stream=2),
        Place("other", 9, "streams_overlap_host.py", stream=1),
    ),
)

WAITLESS = Verdict(
    exercise="streams_overlap",
    backend="sim",
    verdict="race",
    score=0,
    max_score=80,
    seed=42,
    stages=stages("passed", "failed", "passed", "skipped", "not_graded"),
    cases=(CaseResult({"n": 1}, "passed"), CaseResult({"n": 33}, "failed", MISSING_WAIT.message)),
    diagnostics=(MISSING_WAIT,),
    device="simulated A100",
    file="streams_overlap.cu",
    next_step="Record an event behind the copy, and let stream 2 wait for it.",
    timeline=overlapped(4, 2),
)

OVERLAPPED = replace(
    WAITLESS,
    verdict="pass",
    score=80,
    stages=stages("passed", "passed", "passed", "passed", "not_graded"),
    cases=(CaseResult({"n": 1}, "passed"), CaseResult({"n": 2**20}, "passed")),
    diagnostics=(),
    timeline=overlapped(8, 3),
    host_counters={
        "launch_calls": 8.0, "copies": 16.0, "copied_bytes": 2.0**30, "streams": 3.0, "host_waits": 0.0,
        "device_bytes": 3 * 2.0**26, "modelled_overlap": 0.893,
    },
    next_step="Next exercise: `grade start streams_events`.",
)  # fmt: skip

MANY_NODES = replace(OVERLAPPED, exercise="cuda_graph", timeline=replayed(2000), file="cuda_graph.cu")


EVIL = (
    '</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>" onload="x\' {{ 777*777 }} &amp; ]]> '
    "\x1b[2J \x9b \u202e\u2066\u200b\ufeff\u3164\U000e0041\U000e0100\ue000\ud800\ufffe\0\r\x0b\u2028"
)


def evil_verdict() -> Verdict:
    """One whose every text is `EVIL`."""
    wait = replace(MISSING_WAIT, file=EVIL, message=f"{EVIL} on stream 2 ({EVIL}:11) {EVIL}", kernel=EVIL)
    found = replace(RACE, **dict.fromkeys(("message", "file", "source", "kernel", "array", "hint", "space"), EVIL))
    launch = WASTEFUL.launches[0]
    worst = tuple(replace(one, kernel=EVIL, array=EVIL) for one in launch.worst)
    return replace(
        WASTEFUL, exercise=EVIL, device=EVIL, printed=EVIL, file=EVIL, next_step=EVIL, notes=(EVIL,), sandbox=EVIL,
        diagnostics=(found, wait, replace(found, severity="warning", counter="sectors", line=10, kernel=EVIL)),
        launches=(replace(launch, kernel=EVIL, worst=worst),), measured=replace(WASTEFUL.measured, line=EVIL),
        stages=tuple(StageResult(s.name, s.status, EVIL) for s in WASTEFUL.stages),
        cases=(CaseResult({EVIL: 1}, "failed", EVIL, EVIL, EVIL),), host_counters={"copies": 2.0, EVIL: 1.0},
        timeline=Timeline(tuple(replace(one, name=EVIL) for one in overlapped(4, 2).operations), 1e-2, False, EVIL),
    )  # fmt: skip
