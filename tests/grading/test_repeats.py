"""A shuffle from a lane that is not there: a warning while nobody uses what it gives, a race where an output does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from grader.backends.base import Buffer, CaseRun, Execution, Limits
from grader.backends.conditions import Conditions
from grader.backends.sim.session import SimBackend, SimSession
from grader.compile import compile_source
from grader.findings.record import Finding
from grader.grading.repeats import OTHER_BYTES, without_unused_lanes
from grader.launch import Launch, LaunchPlan
from tests.telling import rule_of

THREADS = 40  # the second warp has 8 lanes

LEFT = "if (t >= n) return; "
TREE = "for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o); "


UNUSED = {
    "down": LEFT + TREE + "x[t] = t < 32 ? v : t;",
    "xor": LEFT + "float w = v; for (int o = 16; o; o >>= 1) w += __shfl_xor_sync(~0u, w, o); x[t] = t < 32 ? w : v;",
    "in a branch": "if (t < n) { " + TREE + "if (l == 0 && t < 32) x[0] = v; if (t) x[t] = t; }",
    "scan that looks first": LEFT
    + "for (int o = 1; o < 32; o *= 2) { float w = __shfl_down_sync(~0u, v, o); "
    + "if (l + o < (t < 32 ? 32 : n - 32)) v += w; } x[t] = v;",
    "outputs that nobody writes": LEFT + TREE + "if (t == 0) x[0] = v;",
    "double": LEFT + "double w = __shfl_down_sync(~0u, (double)v, 16); x[t] = t < 16 ? w : v;",
    "half": LEFT + "__half w = __shfl_sync(~0u, __float2half(v), 31); x[t] = t < 32 ? __half2float(w) : v;",
    "lanes outside the mask": "if (t < n) { if (l < 8) v += __shfl_down_sync(0xff, v, 4); x[t] = l < 4 ? v : 0; }",
}
LEFT_MASKS = {
    "votes": LEFT
    + "unsigned yes = __ballot_sync(~0u, t % 2), all = __all_sync(~0u, t < n), any = __any_sync(~0u, t == 33); "
    + "x[t] = __popc(yes) + all + any;",
    "matches": LEFT
    + "int same; unsigned a = __match_any_sync(~0u, t % 3), b = __match_all_sync(~0u, n, &same); "
    + "x[t] = __popc(a) + __popc(b) + same;",
    "reductions": LEFT
    + "x[t] = __reduce_add_sync(~0u, t) + __reduce_max_sync(~0u, t) + (__reduce_and_sync(~0u, t) & 7);",
    "shuffles between lanes that are there": LEFT
    + "__syncwarp(); x[t] = __shfl_sync(~0u, v, 0) + __shfl_up_sync(~0u, v, 3) + __shfl_down_sync(~0u, v, 1, 2);",
}
USED = {
    "sum": TREE + "x[t] = v;",
    "fmaxf": "x[t] = fmaxf(v, NEXT(-v));",
    "fminf": "x[t] = fminf(v, NEXT(99 + v));",
    "max": "x[t] = max(t, NEXT(-t));",
    "min": "x[t] = min(-t - 1, NEXT(t));",
    "unsigned min": "x[t] = min((unsigned)t, NEXT(99u + t));",
    "double": "x[t] = fmax((double)v, NEXT(-(double)v));",
    "half": "x[t] = __half2float(__hmax(__float2half(v), NEXT(__float2half(-v))));",
    "comparison": "x[t] = NEXT(v) > 1e9f ? 1 : 0;",
    "vote": "x[t] = __any_sync(__activemask(), NEXT(v) == 0);",
    "index": "x[min(max(0, NEXT(t)), n - 1)] = v;",
    "through memory": "__shared__ float s[64]; s[t] = NEXT(v); __syncwarp(__activemask()); x[t] = s[t];",
    "stray": "x[t] = v; if (NEXT(t) > n) x[t + n] = 1;",
    "endless": "x[t] = v; for (int k = NEXT(0); k > 0; k += 0) __threadfence();",
}
STRAY = LEFT + TREE + "x[t + 1] = t;"
GARBAGE = {
    "a sum": ("__shared__ float s[64]; x[t] = s[t];", (0x7B, 0xFB, 0)),
    "fmaxf, which NaN does not change": ("__shared__ float s[64]; x[t] = fmaxf(t, s[t]);", (0x7B,)),
    "fminf": ("__shared__ float s[64]; x[t] = fminf(t, s[t]);", (0xFB, 0)),
    "a flag": ("__shared__ int s[64]; x[t] = s[t] ? 1 : 2;", (0,)),
    "scratch": ("x[t] = fmaxf(t, more[t]);", (0x7B,)),
    "an output, before it is written": ("x[t] = fmaxf(t, x[t]);", (0x7B,)),
    "a local array": ("float a[64]; a[n - t] = t; x[t] = fmaxf(a[n - t], a[t]);", (0x7B,)),
    "nothing": ("__shared__ float s[64]; float a = s[t] + more[t]; x[t] = t < 99 ? t : a;", ()),
}
"""What memory that nothing has written reaches, and with which bytes of garbage that shows."""
ALL = (
    *(LEFT + statements for statements, _ in GARBAGE.values()),
    *UNUSED.values(),
    *LEFT_MASKS.values(),
    *(LEFT + used for used in USED.values()),
    STRAY,
)


@pytest.fixture(scope="module")
def session() -> Iterator[SimSession]:
    """One program for all of them: a kernel for each, in which lane ``l`` of thread ``t`` begins with ``v = t + 1``."""
    kernels = (
        f'extern "C" __global__ void k{number}(float* x, int n, float* more) {{\n'
        f"int t = threadIdx.x, l = t % 32; float v = t + 1.0f;\n{statements}\n}}\n"
        for number, statements in enumerate(ALL)
    )
    program = compile_source(
        "".join(("#include <cuda_fp16.h>\n#define NEXT(a) __shfl_down_sync(~0u, a, 1)\n", *kernels)).encode(), "k.cu"
    )
    with SimBackend(threads=1).open(program, Limits(instructions_per_block=10**6)) as opened:
        yield opened


def judged(session: SimSession, statements: str) -> Execution:
    run = case_of(statements)
    return without_unused_lanes(session, run, session.run(run))


def case_of(statements: str) -> CaseRun:
    """One block that writes ``x[0]`` to ``x[39]``; all of it may read ``more``, which nothing writes."""
    launch = Launch(kernel=f"k{ALL.index(statements)}", args=("x", THREADS, "more"), grid=(1, 1, 1), block=(64, 1, 1))
    return CaseRun(
        LaunchPlan((launch,)), (Buffer("x", "float32", THREADS, "out"), Buffer("more", "float32", 64, "scratch"))
    )


def kinds(execution: Execution) -> set[str]:
    return {found.kind for found in execution.findings}


@pytest.mark.parametrize("name", UNUSED)
def test_a_value_that_no_output_depends_on_is_a_warning(session: SimSession, name: str) -> None:
    execution = judged(session, UNUSED[name])
    assert (execution.failure, kinds(execution)) == (None, {"unused_lane"})
    assert {found.severity for found in execution.findings} == {"warning"}
    assert rule_of(execution.findings[0]) == "faults.fine_while_unused"


@pytest.mark.parametrize("name", LEFT_MASKS)
def test_a_mask_may_name_lanes_that_have_left(session: SimSession, name: str) -> None:
    execution = judged(session, LEFT_MASKS[name])
    assert (execution.failure, kinds(execution)) == (None, set())


@pytest.mark.parametrize("name", USED)
def test_a_value_that_an_output_depends_on_is_a_race(session: SimSession, name: str) -> None:
    execution = judged(session, LEFT + USED[name])
    assert execution.failure == "race", execution.findings
    assert "inactive_lane" in kinds(execution)


def test_another_fault_beside_it_stays_what_it_is(session: SimSession) -> None:
    stray = judged(session, STRAY)
    assert stray.failure == "out_of_bounds"
    assert kinds(stray) == {"out_of_bounds", "inactive_lane"}


def test_a_case_without_such_a_read_runs_once(session: SimSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimSession, "run", lambda *_: pytest.fail("it ran again"))
    warned = Execution({}, findings=(Finding("uninitialised_read"),))
    assert without_unused_lanes(session, CaseRun(LaunchPlan(()), ()), warned) is warned


@pytest.mark.parametrize("name", GARBAGE)
def test_memory_that_nothing_has_written_holds_other_garbage_in_each_run(session: SimSession, name: str) -> None:
    statements, shows = GARBAGE[name]
    run = case_of(LEFT + statements)
    usual = session.run(run).outputs["x"].tobytes()
    others = {
        byte: session.run(replace(run, conditions=Conditions(undefined=byte))).outputs["x"].tobytes()
        for byte in OTHER_BYTES
    }
    assert [byte for byte in OTHER_BYTES if others[byte] != usual] == list(shows)
