"""Grade every solution again and again, each time in a fresh process, and see that the verdict stays the same.

python scripts/stability.py [NAME…] [--runs 20] [--backend auto|gpu|sim] [--out FILE.md]

Prints the verdicts and the time of whole processes, and writes them to docs/results/<gpu>-stability.md. The exit code
is 1 where a verdict was not `pass`, or the slowest of the warm processes was over its limit: 4 s for hgemm_wmma_v1 and
zero_copy, 2 s for all others. The first process of an exercise may compile; its time is told apart.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 2.0
LONGER_S = {"hgemm_wmma_v1": 4.0, "zero_copy": 4.0}


@dataclass(frozen=True)
class Run:
    """One process: the verdict's word, the seconds that it took, and the fraction that its speed reached."""

    word: str
    seconds: float
    fraction: float | None
    told: str = ""


@dataclass(frozen=True)
class Series:
    """All runs of one solution, in order."""

    name: str
    runs: tuple[Run, ...]

    @property
    def words(self) -> str:
        return ", ".join(f"{count} × {word}" for word, count in Counter(run.word for run in self.runs).most_common())

    @property
    def warm_s(self) -> list[float]:
        """Without the first process, which may compile."""
        return [run.seconds for run in self.runs[1:]] or [self.runs[0].seconds]

    @property
    def limit_s(self) -> float:
        return LONGER_S.get(self.name, LIMIT_S)

    @property
    def fractions(self) -> str:
        found = [run.fraction for run in self.runs if run.fraction is not None]
        return f"{min(found):.3f} to {max(found):.3f}" if found else "–"

    @property
    def steady(self) -> bool:
        return {run.word for run in self.runs} == {"pass"}

    @property
    def in_time(self) -> bool:
        return max(self.warm_s) <= self.limit_s


def grade_once(name: str, backend: str) -> Run:
    """One ``grade NAME --solution --json`` as a process of its own."""
    command = [sys.executable, "-m", "grader.cli", name, "--solution", "--backend", backend, "--json"]
    start = time.perf_counter()
    finished = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    seconds = time.perf_counter() - start
    try:
        verdict = json.loads(finished.stdout)["results"][0]
    except (ValueError, KeyError, IndexError):
        return Run(f"no verdict (exit {finished.returncode})", seconds, None, finished.stderr[-500:])
    return Run(verdict["verdict"], seconds, fraction(verdict), first_message(verdict))


def fraction(verdict: dict[str, Any]) -> float | None:
    """What the speed reached, of the peak or of the ceiling, as the line counts it."""
    measured = verdict["measured"]
    if measured is None:
        return None
    found = measured["fraction_of_peak" if "of peak" in measured["line"] else "fraction_of_ceiling"]
    return None if found is None else float(found)


def first_message(verdict: dict[str, Any]) -> str:
    return verdict["diagnostics"][0]["message"] if verdict["diagnostics"] else ""


def series(name: str, runs: int, backend: str) -> Series:
    """Grade one solution ``runs`` times; a line for each run that is not like the others."""
    taken = []
    for number in range(1, runs + 1):
        run = grade_once(name, backend)
        taken.append(run)
        if run.word != "pass":
            print(f"    run {number}: {run.word}: {run.told}", flush=True)
    found = Series(name, tuple(taken))
    print(line_of(found), flush=True)
    return found


def line_of(one: Series) -> str:
    word = "ok  " if one.steady and one.in_time else "FAIL"
    first, most = one.runs[0].seconds, max(one.warm_s)
    times = f"first {first:.2f} s, then median {median(one.warm_s):.2f} s, most {most:.2f} s of {one.limit_s:.0f} s"
    return f"{word} {one.name:16} {one.words}; {times}; reached {one.fractions}"


def solutions() -> list[str]:
    from grader.catalog.exercises import load_catalog

    return [one.name for one in load_catalog().exercises if one.solution is not None]


def machine() -> tuple[str, str]:
    """The GPU's name, and the versions that a result depends on."""
    from grader.bench.solutions import versions
    from grader.gpus.detect import detect

    gpu = detect(0)
    return gpu.name, ", ".join(f"{name} {text}" for name, text in versions(gpu))


def to_markdown(found: Sequence[Series], gpu: str, software: str, backend: str, date: str, spent_s: float) -> str:
    """The table of docs/results."""
    runs = len(found[0].runs) if found else 0
    head = [
        f"# {gpu}: the same verdict every time",
        "",
        f"{date}. {software}.",
        "",
        f"Written by `scripts/stability.py`: `grade NAME --solution --backend {backend}` {runs} times for each, "
        f"every time as a fresh process with fresh inputs, {spent_s:.0f} s in all. Times are of whole processes; the "
        "first of each may compile.",
        "",
        "| exercise | verdicts | reached | first | median | most | limit |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = [
        f"| {one.name} | {one.words} | {one.fractions} | {one.runs[0].seconds:.2f} s | {median(one.warm_s):.2f} s "
        f"| {max(one.warm_s):.2f} s | {one.limit_s:.0f} s{'' if one.in_time else ', **passed**'} |"
        for one in found
    ]
    return "\n".join([*head, *rows, ""])


def results_file(gpu: str, what: str) -> Path:
    """``docs/results/h200-stability.md`` for an "NVIDIA H200"."""
    word = gpu.lower().removeprefix("nvidia ").replace(" ", "-")
    return ROOT / "docs" / "results" / f"{word}-{what}.md"


def main() -> int:
    arguments = argparse.ArgumentParser(description="Grade every solution many times, each in a fresh process.")
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--runs", type=int, default=20)
    arguments.add_argument("--backend", choices=("auto", "gpu", "sim"), default="auto")
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()
    start = time.perf_counter()
    found = [series(name, given.runs, given.backend) for name in given.names or solutions()]
    spent_s = time.perf_counter() - start
    gpu, software = ("the simulator", "no GPU") if given.backend == "sim" else machine()
    text = to_markdown(found, gpu, software, given.backend, datetime.date.today().isoformat(), spent_s)
    out = given.out or results_file(gpu, "stability")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text)
    print(f"\n{text}\nwritten to {out}; {spent_s:.0f} s")
    return 0 if all(one.steady and one.in_time for one in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
