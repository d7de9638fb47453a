"""Write the generated parts of the ladders' pages, and the matrix of every step's solution under every later step.

python scripts/tools/ladders.py [--bench docs/results/h200.json]

Times and fractions are those that `grade bench --output docs/results/h200.md` measured; counters are the simulator's,
at each step's simulated size, from the solutions as they are now. Writes

    exercises/CHAPTER/LADDER.md   the table and the plot, between their markers; the story around them is hand-written
    exercises/CHAPTER/LADDER.svg  the plot
    docs/results/h200-ladders.md  the matrix
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from grader.backends.gpu.bench_report import table as markdown_table
from grader.catalog import CourseExercise, load_catalog
from grader.dev.laboratory import Laboratory
from grader.dev.ladders import Cell, Launches, ladders, matrix
from grader.profiles import REFERENCE, lines_on
from grader.stages.technique import in_words, total
from grader.verdict import LaunchRecord

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
COUNTERS: tuple[tuple[str, str, int], ...] = (
    ("instructions", "instructions", 1000),
    ("barriers", "barriers", 1000),
    ("shared_requests", "shared", 1000),
    ("excess_wavefronts", "excess", 1000),
    ("sector_efficiency", "sectors", 0),
    ("launches", "launches", 0),
)
"""Counter, the head of its column, and for how many elements it is counted (0: a ratio, or the whole submission).

A column stands only where the steps differ in it by more than a twentieth.
"""
WORDS = {
    "instructions": "instructions", "barriers": "barriers", "shared_requests": "requests to shared memory",
    "excess_wavefronts": "excess wavefronts", "sector_efficiency": "sector efficiency", "launches": "of the whole task",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step: what was measured of its solution, and what it did at the simulated size."""

    one: CourseExercise
    median_s: float
    fraction: float
    launches: Sequence[LaunchRecord]

    @property
    def elements(self) -> int:
        """Input elements of the simulated size."""
        from grader.inputs import element_count

        return max(element_count(array, self.one.exercise.simulated) for array in self.one.exercise.inputs)

    def counter(self, name: str, per: int) -> float:
        found = total(name, self.launches)
        return found * per / self.elements if per else found


def main() -> int:
    """Write everything; the exit code is 1 where a step's predecessor passes it."""
    arguments = argparse.ArgumentParser(description="Write the ladders' pages.")
    arguments.add_argument("--bench", type=Path, default=RESULTS / "h200.json")
    given = arguments.parse_args()
    report = read_report(given.bench)
    found = dict(ladders(load_catalog().exercises))
    launches = counted([one for steps in found.values() for one in steps])
    for name, steps in found.items():
        measured = [step for one in steps if (step := measured_step(one, report, launches)) is not None]
        write_page(name, steps[0].folder.parent, measured, report)
    cells = {name: matrix(steps, launches) for name, steps in found.items()}
    (RESULTS / "h200-ladders.md").write_text(matrix_page(cells, found, report))
    loose = [cell for of_ladder in cells.values() for cell in of_ladder if not cell.rejected]
    for cell in loose:
        print(f"the solution of {cell.solution} passes {cell.step}", file=sys.stderr)
    return 1 if loose else 0


def read_report(path: Path) -> Any:
    """The document that `grade bench --output` wrote."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: {error}; `grade bench --output {path.with_suffix('.md')}` writes it") from None


def counted(exercises: Sequence[CourseExercise]) -> Launches:
    """What each solution does at its simulated size."""
    with Laboratory() as laboratory:
        asked = {one.name: laboratory.simulated(one, one.solution) for one in exercises if one.solution is not None}
        return {name: future.result().launches for name, future in asked.items()}


def measured_step(one: CourseExercise, report: Mapping[str, Any], launches: Launches) -> Step | None:
    """The step with the figures of its timed size; None where it was not measured."""
    for row in report["rows"]:
        measured = row["measured"] or {}
        if row["exercise"] == one.name and measured.get("fraction_of_peak") and one.name in launches:
            return Step(one, measured["median_s"], measured["fraction_of_peak"], launches[one.name])
    return None


# -------------------------------------------------------------------------------------------------------------- a page


def write_page(name: str, folder: Path, steps: Sequence[Step], report: Mapping[str, Any]) -> None:
    """Put the table and the plot into the page of a ladder."""
    path = folder / f"{name}.md"
    if not steps:
        raise SystemExit(f"the bench has no time of a step of {name}: `grade bench` measures them")
    if not path.is_file():
        raise SystemExit(f"{path} is missing: write its story, with the markers of a generated part")
    text = path.read_text()
    for part, content in (("table", table(steps, report)), ("plot", f"![{alternative(steps)}]({name}.svg)")):
        text = filled(text, part, content, path)
    plot(steps, folder / f"{name}.svg")
    path.write_text(text)


def filled(text: str, part: str, content: str, path: Path) -> str:
    """The page's text with this content between the markers of the part."""
    found = re.findall(rf"<!-- generated: {part} -->\n.*?<!-- end -->", text, flags=re.DOTALL)
    if len(found) != 1:
        wanted = f"<!-- generated: {part} --> and, below, <!-- end -->"
        raise SystemExit(f"{path}: it must have once {wanted}, and it has that {len(found)} times")
    return text.replace(found[0], f"<!-- generated: {part} -->\n{content}\n<!-- end -->")


