"""Grade submissions that must not pass, and say which got a verdict that they must not get.

python scripts/attack.py [--only TEXT] [--gpu [DEVICE]] [--first N] [--list]

Without --gpu those for the simulator are graded there, with it those for a GPU, on the GPU alone. Each is a line: its
verdict, its seconds, and what was expected where that is another. Afterwards honest submissions must pass, no process
may be left, and no report may show what it must not. Exits 1 where something is not as it must be.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from attacks import THREATS, Attack, every_attack

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.grading import CourseGrader
from grader.render.html import GradedPage, to_html
from grader.render.json import dumps, run_document
from grader.render.junit import to_junit
from grader.render.terminal import to_terminal
from grader.verdict import Verdict

HONEST = ("vector_add", "pinned_copy")
"""Exercises whose solutions are graded when all attacks are over."""

SECRET = "a secret of the grader's environment"
NEVER_SHOWN = (SECRET, "root:x:0:0", "\x1b", "\u202e", "\x00")
"""What no report may hold: what the grader alone may read, and what a terminal would obey."""


@dataclass(frozen=True)
class Graded:
    """One attack and what it got."""

    attack: Attack
    verdict: Verdict
    backend: str
    shown: tuple[str, ...]  # what a report shows and must not

    @property
    def fine(self) -> bool:
        return self.verdict.verdict == self.attack.expect[self.backend] and not self.shown


def graded(attacks: Sequence[Attack], device: int | None) -> Iterator[Graded]:
    """Each with its verdict, on the simulator or on that GPU, as soon as it is there.

    Raises AssertionError where an honest submission does not pass afterwards.
    """
    os.environ["WARPGRADE_ATTACKED"] = SECRET
    catalog, backend = load_catalog(), "sim" if device is None else "gpu"
    with TemporaryDirectory(prefix="warpgrade-attack-") as folder, CourseGrader(device=device or 0) as grader:

        def started(entry: CourseExercise, path: Path) -> Future[Verdict]:
            return grader.simulated(entry, path) if device is None else grader.on_gpu(entry, path)

        running: list[tuple[Attack, Path, Future[Verdict]]] = []
        for number, one in enumerate(attacks):
            entry = catalog.find(one.exercise)
            path = written(one, entry, Path(folder) / str(number))
            running.append((one, path, started(entry, path)))
        for one, path, future in running:
            verdict = future.result()
            yield Graded(one, verdict, backend, tuple(shown(verdict, path)))
        for name in HONEST:
            solution = catalog.find(name).solution
            assert solution is not None
            verdict = started(catalog.find(name), solution).result()
            assert verdict.passed, f"afterwards the solution of {name} is {verdict.verdict}: {verdict.next_step}"


def written(one: Attack, entry: CourseExercise, folder: Path) -> Path:
    """The submission's files in a folder of their own; gives the `.cu`."""
    assert entry.solution is not None
    folder.mkdir()
    path = folder / (one.file or entry.solution.name)
    path.write_text(one.source(entry.solution.read_text(encoding="utf-8")), encoding="utf-8")
    if entry.solution_host_file is not None:
        host = folder / entry.solution_host_file.name
        host.write_text(one.host_source(entry.solution_host_file.read_text(encoding="utf-8")), encoding="utf-8")
    return path


def shown(verdict: Verdict, path: Path) -> Iterator[str]:
    """What a report of the verdict shows and must not."""
    source = path.read_text(encoding="utf-8")
    reports = {
        "terminal": to_terminal(verdict, source, color=False),
        "html": to_html([GradedPage(verdict, source)], versions={}).partition("<body")[2],
        "json": dumps(run_document([verdict], versions={}, elapsed_s=0.0)),
        "junit": to_junit([verdict], timestamp="2026-01-01T00:00:00"),
    }
    for name, report in reports.items():
        obeyed = ("<script", "</script") if name in ("html", "junit") else ()
        yield from (f"{name} shows {text!r}" for text in (*NEVER_SHOWN, *obeyed) if text in report)


def main() -> int:
    arguments = argparse.ArgumentParser(description="Grade submissions that must not pass.")
    arguments.add_argument("--only", default="", help="those with this in their name")
    arguments.add_argument("--gpu", type=int, nargs="?", const=0, metavar="DEVICE")
    arguments.add_argument("--first", type=int, help="of each threat no more than so many")
    arguments.add_argument("--list", action="store_true")
    given = arguments.parse_args()
    backend = "sim" if given.gpu is None else "gpu"
    chosen = chosen_of(every_attack(), given.only, given.first, backend)
    if given.list:
        print(*(f"{one.expect[backend]:14s} {one.name}" for one in chosen), sep="\n")
        counts = Counter(one.threat for one in chosen)
        print(*(f"{counts[threat]:4d} {threat}: {what}" for threat, what in THREATS.items()), sep="\n")
        return 0
    started = time.perf_counter()
    wrong = 0
    for one in graded(chosen, given.gpu):
        verdict, mark = one.verdict, "ok  " if one.fine else "FAIL"
        print(f"{mark} {verdict.verdict:14s} {verdict.elapsed_s:5.1f} s  {one.attack.name}", flush=True)
        if not one.fine:
            wrong += 1
            print(f"     expected {one.attack.expect[backend]}; {'; '.join(one.shown)} {verdict.next_step}")
    print(f"{len(chosen)} submissions, {wrong} not as they must be, {time.perf_counter() - started:.0f} s")
    if left := psutil.Process().children(recursive=True):
        print(f"processes are left: {left}")
    return int(wrong > 0 or bool(left))


def chosen_of(attacks: Sequence[Attack], only: str, first: int | None, backend: str) -> list[Attack]:
    """Those for the backend with ``only`` in their name; ``first`` bounds the number of each threat."""
    counts: Counter[str] = Counter()
    chosen = []
    for one in attacks:
        if only in one.name and backend in one.expect:
            counts[one.threat] += 1
            if first is None or counts[one.threat] <= first:
                chosen.append(one)
    return chosen


if __name__ == "__main__":
    raise SystemExit(main())
