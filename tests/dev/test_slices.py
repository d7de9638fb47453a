"""`grade dev check --minutes`: reports are kept as they arrive, and the next slice goes on with the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from samples import COUNTED

from grader.catalog.courses import CourseExercise
from grader.compile.toolchain import find_toolchain
from grader.dev import check, slices
from grader.dev.report import CheckReport, Problem
from grader.dev.slices import StoredResults, slice_of

PROBLEM = Problem("hints.md", "it is missing")


def stored(machine: str = "a GPU") -> StoredResults[CheckReport]:
    return StoredResults("check", machine, CheckReport.to_json, CheckReport.from_json)


class Clock:
    """Time that passes only when an exercise is waited for: a minute each."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.begun: list[str] = []

    def __call__(self) -> float:
        return self.now_s

    def begin(self, entry: CourseExercise) -> Callable[[], CheckReport]:
        self.begun.append(entry.name)

        def finish() -> CheckReport:
            self.now_s += 60
            return CheckReport(
                entry.name, (PROBLEM,) if entry.name == "scale" else (), f"check of {entry.name}", (COUNTED,)
            )

        return finish

    def slice(self, entries: list[CourseExercise], minutes: float, machine: str = "a GPU") -> list[str]:
        """The names of the exercises that a slice begins."""
        self.begun = []
        list(slice_of(entries, self.begin, stored(machine), 60 * minutes))
        return self.begun


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    passing = Clock()
    monkeypatch.setattr(slices, "perf_counter", passing)
    return passing


@pytest.fixture
def both(exercise) -> list[CourseExercise]:
    return [exercise("scale"), exercise("total")]


def touch(entry: CourseExercise) -> None:
    entry.stub.write_text(entry.stub.read_text() + "\n")


def test_a_slice_goes_on_where_the_last_one_stopped(both, clock):
    assert clock.slice(both, 0.5) == ["scale", "total"]  # two are in flight before anything is known of their time
    assert clock.slice(both, 8) == []


def test_no_exercise_begins_that_is_likely_to_end_too_late(exercise, course, clock):
    entries = [exercise("scale")]
    for number in range(9):
        folder = course.exercises / "01_first" / f"more{number}"
        folder.mkdir()
        entries.append(type(entries[0])(entries[0].exercise, folder, "01_first", course))
    begun = clock.slice(entries, 5)
    assert len(begun) == 5
    assert clock.now_s <= 5 * 60
    assert len(clock.slice(entries, 5)) == 5
    assert clock.slice(entries, 5) == []


def test_kept_reports_are_given_with_their_problems(both, clock):
    first = list(slice_of(both, clock.begin, stored(), None))
    again = list(slice_of(both, clock.begin, stored(), 60))
    assert again == first
    assert again[0][1].problems == (PROBLEM,)


def test_a_changed_exercise_comes_first_and_then_one_that_is_new(both, clock, exercise):
    scale, total = both
    assert clock.slice([scale], 8) == ["scale"]
    touch(scale)
    assert clock.slice([total, scale], 8) == ["scale", "total"]


def test_a_changed_grader_makes_every_report_old(both, clock, monkeypatch):
    clock.slice(both, 8)
    monkeypatch.setattr(slices, "_grader", lambda: "another")
    touch(both[1])
    assert clock.slice(both, 8) == ["total", "scale"]


def test_another_gpu_model_has_reports_of_its_own(both, clock):
    clock.slice(both, 8)
    assert clock.slice(both, 8, machine="another GPU") == ["scale", "total"]


def test_a_file_that_changes_during_its_check_is_checked_again(both, clock):
    def begin(entry: CourseExercise) -> Callable[[], CheckReport]:
        finish = clock.begin(entry)
        touch(entry)
        return finish

    list(slice_of(both[:1], begin, stored(), None))
    assert clock.slice(both[:1], 8) == ["scale"]


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_the_exit_code_says_whether_something_is_left(both, clock, monkeypatch, capsys):
    monkeypatch.setattr(check, "start_check", lambda entry, **_: clock.begin(entry))
    monkeypatch.setattr(slices, "AHEAD", 1)
    assert check.run(both, minutes=0.5) == 3
    assert "1 exercises are left: run the same command again to continue" in capsys.readouterr().out
    assert check.run(both, minutes=0.5) == 1  # nothing is left, and something is wrong
    told = capsys.readouterr().out
    assert "hints.md: it is missing" in told
    assert "check of total" in told
    assert "left" not in told
