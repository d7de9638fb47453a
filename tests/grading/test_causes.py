"""Likely causes beside a finding: types of parameters, inputs of a wrong element; and what is shown for no launch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from inline_snapshot import snapshot

from grader.errors import SubmissionError
from grader.exercise import Array, Exercise
from grader.grading.cases import CaseBook
from grader.grading.causes import inputs_there, note_on, unordered_pair
from grader.grading.grade import require_launch
from grader.grading.hints import about_type, in_words
from grader.grading.hints.rules import Seen, access, race
from grader.grading.records import Case
from grader.launch import parse_launches
from grader.launch.source import misread, read_source
from grader.verdict import Diagnostic
from tests.grading.requests import request_of

# ----------------------------------------------------------------------------------------------------- types and a note


def reads(declared: str, **dtypes: str):
    text = read_source(f'extern "C" __global__ void k({declared}) {{}}', "k.cu")
    return misread(text, "k", tuple(dtypes), dtypes)


def test_note_names_declarations_and_what_the_arrays_hold():
    misread = reads("const double *a, float *b, double *c", a="float32", b="float32", c="float32")
    found = in_words(note_on(misread), Seen(misread=misread))
    assert (found.severity, found.kernel) == ("note", "k")
    assert found.message == snapshot(
        "k declares `const double *a` and `double *c`, but a and c hold float: probably this is the cause"
    )
    assert found.hint == snapshot("declare `const float *a` and `float *c`, as the arrays are")


def test_note_tells_arrays_of_two_types_apart():
    note = note_on(reads("double *a, float *i", a="float32", i="int32"))
    assert note.facts["holds"] == "a holds float and i holds int"


def test_finding_on_a_misread_array_gets_the_hint_and_others_keep_theirs():
    seen = Seen(misread=reads("double *a", a="float32"))
    own = Diagnostic("race", "y", array="s", hint="own")
    assert (
        about_type(Diagnostic("out_of_bounds", "x", array="a", hint="old"), seen).hint
        == "declare `float *a`, as the arrays are"
    )
    assert about_type(own, seen) is own


def test_nothing_is_added_where_the_types_fit():
    found = Diagnostic("out_of_bounds", "x", array="a")
    assert about_type(found, Seen(misread=reads("float *a", a="float32"))) is found


# ---------------------------------------------------------------------------------------------- inputs beside an output

EXERCISE = Exercise(
    name="e",
    order=1,
    idea="i",
    arrays=(Array("a", "float32", "n"), Array("b", "int32", "n"), Array("c", "float32", "n", role="out")),
    oracle="m:f",
    small=({"n": 9},),
    simulated={"n": 9},
)
CASE = Case({"n": 9}, "exact")


def book(oracle, exercise=EXERCISE) -> CaseBook:
    return CaseBook(exercise, lambda inputs, numbers: {"c": oracle(inputs["a"].astype(np.float64), inputs["b"])}, 7)


def shown(oracle, exercise=EXERCISE) -> str:
    return inputs_there(exercise, CASE, book(oracle, exercise), "c", 4)


def test_element_made_of_the_inputs_at_its_index_shows_them():
    data = book(np.add).data(CASE).inputs
    assert shown(np.add) == f"a[4] = {data['a'][4]:.1f}, b[4] = {data['b'][4]}"


def test_numbers_of_the_exercise_are_shown_too():
    exercise = replace(EXERCISE, scalars={"alpha": 2.5})
    assert shown(lambda a, b: 2.5 * a + b, exercise).endswith(", alpha = 2.5")


@pytest.mark.parametrize(
    "oracle",
    [lambda a, b: np.cumsum(a), lambda a, b: a[::-1] + np.arange(9), lambda a, b: a * b.sum(), lambda a, b: np.sort(a)],
    ids=["scan", "reversed", "scaled by a sum", "sorted"],
)
def test_element_made_of_others_shows_nothing(oracle):
    assert book(oracle).is_elementwise(CASE, "c", 3) is False


def test_oracle_that_refuses_other_inputs_shows_nothing():
    made = book(np.add)
    first = made.data(CASE).inputs["a"].copy()

    def picky(a, b):
        if not np.array_equal(a, first):
            raise ValueError("not these")
        return a + b

    assert shown(picky) == ""


def test_output_of_another_length_shows_nothing():
    arrays = (EXERCISE.arrays[0], EXERCISE.arrays[1], Array("c", "float32", "1", role="out"))
    assert not book(lambda a, b: a[:1], replace(EXERCISE, arrays=arrays)).is_elementwise(CASE, "c", 0)


# ------------------------------------------------------------------------------------------------------ no launch line

STUB = """\
// a remark
#define TILE 16
// scratch ping: float[n]
// launch e(a, b, c, n): grid=cdiv(n, TILE) block=TILE
extern "C" __global__ void e(const float* a, const int* b, float* c, int n) {}
"""


def no_oracle() -> NoReturn:
    raise AssertionError("no output is compared here")


def refused(source: str, tmp_path: Path, stub: str | None = STUB) -> SubmissionError:
    path = tmp_path / "stub.cu"
    if stub is not None:
        path.write_text(stub)
    request = request_of(EXERCISE, tmp_path / "mine.cu", oracle=no_oracle, stub=path)
    with pytest.raises(SubmissionError) as error:
        require_launch(request, parse_launches(source, file="mine.cu"))
    return error.value


def test_file_without_launch_line_is_shown_the_stubs_own_to_copy(tmp_path):
    error = refused("int x;", tmp_path)
    words, *lines = error.hint.split("\n")
    assert error.message == "mine.cu has no launch line, so no kernel is started"
    assert lines == ["// scratch ping: float[n]", "// launch e(a, b, c, n): grid=cdiv(n, TILE) block=TILE"]
    assert words.endswith("(in the stub, TILE is 16):")
    assert error.diagnostics[0].hint == error.hint


@pytest.mark.parametrize("stub", [None, "int nothing;\n", "// launch e(: grid\n"], ids=["gone", "bare", "broken"])
def test_stub_that_shows_nothing_leaves_the_example(tmp_path, stub):
    assert "// launch e(a, b, c, n): grid=cdiv(n, 256) block=256" in refused("int x;", tmp_path, stub).hint


def test_line_that_is_nearly_one_is_named_first(tmp_path):
    error = refused("// zeor c\nint x;", tmp_path)
    assert error.diagnostics[0].line == 1
    assert "\n" not in error.hint


def test_file_with_a_launch_line_is_left_alone(tmp_path):
    request = request_of(EXERCISE, tmp_path / "mine.cu", oracle=no_oracle)
    require_launch(request, parse_launches(STUB, file="mine.cu"))


# -------------------------------------------------------------------------------------------- a pair without an order


def test_an_unordered_pair_is_known_if_all_pairs_are_on_one_array():
    handed, flag = (race("", access("write", 0, 4), access("read", 5, 7), array=name) for name in ("sums", "flags"))
    tickets = race("", access("atomic", 0, 4), access("atomic", 5, 4), array="tickets")
    assert unordered_pair([tickets, handed, handed]) == handed
    assert unordered_pair([flag, handed]) is None
    assert unordered_pair([tickets]) is None
    assert unordered_pair([race("", access("write", 5, 4), array="sums")]) is None
