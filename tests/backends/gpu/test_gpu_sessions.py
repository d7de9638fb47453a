"""Sessions with a GPU child: deadlines, crashes, printf, and that one submission's end is not the next one's."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from test_gpu_child import DATA, ENTRY, PLAN, N, timed_run

from grader.backends.base import Buffer, CaseRun, Limits
from grader.backends.gpu import GpuBackend
from grader.compile import Program
from grader.compile.ptxas import Assembly, Resources
from grader.errors import GraderFault, SubmissionError
from grader.gpus.detect import Gpu
from grader.launch import DeviceLimits, LaunchPlan

GPU = Gpu(0, "NVIDIA H200", (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())
LIMITS = Limits(launch_s=5.0, total_s=20.0)
CASE = CaseRun(
    PLAN, (*(Buffer(name, "float32", N, "in", DATA[name]) for name in ("a", "b")), Buffer("c", "float32", N, "out"))
)


@pytest.fixture
def open_session(monkeypatch):
    """A function that opens a session on the fake kernel of that name."""
    import grader.process.child

    spawn = grader.process.child.spawn
    monkeypatch.setattr("grader.backends.starting.spawn", lambda module, **kw: spawn("fake_gpu_child", env=kw["env"]))
    resources = {"add": Resources(40, 0, 0, 0)}
    monkeypatch.setattr("grader.compile.assembly", lambda program, arch: Assembly(program.name.encode(), resources))
    monkeypatch.setattr("grader.backends.gpu.reference.support_cubin", lambda gpu: b"support")
    opened = []

    def open_(name, limits=LIMITS, gpu=GPU):
        backend = GpuBackend(gpu)
        opened.append(backend.open(Program(name, "", "", "sm_80", (ENTRY,), "key"), limits))
        return opened[-1]

    yield open_
    for session in opened:
        session.close()


def test_a_case_goes_to_the_child_and_back(open_session):
    execution = open_session("honest").run(CASE)
    assert execution.failure is None
    np.testing.assert_array_equal(execution.outputs["c"], DATA["a"] + DATA["b"])
    assert [(record.kernel, record.backend) for record in execution.launches] == [("add", "gpu")]


def test_a_launch_that_needs_too_many_registers_is_told_before_the_child_is_asked(open_session):
    session = open_session("honest")
    session._resources = {"add": Resources(200, 0, 0, 0)}
    plan = LaunchPlan(tuple(replace(launch, block=(512, 1, 1)) for launch in PLAN.launches))
    execution = session.run(replace(CASE, plan=plan))
    assert (execution.failure, [(f.kind, f.cause) for f in execution.findings]) == (
        "invalid",
        [("launch", "registers")],
    )
    assert session.run(CASE).failure is None


def test_a_kernel_that_hangs_ends_its_session_at_the_deadline(open_session, monkeypatch):
    monkeypatch.setattr("grader.backends.gpu.session.SETTLE_S", 0.1)
    session = open_session("hang", replace(LIMITS, launch_s=0.3))
    started = time.monotonic()
    with pytest.raises(SubmissionError) as caught:
        session.run(CASE)
    assert caught.value.verdict == "timeout"
    assert time.monotonic() - started < 50  # the child would have gone on for a minute
    assert session._child.returncode == -9
    assert open_session("honest").run(CASE).failure is None


@pytest.mark.parametrize(
    ("kernel", "word", "kind"), [("wild", "out_of_bounds", "out_of_bounds"), ("misaligned", "crash", "misaligned")]
)
def test_a_kernel_that_faults_is_told_in_plain_words_and_ends_its_session(open_session, kernel, word, kind):
    session = open_session(kernel)
    execution = session.run(CASE)
    assert execution.failure == word
    assert (execution.diagnostics[0].kind, execution.diagnostics[0].kernel) == (kind, "add")
    with pytest.raises(SubmissionError) as caught:
        session.run(CASE)
    assert caught.value.verdict == word
    assert open_session("honest").run(CASE).failure is None


def test_a_process_that_dies_is_a_crash(open_session):
    with pytest.raises(SubmissionError, match="died") as caught:
        open_session("die").run(CASE)
    assert caught.value.verdict == "crash"


def test_an_error_that_no_submission_causes_is_the_graders(open_session):
    with pytest.raises(GraderFault, match="ECC"):
        open_session("unknown").run(CASE)


def test_what_a_kernel_prints_is_kept_apart_from_the_answer(open_session):
    execution = open_session("talk").run(CASE)
    assert execution.printed == '{"verdict": "pass"}\n'
    assert execution.failure is None


def test_each_case_has_its_own_printing(open_session):
    session = open_session("talk")
    assert session.run(CASE).printed == session.run(CASE).printed


def test_a_flood_of_printing_is_over_the_limit(open_session):
    execution = open_session("flood").run(CASE)
    assert execution.failure == "limit"
    assert len(execution.printed) == 64 << 10


def test_a_stray_write_is_out_of_bounds(open_session):
    execution = open_session("stray").run(CASE)
    assert execution.failure == "out_of_bounds"
    assert (execution.diagnostics[0].array, execution.diagnostics[0].index) == ("c", N)


def test_timed_samples_come_back(open_session):
    session = open_session("honest")
    samples = session.time(timed_run(samples=6), {"generate": b"generate", "check": b"check"}, 1 << 20)
    assert len(samples.seconds) == 6
    assert samples.mismatch is None


def test_a_hang_in_a_timed_launch_is_a_timeout(open_session, monkeypatch):
    monkeypatch.setattr("grader.backends.gpu.session.SETTLE_S", 0.1)
    session = open_session("hang", replace(LIMITS, launch_s=0.3))
    with pytest.raises(SubmissionError) as caught:
        session.time(timed_run(samples=6), {"generate": b"generate", "check": b"check"}, 1 << 20)
    assert caught.value.verdict == "timeout"


def test_a_gpu_that_does_not_compute_is_not_graded_on(open_session):
    with pytest.raises(GraderFault, match="does not compute"):
        open_session("honest", gpu=replace(GPU, index=1))


def test_the_whole_session_has_a_deadline_too(open_session):
    session = open_session("honest", replace(LIMITS, total_s=0.0))
    with pytest.raises(SubmissionError, match="all runs together") as caught:
        session.run(CASE)
    assert caught.value.verdict == "timeout"
