"""The generated parts of a ladder's page: the table, and its pictures with the files that they are in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from ladder_pictures import peak_in_words, plot, plot_in_words, roofline, roofline_in_words
from ladder_steps import Report, Step, Timed, comparable, libraries
from ladder_times import STORIES, time_in_words, time_picture

from grader.backends.gpu.faults import size_in_words
from grader.bench.report import table as markdown_table
from grader.grading.technique import in_words

NOTHING = "–"
WIDEST = 5
"""Counters side by side in one table."""


@dataclass(frozen=True)
class Column:
    """A counter, the head of its column, for how many elements or multiply-adds it is counted, and what it is in words.

    ``per`` 0 is a ratio, or the whole submission. A column stands only where steps differ by more than a twentieth.
    """

    counter: str
    head: str
    per: int
    words: str = ""


OF_BYTES = (
    Column("instructions", "instructions", 1000),
    Column("barriers", "barriers", 1000),
    Column("shared_requests", "shared", 1000, "requests to shared memory"),
    Column("excess_wavefronts", "excess", 1000, "excess wavefronts"),
    Column("sector_efficiency", "sectors", 0, "sector efficiency"),
    Column("launches", "launches", 0, "of the whole task"),
)
OF_OPERATIONS = (
    Column("sectors", "sectors", 1000, "of global memory"),
    Column("wavefronts", "wavefronts", 1000, "of shared memory"),
    Column("instructions", "instructions", 1000),
    Column("wmma_instructions", "tensor", 1000, "products on the tensor cores"),
    Column("async_copy_bytes", "async bytes", 1000, "copied into shared memory without registers"),
    Column("overlap", "overlap", 0, "part of a warp's instructions while its next tile is on its way"),
    Column("groups_in_flight", "in flight", 0, "groups of such copies, on average"),
    Column("occupancy", "occupancy", 0, "by registers and shared memory, on the simulated sm_80"),
    Column("registers", "registers", 0, "of a thread, there"),
)


# -------------------------------------------------------------------------------------------------- filling the markers


def write_page(name: str, folder: Path, steps: Sequence[Step], report: Report) -> None:
    """Put the table and the pictures into the page of a ladder."""
    path = folder / f"{name}.md"
    if not path.is_file():
        raise SystemExit(f"{path} is missing: write its story, with the markers of a generated part")
    files = with_pictures(path, filled(path.read_text(), "table", table(steps, report), path), steps, report)
    for file, text in files.items():
        file.write_text(text)


def with_pictures(path: Path, text: str, steps: Sequence[Step], report: Report) -> dict[Path, str]:
    """The page with its pictures between their markers, and the files of the pictures."""
    ladder, files = path.stem, {}
    parts: dict[str, str] = {"plot": not_yet(report), "roofline": not_yet(report)}
    if any(step.timed for step in steps):
        files = {f"{ladder}.svg": plot(steps), f"{ladder}-roofline.svg": roofline(steps, report)}
        parts["plot"] = f"![{plot_in_words(steps)}]({ladder}.svg)"
        parts["roofline"] = f"![{roofline_in_words(steps, report)}]({ladder}-roofline.svg)"
    if ladder in STORIES:
        files[f"{ladder}-time.svg"] = time_picture(ladder)
        parts["time"] = f"![{time_in_words(ladder)}]({ladder}-time.svg)"
    for part, content in parts.items():
        text = filled(text, part, content, path)
    return {path: text, **{path.with_name(name): content for name, content in files.items()}}


def filled(text: str, part: str, content: str, path: Path) -> str:
    """The page's text with this content between the markers of the part."""
    found = re.findall(rf"<!-- generated: {part} -->\n.*?<!-- end -->", text, flags=re.DOTALL)
    if len(found) != 1 or text.count(f"<!-- generated: {part} -->") != 1:
        wanted = f"<!-- generated: {part} --> and, below, <!-- end -->"
        raise SystemExit(f"{path}: it must have once {wanted}, and it has that {len(found)} times")
    return text.replace(found[0], f"<!-- generated: {part} -->\n{content}\n<!-- end -->")


def not_yet(report: Report) -> str:
    return f"Measured on {gpu_in_words(str(report['gpu']['name']))}: not yet."


def gpu_in_words(name: str) -> str:
    """E.g. "an H200", "a V100": letters are spoken by their names."""
    name = name.removeprefix("NVIDIA ").removeprefix("Tesla ")
    spelled = name.split()[0].isupper() and name[0] in "AEFHILMNORSX"
    return f"{'an' if spelled or name[0] in 'AEIO' else 'a'} {name}"


# ------------------------------------------------------------------------------------------------------------ the table


