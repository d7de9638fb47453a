"""Which instructions satisfy an "at least": those that the outputs need, as far as it takes to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from grader.backends.base import CaseRun, Execution, SiteCounters
from grader.backends.sim.session import SimBackend, SimSession
from grader.compile.toolchain import find_toolchain
from grader.exercise import Array, Exercise, Expect
from grader.grading.grade import grade
from grader.grading.needed import MOST_TRIED, SPENT_BY_ANY, TRIED, Instruction, Unneeded, asked, unneeded
from tests.grading.requests import request_of

ACCESSES = Expect("shared_requests", at_least=2, per="n")
WIDEST = Expect("bytes_per_lane", at_least=16)
RATIO = Expect("sector_efficiency", at_least=0.9)
SIZE = {"n": 50}


@dataclass
class Kernel:
    """Sites with a counter each, and which of them change nothing: ``late`` ones in the small case only."""

    sites: Sequence[SiteCounters]
    idle: Iterable[int] = ()
    late: Iterable[int] = ()
    seen: list[tuple[tuple[int, ...], bool]] = field(default_factory=list)

    def is_idle(self, instructions: Sequence[Instruction], counted: bool) -> bool:
        tried = tuple(site for _, site in instructions)
        self.seen.append((tried, counted))
        return set(tried) <= {*self.idle, *(() if counted else self.late)}

    def found(self, expect: Expect, seed: int = 1) -> Unneeded | None:
        return unneeded(expect, self.sites, SIZE, seed, self.is_idle)


def sites(*counts: float, counter: str = "shared_requests", **more: float) -> list[SiteCounters]:
    return [SiteCounters("k", at, 10 + at, {counter: count, **more}) for at, count in enumerate(counts)]


def test_only_what_is_needed_counts() -> None:
    found = Kernel(sites(60, 60, 20), idle=[1]).found(ACCESSES)
    assert found == Unneeded(ACCESSES, found=1.6, unneeded=1, of=3, kernel="k", line=11)
    assert Kernel(sites(60, 60, 20)).found(ACCESSES) is None


def test_enough_that_is_needed_is_enough() -> None:
    assert Kernel(sites(60, 60, 20), idle=[2]).found(ACCESSES) is None


def test_the_launches_of_an_instruction_are_counted_together() -> None:
    twice = [*sites(50, 10), *sites(50, 10)]
    assert Kernel(twice, idle=[1]).found(ACCESSES) is None
    found = Kernel(twice, idle=[0]).found(ACCESSES)
    assert found is not None
    assert found.found == 0.4


def test_what_is_missed_anyway_is_not_tried() -> None:
    kernel = Kernel(sites(60, 20), idle=[0, 1])
    assert kernel.found(ACCESSES) is None
    assert kernel.seen == []


def test_of_many_that_are_needed_a_few_are_tried_and_one_of_these_where_it_is_counted() -> None:
    kernel = Kernel(sites(*[1] * 100))
    assert kernel.found(ACCESSES) is None
    assert [counted for _, counted in kernel.seen] == [True] + [False] * (TRIED - 1)


@pytest.mark.parametrize("seed", range(10))
def test_many_that_are_not_needed_do_not_hide_behind_a_few_that_are(seed: int) -> None:
    found = Kernel(sites(*[1] * 1000), idle=range(20, 1000)).found(ACCESSES, seed)
    assert found is not None
    assert MOST_TRIED - 20 <= found.unneeded <= found.of == MOST_TRIED
    assert found.found < 0.5


@pytest.mark.parametrize("seed", range(10))
def test_work_that_only_a_large_case_has_is_found_there(seed: int) -> None:
    assert Kernel(sites(*[4] * 30), late=range(3, 30)).found(ACCESSES, seed) is None
    mixed = Kernel(sites(*[4] * 30), idle=range(10), late=range(10, 30)).found(ACCESSES, seed)
    assert mixed == Unneeded(ACCESSES, found=1.6, unneeded=10, of=30, kernel="k", line=10)


def test_one_wide_access_that_is_needed_is_enough() -> None:
    wide = sites(16, 16, 4, counter="bytes_per_lane")
    assert Kernel(wide, idle=[0]).found(WIDEST) is None
    found = Kernel(wide, idle=[0, 1]).found(WIDEST)
    assert found == Unneeded(WIDEST, found=4, unneeded=2, of=3, kernel="k", line=10)


def efficient(*pairs: tuple[float, float]) -> list[SiteCounters]:
    return [
        SiteCounters("k", at, 10 + at, {"sector_efficiency": ratio, "sectors": sectors})
        for at, (ratio, sectors) in enumerate(pairs)
    ]


def test_padding_lifts_no_ratio() -> None:
    found = Kernel(efficient((0.5, 10), (1, 90)), idle=[1]).found(RATIO)
    assert found == Unneeded(RATIO, found=0.5, unneeded=1, of=2, kernel="k", line=11)
    assert Kernel(efficient((0.5, 10), (1, 90))).found(RATIO) is None


def test_a_ratio_that_each_access_has_is_not_tried() -> None:
    kernel = Kernel(efficient((0.95, 10), (1, 90)), idle=[0, 1])
    assert kernel.found(RATIO) is None
    assert kernel.seen == []


def test_asked_is_at_least_so_much_of_what_instructions_do() -> None:
    technique = (ACCESSES, WIDEST, Expect("threads", at_least=1), Expect("shared_bytes", at_most=1))
    exercise = Exercise(name="e", order=1, idea="", arrays=(), oracle="", small=(), simulated={}, technique=technique)
    assert asked(exercise) == (ACCESSES, WIDEST)


# ------------------------------------------------------------------------------------------- a run that does not end

ENDLESS = """// launch k(x, y, n): grid=cdiv(n, 64) block=64
extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ volatile unsigned step[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    step[threadIdx.x] = 1;
    for (unsigned left = 4; left; left -= step[threadIdx.x])
        ;
    if (i < n)
        y[i] = 2 * x[i];
}
"""


def twice(inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    return {"y": 2.0 * inputs["x"].astype(np.float64)}


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_result_without_which_the_run_does_not_end_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No output depends on the step of the loop, which is endless with another one: the budget ends the trial."""
    path = tmp_path / "k.cu"
    path.write_text(ENDLESS)
    trials: list[tuple[CaseRun, Execution]] = []
    run = SimSession.run

    def watched(session: SimSession, case: CaseRun) -> Execution:
        execution = run(session, case)
        if case.changed:
            trials.append((case, execution))
        return execution

    monkeypatch.setattr(SimSession, "run", watched)
    exercise = Exercise(
        name="k", order=1, idea="twice", oracle="none", small=({"n": 100},), simulated={"n": 1000},
        arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")),
        technique=(Expect("shared_load_requests", at_least=2, per="n/32"),),
    )  # fmt: skip
    verdict = grade(request_of(exercise, path, oracle=lambda: twice, simulator=SimBackend(threads=1)))
    assert (verdict.verdict, verdict.diagnostics) == ("pass", ())
    assert [execution.failure for _, execution in trials] == ["timeout"]
    assert all(SPENT_BY_ANY < case.instructions <= 2 * SPENT_BY_ANY for case, _ in trials)
