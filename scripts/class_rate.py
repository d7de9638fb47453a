"""Grade right submissions as a class on this machine's GPUs, and say how many an hour each GPU grades.

python scripts/class_rate.py [--each 40] [--mix] [--sim] [--write FILE] [-- OPTIONS of `grade class run`]

Without --mix the submissions are solutions of kernels (`KERNELS`), --each of every exercise; with it solutions of host
exercises are among them (`MIX`). CUDA_VISIBLE_DEVICES chooses the GPUs. From each result's times it is checked that no
two submissions used one GPU at the same time. --sim tries the script on a machine without a GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from grader.catalog.exercises import load_catalog
from grader.classroom.folder import init_class
from grader.classroom.records import AssignedExercise, Assignment, ClassSubmission, Result, SubmittedFile
from grader.classroom.store import Store
from grader.classroom.submissions import write_submissions

KERNELS = ("vector_add", "saxpy_grid_stride", "coalescing_stride", "transpose_v4", "reduce_v3", "softmax_v1")
MIX = (*KERNELS, "sgemm_v3", "pinned_copy", "streams_overlap", "zero_copy")


def write_class(folder: Path, names: Sequence[str], each: int, backend: Literal["auto", "sim"]) -> None:
    """A class in which every student has submitted the solutions, each as a file of its own."""
    assigned = tuple(map(AssignedExercise, names))
    init_class(folder, Assignment("rate", "How fast a class is graded", assigned, backend=backend))
    catalog = load_catalog()
    submissions = []
    for number in range(each):
        for name in names:
            entry, student = catalog.find(name), f"s{number:03d}"
            files = []
            for source in filter(None, (entry.solution, entry.solution_host_file)):
                mark = "#" if source.suffix == ".py" else "//"
                content = source.read_bytes() + f"\n{mark} {student}\n".encode()
                path = folder / "submissions" / student / name / source.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                files.append(SubmittedFile(str(path.relative_to(folder)), hashlib.sha256(content).hexdigest()))
            submissions.append(ClassSubmission(student, name, 1, tuple(files)))
    write_submissions(folder, "rate", submissions)


def overlaps(results: Sequence[Result]) -> list[str]:
    """Pairs of submissions that had one GPU at the same time: there must be none."""
    turns: dict[tuple[str, str], list[tuple[datetime, datetime, str]]] = defaultdict(list)
    for result in results:
        machine = result.machine
        for gpu in filter(None, machine.get("gpu_number", "").split(",")):
            if "gpu_from" in machine:
                began, ended = (datetime.fromisoformat(machine[name]) for name in ("gpu_from", "gpu_until"))
                turns[machine["host"], gpu].append((began, ended, result.submission))
    pairs = [pair for used in turns.values() for pair in pairwise(sorted(used))]
    return [f"{first[2]} and {second[2]}" for first, second in pairs if second[0] < first[1]]


def main() -> int:
    arguments = argparse.ArgumentParser(description="How many submissions an hour does each GPU grade?")
    arguments.add_argument("--each", type=int, default=40, help="submissions of each exercise")
    arguments.add_argument("--mix", action="store_true", help="host exercises and a matrix product, too")
    arguments.add_argument("--sim", action="store_true", help="on the simulator")
    arguments.add_argument("--write", type=Path, metavar="FILE", help="add the result to a page")
    arguments.add_argument("options", nargs="*", help="options of `grade class run`, after --")
    given = arguments.parse_args()
    names = MIX if given.mix else KERNELS
    with TemporaryDirectory(prefix="warpgrade-class-") as place:
        folder = Path(place) / "class"
        write_class(
            folder, names, 1, "sim" if given.sim else "auto"
        )  # what the first ones leave in the cache counts not
        command = [sys.executable, "-m", "grader.cli", "class", "run", str(folder), *given.options]
        subprocess.run(command, check=True)
        write_class(folder, names, 1 + given.each, "sim" if given.sim else "auto")
        started = time.monotonic()
        subprocess.run(command, check=True)
        elapsed_s = time.monotonic() - started
        with Store.open(folder) as store:
            results = store.results()
    report = words(results, names, given, elapsed_s)
    print(report)
    if given.write:
        with given.write.open("a", encoding="utf-8") as page:
            page.write(report)
    return int(bool(overlaps(results)))


def words(results: Sequence[Result], names: Sequence[str], given: argparse.Namespace, elapsed_s: float) -> str:
    """The paragraph for the page."""
    gpus = {(one.machine["host"], one.machine["gpu_number"]): one.machine.get("gpu") for one in results
            if "gpu_number" in one.machine}  # fmt: skip
    graded = given.each * len(names)
    rate = 3600 * graded / elapsed_s / max(1, len(gpus))
    held = [
        (
            datetime.fromisoformat(one.machine["gpu_until"]) - datetime.fromisoformat(one.machine["gpu_from"])
        ).total_seconds()
        for one in results
        if "gpu_until" in one.machine
    ]
    verdicts = ", ".join(f"{count} {word}" for word, count in Counter(one.verdict for one in results).most_common())
    lines = [
        f"## {', '.join(sorted(map(str, gpus.values()))) or 'the simulator'}{', a mix' if given.mix else ', kernels'}",
        "",
        f"`python scripts/class_rate.py --each {given.each}{' --mix' * given.mix}{' --sim' * given.sim}`:",
        f"{', '.join(names)}.",
        "",
        f"- {graded} submissions in {elapsed_s:.0f} s: **{rate:.0f} an hour** for each of {max(1, len(gpus))}.",
        f"- Verdicts: {verdicts}.",
        f"- A submission had its GPU for {sum(held) / max(1, len(held)):.2f} s on average.",
        f"- Submissions that had one GPU at the same time: {'; '.join(overlaps(results)) or 'none'}.",
        "",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
