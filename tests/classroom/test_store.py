"""The stored results of a class: nothing is lost or counted twice, whatever ends the run."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from grader.classroom.records import Override, Result
from grader.classroom.store import FILE, Basis, Death, RunLock, Store
from grader.errors import Unsupported, UsageError

NOW = datetime(2026, 11, 21, 17, 5, tzinfo=UTC)
BASIS = Basis("0.1.0", "1 (aa)", "vector_add", "sim", "bb")


def a_result(submission: str = "ada/vector_add/1", verdict: str = "pass", **more) -> Result:
    points = {"points": 80.0, "max_points": 80.0} | more
    return Result(
        submission, verdict, run={"verdict": verdict}, started=NOW, ended=NOW, machine={"host": "a"}, **points
    )


def a_death(number: int) -> Death:
    return Death("eve/vector_add/1", NOW, f"worker {number}", "SIGSEGV")


def test_what_is_stored_is_read_back(tmp_path):
    result = a_result(versions={"warpgrade": "0.1.0"}, attempts=2, worker="7 on lab", sandbox="none")
    with Store.open(tmp_path) as store:
        store.add(result)
    with Store.open(tmp_path) as store:
        assert store.results() == (result,)
        assert store.graded() == {"ada/vector_add/1"}


def test_the_newest_result_counts_and_older_ones_stay(tmp_path):
    with Store.open(tmp_path) as store:
        store.add(a_result(verdict="wrong"))
        store.begin(BASIS, again=["ada/vector_add/1"])
        assert store.graded() == frozenset()
        assert [result.verdict for result in store.results()] == ["wrong"]  # until the new one is there
        store.add(a_result(verdict="pass"))
        assert [result.verdict for result in store.results()] == ["pass"]
        assert [result.verdict for result in store.history("ada/vector_add/1")] == ["wrong", "pass"]
        assert store.graded() == {"ada/vector_add/1"}


def test_deaths_are_counted_until_there_is_a_result(tmp_path):
    with Store.open(tmp_path) as store:
        assert [store.add_death(a_death(number)) for number in (1, 2, 3)] == [1, 2, 3]
        store.add(a_result("eve/vector_add/1", "set_aside", points=None, max_points=None))
        assert store.deaths("eve/vector_add/1") == ()
        assert store.add_death(a_death(4)) == 1


def test_the_newest_override_counts(tmp_path):
    first = Override("ada", "vector_add", 40.0, "late by illness", NOW)
    second = Override("ada", "vector_add", 80.0, "shown in person", NOW)
    with Store.open(tmp_path) as store:
        store.add_override(first)
        store.add_override(second)
        assert store.overrides() == (second,)


def test_another_version_is_refused_unless_it_is_mixed_or_grades_everything_again(tmp_path):
    other = replace(BASIS, warpgrade="0.2.0")
    with Store.open(tmp_path) as store:
        store.begin(BASIS)
        store.begin(other)  # no result yet
        store.begin(BASIS)
        store.add(a_result())
        with pytest.raises(UsageError, match=r"warpgrade 0\.1\.0 became 0\.2\.0") as refused:
            store.begin(other)
        assert refused.value.code == "other_version"
        store.begin(other, mixed=True)
        assert store.basis() == other
        store.begin(BASIS, again=["ada/vector_add/1"])


def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    with Store.open(tmp_path) as store:
        store.add(a_result())
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(Unsupported, match="the disk is full"):
            store.add(a_result("bob/vector_add/1", worker="x" * 100_000))
        store._database.execute("PRAGMA max_page_count = 100000")
        store.add(a_result("bob/vector_add/2"))
    with Store.open(tmp_path) as store:
        assert store.graded() == {"ada/vector_add/1", "bob/vector_add/2"}


def test_a_damaged_or_a_newer_file_is_named_and_kept(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database" * 100)
    with pytest.raises(UsageError, match="is damaged"):
        Store.open(tmp_path)
    assert (tmp_path / FILE).read_bytes() == b"no database" * 100
    (tmp_path / "new").mkdir()
    with sqlite3.connect(tmp_path / "new" / FILE) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(UsageError, match="newer warpgrade"):
        Store.open(tmp_path / "new")


def test_a_class_that_was_never_run_has_no_results_and_gets_no_file(tmp_path):
    with Store.open(tmp_path, make=False) as store:
        assert store.results() == ()
        assert store.basis() is None
    assert not (tmp_path / FILE).exists()


HOLDS = """
import sys, pathlib
from grader.classroom.store import RunLock
lock = RunLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_run_is_refused_until_the_first_has_ended_even_by_kill(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDS, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match=f"is being graded by process {process.pid} on "):
            RunLock(tmp_path)
        process.kill()
    RunLock(tmp_path).close()
