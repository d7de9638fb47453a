"""`grade dev check` as a whole: the real compiler and the real simulator, on copies of the miniature course."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import replace

import pytest
from samples import WASTEFUL, verdict

from grader.backends.base import Limits
from grader.catalog.courses import Broken
from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.dev import check
from grader.dev.grading import CourseGrader, PooledSimulator, request, simulator_children
from grader.dev.report import CheckReport, Problem
from grader.dev.wrong import WrongAnswer, refresh, wrong_answer
from grader.errors import Unsupported, UsageError
from grader.grading.cases import CaseBook
from grader.grading.grade import grade
from grader.verdict import Verdict
from tests.grading.requests import changed

needs_nvrtc = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


@needs_nvrtc
def test_a_complete_exercise_is_ok_in_one_line_and_exit_code_0(scale, capsys):
    assert check.run([scale]) == 0
    first, _, last = capsys.readouterr().out.rstrip().splitlines()
    words = " ".join(first.split())
    assert words == "ok scale sim: stub wrong, solution pass, 3 of 3 wrong answers as stated"
    assert last.startswith("1 exercises, 0 problems")


@needs_nvrtc
def test_everything_that_is_wrong_is_told_below_the_exercise_and_the_exit_code_is_1(scale, capsys):
    solved = scale.solution.read_text()
    scale.stub.write_text(solved)
    scale.solution.write_text(solved.replace("factor *", "2.0f *"))
    mutant = scale.folder / "wrong" / "copy.cu"
    mutant.write_text(mutant.read_text().replace("expect: wrong", "expect: race"))
    scale.hints.unlink()
    assert check.run([scale]) == 1
    told = capsys.readouterr().out
    for words in (
        "FAIL  scale", "no `YOUR CODE`", "is not in the solution", "the untouched stub must not pass: pass",
        "the solution does not pass: wrong", "wrong/copy.cu: expected race on sim, got wrong",
        "hints.md: it is missing",
    ):  # fmt: skip
        assert words in told
    assert "Traceback" not in told


@needs_nvrtc
def test_advice_is_printed_and_fails_no_check(scale, capsys):
    scale.statement.write_text(scale.statement.read_text() + "word " * 700)
    assert check.run([scale]) == 0
    first, advice, _, last = capsys.readouterr().out.rstrip().splitlines()
    assert first.startswith("ok    scale")
    assert advice.startswith("      advice: README.md: ")
    assert advice.endswith(' words before "If it does not pass"; at most 650 are read')
    assert last.startswith("1 exercises, 0 problems")


def test_a_stored_report_keeps_its_advice():
    report = CheckReport("scale", (Problem("a.cu", "wrong"),), "sim: …", advice=(Problem("README.md", "long"),))
    assert CheckReport.from_json(json.loads(json.dumps(report.to_json()))) == report


@needs_nvrtc
def test_an_edit_that_no_longer_applies_fails_the_check(exercise, capsys):
    total = exercise("total")
    total.solution.write_text("// One more line.\n" + total.solution.read_text())
    assert check.run([total]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "wrong/no_barrier.diff: hunk 1 (line 5) does not apply: line 16 is" in told
    assert "`grade dev wrong total --refresh` adapts edits to a changed solution" in told
    refresh(total)
    assert check.run([total]) == 0
    assert "3 of 3 wrong answers as stated" in capsys.readouterr().out


@needs_nvrtc
def test_an_exercise_that_cannot_be_read_fails_the_check(scale, capsys):
    path = scale.folder / "exercise.py"
    broken = Broken("other", path, 3, UsageError("exercise.py:3: a syntax error"))
    assert check.run([scale], [broken]) == 1
    told = capsys.readouterr().out
    assert "FAIL  other" in told
    assert "a syntax error" in told
    assert "ok    scale" in told


@needs_nvrtc
def test_nothing_to_check_is_an_error(scale, capsys):
    assert check.run([]) == 1
    assert "there is no exercise to check" in capsys.readouterr().out
    scale.solution.unlink()
    assert check.run([scale]) == 1
    assert "no exercise has both a stub and a solution" in capsys.readouterr().out


@needs_nvrtc
def test_a_gpu_that_is_not_there_is_unsupported(scale):
    with pytest.raises(Unsupported):
        check.run([scale], gpu=True, device=99)


def test_a_missing_compiler_is_unsupported_and_not_a_course_full_of_problems(scale, monkeypatch):
    nothing = replace(find_toolchain(), nvrtc_library=None)
    monkeypatch.setattr("grader.compile.toolchain.find_toolchain", lambda: nothing)
    with pytest.raises(Unsupported):
        check.run([scale])


class Ledger:
    """A course grader that grades nothing: it notes what it is asked, and answers with the word that is hoped for."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []

    def simulated(self, one, file):
        return self._answer("sim", file)

    def on_gpu(self, one, file, backend="gpu"):
        return self._answer(backend, file)

    def _answer(self, backend, file):
        path = file.path if isinstance(file, WrongAnswer) else file
        self.asked.append((backend, path.name))
        future: Future[Verdict] = Future()
        launch = WASTEFUL if path.name == "strided.cu" else None
        future.set_result(verdict(self.answers[path.name], launch=launch))
        return future


