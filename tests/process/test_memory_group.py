"""A control group for one child: found where it is delegated, made, asked and removed. The tree is a folder of ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.process.memory_group import delegated, memory_group

SLICE = "user.slice/user-1000.slice/user@1000.service/app.slice"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's part of the tree: this process is in terminal.scope, and its slice may limit memory."""
    scope = tmp_path / SLICE / "terminal.scope"
    scope.mkdir(parents=True)
    for folder, controllers in ((scope, ""), (scope.parent, "cpu memory pids\n")):
        (folder / "cgroup.subtree_control").write_text(controllers)
        (folder / "cgroup.procs").write_text("")
    (tmp_path / "own").write_text(f"1:name=systemd:/elsewhere\n0::/{SLICE}/terminal.scope\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return tmp_path


def found(tree: Path) -> Path | None:
    return delegated(tree, tree / "own")


def test_the_slice_above_this_process_is_found(tree: Path) -> None:
    assert found(tree) == tree / SLICE


def test_the_group_of_this_process_is_found_if_it_limits_memory_itself(tree: Path) -> None:
    (tree / SLICE / "terminal.scope" / "cgroup.subtree_control").write_text("memory\n")
    assert found(tree) == tree / SLICE / "terminal.scope"


def test_root_has_none_because_it_may_write_everywhere(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert found(tree) is None


@pytest.mark.parametrize(
    "own", ["", "4:memory:/user\n", "0::/\n", "0::/gone/terminal.scope\n", f"0::/../{SLICE}/terminal.scope\n"]
)
def test_without_a_group_of_version_2_there_is_none(tree: Path, own: str) -> None:
    (tree / "own").write_text(own)
    assert found(tree) is None


def test_a_system_without_groups_has_none(tree: Path) -> None:
    (tree / "own").unlink()
    assert found(tree) is None


def test_a_slice_that_limits_no_memory_or_that_others_own_is_none(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / SLICE / "cgroup.subtree_control").write_text("cpu pids\n")
    assert found(tree) is None
    (tree / SLICE / "cgroup.subtree_control").write_text("memory\n")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "cgroup.procs")
    assert found(tree) is None


def test_a_child_is_put_into_a_group_with_its_limit(tree: Path) -> None:
    group = memory_group(77, 4096, tree / SLICE)
    assert group is not None
    folder = tree / SLICE / "warpgrade-77"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"memory.max": "4096", "cgroup.procs": "77"}


def test_the_kernels_count_says_whether_it_ended_the_child(tree: Path) -> None:
    group = memory_group(77, 4096, tree / SLICE)
    assert group is not None
    assert not group.exceeded()
    events = tree / SLICE / "warpgrade-77" / "memory.events"
    events.write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\n")
    assert not group.exceeded()
    events.write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n")
    assert group.exceeded()


def test_a_group_is_removed_at_its_end_and_those_that_killed_graders_left_with_the_next(tree: Path) -> None:
    (tree / SLICE / "warpgrade-5").mkdir()
    group = memory_group(77, 4096, tree / SLICE)
    assert group is not None
    with group:
        assert not (tree / SLICE / "warpgrade-5").exists()
        for path in (tree / SLICE / "warpgrade-77").iterdir():
            path.unlink()  # in the kernel's tree these are no files that keep a folder
    group.close()
    assert not (tree / SLICE / "warpgrade-77").exists()


def test_where_a_process_may_not_be_moved_there_is_no_group(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Path.write_text

    def refused(path: Path, text: str) -> int:
        if path.name == "cgroup.procs":
            raise PermissionError
        return written(path, text)

    monkeypatch.setattr(Path, "write_text", refused)
    assert memory_group(77, 4096, tree / SLICE) is None
    assert memory_group(77, 4096, None) is None
    assert memory_group(77, 4096, tree / "gone") is None
