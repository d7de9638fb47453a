"""The plain data of kernels_ref/device and kernels_ref/ceilings against the CUDA files and exercises beside them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from grader.backends.gpu.reference import ceiling_data, device_data
from grader.catalog.courses import built_in_course
from grader.catalog.exercises import load_catalog
from grader.catalog.variants import varied
from grader.exercise import Exercise
from grader.expressions import evaluate, evaluate_integer
from grader.inputs import element_bytes, element_count
from grader.timing.roofline import OF_HOSTS, counts

COURSE = built_in_course()
DEVICE, CEILINGS = COURSE.kernels_ref / "device", COURSE.kernels_ref / "ceilings"
CHECKS: dict[str, Any] = dict(device_data(COURSE).CHECKS)
CEILING_TABLE: dict[str, Any] = dict(ceiling_data(COURSE).CEILINGS)
EXERCISES = {item.exercise.name: item.exercise for item in load_catalog().exercises}
FORMS = [*EXERCISES.values(), *(varied(e, variant) for e in EXERCISES.values() for variant in e.variants)]
CHECKED = {e.checker or e.oracle: e for e in FORMS if e.timed and not e.host}


def parameters(paths: list[Path], kernel: str) -> int:
    """The number of parameters of an ``extern "C"`` kernel in some CUDA files."""
    text = "\n".join(path.read_text() for path in paths)
    found = re.search(rf"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?{kernel}\(([^)]*)\)", text)
    assert found is not None, f"no kernel {kernel}"
    return found[1].count(",") + 1


@pytest.mark.parametrize("name", CHECKS)
def test_every_step_of_a_check_gives_its_kernel_as_many_arguments_as_it_has_parameters(name: str) -> None:
    check = CHECKS[name]
    files = [DEVICE / source for source in check.sources]
    for step in (*check.steps, check.explain):
        assert parameters(files, step.kernel) == len(step.args), step.kernel


def test_every_timed_exercise_has_a_check_and_every_check_an_exercise() -> None:
    assert set(CHECKS) == set(CHECKED)


@pytest.mark.parametrize("name", CHECKS)
def test_the_arguments_and_grids_of_a_check_are_known_for_its_exercise(name: str) -> None:
    exercise, check = CHECKED[name], CHECKS[name]
    assert exercise.timed is not None
    names = (
        {array.name for array in exercise.arrays} | {scratch.name for scratch in check.scratch} | set(exercise.timed)
    )
    names |= {"relative", "absolute", "findings", "explanation", *exercise.scalars}
    for step in (*check.steps, check.explain):
        assert [arg for arg in step.args if arg not in names and not arg.isdecimal()] == []
        assert evaluate_integer(step.grid, exercise.timed) >= 1
    for scratch in check.scratch:
        assert evaluate_integer(scratch.count, exercise.timed) >= 1


@pytest.mark.parametrize("name", CEILING_TABLE)
def test_a_ceiling_fits_its_kernel_and_does_the_work_that_it_was_sized_for(name: str) -> None:
    ceiling = CEILING_TABLE[name]
    asked = {"bytes": 2**30, "flops": 2**38, "sm_count": 132}
    numbers: dict[str, float] = dict(asked)
    for number, expression in ceiling.numbers:
        numbers[number] = evaluate(expression, numbers)
    if ceiling.kernel:
        assert parameters([CEILINGS / ceiling.file], ceiling.kernel) == len(ceiling.args)
        assert evaluate_integer(ceiling.grid, numbers) >= 1
    known = {"sink"} | {array.name for array in ceiling.arrays} | {number for number, _ in ceiling.numbers}
    assert set(ceiling.args) <= known
    target = asked["bytes"] if ceiling.unit == "B" else asked["flops"]
    assert evaluate(ceiling.work, numbers) == pytest.approx(target, rel=0.01)
    moved = sum(evaluate(array.bytes, numbers) for array in ceiling.arrays)
    assert not ceiling.arrays or not ceiling.kernel or moved == evaluate(ceiling.work, numbers)


@pytest.mark.parametrize(
    "name", [name for name, e in EXERCISES.items() if e.target and e.target.ceiling and e.target.unit not in OF_HOSTS]
)
def test_every_target_names_a_ceiling_of_its_own_kind(name: str) -> None:
    target = EXERCISES[name].target
    assert target is not None
    ceiling = CEILING_TABLE[target.ceiling]
    assert ceiling.unit == counts(target.unit)


def crosses_the_link_alone(exercise: Exercise) -> bool:
    """Whether a host exercise's bytes are those of its inputs; else they are what its GPUs move, which it says."""
    target = exercise.target
    return target is not None and target.unit in OF_HOSTS and target.ceiling != "link_between_devices"


@pytest.mark.parametrize(
    "name", [name for name, e in EXERCISES.items() if e.timed and (not e.host or crosses_the_link_alone(e))]
)
def test_the_work_in_bytes_is_every_array_once(name: str) -> None:
    """Each input read once and each output written once, as much of them as they say (`Array.moved`).

    A host exercise counts the way to the device alone.
    """
    exercise = EXERCISES[name]
    assert exercise.timed is not None
    arrays = exercise.inputs if exercise.host else exercise.arrays
    moved = [evaluate_integer(a.moved or a.count, exercise.timed) for a in arrays]
    assert all(n <= element_count(a, exercise.timed) for a, n in zip(arrays, moved, strict=True))
    expected = sum(n * element_bytes(a) for a, n in zip(arrays, moved, strict=True))
    assert evaluate(exercise.work.bytes, exercise.timed) == expected


@pytest.mark.parametrize("name", [name for name, e in EXERCISES.items() if any(a.axes for a in e.outputs)])
def test_the_axes_of_an_output_hold_all_of_its_elements(name: str) -> None:
    for size in (*EXERCISES[name].small, EXERCISES[name].simulated):
        for array in EXERCISES[name].outputs:
            lengths = [evaluate_integer(length, size) for length in array.axes.values()]
            assert not lengths or math.prod(lengths) == element_count(array, size)