def table(steps: Sequence[Step], report: Mapping[str, Any]) -> str:
    """The steps: time, fraction of peak, and the counters in which they differ."""
    shown = [entry for entry in COUNTERS if _differ([step.counter(entry[0], entry[2]) for step in steps])]
    heads = ["step", "median", "of peak", *(head for _, head, _ in shown)]
    rows = [
        [f"`{step.one.name}`", time(step.median_s), f"{step.fraction:.3f}"]
        + [figure(step.counter(counter, per)) for counter, _, per in shown]
        for step in steps
    ]
    size = ", ".join(f"{name} = {value}" for name, value in (steps[0].one.exercise.timed or {}).items())
    legend = ", ".join(f"*{head}*: {WORDS[counter]}" for counter, head, _ in shown if head != WORDS[counter])
    head = f"{report['gpu']['name']}, {report['date']}, {size}. Counters are the simulator's, for each 1000 elements."
    return "\n".join([f"{head} {legend}.".replace(" .", "") if legend else head, "", *markdown_table(heads, rows)])


def _differ(values: Sequence[float]) -> bool:
    """Whether a column tells the steps apart."""
    known = [value for value in values if not isnan(value)]
    return len(known) > 1 and max(known) - min(known) > 0.05 * max(known)


def time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def figure(value: float) -> str:
    """A counter as it is shown; a ratio over nothing is a dash."""
    if isnan(value):
        return "–"
    return in_words(float(round(value)) if value >= 10 else round(value, 2))


def alternative(steps: Sequence[Step]) -> str:
    """The plot in words, for those who do not see it."""
    return "Fraction of peak bandwidth: " + ", ".join(f"{step.one.name} {step.fraction:.2f}" for step in steps)


def plot(steps: Sequence[Step], path: Path) -> None:
    """One bar for each step, of the peak; the same input gives the same file."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "warpgrade", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 0.42 * len(steps) + 0.9), layout="constrained")
    names = [step.one.name for step in steps]
    axes.barh(names, [step.fraction for step in steps], color="#2f7d4f", height=0.62)
    for at, step in enumerate(steps):
        axes.text(step.fraction + 0.01, at, f"{step.fraction:.3f}", va="center")
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08)
    axes.set_xlabel("fraction of peak")
    axes.axvline(1.0, color="#777777", linewidth=1, linestyle="--")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None, "Creator": None}, transparent=False)
    pyplot.close(figure)
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


# ---------------------------------------------------------------------------------------------------------- the matrix


def matrix_page(
    cells: Mapping[str, Sequence[Cell]], found: Mapping[str, Sequence[CourseExercise]], report: Mapping[str, Any]
) -> str:
    """Every step's solution under every step: what keeps it from passing a later one."""
    lines = [
        f"# {report['gpu']['name']}: every step's solution under every step's grading",
        "",
        f"{report['date']}. Written by `scripts/ladders` from the times of `grade bench` and the counters of the "
        "simulator. A row is a solution, a column the step that it is graded as. *slow*: its time misses the column's "
        "line. A counter's name: it misses what the column, or a step before it, expects of that counter. Each "
        "solution is graded on the technique of all earlier steps: `grade dev check`.",
    ]
    for name, steps in found.items():
        of = {(cell.solution, cell.step): cell for cell in cells[name]}
        rows = list(_rows(steps, of))
        lines += ["", f"## {name}", "", *markdown_table(["solution", *(step.name for step in steps)], rows)]
        lines += ["", *_lines(steps)]
    return "\n".join(lines) + "\n"


def _rows(steps: Sequence[CourseExercise], of: Mapping[tuple[str, str], Cell]) -> Iterator[list[str]]:
    """A row for each solution: what it gets as its own step and as earlier ones, then why later ones reject it."""
    for at, row in enumerate(steps):
        passed = [_passes(row, step) for step in steps[: at + 1]]
        later = [_later(of.get((row.name, step.name))) for step in steps[at + 1 :]]
        yield [f"`{row.name}`", *passed, *later]


def _passes(row: CourseExercise, step: CourseExercise) -> str:
    """A solution under its own step or an earlier one, whose line it has to meet."""
    known = lines_on(REFERENCE)
    if row.name in known and step.name in known and known[row.name].solution < known[step.name].fraction:
        return "**SLOW**"
    return "**pass**" if row is step else "pass"


def _later(cell: Cell | None) -> str:
    """A solution under a later step: why it is rejected."""
    if cell is None:
        return "–"
    reasons = ["slow"] if cell.slow else []
    reasons += list(dict.fromkeys(miss.expect.counter.replace("_", " ") for miss in cell.missed))
    return ", ".join(reasons) or "**PASSES**"


def _lines(steps: Sequence[CourseExercise]) -> list[str]:
    known = lines_on(REFERENCE)
    rows = [
        [f"`{step.name}`", f"{known[step.name].solution:.4g}", f"{known[step.name].fraction:.3g}",
         "" if known[step.name].separated else "not by time"]
        for step in steps if step.name in known
    ]  # fmt: skip
    return markdown_table(["step", "solution", "line", "told from the step before"], rows) if rows else []


if __name__ == "__main__":
    sys.exit(main())
