"""The progress file when things go wrong: damaged, newer, locked, unwritable, used by many. Nothing in it is lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from grader.practice import progress as database
from grader.practice.progress import MIGRATIONS, Predicted, Progress, Run, Unavailable, using


def a_run(exercise: str = "vector_add", verdict: str = "pass", **more) -> Run:
    return Run("2026-11-21T17:05:30Z", "", exercise, verdict, 80, 80, "sim", **more)


@pytest.fixture
def told():
    return []


@pytest.fixture
def progress(tmp_path, told):
    return Progress(tmp_path / "data" / "progress.sqlite3", told.append)


def version(path) -> int:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


def test_what_is_recorded_is_read_back(progress, told):
    run = a_run(median_s=2e-4, fraction_of_peak=0.71, gpu="NVIDIA H200", file_sha256="ab" * 32)
    assert progress.record(run)
    assert progress.record(a_run("reduce_v3", "wrong"))
    assert progress.runs() == (run, a_run("reduce_v3", "wrong"))
    assert progress.last() == a_run("reduce_v3", "wrong")
    assert progress.passed() == {("", "vector_add", 1)}
    assert told == []


def test_predictions_are_stored_with_their_run(progress, told):
    predicted = Predicted("2026-11-21T17:05:30Z", "", "vector_add", 1, "sectors", "n", 0.5, 0.375, was_right=False)
    assert progress.predictions() == ()
    assert progress.record(a_run(), [predicted, predicted])
    assert progress.record(a_run())
    assert progress.predictions() == (predicted, predicted)
    assert progress.predictions()[0].was_right is False
    assert len(progress.runs()) == 2
    assert told == []


def test_nothing_is_written_by_looking(progress, told):
    assert (progress.runs(), progress.last(), progress.passed(), progress.hints_seen()) == ((), None, frozenset(), {})
    assert not progress.path.parent.exists()
    assert told == []


def test_file_says_its_version_and_its_folder_is_the_persons_own(progress):
    progress.record(a_run())
    assert version(progress.path) == len(MIGRATIONS)
    assert progress.path.parent.stat().st_mode & 0o077 == 0


def test_empty_file_becomes_a_database(progress, told):
    progress.path.parent.mkdir()
    progress.path.touch()
    assert progress.runs() == ()
    assert progress.record(a_run())
    assert told == []


@pytest.mark.parametrize(
    "content", [b"this is no database at all, but some text\n" * 50, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_damaged_file_is_set_aside_and_a_new_one_begun(progress, told, content):
    progress.path.parent.mkdir()
    progress.path.write_bytes(content)
    assert progress.record(a_run())
    assert progress.runs() == (a_run(),)
    (message,) = told
    assert "it is kept as progress.sqlite3.damaged-1" in message
    assert progress.path.with_name("progress.sqlite3.damaged-1").read_bytes() == content


def test_second_damaged_file_does_not_replace_the_first(progress):
    progress.path.parent.mkdir()
    for content in (b"first " * 500, b"second " * 500):
        progress.path.write_bytes(content)
        progress.record(a_run())
    kept = sorted(path.name for path in progress.path.parent.glob("*.damaged-?"))
    assert kept == ["progress.sqlite3.damaged-1", "progress.sqlite3.damaged-2"]


def test_journal_of_a_damaged_file_goes_with_it(progress):
    progress.record(a_run())
    journal = progress.path.with_name("progress.sqlite3-journal")
    journal.write_bytes(b"what would be played into the next file")
    kept = database._set_aside(progress.path)
    assert not journal.exists()
    assert kept.with_name(f"{kept.name}-journal").read_bytes() == b"what would be played into the next file"


def test_database_of_another_program_is_set_aside(progress, told):
    progress.path.parent.mkdir()
    with sqlite3.connect(progress.path) as other:
        other.execute("CREATE TABLE runs (something)")
    other.close()
    assert progress.record(a_run())
    assert len(told) == 1
    assert progress.runs() == (a_run(),)


def test_file_of_a_newer_warpgrade_is_left_as_it_is(progress, told):
    progress.record(a_run())
    connection = sqlite3.connect(progress.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert not progress.record(a_run("reduce_v3"))
    assert progress.runs() == ()
    assert version(progress.path) == 99
    assert all("a newer warpgrade wrote it (version 99" in message for message in told)
    assert list(progress.path.parent.glob("*.damaged*")) == []


def test_older_file_is_brought_up_to_date_with_its_runs(progress, monkeypatch):
    progress.record(a_run())
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, ("ALTER TABLE runs ADD COLUMN mood TEXT",)))
    assert progress.runs() == (a_run(),)
    assert version(progress.path) == len(MIGRATIONS) + 1


@pytest.fixture
def first_version(progress, monkeypatch):
    """A file as the first warpgrade wrote it, with a pass and a hint."""
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", MIGRATIONS[:1])
        with sqlite3.connect(progress.path if database._once(progress.path, lambda db: 1, write=True) else "") as file:
            file.execute(
                "INSERT INTO runs (at, course, exercise, verdict, score, max_score, backend)"
                " VALUES ('2026-11-21T17:05:30Z', '', 'vector_add', 'pass', 80, 80, 'sim')"
            )
            file.execute("INSERT INTO hints (at, course, exercise, number) VALUES ('', '', 'vector_add', 2)")
        file.close()
    assert version(progress.path) == 1
    return progress


def test_what_was_stored_before_courses_had_versions_is_of_version_1(first_version, told):
    assert first_version.runs() == (a_run(course_version=1),)
    assert first_version.hints_seen() == {("", "vector_add", 1): 2}
    assert first_version.record(a_run(course_version=2))
    assert first_version.passed() == {("", "vector_add", 1), ("", "vector_add", 2)}
    assert told == []


def test_older_file_that_may_only_be_read_is_read_and_stays_as_it_is(first_version, told, monkeypatch):
    content = first_version.path.read_bytes()
    connect = sqlite3.connect

    def connected(path, **more):
        return connect(path if path == ":memory:" else f"file:{path}?mode=ro", uri=True, **more)

    monkeypatch.setattr(sqlite3, "connect", connected)
    assert first_version.runs() == (a_run(),)
    assert not first_version.record(a_run())
    assert ["readonly database" in message for message in told] == [True]
    assert first_version.path.read_bytes() == content


def test_step_that_fails_halfway_leaves_the_file_as_it_was(progress, monkeypatch):
    progress.record(a_run())
    halfway = ("CREATE TABLE moods (mood)", "UPDATE nothing_like_it SET a = 1")
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, halfway))
    with pytest.raises(database._Damaged):
        database._once(progress.path, lambda db: None, write=False)
    assert version(progress.path) == len(MIGRATIONS)
    monkeypatch.undo()
    assert progress.runs() == (a_run(),)


def test_place_that_cannot_be_written_is_one_line(tmp_path, told):
    (tmp_path / "file").write_text("")
    progress = Progress(tmp_path / "file" / "progress.sqlite3", told.append)
    assert not progress.record(a_run())
    (message,) = told
    assert message.startswith("this run is not in your progress: ")
    assert "\n" not in message


def test_folder_in_the_files_place_is_one_line(progress, told):
    progress.path.mkdir(parents=True)
    assert not progress.record(a_run())
    assert progress.runs() == ()
    assert ["unable to open" in message for message in told] == [True, True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_file_that_may_only_be_read_is_read(progress, told):
    progress.record(a_run())
    progress.path.chmod(0o400)
    assert progress.runs() == (a_run(),)
    assert not progress.record(a_run())
    assert len(told) == 1


def test_lock_that_another_program_never_gives_back_is_one_line(progress, told, monkeypatch):
    progress.record(a_run())
    monkeypatch.setattr(database, "BUSY_MS", 1)
    holder = sqlite3.connect(progress.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert not progress.record(a_run())
    finally:
        holder.close()
    assert "locked" in told[0]
    assert progress.runs() == (a_run(),)


def test_python_without_sqlite_is_one_line(progress, told, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    assert not progress.record(a_run())
    assert "without sqlite3" in told[0]


def write_at_once(progress) -> list[bytes]:
    """Four processes record ten runs each, at once; returns what they print."""
    code = (
        "import sys; from pathlib import Path; from grader.practice.progress import Progress, Run\n"
        "for number in range(10):\n"
        "    run = Run('2026-11-21T17:05:30Z', '', f'e{sys.argv[2]}_{number}', 'pass', 1, 1, 'sim')\n"
        "    Progress(Path(sys.argv[1]), print).record(run)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(progress.path), str(number)], stdout=subprocess.PIPE)
        for number in range(4)
    ]
    return [writer.communicate(timeout=60)[0] for writer in writers]


def test_processes_that_write_at_once_lose_nothing(progress):
    assert write_at_once(progress) == [b""] * 4
    assert len(progress.passed()) == len(progress.runs()) == 40


def test_processes_that_bring_an_older_file_up_to_date_at_once_lose_nothing(first_version):
    assert write_at_once(first_version) == [b""] * 4
    assert len(first_version.passed()) == len(first_version.runs()) == 41
    assert version(first_version.path) == len(MIGRATIONS)


def test_error_inside_the_work_undoes_it(progress):
    progress.record(a_run())

    def half(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM runs")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        using(progress.path, half, write=True, tell=print)
    assert progress.runs() == (a_run(),)


def test_trouble_of_any_other_kind_is_unavailable(tmp_path):
    with pytest.raises(Unavailable):
        using(tmp_path / ("x" * 300) / "progress.sqlite3", lambda db: None, write=True, tell=print)