def test_each_backend_is_asked_about_the_files_that_name_it(scale):
    race = scale.folder / "wrong" / "copy.cu"
    race.write_text(race.read_text().replace("expect: wrong", "expect: race"))
    scale.stub.rename(scale.folder / "kept")
    ledger = Ledger(
        {"scale.cu": "pass", "copy.cu": "race", "no_bounds_check.cu": "out_of_bounds", "strided.cu": "technique"}
    )
    report = check.start_check(scale, ledger, gpu=True)()
    assert sorted(ledger.asked) == [
        ("auto", "copy.cu"),  # a GPU alone never says "race"
        ("gpu", "no_bounds_check.cu"), ("gpu", "scale.cu"),
        ("sim", "copy.cu"), ("sim", "no_bounds_check.cu"), ("sim", "scale.cu"), ("sim", "strided.cu"),
    ]  # fmt: skip
    assert [str(problem) for problem in report.problems] == ["scale.cu: the stub is missing"]
    assert report.summary.startswith("sim: stub missing, solution pass, 3 of 3")
    assert report.summary.endswith("gpu: stub missing, solution pass, 2 of 2 wrong answers as stated")


# ----------------------------------------------------------------------------------------------- children that are kept


@needs_nvrtc
def test_a_kept_child_gives_the_verdicts_of_a_fresh_one(scale):
    pool = simulator_children()
    kept = PooledSimulator(pool)
    for path in (scale.solution, scale.folder / "wrong" / "no_bounds_check.cu", scale.folder / "wrong" / "strided.cu"):
        asked = request(scale, path, "sim")
        fresh, again = grade(asked), grade(changed(asked, simulator=kept))
        assert replace(again, elapsed_s=0.0) == replace(fresh, elapsed_s=0.0)
    assert len(pool._idle) == 1
    assert pool._idle[0].programs == 3
    pool.close()


@needs_nvrtc
def test_a_child_that_was_ended_is_not_given_back(scale):
    pool = simulator_children()
    asked = request(scale, scale.solution, "sim")
    killed: list[int] = []

    class Killing(PooledSimulator):
        def open(self, program, limits: Limits):
            session = super().open(program, limits)
            killed.append(session._child.pid)
            session._child.kill()
            return session

    assert grade(changed(asked, simulator=Killing(pool))).verdict in ("limit", "error")
    assert pool._idle == []
    assert grade(changed(asked, simulator=PooledSimulator(pool))).passed
    assert pool._idle[0].child.pid != killed[0]
    pool.close()


@needs_nvrtc
def test_a_child_serves_a_bounded_number_of_programs(scale, monkeypatch):
    monkeypatch.setattr("grader.dev.grading.PROGRAMS", 1)
    pool = simulator_children()
    assert grade(changed(request(scale, scale.solution, "sim"), simulator=PooledSimulator(pool))).passed
    assert pool._idle == []
    pool.close()


@needs_nvrtc
def test_the_grader_leaves_no_process_behind(scale):
    import psutil

    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    with CourseGrader(workers=2) as grader:
        futures = [grader.simulated(scale, path) for path in (scale.solution, scale.stub)]
        assert [future.result().verdict for future in futures] == ["pass", "wrong"]
    assert {child.pid for child in me.children(recursive=True)} <= before


@needs_nvrtc
def test_a_wrong_host_file_is_graded_with_the_solutions_kernels():
    one = load_catalog().find("zero_copy")
    with CourseGrader(workers=1) as grader:
        verdict = grader.simulated(one, wrong_answer(one, "no_wait")).result()
    assert verdict.verdict == "race"
    assert verdict.diagnostics[0].file == "no_wait_host.py"


@needs_nvrtc
def test_the_files_of_an_exercise_share_inputs_and_the_oracles_outputs(scale, exercise, monkeypatch):
    made = []
    init = CaseBook.__init__
    monkeypatch.setattr(
        CaseBook, "__init__", lambda self, one, *more: (made.append(one.name), init(self, one, *more))[1]
    )
    other = exercise("total")
    with CourseGrader(workers=2) as grader:
        files = [(one, path) for one in (scale, other) for path in (one.solution, one.stub, one.solution)]
        verdicts = [future.result().verdict for future in [grader.simulated(*file) for file in files]]
    assert verdicts == ["pass", "wrong", "pass"] * 2
    assert made == ["scale", "total"]
