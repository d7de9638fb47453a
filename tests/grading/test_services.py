"""Which backends serve an exercise: a GPU that is too old or too new for it is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog, load_catalog
from grader.cli.course import list_lines
from grader.gpus.detect import Gpu
from grader.grading.grade import grade
from grader.grading.services import Hardware, Task
from grader.launch import DeviceLimits

MINIATURE = Path(__file__).resolve().parents[1] / "course"


def gpu(major: int, minor: int) -> Gpu:
    name = f"GPU {major}.{minor}"
    limits = DeviceLimits(name=name)
    return Gpu(0, name, (major, minor), 100, 1e9, 1e9, 5120, 1 << 25, 1 << 35, limits)


@pytest.fixture
def scale() -> CourseExercise:
    catalog = load_catalog([MINIATURE])
    return next(one for one in catalog.exercises if one.name == "scale")


def asked(one: CourseExercise, found: Gpu, requires: str, backend: str = "auto"):
    """The request for the solution on a machine with that GPU."""
    needing = replace(one, exercise=replace(one.exercise, requires=requires))
    assert one.solution is not None
    hardware = Hardware(backend, found, "")
    return hardware.request(Task(needing, one.solution), seed=1)


@pytest.mark.parametrize(("capability", "serves"), [((8, 0), False), ((9, 0), True), ((10, 0), False)])
def test_only_one_generation_runs_what_needs_its_own_instructions(scale, capability, serves):
    request = asked(scale, gpu(*capability), "sm_90a")
    assert (request.services.gpu is not None) is serves
    assert request.services.simulator is None
    assert request.services.target == "sm_90a"


def test_a_gpu_that_does_not_serve_is_named_as_the_reason(scale):
    verdict = grade(asked(scale, gpu(10, 0), "sm_90a"))
    assert (verdict.verdict, verdict.exit_code) == ("unsupported", 4)
    assert "GPU 10.0 has compute capability 10.0" in verdict.diagnostics[0].message


def test_where_the_gpu_is_too_old_the_simulator_still_serves(scale):
    request = asked(scale, gpu(7, 5), "sm_80")
    assert request.services.gpu is None
    assert request.services.simulator is not None
    assert request.services.why_no_gpu == "GPU 7.5 has compute capability 7.5"


def test_a_gpu_of_that_generation_gets_code_for_it_alone():
    assert [gpu(9, 0).arch_for(target) for target in ("sm_80", "sm_90a")] == ["sm_90", "sm_90a"]


def test_the_list_says_what_an_exercise_needs(scale):
    needing = replace(scale, exercise=replace(scale.exercise, requires="sm_90a"))
    said = " ".join(" ".join(list_lines(Catalog((needing,)))).split())
    assert "(needs a GPU of compute capability 9.0)" in said


@pytest.mark.parametrize("seconds", [0.5, 300.0])
def test_timeout_sets_the_limit_of_one_case_too(scale, seconds):
    request = Hardware("sim", None, "").request(Task(scale, scale.solution), timeout_s=seconds)
    assert (request.services.limits.launch_s, request.services.limits.total_s) == (seconds, seconds)
