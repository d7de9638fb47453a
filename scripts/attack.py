"""Grade submissions that must not pass, and say which got a verdict that they must not get.

python scripts/attack.py [--only TEXT] [--gpu [DEVICE]] [--first N] [--list]

Without --gpu those for the simulator are graded there. With it all are graded on the GPU alone, but for those whose
fault only the simulator can see. Each is one line: its verdict, and what was expected. Exits 1 where one differs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from tempfile import TemporaryDirectory

from attacks import Attack, every_attack

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.grading import CourseGrader
from grader.verdict import Verdict

ONLY_SIMULATED = ("schedule",)
"""Threats that a GPU shows by chance alone."""


def graded(attacks: Sequence[Attack], device: int | None) -> list[tuple[Attack, Verdict]]:
    """Each with its verdict, on the simulator or on that GPU."""
    catalog = load_catalog()
    with TemporaryDirectory(prefix="warpgrade-attack-") as folder, CourseGrader(device=device or 0) as grader:
        running: list[tuple[Attack, Future[Verdict]]] = []
        for number, one in enumerate(attacks):
            entry = catalog.find(one.exercise)
            path = written(one, entry, Path(folder) / str(number))
            future = grader.simulated(entry, path) if device is None else grader.on_gpu(entry, path)
            running.append((one, future))
        return [(one, future.result()) for one, future in running]


def written(one: Attack, entry: CourseExercise, folder: Path) -> Path:
    """The submission's files in a folder of their own; gives the `.cu`."""
    assert entry.solution is not None
    folder.mkdir()
    path = folder / entry.solution.name
    path.write_text(one.source(entry.solution.read_text(encoding="utf-8")), encoding="utf-8")
    if entry.solution_host_file is not None:
        host = folder / entry.solution_host_file.name
        host.write_text(one.host_source(entry.solution_host_file.read_text(encoding="utf-8")), encoding="utf-8")
    return path


def main() -> int:
    arguments = argparse.ArgumentParser(description="Grade submissions that must not pass.")
    arguments.add_argument("--only", default="", help="those with this in their name")
    arguments.add_argument("--gpu", type=int, nargs="?", const=0, metavar="DEVICE")
    arguments.add_argument("--first", type=int, help="of each threat no more than so many")
    arguments.add_argument("--list", action="store_true")
    given = arguments.parse_args()
    chosen = chosen_of(every_attack(), given.only, given.first, on_gpu=given.gpu is not None)
    if given.list:
        print(*(one.name for one in chosen), sep="\n")
        return 0
    started = time.perf_counter()
    wrong = 0
    for one, verdict in graded(chosen, given.gpu):
        fine = verdict.verdict in one.expect
        wrong += not fine
        print(f"{'ok  ' if fine else 'FAIL'} {verdict.verdict:14s} {one.name}")
        if not fine:
            print(f"     expected {' or '.join(one.expect)}; {verdict.next_step}")
    print(f"{len(chosen)} submissions, {wrong} with another verdict, {time.perf_counter() - started:.0f} s")
    return int(wrong > 0)


def chosen_of(attacks: Sequence[Attack], only: str, first: int | None, *, on_gpu: bool) -> list[Attack]:
    named = [one for one in attacks if only in one.name]
    fitting = [one for one in named if (one.threat not in ONLY_SIMULATED if on_gpu else not one.gpu)]
    counts: dict[str, int] = {}
    chosen = []
    for one in fitting:
        counts[one.threat] = counts.get(one.threat, 0) + 1
        if first is None or counts[one.threat] <= first:
            chosen.append(one)
    return chosen


if __name__ == "__main__":
    raise SystemExit(main())
