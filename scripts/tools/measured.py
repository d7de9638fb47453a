"""The measured figures on all pages: tables made of docs/results/*.json, which `grade bench --output` wrote.

    <!-- measured: reduce_v3 reduce_v4 reduction:sum ceiling -->
    …                                      written by scripts/docs
    <!-- end -->

Each word of the comment is a row: an exercise's solution (``reduce_v10/2``: at its second timed size), a library of the
exercise before it, or the ceiling of that. An exercise stands in one of the documents, so that it has one figure
everywhere. The pages of results are made of the same documents, with the pass lines of the shipped profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from ladder_pages import gpu_in_words
from ladder_steps import LIBRARIES
from markdown_check import ROOT

from grader.backends.gpu.faults import size_in_words
from grader.bench.report import (
    BenchReport,
    BenchRow,
    fraction_in_words,
    rate_in_words,
    report_from_json,
    time_in_words,
    to_markdown,
)
from grader.bench.report import table as markdown_table
from grader.catalog.exercises import load_catalog
from grader.timing.pass_lines import with_line
from grader.timing.roofline import line_in_words

RESULTS = ROOT / "docs" / "results"
NOTHING = "–"
_BLOCK = re.compile(r"(<!-- measured: (?P<words>[^>\n]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def measured_pages() -> Mapping[Path, str]:
    """Every page with measured figures, as it should be."""
    results = {path.with_suffix(".md"): to_markdown(_with_lines(report)) for path, report in reports().items()}
    pages = [*(ROOT / "exercises").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(pages) if path not in results}
    return results | {path: filled(text) for path, text in texts.items() if _BLOCK.search(text)}


@cache
def reports() -> Mapping[Path, BenchReport]:
    """The documents of `grade bench`, by their paths."""
    return {path: report_from_json(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


@cache
def rows() -> Mapping[str, tuple[BenchReport, list[BenchRow]]]:
    """Each exercise's rows, the timed size first, with the report that they are in."""
    found: dict[str, tuple[BenchReport, list[BenchRow]]] = {}
    for report in reports().values():
        for row in report.rows:
            found.setdefault(row.exercise, (report, []))[1].append(row)
    return found


@cache
def _names() -> frozenset[str]:
    """The course's exercises, which are no libraries."""
    return frozenset(entry.name for entry in load_catalog().exercises)


def _with_lines(report: BenchReport) -> BenchReport:
    """The report with today's pass lines: those of its day were drawn before `grade calibrate`."""
    return replace(report, rows=tuple(_with_line(row, report.gpu.name) for row in report.rows))


def _with_line(row: BenchRow, gpu: str) -> BenchRow:
    target = with_line(load_catalog().find(row.exercise).exercise, gpu).target
    if row.measured is None or not row.measured.line_fraction or target is None:
        return row
    return replace(row, measured=replace(row.measured, line=line_in_words(target), line_fraction=target.fraction))


# -------------------------------------------------------------------------------------------------------------- a table


def filled(text: str) -> str:
    """The page's text with every table of measured figures written anew."""
    return _BLOCK.sub(lambda block: f"{block[1]}{measured(block['words'])}\n{block[3]}", text)


def measured(words: str) -> str:
    """The table of some solutions, libraries and ceilings; of a single one, a sentence."""
    lines = list(_lines(words.split()))
    if len(lines) == 1:
        return _sentence(*lines[0])
    sizes = {size for size, *_ in lines}
    of_all = f", {sizes.pop()}" if len(sizes) == 1 else ""
    cells = [[what if of_all else f"{what}, {size}", *figures] for size, what, *figures in lines]
    head = (f"measured on {_gpu()}{of_all}", "time", "rate", "of peak", "of ceiling")
    return "\n".join(markdown_table(head, cells))


def _sentence(size: str, what: str, time: str, rate: str, peak: str, ceiling: str) -> str:
    if rate == NOTHING:
        return f"{what} is {time} on {_gpu()}."
    of = f"{peak} of peak" if peak != NOTHING else f"{ceiling}"
    return f"Measured on {_gpu()}: {what} takes {time} at {size}: {rate}, {of}."


