"""What counts as a save, in all the ways in which editors save."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from grader.practice import watch
from grader.practice.watch import Saves, newest_first, wake_at_saves


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.cu"
    path.write_text("one")
    return path


@pytest.fixture
def looked(file):
    found = Saves()
    found.look([file])
    return found


def written(path: Path) -> None:
    path.write_text("longer than before")


def replaced(path: Path) -> None:
    other = path.with_name(".x.swp")
    other.write_text("two")
    other.rename(path)


def moved_away_and_written(path: Path) -> None:
    path.rename(path.with_name("x.cu~"))
    path.write_text("two")


def touched(path: Path) -> None:
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("save", [written, replaced, moved_away_and_written, touched])
def test_each_way_to_save_is_seen_once(file, looked, save):
    assert looked.look([file]) == []
    save(file)
    assert looked.look([file]) == [file]
    assert looked.look([file]) == []


def test_file_that_goes_is_no_save_and_its_return_is_one(file, looked):
    file.unlink()
    assert looked.look([file]) == []
    file.write_text("back")
    assert looked.look([file]) == [file]


def test_new_file_is_a_save(file, looked, tmp_path):
    new = tmp_path / "new.cu"
    new.write_text("new")
    assert looked.look([file, new]) == [new]


def test_newest_of_several_comes_first_and_a_missing_one_last(tmp_path):
    paths = [tmp_path / name for name in ("gone", "old", "new")]
    for seconds, path in enumerate(paths[1:], start=1):
        path.write_text("")
        os.utime(path, (seconds, seconds))
    assert [path.name for path in newest_first(paths)] == ["new", "old", "gone"]


@pytest.mark.parametrize("notified", [True, False], ids=["notifications", "none_left"])
def test_saves_wake_with_the_systems_notifications_and_without(tmp_path, monkeypatch, notified):
    def no_watch(*folders, **how):
        raise OSError("inotify watch limit reached")

    if not notified:
        watchfiles = pytest.importorskip("watchfiles")
        monkeypatch.setattr(watchfiles, "watch", no_watch)
        monkeypatch.setattr(watch, "LOOK_MS", 1)
    woken, stop = threading.Event(), threading.Event()
    watcher = threading.Thread(target=wake_at_saves, args=([tmp_path], woken.set, stop))
    watcher.start()
    try:
        (tmp_path / "x.cu").write_text("saved")
        assert woken.wait(30)
    finally:
        stop.set()
        watcher.join(30)
    assert not watcher.is_alive()
