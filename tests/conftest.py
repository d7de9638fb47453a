"""What all tests share: a cache of their own, and selecting the tests that need a GPU."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.backends.sim.session import SimBackend
from grader.dev.grading import PooledSimulator, simulator_children
from grader.process.kept import children_kept
from tests.order import place_of
from tests.quick import Quick, changed_files

# One cache for the whole run, its workers and child processes included, and none of the person's own: a test must not
# pass because of what an earlier run left behind. WARPGRADE_TEST_CACHE keeps it between runs, for people who run tests
# often.
if "PYTEST_XDIST_WORKER" not in os.environ:  # a worker has its run's
    _CACHE = tempfile.TemporaryDirectory(prefix="warpgrade-tests-", ignore_cleanup_errors=True)
    os.environ["WARPGRADE_CACHE"] = os.environ.get("WARPGRADE_TEST_CACHE") or _CACHE.name
_DATA = tempfile.TemporaryDirectory(prefix="warpgrade-tests-", ignore_cleanup_errors=True)
os.environ["WARPGRADE_DATA"] = _DATA.name


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and nothing graded yet."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("WARPGRADE_DATA", str(tmp_path / "data"))
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="a minute and a half: tests of what changed, then cheap ones")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        config.pluginmanager.register(Quick(changed_files()))
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist: it would begin with the files of the most tests
        config.option.loadscopereorder = False


@pytest.fixture(autouse=True, scope="session")
def kept_children() -> Iterator[None]:
    """Compilers, assemblers and parsers that all tests of a worker share; what slow headers bring is compiled once."""
    with children_kept():
        yield


@pytest.fixture(scope="module")
def kept_simulators() -> Iterator[None]:
    """The programs of a file run one after another in one simulator child, like those of a course that is checked."""
    with simulator_children() as pool, pytest.MonkeyPatch.context() as patched:
        patched.setattr(SimBackend, "start", lambda backend: None)
        patched.setattr(SimBackend, "new_session", PooledSimulator(pool).new_session)
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked ``gpu`` out unless they are asked for; one of several processes begins with the long files."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: place_of(item.nodeid))
    if "gpu" in config.option.markexpr:
        return
    skip = pytest.mark.skip(reason="needs an NVIDIA GPU: run `pytest -m gpu`")
    for item in items:
        if "gpu" in item.keywords and item.get_closest_marker("gpu"):
            item.add_marker(skip)
