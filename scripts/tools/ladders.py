"""Write the generated parts of the ladders' pages, and the matrix of every step's solution under every later step.

python scripts/tools/ladders.py [--bench docs/results/h200.json docs/results/h200-gemm.json] [--minutes N]

Times and fractions are those that `grade bench [NAME…] --output docs/results/h200.md` measured; counters are the
simulator's, at each step's simulated size, from the solutions as they are now. What was not measured says so. With
``--minutes`` the solutions are counted in slices: exit 3, and nothing is written, while some are left. Writes

    exercises/CHAPTER/LADDER.md          the table and the pictures, between their markers; the story is hand-written
    exercises/CHAPTER/LADDER*.svg        the pictures, which `scripts/docs` writes, too
    docs/results/h200-ladders.md         the matrix
    docs/results/simulated/stages.json   what warps of some steps execute, of which the pictures of time are drawn
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ladder_pages import with_pictures, write_page
from ladder_steps import Report, step_of
from ladder_times import STAGES, STORIES, recorded_steps, stages_to_json
from warp_paths import Recorded, warps_of

from grader.bench.report import table as markdown_table
from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.grading import CourseGrader
from grader.dev.ladders import LadderCell, Launches, ladders, matrix
from grader.dev.report import launches_from_json, launches_to_json
from grader.dev.slices import LEFT, StoredResults, slice_of
from grader.dev.verdicts import code_launches
from grader.exercise import Expect
from grader.gpus.models import simulable
from grader.timing.pass_lines import REFERENCE, lines_on
from grader.timing.roofline import is_rate_of_bytes
from grader.verdict import LaunchRecord, Verdict

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
MEASURED = [RESULTS / "h200.json", RESULTS / "h200-gemm.json"]


def main() -> int:
    """Write everything; the exit code is 1 where a step's predecessor passes it."""
    arguments = argparse.ArgumentParser(description="Write the ladders' pages.")
    arguments.add_argument("--bench", type=Path, nargs="+", default=MEASURED, help="documents of one GPU model")
    arguments.add_argument("--minutes", type=float, help="a slice: go on where the last one stopped")
    arguments.add_argument("--stages", action="store_true", help="write stages.json, and nothing else")
    given = arguments.parse_args()
    if given.stages:
        STAGES.write_text(stages_to_json([*recorded()]))
        return 0
    report = read_reports(given.bench)
    found = dict(ladders(load_catalog().exercises))
    solved = [one for steps in found.values() for one in steps if one.solution]
    launches = counted(solved, None if given.minutes is None else 60 * given.minutes)
    if left := len(solved) - len(launches):
        print(f"{left} solutions are left: the same command goes on with them")
        return LEFT
    STAGES.write_text(stages_to_json([*recorded()]))
    recorded_steps.cache_clear()
    for name, exercises in found.items():
        steps = [step_of(one, report, launches) for one in exercises]
        write_page(name, exercises[0].folder.parent, steps, report)
    in_code = {one.name: code_launches(one) for one in solved if not simulable(one.exercise.requires)}
    cells = {name: matrix(exercises, {**launches, **in_code}) for name, exercises in found.items()}
    (RESULTS / "h200-ladders.md").write_text(matrix_page(cells, found, report))
    loose = [cell for of_ladder in cells.values() for cell in of_ladder if not cell.rejected]
    for cell in loose:
        print(f"the solution of {cell.solution} passes {cell.step}", file=sys.stderr)
    return 1 if loose else 0


def recorded() -> Iterator[Recorded]:
    """What the pictures of time are drawn of: all warps of a block, or one of them."""
    for story in STORIES.values():
        for name in story.steps:
            found = warps_of(load_catalog().find(name), story.size)
            yield found if story.of_warps else replace(found, warps=found.warps[:1])


def pages_with_pictures(texts: Mapping[Path, str]) -> dict[Path, str]:
    """The ladders' pages with their pictures, and those; ``texts`` are pages that other parts were written into."""
    report = read_reports(MEASURED)
    files: dict[Path, str] = {}
    for name, exercises in ladders(load_catalog().exercises):
        path = exercises[0].folder.parent / f"{name}.md"
        text = texts.get(path) or path.read_text(encoding="utf-8")
        files |= with_pictures(path, text, [step_of(one, report, {}) for one in exercises], report)
    return files


def read_reports(paths: Sequence[Path]) -> Report:
    """The documents as one: the first one's head, and all rows, dated. An exercise belongs into one of them."""
    reports = [read_report(path) for path in paths]
    rows = [{**row, "date": row.get("date") or report["date"]} for report in reports for row in report["rows"]]
    return {**reports[0], "rows": rows}