def _gpu() -> str:
    return gpu_in_words(next(iter(reports().values())).gpu.name)


def _lines(words: list[str]) -> Iterator[list[str]]:
    """Size, name and figures of each word."""
    row = None
    for word in words:
        name, _, at = word.partition("/")
        if name in rows():
            row = rows()[name][1][int(at or 1) - 1]
            yield [row.size, f"`{name}`", *_of_solution(row)]
        elif name in _names():
            row = _unmeasured(name, int(at or 1) - 1)
            yield [row.size, f"`{name}`", *_of_solution(row)]
        elif row is None:
            raise SystemExit(f"no document of docs/results has {word}")
        else:
            yield [row.size, *(_of_ceiling(row) if word == "ceiling" else _of_library(row, word))]


def _unmeasured(name: str, at: int) -> BenchRow:
    """The row of an exercise that no document has yet."""
    exercise = load_catalog().find(name).exercise
    if exercise.timed is None:
        raise SystemExit(f"{name} is not timed")
    size = (exercise.timed, *(also.size for also in exercise.also_timed))[at]
    ceiling = exercise.target.ceiling if exercise.target else ""
    return BenchRow(name, size_in_words(size), ceiling_name=ceiling)


def _of_solution(row: BenchRow) -> list[str]:
    found = row.measured
    if found is None:
        return ["to be measured", NOTHING, NOTHING, NOTHING]
    rate = rate_in_words(found.achieved, found.unit)
    ceiling = f"{fraction_in_words(found.fraction_of_ceiling)} {row.ceiling_name}".strip()
    if found.unit == "launch":  # against a plain loop of launches
        ceiling = f"{found.fraction_of_ceiling:.2f} times as fast as{row.ceiling_name.removeprefix('of')}"
    known = found.fraction_of_ceiling and not row.above_ceiling
    return [
        time_in_words(found.median_s),
        rate,
        fraction_in_words(found.fraction_of_peak),
        ceiling if known else NOTHING,
    ]


def _of_library(row: BenchRow, name: str) -> list[str]:
    """A library's time; its fraction is of the ceiling where there is no peak."""
    library = next((library for library in row.libraries if library.name == name), None)
    if library is None or row.measured is None:
        return [library_name(name), "to be measured", NOTHING, NOTHING, NOTHING]
    fraction = fraction_in_words(library.fraction)
    both = [fraction, NOTHING] if row.measured.peak else [NOTHING, fraction]
    day = f" ({library.date})" if library.date else ""
    return [library_name(name) + day, time_in_words(library.seconds), NOTHING, *both]


def _of_ceiling(row: BenchRow) -> list[str]:
    name, found = f"the ceiling `{row.ceiling_name}`", row.measured
    if found is None or not found.ceiling or row.above_ceiling:
        return [name, "to be measured", NOTHING, NOTHING, NOTHING]
    part = found.ceiling / found.peak if found.peak else None
    return [name, NOTHING, rate_in_words(found.ceiling, found.unit), fraction_in_words(part), "1"]


OF_PYTORCH = {
    "_compiled": "`torch.compile`",
    "_flash": "FlashAttention-2",
    "_cudnn": "cuDNN",
    "_efficient": "memory-efficient attention",
    "_bincount": "`bincount`",
    "_cumsum": "differences of `cumsum`",
}
"""Which of PyTorch's ways a baseline takes, by the end of its name."""


def library_name(name: str) -> str:
    """What people know a library's call as."""
    if name in LIBRARIES:
        return LIBRARIES[name]
    if name == "stub" or name.startswith("wrong/"):
        return "the stub" if name == "stub" else f"`{Path(name).stem}`"
    if name.startswith("pytorch:"):
        return next((f"PyTorch, {how}" for end, how in OF_PYTORCH.items() if name.endswith(end)), "PyTorch")
    return "CUB, through CuPy" if name == "reduction:sum" else "CuPy"
