"""Times are taken on ordinary data: special values take other paths through arithmetic, with times of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.backends.gpu.checks import variants
from grader.backends.gpu.reference import device_data
from grader.backends.gpu.setup import ceiling_of
from grader.catalog.courses import CourseExercise, built_in_course, resolve_reference
from grader.catalog.exercises import load_catalog
from grader.exercise import Array, Exercise, Values
from grader.gpus.detect import Gpu
from grader.inputs import element_count, make_inputs
from grader.launch import DeviceLimits
from grader.timing.roofline import work_of

TIMED = [entry for entry in load_catalog().exercises if entry.exercise.timed is not None]
SPECIAL = 0.001
"""The most of an array that may be subnormal, infinite or no number."""
ALIKE = 0.1
"""The most of an input that may have one value."""


def ordinary(exercise: Exercise) -> Exercise:
    """The exercise with its timed data in every case."""
    return replace(exercise, arrays=tuple(replace(array, values=array.timed_values) for array in exercise.arrays))


def special_part(values: np.ndarray) -> float:
    if values.dtype.kind != "f":
        return 0.0
    size = np.abs(values)
    return float(np.mean(~np.isfinite(values) | ((size > 0) & (size < np.finfo(values.dtype).tiny))))


def most_frequent_part(values: np.ndarray) -> float:
    return float(np.unique(values, return_counts=True)[1].max() / values.size)


@pytest.mark.parametrize("entry", TIMED, ids=lambda entry: entry.name)
def test_timed_inputs_and_their_outputs_are_ordinary_numbers(entry: CourseExercise) -> None:
    exercise = ordinary(entry.exercise)
    size = max(exercise.small, key=lambda size: np.prod(list(size.values())))
    inputs = make_inputs(exercise, size, 1, "real")
    outputs = resolve_reference(exercise.oracle, entry.course)(inputs, {**exercise.scalars, **size})
    written = {array.name: _written(array, outputs[array.name]) for array in exercise.outputs}
    rounded = {array.name: written[array.name].astype(array.dtype) for array in exercise.outputs}
    for name, values in {**inputs, **rounded}.items():
        assert special_part(values) <= SPECIAL, name
    for name, values in inputs.items():
        assert values.size < 100 or most_frequent_part(values) <= ALIKE, name


def _written(array: Array, values: np.ndarray) -> np.ndarray:
    """Without the elements that stay unwritten where only a part of the output is moved: the oracle says NaN there."""
    return values[~np.isnan(values)] if array.moved else values


def test_the_hard_values_of_the_cases_are_verified_at_the_timed_size_and_not_timed() -> None:
    softmax, size = load_catalog().find("softmax_v1").exercise, {"rows": 4, "cols": 256}
    assert np.abs(make_inputs(softmax, size, 1, "real")["x"]).max() > 104
    data = device_data(built_in_course())
    made, _ = variants(softmax, size, 1, data.CHECKS["softmax:rows"], data.GENERATED_TYPES)
    ranges = {"special": [-120.0, 120.0], "unusual": [-120.0, -100.0], "real": [-4.0, 4.0]}
    assert [variant.kind for variant in made] == ["special", "unusual", *["real"] * 3]
    for variant in made:
        for launch in (*variant.generate, *variant.check[:1]):
            assert [value for kind, value in launch.args if kind == "f64"] == ranges[variant.kind], launch.kernel
    assert [variant.ordinary for variant in made] == [False, False, True, True, True]


def test_every_further_distribution_is_verified_at_the_timed_size_by_its_own_generator():
    softmax, size = load_catalog().find("softmax_v1").exercise, {"rows": 4, "cols": 256}
    further = (Values(low=3.0, high=3.0), Values(low=-4.0, high=4.0, shape="normal", outlier=60.0))
    lengths = Array(
        "lengths", "int32", "rows", values=Values(exact_low=0, exact_high="cols"), timed=Values(permutation=True)
    )
    x, y = softmax.arrays
    exercise = replace(softmax, arrays=(replace(x, unusual=further), lengths, y))
    data = device_data(built_in_course())
    made, _ = variants(exercise, size, 1, data.CHECKS["softmax:rows"], data.GENERATED_TYPES)
    kernels = {variant.kind: [(launch.kernel, launch.args[5:]) for launch in variant.generate] for variant in made}
    drawn = ("generate_exact_i32", (("i64", 0), ("u64", 257)))
    assert kernels == {
        "special": [("generate_real_f32", (("f64", -120.0), ("f64", 120.0))), drawn],
        "unusual": [("generate_real_f32", (("f64", 3.0), ("f64", 3.0))), drawn],
        "unusual_2": [("generate_outlier_f32", (("f64", -4.0), ("f64", 4.0), ("f64", 60.0), ("u64", 1))), drawn],
        "real": [("generate_normal_f32", (("f64", -4.0), ("f64", 4.0))), ("generate_permutation_i32", ())],
    }


def test_without_timed_data_of_its_own_an_array_is_timed_on_those_of_its_cases() -> None:
    values = Values(low=2.0, high=3.0)
    assert Array("x", "float32", "n", values=values).timed_values == values
    assert Array("x", "float32", "n", values=values, timed=Values()).timed_values == Values()


# ----------------------------------------------------------------------------------------------------------- warm sizes

WARM = [entry for entry in TIMED if entry.exercise.target is not None and entry.exercise.target.warm]
H200 = Gpu(0, "NVIDIA H200", (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())


def test_some_exercises_are_timed_warm() -> None:
    assert {"divergence", "bank_conflicts"} <= {entry.name for entry in WARM}


@pytest.mark.parametrize("entry", WARM, ids=lambda entry: entry.name)
def test_the_arrays_of_a_warm_size_fill_at_most_half_of_the_l2(entry: CourseExercise) -> None:
    exercise = entry.exercise
    assert exercise.timed is not None
    sizes = [np.dtype(array.dtype).itemsize * element_count(array, exercise.timed) for array in exercise.arrays]
    assert sum(sizes) <= H200.l2_bytes / 2


@pytest.mark.parametrize("entry", WARM, ids=lambda entry: entry.name)
def test_the_ceiling_of_a_warm_size_does_the_same_work(entry: CourseExercise) -> None:
    assert entry.exercise.timed is not None
    found = ceiling_of(entry, entry.exercise, entry.exercise.timed, H200)
    assert found is not None
    assert found[0].work == pytest.approx(work_of(entry.exercise, entry.exercise.timed), rel=0.05)
