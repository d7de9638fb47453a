"""A host file's result of inputs that are gone: the report says since when."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.api import grade
from grader.backends.hostfile.case import warm_up_inputs
from grader.catalog.courses import built_in_course, resolve_reference
from grader.catalog.exercises import load_catalog
from grader.dev.wrong import wrong_answer
from grader.findings.record import Finding
from grader.grading.cases import CaseBook
from grader.grading.causes import OF_SETUP, OF_THE_RUN_BEFORE, with_time
from grader.grading.hints import hint
from grader.grading.hints.rules import Seen
from grader.grading.records import Case

Arrays = Mapping[str, npt.NDArray[Any]]

EXERCISES = {one.exercise.name: one.exercise for one in load_catalog().exercises}
FOUND = Finding("wrong")


def told(name: str, case: Case, stale: Mapping[str, int]) -> str:
    """What is said of the right answer for the warm-up inputs of these turns, in place of the case's own inputs."""
    exercise = EXERCISES[name]
    oracle = resolve_reference(exercise.oracle, built_in_course())
    book = CaseBook(exercise, oracle, seed=7)
    inputs: dict[str, npt.NDArray[Any]] = dict(book.data(case).inputs)
    for array, turn in stale.items():
        inputs[array] = warm_up_inputs(exercise, book.data(case).inputs, turn)[array]
    outputs = {key: values.astype(np.float32) for key, values in oracle(inputs, dict(case.size)).items()}
    return str(with_time(FOUND, exercise, case, book, outputs).facts.get("since", ""))


ROD = Case({"n": 33, "steps": 5}, "real")


@pytest.mark.parametrize(
    ("stale", "words"),
    [
        ({"x": 1, "heat": 1}, "what was in x and heat when setup was called"),
        ({"heat": 1}, "what was in heat when setup was called"),
        ({"x": 2}, "what was in x in the run before"),
    ],
)
def test_a_result_of_inputs_that_are_gone_says_which_and_since_when(stale: Mapping[str, int], words: str) -> None:
    assert told("cuda_graph", ROD, stale) == words


def test_beside_the_time_nothing_is_guessed_of_how_the_values_were_computed() -> None:
    exercise = EXERCISES["streams_overlap"]
    case = Case({"n": 33}, "real")
    oracle = resolve_reference(exercise.oracle, built_in_course())
    book = CaseBook(exercise, oracle, seed=7)
    old = {**book.data(case).inputs, "x": warm_up_inputs(exercise, book.data(case).inputs, 1)["x"]}
    outputs = {key: values.astype(np.float32) for key, values in oracle(old, dict(case.size)).items()}
    found = with_time(Finding("wrong", "multiple"), exercise, case, book, outputs)
    assert (found.cause, found.facts) == ("", {"since": "what was in x when setup was called", "warm_up": OF_SETUP})
    assert with_time(Finding("wrong", "zeros"), exercise, case, book, outputs).cause == "zeros"


def test_a_result_of_inputs_of_two_different_times_says_nothing() -> None:
    assert told("cuda_graph", ROD, {"x": 1, "heat": 2}) == ""


def test_a_few_small_integers_agree_by_chance_and_say_nothing() -> None:
    assert told("streams_overlap", Case({"n": 33}, "exact"), {"x": 1}) == ""
    assert told("streams_overlap", Case({"n": 33}, "real"), {"x": 1}) != ""


@pytest.mark.parametrize(
    ("name", "wrong"), [("pinned_copy", "copied_in_setup"), ("streams_overlap", "samples_of_an_earlier_run")]
)
def test_samples_copied_in_setup_are_told_as_that_at_the_smallest_size_too(
    tmp_path: Path, name: str, wrong: str
) -> None:
    entry = load_catalog().find(name)
    (text,) = wrong_answer(entry, wrong).texts.values()
    (tmp_path / f"{name}_host.py").write_text(text, encoding="utf-8")
    (tmp_path / f"{name}.cu").write_bytes(entry.stub.read_bytes())
    verdict = grade(name, tmp_path / f"{name}.cu", backend="sim")
    (found,) = [one for one in verdict.diagnostics if one.kind == "wrong"]
    assert (found.cause, found.rule) == ("", "outputs.inputs_of_each_run")
    assert found.message.endswith("what was in x when setup was called")


def test_a_result_of_the_run_before_is_a_matter_of_order() -> None:
    case, exercise = Case({"n": 33}, "real"), EXERCISES["streams_overlap"]
    oracle = resolve_reference(exercise.oracle, built_in_course())
    book = CaseBook(exercise, oracle, seed=7)
    old = warm_up_inputs(exercise, book.data(case).inputs, OF_THE_RUN_BEFORE)
    outputs = {key: values.astype(np.float32) for key, values in oracle(old, dict(case.size)).items()}
    found = with_time(Finding("wrong"), exercise, case, book, outputs)
    assert hint(found, Seen(host=True))[1] == "outputs.order_of_each_run"


def test_an_input_that_the_host_file_changes_is_not_laid_to_the_kernel(tmp_path: Path) -> None:
    entry = load_catalog().find("pinned_copy")
    assert entry.solution is not None
    assert entry.solution_host_file is not None
    host_file = entry.solution_host_file.read_text(encoding="utf-8")
    (tmp_path / "pinned_copy.cu").write_bytes(entry.solution.read_bytes())
    (tmp_path / "pinned_copy_host.py").write_text(f"{host_file}    plan['x'][0] += 1\n", encoding="utf-8")
    verdict = grade("pinned_copy", tmp_path / "pinned_copy.cu", backend="sim")
    (found,) = [one for one in verdict.diagnostics if one.kind == "wrong"]
    assert (found.cause, found.rule) == ("overwritten_in_host_memory", "outputs.who_writes_to_host_memory")


def test_an_exercise_without_a_host_file_has_no_earlier_runs() -> None:
    case, exercise = Case({"n": 8}, "real"), EXERCISES["vector_add"]
    book = CaseBook(exercise, resolve_reference(exercise.oracle, built_in_course()), seed=7)
    assert with_time(FOUND, exercise, case, book, {"c": np.zeros(8, np.float32)}) is FOUND
