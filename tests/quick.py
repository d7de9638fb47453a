"""`scripts/test --quick`: what a minute and a half can tell. Tests of what has changed come first, then the cheap ones.

Left out are tests marked slow and, unless they test something that has changed since ``main``, folders whose tests
compile or simulate. When the time is over, what has not begun is skipped.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from time import monotonic

import pytest

LIMIT_S = 80  # and a few for collecting and ending
ROOT = Path(__file__).resolve().parents[1]
CHEAP = (
    "tests/catalog", "tests/gpus", "tests/launch", "tests/practice", "tests/process", "tests/render", "tests/simt/isa",
    "tests/timing", "tests/tune", "tests/test_api.py", "tests/test_expressions.py", "tests/test_inputs.py",
    "tests/simt/test_occupancy.py", "tests/test_statements.py", "tests/test_structure.py", "tests/dev/test_slices.py",
)  # fmt: skip


class Quick:
    """The plugin of one run."""

    def __init__(self, changed: Iterable[str]) -> None:
        self._changed = tuple(sorted({place for path in changed for place in places(path)}))
        self._end = monotonic() + LIMIT_S

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave files unread of which nothing is kept."""
        if collection_path.suffix != ".py":
            return None
        file = collection_path.relative_to(ROOT).as_posix()
        within = is_within(file, (*CHEAP, *(place.partition("::")[0] for place in self._changed)))
        return None if within else True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep changed and cheap ones, in this order; a file's tests stay together."""
        ranks = {item: self.rank(item) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if ranks[item] is None])
        items[:] = sorted((item for item in items if ranks[item] is not None), key=lambda item: ranks[item] or 0)

    def rank(self, item: pytest.Item) -> int | None:
        """0 for tests of what has changed, 1 for cheap ones, None for the others. A changed exercise is checked."""
        if item.nodeid.startswith(tuple(place for place in self._changed if "[" in place)):
            return 0
        if item.get_closest_marker("slow"):
            return None
        if is_within(item.nodeid, self._changed):
            return 0
        return 1 if is_within(item.nodeid, CHEAP) else None

    def pytest_runtest_setup(self) -> None:
        if monotonic() > self._end:
            pytest.skip("the time of --quick is over")


def is_within(test: str, folders_and_files: Iterable[str]) -> bool:
    """Whether a test stands in one of these folders and files."""
    file = Path(test.partition("::")[0])
    return any(file.is_relative_to(place) for place in folders_and_files)


def changed_files() -> list[str]:
    """What differs from where this branch left ``main``; nothing outside a clone."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return [*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")]


def _git(*words: str) -> list[str]:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def places(path: str) -> list[str]:
    """Where the tests of a file stand: itself, its folder's, the folder that mirrors its package, its exercise."""
    parts = Path(path).parts
    if parts[0] == "tests":
        return [path if Path(path).name.startswith("test_") else str(Path(path).parent)] if len(parts) > 2 else [path]
    if parts[0] in ("exercises", "solutions") and len(parts) > 2:
        name = parts[2].partition(".")[0].removesuffix("_host")
        return [f"tests/test_course.py::test_stub_solution_and_wrong_answers_are_as_the_exercise_says[{name}]"]
    if parts[0] == "kernels_ref":
        return ["tests/kernels_ref"]
    if parts[0] != "grader":
        return []
    if len(parts) == 2:
        return [f"tests/test_{parts[1]}"]
    return [f"tests/{'/'.join(parts[1:-1])}"]
