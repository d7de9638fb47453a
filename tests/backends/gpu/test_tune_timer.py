"""The timer of `grade tune`: one process for all variants, and a fresh one behind a variant that ends it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_gpu_child import ENTRY, timed_run
from test_gpu_sessions import GPU as H200

from grader.backends.base import Limits
from grader.backends.gpu import GpuBackend
from grader.backends.gpu.setup import Setup
from grader.catalog.exercises import load_catalog
from grader.compile import Program
from grader.compile.ptxas import Assembly
from grader.grading.records import Case, CaseOutcome
from grader.process import child
from grader.timing import roofline
from grader.tune import sweep as module
from grader.tune.build import TunedVariant
from grader.tune.sweep import RIGHT, GpuTimer, machine_of
from grader.verdict import Diagnostic

GPU = replace(H200, l2_bytes=1 << 20)  # the fake device has little memory
LIMITS = Limits(launch_s=5.0, total_s=20.0)
LINE = "// launch vector_add(a, b, c, n): grid=1 block=256\n"


def variant(kernel: str) -> TunedVariant:
    """A variant whose program is a kernel of the fake device."""
    return TunedVariant((("K", 1),), False, program=Program(kernel, LINE, "", "sm_80", (ENTRY,), "key"))


@pytest.fixture
def timer(monkeypatch: pytest.MonkeyPatch):
    """A timer with the fake device. ``timer.started`` counts its processes."""
    spawn, started = child.spawn, []

    def fake(child_module, **kw):
        started.append(child_module)
        return spawn("fake_gpu_child", env=kw["env"])

    def setup(one, program, gpu, seed, *, samples):
        run = replace(timed_run(), samples=samples, ceiling_bytes=8)
        modules = {"generate": b"generate", "check": b"check"}
        return Setup(run, modules, "here", 1.0, 0.0, 1.0, (1.0, 1.0), "bandwidth", roofline.peaks(gpu))

    monkeypatch.setattr("grader.backends.starting.spawn", fake)
    monkeypatch.setattr("grader.compile.assembly", lambda program, arch: Assembly(program.name.encode(), {}))
    monkeypatch.setattr("grader.tune.sweep.assemble", lambda program, arch: program.name.encode())
    monkeypatch.setattr("grader.backends.gpu.reference.support_cubin", lambda gpu: b"support")
    monkeypatch.setattr("grader.tune.sweep.prepare", setup)
    one = next(one for one in load_catalog().exercises if one.name == "vector_add")
    made = GpuTimer(one, GpuBackend(GPU), machine_of(GPU, "sm_80"), 1, LIMITS)
    made.started = started
    yield made
    made.close()


def test_variants_share_one_process_and_each_has_its_samples(timer):
    first, second = variant("honest"), variant("talk")
    assert [len(timer.time(one, samples).seconds) for one, samples in ((first, 7), (second, 5), (first, 9))] == [
        7,
        5,
        9,
    ]
    assert len(timer.started) == 1


def test_a_timed_output_that_is_wrong_is_wrong_and_says_where(timer):
    found = timer.time(variant("stray"), 5)
    assert (found.word, found.seconds) == ("out_of_bounds", ())


def test_a_variant_that_ends_the_process_does_not_end_the_sweep(timer):
    found = timer.time(variant("wild"), 5)
    assert found.word == "out_of_bounds"
    assert "outside all arrays" in found.reason
    assert timer.time(variant("honest"), 5).word == RIGHT
    assert len(timer.started) == 2


def test_a_small_case_that_fails_is_told_with_its_size(timer, monkeypatch):
    asked: list[Case] = []

    def run_case(job, session, case):
        asked.append(case)
        return CaseOutcome(case, "gpu", wrong=Diagnostic("wrong", "c[3] is 1, and 2 is expected"))

    monkeypatch.setattr(module, "run_case", run_case)
    found = timer.check(variant("honest"))
    assert found.word == "wrong"
    assert found.reason == "at n = 1: c[3] is 1, and 2 is expected"
    assert len(asked) == 1


def test_the_smallest_and_the_largest_small_case_are_run(timer, monkeypatch):
    asked: list[Case] = []
    monkeypatch.setattr(module, "run_case", lambda job, session, case: asked.append(case) or CaseOutcome(case, "gpu"))
    assert timer.check(variant("honest")).word == RIGHT
    sizes = [case.size["n"] for case in asked]
    assert sizes == sorted(sizes)
    assert len(sizes) == 2
    assert {case.values for case in asked} == {"real"}


def test_the_machine_is_this_gpu_with_ptx_for_all():
    machine = machine_of(GPU, "sm_80")
    assert (machine.arch, machine.target, machine.limits) == ("sm_90", "sm_80", GPU.limits)
    assert (machine_of(GPU, "sm_90a").arch, machine_of(GPU, "sm_90a").target) == ("sm_90a", "sm_90a")
