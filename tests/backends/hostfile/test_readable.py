"""What a host file may read: Python's packages, and nothing that lies in them of the grader or a course."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import grader
from grader.backends.gpu.hostfile.backend import _inner_sandbox
from grader.backends.hostfile import child_files


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of Python with the grader among its packages."""
    packages = tmp_path / "lib" / "python3" / "site-packages"
    for name in ("numpy/core.py", "grader/__init__.py", "grader/_course/solutions/x.cu", "scipy.py"):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).touch()
    (tmp_path / "lib" / "python3" / "json.py").touch()
    for name in ("prefix", "base_prefix", "exec_prefix"):
        monkeypatch.setattr(sys, name, str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(packages.parent), str(packages)])
    monkeypatch.setattr(child_files, "SYSTEM", ())
    return packages


def can_read(path: Path, allowed: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in allowed)


def test_packages_can_be_read_and_the_grader_in_their_midst_cannot(python, monkeypatch):
    monkeypatch.setattr(child_files, "PACKAGE", python / "grader")
    allowed = child_files.readable()
    assert can_read(python / "numpy" / "core.py", allowed)
    assert can_read(python / "scipy.py", allowed)
    assert can_read(python.parent / "json.py", allowed)
    assert not can_read(python / "grader" / "__init__.py", allowed)
    assert not can_read(python / "grader" / "_course" / "solutions" / "x.cu", allowed)


def test_a_clone_on_the_search_path_is_closed(python, tmp_path, monkeypatch):
    clone = tmp_path.parent / "clone"
    monkeypatch.setattr(sys, "path", [*sys.path, str(clone)])
    assert not can_read(clone / "solutions" / "x.cu", child_files.readable())


def test_a_course_inside_of_an_open_folder_is_closed(python):
    assert not can_read(python / "numpy" / "core.py", child_files.readable([python / "numpy"]))
    assert can_read(python / "scipy.py", child_files.readable([python / "numpy"]))


@pytest.mark.parametrize("folder", ["/usr/lib/python3/dist-packages", "/usr/local/lib/python3/site-packages"])
def test_beside_a_gpu_the_grader_is_closed_where_it_is_installed_for_all_users(monkeypatch, folder):
    package = Path(folder, "grader")
    monkeypatch.setattr(child_files, "PACKAGE", package)
    allowed = _inner_sandbox("/tmp/its-own", None).read
    assert not can_read(package / "_course" / "solutions" / "x.cu", allowed)
    assert can_read(Path("/usr/share"), allowed)
    assert can_read(Path("/sys/devices"), allowed)


def test_packages_of_a_user_can_be_read(python, tmp_path, monkeypatch):
    theirs = tmp_path.parent / "home" / ".local" / "lib" / "python3" / "site-packages"
    monkeypatch.setattr(sys, "path", [*sys.path, str(theirs)])
    assert can_read(theirs / "cupy.py", child_files.readable())


def test_here_neither_grader_nor_course_can_be_read():
    allowed, package = child_files.readable(), Path(grader.__file__).resolve()
    assert not can_read(package, allowed)
    assert not can_read(package.parent.parent / "solutions", allowed)
    assert can_read(Path(pytest.__file__).resolve(), allowed)