def table(steps: Sequence[Step], report: Report) -> str:
    """The steps, then the libraries: time, rate, fraction of peak; and the counters in which the steps differ.

    A ladder of operations has so many counters that they get tables of their own, which fit into a terminal.
    """
    columns = OF_BYTES if steps[0].of_bytes else OF_OPERATIONS
    shown = [entry for entry in columns if _differ([step.counter(entry.counter, entry.per) for step in steps])]
    times = [[f"`{step.name}`", *_times(step)] for step in steps]
    heads = ["step", "median", *_heads(steps)]
    times = [[*row, *[NOTHING] * (len(heads) - len(row))] for row in times]  # a step may have fewer sizes
    if steps[0].of_bytes:
        rows = [[*row, *_figures(step, shown)] for row, step in zip(times, steps, strict=True)]
        head = f"{_head(steps, report)} {_of_counters(steps)} {_legend(shown)}".rstrip()
        return "\n".join([head, "", *markdown_table([*heads, *(entry.head for entry in shown)], rows)])
    times += [
        [name, *_cells(found[0], of_peak=comparable(found[0])), *map(_also, found[1:])]
        for name, found in libraries(steps).items()
    ]
    parts = ["\n".join([f"{_head(steps, report)} {_further(steps)}".rstrip(), "", *markdown_table(heads, times)])]
    for at, part in enumerate(_few(shown)):
        rows = [[f"`{step.name}`", *_figures(step, part)] for step in steps]
        words = f"{'' if at else _of_counters(steps)} {_legend(part)}".strip()
        parts += [words, "\n".join(markdown_table(["step", *(entry.head for entry in part)], rows))]
    return "\n\n".join(filter(None, parts))


def _few(columns: Sequence[Column]) -> list[Sequence[Column]]:
    """The columns in as few tables of at most `WIDEST` as can be, about equally wide."""
    tables = -(-len(columns) // WIDEST)
    each = -(-len(columns) // max(1, tables))
    return [columns[at : at + each] for at in range(0, len(columns), max(1, each))]


def _figures(step: Step, columns: Sequence[Column]) -> list[str]:
    return [figure(step.counter(entry.counter, entry.per)) for entry in columns]


def _legend(columns: Sequence[Column]) -> str:
    words = ", ".join(f"*{entry.head}*: {entry.words}" for entry in columns if entry.words)
    return f"{words}." if words else ""


def _of_counters(steps: Sequence[Step]) -> str:
    if steps[0].of_bytes:
        return "Counters are the simulator's, for each 1000 elements."
    size = size_in_words(steps[0].entry.exercise.simulated)
    return f"Counters are the simulator's at {size}, for each 1000 multiply-adds."


def _head(steps: Sequence[Step], report: Report) -> str:
    size = size_in_words(steps[0].entry.exercise.timed or {})
    dates = sorted({step.row.date for step in steps if step.timed})
    words = f"{report['gpu']['name']}, {' and '.join(dates)}, {size}." if dates else not_yet(report)
    peak = "" if steps[0].of_bytes else peak_in_words(steps)
    return f"{words} Fractions are of {peak}." if peak else words


def _heads(steps: Sequence[Step]) -> list[str]:
    """The heads of the rates and fractions; a further size is named by the numbers in which it differs."""
    if steps[0].of_bytes:
        return ["of peak"]
    return [f"T{steps[0].counts}/s", "of peak", *_other_sizes(steps)]


def _other_sizes(steps: Sequence[Step]) -> dict[str, str]:
    """The further sizes, in short and in full: those of the step that has the most."""
    exercise = max((step.entry.exercise for step in steps), key=lambda exercise: len(exercise.also_timed))
    timed = exercise.timed or {}
    return {
        " × ".join(str(n) for name, n in also.size.items() if n != timed.get(name)): size_in_words(also.size)
        for also in exercise.also_timed
    }


def _further(steps: Sequence[Step]) -> str:
    """What the columns of further sizes show."""
    told = ", ".join(f"*{short}*: T{steps[0].counts}/s at {size}" for short, size in _other_sizes(steps).items())
    return f"{told}." if told else ""


def _times(step: Step) -> list[str]:
    if step.of_bytes:
        return [time(step.timed.median_s), _fraction(step.timed)] if step.timed else ["not yet", NOTHING]
    return [*_cells(step.timed), *(_also(row.timed) for row in step.further)]


def _cells(timed: Timed | None, *, of_peak: bool = True) -> list[str]:
    """Time, rate and fraction of peak; without the fraction where it would be of another peak."""
    if timed is None:
        return ["not yet", NOTHING, NOTHING]
    return [time(timed.median_s), f"{timed.rate / 1e12:.3g}", _fraction(timed) if of_peak else NOTHING]


def _also(timed: Timed | None) -> str:
    """A further size in one cell: the rate."""
    return NOTHING if timed is None else f"{timed.rate / 1e12:.3g}"


def _fraction(timed: Timed | None) -> str:
    return NOTHING if timed is None or timed.fraction is None else f"{timed.fraction:.3f}"


def _differ(values: Sequence[float]) -> bool:
    """Whether a column tells the steps apart."""
    known = [value for value in values if not isnan(value)]
    return len(known) > 1 and max(known) - min(known) > 0.05 * max(known)


def time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def figure(value: float) -> str:
    """A counter as it is shown; a ratio over nothing is a dash."""
    if isnan(value):
        return NOTHING
    return in_words(float(round(value)) if value >= 10 else round(value, 2))