def read_report(path: Path) -> Report:
    """The document that `grade bench --output` wrote."""
    try:
        report: Report = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: {error}; `grade bench --output {path.with_suffix('.md')}` writes it") from None
    return report


def counted(exercises: Sequence[CourseExercise], limit_s: float | None = None) -> Launches:
    """What each solution does at its simulated size; nothing where the simulator cannot run it.

    With ``limit_s``, of those that are known or can be counted in that time.
    """
    stored = StoredResults("ladders", "sim", launches_to_json, launches_from_json)
    with CourseGrader() as grader:

        def begin(one: CourseExercise) -> Callable[[], tuple[LaunchRecord, ...]]:
            assert one.solution is not None
            future = grader.simulated(asking(one), one.solution)
            return lambda: launches_of(one, future.result())

        return {one.name: launches for one, launches in slice_of(exercises, begin, stored, limit_s)}


def launches_of(one: CourseExercise, verdict: Verdict) -> tuple[LaunchRecord, ...]:
    """The launches of a graded solution. An error is told, so that no page loses its counters."""
    if verdict.verdict == "error":
        raise SystemExit(f"{one.name}: {verdict.diagnostics[0].message}")
    return verdict.launches


def asking(one: CourseExercise) -> CourseExercise:
    """The exercise; where operations are its work, it also asks for the occupancy, and is met by any."""
    target = one.exercise.target
    if target is None or is_rate_of_bytes(target.unit):
        return one
    return replace(
        one, exercise=replace(one.exercise, technique=(*one.exercise.technique, Expect("occupancy", at_least=0)))
    )


# ---------------------------------------------------------------------------------------------------------- the matrix


def matrix_page(
    cells: Mapping[str, Sequence[LadderCell]], found: Mapping[str, Sequence[CourseExercise]], report: Report
) -> str:
    """Every step's solution under every step: what keeps it from passing a later one."""
    lines = [
        f"# {report['gpu']['name']}: every step's solution under every step's grading",
        "",
        f"{report['date']}. Written by `scripts/ladders` from the times of `grade bench` and the counters of the "
        "simulator. A row is a solution, a column the step that it is graded as. *slow*: its time misses the column's "
        "line. A counter's name: it misses what the column, or a step before it, expects of that counter; where the "
        "simulator cannot run one of the two, counters of code alone (*… in code*). Each solution is graded on the "
        "technique of all earlier steps: `grade dev check`.",
    ]
    for name, steps in found.items():
        of = {(cell.solution, cell.step): cell for cell in cells[name]}
        rows = list(_rows(steps, of))
        lines += ["", f"## {name}", "", *markdown_table(["solution", *(step.name for step in steps)], rows)]
        lines += ["", *_lines(steps)]
    return "\n".join(lines) + "\n"


def _rows(steps: Sequence[CourseExercise], of: Mapping[tuple[str, str], LadderCell]) -> Iterator[list[str]]:
    """A row for each solution: what it gets as its own step and as earlier ones, then why later ones reject it."""
    for at, row in enumerate(steps):
        passed = [_passes(row, step) for step in steps[: at + 1]]
        later = [_later(of.get((row.name, step.name))) for step in steps[at + 1 :]]
        yield [f"`{row.name}`", *passed, *later]


def _passes(row: CourseExercise, step: CourseExercise) -> str:
    """A solution under its own step or an earlier one, whose line it has to meet."""
    known = lines_on(REFERENCE)
    if step.name in known and row.name not in known:
        return "not timed yet"
    if row.name in known and step.name in known and known[row.name].solution < known[step.name].fraction:
        return "**SLOW**"
    return "**pass**" if row is step else "pass"


def _later(cell: LadderCell | None) -> str:
    """A solution under a later step: why it is rejected."""
    if cell is None:
        return "–"
    reasons = ["slow"] if cell.slow else []
    reasons += list(dict.fromkeys(miss.expect.counter.replace("_", " ") for miss in cell.missed))
    return ", ".join(reasons) or "**PASSES**"


def _lines(steps: Sequence[CourseExercise]) -> list[str]:
    known = lines_on(REFERENCE)
    rows = [
        [f"`{step.name}`", f"{known[step.name].solution:.4g}", f"{known[step.name].fraction:.3g}", _told(step, before)]
        for before, step in pairwise([None, *steps]) if step is not None and step.name in known
    ]  # fmt: skip
    return markdown_table(["step", "solution", "line", "told from the step before"], rows) if rows else []


def _told(step: CourseExercise, before: CourseExercise | None) -> str:
    """Whether time tells a step from the one before."""
    known = lines_on(REFERENCE)
    if before is not None and before.name not in known:
        return "not timed yet"
    return "" if known[step.name].separated else "not by time"


if __name__ == "__main__":
    sys.exit(main())
