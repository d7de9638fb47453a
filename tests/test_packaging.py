"""The installed package: a person who has no clone gets a working course.

`scripts/test --wheel` runs these against the built wheel, with WARPGRADE_WHEEL naming it and WARPGRADE_SOURCE the clone
that it was built from.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import grader
from grader.catalog.courses import built_in_course
from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain

WHEEL, SOURCE = os.environ.get("WARPGRADE_WHEEL"), os.environ.get("WARPGRADE_SOURCE")
from_a_wheel = pytest.mark.skipif(WHEEL is None or SOURCE is None, reason="scripts/test --wheel runs this")
installed = pytest.mark.skipif(not list(metadata.distributions(name="warpgrade")), reason="warpgrade is not installed")
PACKAGED = {"exercises": "grader/_course/exercises", "solutions": "grader/_course/solutions"} | {
    "kernels_ref": "grader/_course/kernels_ref",
    "grader": "grader",
}
"""Folder of the clone -> its place in the wheel."""


def grade(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a folder that has nothing to do with a clone."""
    command = [str(Path(sys.executable).with_name("grade")), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def names() -> set[str]:
    assert WHEEL is not None
    with zipfile.ZipFile(WHEEL) as wheel:
        return set(wheel.namelist())


@from_a_wheel
@pytest.mark.parametrize(("folder", "place"), PACKAGED.items(), ids=list(PACKAGED))
def test_the_wheel_carries_every_file_of_the_course_and_of_the_package(names, folder, place):
    root = Path(str(SOURCE), folder)
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert files
    assert [str(path) for path in files if f"{place}/{path.relative_to(root).as_posix()}" not in names] == []


@from_a_wheel
def test_the_wheel_carries_nothing_else(names):
    strange = [name for name in names if not name.startswith("grader/") and ".dist-info/" not in name]
    assert strange == []
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


@from_a_wheel
def test_the_tests_run_against_the_installed_package():
    assert Path(sys.prefix) in Path(grader.__file__).parents
    assert built_in_course().exercises == Path(grader.__file__).parent / "_course" / "exercises"


@installed
def test_both_commands_and_all_extras_are_declared():
    distribution = metadata.distribution("warpgrade")
    assert {point.name for point in distribution.entry_points} == {"grade", "warpgrade"}
    assert {"cuda12", "cuda13", "test"} <= set(distribution.metadata.get_all("Provides-Extra"))
    assert distribution.version == grader.__version__


@installed
def test_the_words_are_in_the_package(tmp_path):
    done = grade("words", "sector", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "32 aligned bytes" in done.stdout


@installed
@pytest.mark.parametrize("page", ["counters", "launch-lines"])
def test_the_pages_for_learners_are_in_the_package(tmp_path, page):
    done = grade("show", page, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 100


@installed
def test_grade_list_works_anywhere_and_shows_the_course(tmp_path):
    done = grade("list", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for one in load_catalog().exercises:
        assert one.name in done.stdout


@installed
@pytest.mark.slow
@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_solution_passes_outside_of_any_clone(tmp_path):
    done = grade("vector_add", "--solution", "--backend", "sim", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "PASS" in done.stdout


@installed
def test_start_puts_the_stub_of_the_package_here(tmp_path):
    assert grade("start", "vector_add", folder=tmp_path).returncode == 0
    assert (tmp_path / "vector_add.cu").read_bytes() == load_catalog().find("vector_add").stub.read_bytes()
