"""The Python call: the command's verdicts as records."""

from __future__ import annotations

from pathlib import Path

import pytest

import grader
from grader.catalog.exercises import load_catalog
from grader.errors import UsageError

ADD = load_catalog().find("vector_add")
COURSE = Path(__file__).parent / "course"


def test_a_file_is_graded_as_the_command_would():
    verdict = grader.grade("vector_add", ADD.solution, backend="sim")
    assert (verdict.exercise, verdict.verdict, verdict.stage("fast").status) == ("vector_add", "pass", "not_graded")


def test_a_text_is_graded_without_a_file_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    verdict = grader.grade("vector_add", source=ADD.stub.read_text(), backend="sim", seed=5)
    assert (verdict.verdict, verdict.seed, verdict.file) == ("wrong", 5, "vector_add.cu")
    assert list(tmp_path.iterdir()) == []


def test_without_a_file_the_one_here_is_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vector_add.cu").write_text("nothing that compiles")
    number = ADD.number
    assert grader.grade(str(number), backend="sim").verdict == "compile_error"
    assert grader.grade(number, backend="sim").verdict == "compile_error"


@pytest.mark.parametrize("courses", [COURSE, str(COURSE), [COURSE]])
def test_a_course_may_be_given_alone_or_in_a_list(courses):
    assert grader.grade("scale", source="nothing", backend="sim", courses=courses).exercise == "scale"


def test_predictions_stand_beside_the_counts():
    predict = {"sectors_per_request": 4, "sectors/n": "3/4"}
    right, wrong = grader.grade("vector_add", ADD.solution, backend="sim", predict=predict).predictions
    assert (right.counted, right.right) == (4, True)
    assert (wrong.counted, wrong.right) == (0.375, False)


def test_text_that_utf8_cannot_hold_is_a_wrong_call():
    with pytest.raises(UsageError, match="UTF-8"):
        grader.grade("vector_add", source="// \ud800", backend="sim")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "vectoradd"}, "unknown_exercise"),
        ({"name": "vector_add", "file": "/nowhere/x.cu"}, "not_found"),
        ({"name": "vector_add", "file": "x.cu", "source": "x"}, "file_and_source"),
        ({"name": "vector_add", "source": "x", "courses": ["/nowhere"]}, "bad_course"),
        ({"name": "vector_add", "source": "x", "courses": "/nowhere"}, "bad_course"),
        ({"name": 99999, "source": "x"}, "unknown_exercise"),
        ({"name": "vector_add", "source": "x", "backend": "moon"}, "bad_option"),
        ({"name": "vector_add", "source": "x", "device": -1}, "bad_option"),
        ({"name": "vector_add", "source": "x", "seed": -1}, "bad_option"),
        ({"name": "vector_add", "source": "x", "seed": 2**53}, "bad_option"),
        ({"name": "vector_add", "source": "x", "timeout_s": 0}, "bad_option"),
        ({"name": "vector_add", "source": "x", "predict": {"sector": 4}}, "bad_prediction"),
        ({"name": "vector_add", "source": "x", "timeout_s": float("nan")}, "bad_option"),
    ],
)
def test_a_wrong_call_is_a_usage_error(given, code):
    with pytest.raises(UsageError) as refused:
        grader.grade(**given)
    assert refused.value.code == code


def test_importing_the_package_imports_nothing_heavy():
    import subprocess
    import sys

    probe = "import grader, sys; print(sorted({'numpy', 'click', 'rich', 'llvmlite'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout.strip() == "[]"
