"""The corpus: many kernels for one task, each with the verdict, line and kind of finding on its first lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.dev.grading import PooledSimulator, available_cpus, request, simulator_children
from grader.dev.static import MARKER, first_foreign
from grader.grading.grade import grade
from grader.process.child import ChildPool
from grader.verdict import VERDICTS, Diagnostic, Verdict

FOLDER = Path(__file__).parent / "corpus"
FILES = sorted(FOLDER.rglob("*.cu"))
LADDER = sorted(FOLDER.glob("reduce_v*.cu"))
COUNTED = {"n": 70000}  # in two passes of blocks of 256; small, because no counter is judged here
NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


# ------------------------------------------------------------------------------------------------------ what is stated


@dataclass(frozen=True)
class Stated:
    """The first lines of a file. ``line`` and ``kind`` may be missing; nothing is said about them then."""

    verdict: str
    line: int | None
    kind: str | None

    @classmethod
    def of(cls, path: Path) -> Stated:
        head = "\n".join(path.read_text(encoding="utf-8").splitlines()[:4])
        found = dict(re.findall(r"^// (expect|line|kind): (\S+)$", head, flags=re.MULTILINE))
        return cls(found["expect"], int(found["line"]) if "line" in found else None, found.get("kind"))

    def fits(self, found: Diagnostic) -> bool:
        lines = {found.line, *(access.line for access in found.accesses)}
        return self.kind in (None, found.kind) and (self.line is None or self.line in lines)


# ----------------------------------------------------------------------------------------------------------- grade them


def graded(path: Path, pool: ChildPool) -> Verdict:
    """The verdict on a file as an answer to reduce_v3, of which only the sum is asked for: no technique, no speed."""
    one = load_catalog().find("reduce_v3")
    asked = request(one, path, "sim")
    only_the_sum = replace(asked.submission.exercise, technique=(), target=None, simulated=COUNTED)
    submission = replace(asked.submission, exercise=only_the_sum)
    return grade(
        replace(asked, submission=submission, services=replace(asked.services, simulator=PooledSimulator(pool)))
    )


@pytest.fixture(scope="module")
def verdict_of(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], Verdict]]:
    """Grades the files that are selected, several at once; a file's test waits for its own."""
    calls = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    chosen = [call.params["path"] for call in calls if call is not None and "path" in call.params]
    pool = simulator_children()
    with ThreadPoolExecutor(available_cpus()) as workers:
        futures: dict[Path, Future[Verdict]] = {}
        for path in dict.fromkeys(chosen):
            futures[path] = workers.submit(graded, path, pool)
        yield lambda path: futures[path].result()
        workers.shutdown(cancel_futures=True)
    pool.close()


@NO_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_kernel_of_the_corpus_gets_its_verdict_with_line_and_kind(
    path: Path, verdict_of: Callable[[Path], Verdict]
) -> None:
    stated, verdict = Stated.of(path), verdict_of(path)
    found = [
        f"{item.severity} {item.kind} at {item.line} {[a.line for a in item.accesses]}: {item.message}"
        for item in verdict.diagnostics
    ]
    assert verdict.verdict == stated.verdict, found
    if stated.line is not None or stated.kind is not None:
        assert any(stated.fits(item) for item in verdict.diagnostics), found
    elif stated.verdict == "pass":
        assert found == []


# ----------------------------------------------------------------------------------------------------- the files' texts


def test_the_corpus_is_as_large_as_it_was() -> None:
    assert len(FILES) >= 95
    assert len(LADDER) == 8


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_kernel_of_the_corpus_states_a_verdict_and_a_line_that_it_has(path: Path) -> None:
    stated = Stated.of(path)
    assert stated.verdict in VERDICTS
    lines = path.read_text(encoding="utf-8").splitlines()
    assert stated.line is None or lines[stated.line - 1].strip()


@pytest.mark.parametrize("kernel", LADDER, ids=name_of)
def test_a_stub_of_the_ladder_is_its_kernel_minus_lines(kernel: Path) -> None:
    stub = (kernel.parent / "stubs" / kernel.name).read_text(encoding="utf-8").splitlines()
    body = [line for line in stub if line and MARKER not in line and not line.startswith("// ")]
    assert first_foreign(body, kernel.read_text(encoding="utf-8").splitlines()) is None
    assert any(MARKER in line for line in stub)
