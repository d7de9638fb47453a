"""Hold the simulator's counters against Nsight Compute's, for every solution at its simulated size.

python scripts/nsight_compare.py [NAME…] [--out FILE.md] [--ncu PATH] [--seed N]

Needs a GPU and ncu (on PATH, or in /opt/nvidia/nsight-compute). Does what `grade profile` does, launch by launch, and
writes docs/results/<gpu>-sectors.md: global requests, sectors, and shared wavefronts of both (--out FILE.md writes
FILE.json too). Sector counts must be equal; ptxas may merge shared loads, so requests and wavefronts there are to be
compared as ratios. Exits 1 where a sector count differs, or a solution could not be compared. For known patterns, see
scripts/nsight/run_patterns.py.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.bench.profile import (
    EXACT,
    SAME,
    ProfiledLaunch,
    compiled,
    find_ncu,
    launching,
    profiled,
    simulated,
    simulated_run,
)  # fmt: skip

PAIRS = tuple((counter, metric) for counter, metric in SAME.items() if counter.startswith(("global", "shared")))
"""The simulator's counter, and the profiler's metric for the same thing."""


@dataclass(frozen=True)
class Row:
    """One counter of one launch, as both see it."""

    exercise: str
    launch: int
    kernel: str
    counter: str
    simulator: float
    profiler: float | None

    @property
    def differs(self) -> bool:
        return self.counter in EXACT and self.simulator != self.profiler


def compare(name: str, ncu: str, seed: int) -> list[Row]:
    """All counters of all launches of one solution."""
    from grader.catalog.exercises import load_catalog

    one = load_catalog().find(name)
    assert one.solution is not None
    program = compiled(one.solution, one)
    run = simulated_run(one.exercise, program, seed)
    counted = simulated(program, run)
    launches = profiled_launches(program, run, name, one.solution, ncu, seed)
    if len(launches) != len(counted):
        seen = [launch.kernel for launch in launches]
        raise SystemExit(f"{name}: ncu saw {len(launches)} launches {seen}, the simulator {len(counted)}")
    return [
        row
        for number, (mine, theirs) in enumerate(zip(counted, launches, strict=True), start=1)
        for row in rows(name, number, mine, theirs.metrics)
    ]


def profiled_launches(program: Any, run: Any, name: str, path: Path, ncu: str, seed: int) -> list[ProfiledLaunch]:
    """The launches as ncu counted them: of the program's own kernels, in a process of its own."""
    from grader.compile import assemble
    from grader.gpus.detect import detect

    assemble(program, detect(0).arch)  # so that the profiled process finds all of it in the cache
    kernels = {launch.kernel for launch in run.plan.launches}
    found = profiled(launching(name, path, seed), [metric for _, metric in PAIRS], ncu=ncu)
    return [launch for launch in found if launch.kernel in kernels]


def rows(name: str, number: int, mine: Any, theirs: Mapping[str, float]) -> list[Row]:
    """One row a counter; a counter that the simulator leaves out is zero."""
    return [
        Row(name, number, mine.kernel, counter, float(mine.counters.get(counter, 0)), theirs.get(metric))
        for counter, metric in PAIRS
    ]


def to_markdown(found: list[Row], head: str) -> str:
    """The page of docs/results: how much agrees, then every counter that is not zero on both sides."""
    exact = [row for row in found if row.counter in EXACT and (row.simulator or row.profiler)]
    equal = sum(not row.differs for row in exact)
    lines = [
        head,
        "",
        f"Sector counts: {equal} of {len(exact)} equal. Written by `scripts/nsight_compare.py`: every solution, "
        "launched once at its simulated size, counted by the simulator and by Nsight Compute. The last column is the "
        "profiler's count over the simulator's where they differ: ptxas turns a short `if` into predicated "
        "instructions, which the profiler's shared requests count even where no lane is on; wavefronts count what "
        "was done.",
        "",
        "| exercise | launch | counter | simulator | Nsight Compute | |",
        "|---|---|---|---|---|---|",
    ]
    for row in found:
        if row.simulator or row.profiler:
            told = "–" if row.profiler is None else f"{row.profiler:.0f}"
            where = f"{row.exercise} | {row.launch} {row.kernel} | {row.counter}"
            lines.append(f"| {where} | {row.simulator:.0f} | {told} | {_word(row)} |")
    return "\n".join(lines) + "\n"


def _word(row: Row) -> str:
    if row.simulator == row.profiler:
        return "equal"
    if row.differs:
        return "**differs**"
    return f"{row.profiler / row.simulator:.3f}" if row.profiler and row.simulator else ""


def solutions() -> list[str]:
    """Every exercise that has a solution and runs on the simulator."""
    from grader.catalog.exercises import load_catalog
    from grader.gpus.models import simulable

    chosen = (one for one in load_catalog().exercises if one.solution is not None and not one.exercise.host)
    return [one.name for one in chosen if simulable(one.exercise.requires)]


def heading(ncu: str) -> tuple[str, Path]:
    """The page's first lines: the GPU, the date, the versions; and the file that it goes to."""
    from stability import results_file

    from grader.bench.solutions import versions
    from grader.gpus.detect import detect

    gpu = detect(0)
    told = subprocess.run([ncu, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"Version (\S+)", told)
    versioned = ", ".join(f"{name} {text}" for name, text in versions(gpu))
    date = datetime.date.today().isoformat()
    text = (
        f"# {gpu.name}: counters beside Nsight Compute's\n\n{date}. {versioned}, ncu {version[1] if version else '?'}."
    )
    return text, results_file(gpu.name, "sectors")


def compare_all(names: list[str], ncu: str, seed: int) -> tuple[list[Row], list[str]]:
    """The rows of every solution, and the names of those that could not be compared."""
    found: list[Row] = []
    failed = []
    for name in names:
        try:
            found += compare(name, ncu, seed)
            wrong = sum(row.differs for row in found if row.exercise == name)
            print(f"{'FAIL' if wrong else 'ok  '} {name}: {wrong} sector counts differ", flush=True)
        except (SystemExit, Exception) as error:
            failed.append(name)
            print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
            if not isinstance(error, SystemExit):
                traceback.print_exc()
    return found, failed


def main() -> int:
    arguments = argparse.ArgumentParser(description="Hold the simulator's counters against Nsight Compute's.")
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--out", type=Path, help="the page, with a .json beside it; docs/results/<gpu>-sectors.md")
    arguments.add_argument("--ncu")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    ncu = find_ncu(given.ncu)
    found, failed = compare_all(given.names or solutions(), ncu, given.seed)
    head, usual = heading(ncu)
    out = given.out or usual
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(to_markdown(found, head))
    if given.out:
        out.with_suffix(".json").write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")
    print(to_markdown(found, head))
    return int(bool(failed) or any(row.differs for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
