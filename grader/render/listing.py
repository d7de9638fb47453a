"""The graded file line by line, with what each line was counted for: the rows and columns of the page's table. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.text import cut, percent
from grader.verdict import LaunchRecord

LINES_SHOWN = 1500
CHARACTERS_SHOWN = 240
HEATS = 4
"""Steps of shading, by the line's share of the whole."""
LEAST_SHADED = 0.05

RATIOS: Mapping[str, str] = {"sector_efficiency": "sectors", "active_lanes": "instructions"}
"""Ratio -> what it is weighted by where several launches are added up."""


@dataclass(frozen=True)
class Column:
    """One counter beside the source. ``worth`` says whether it tells anything, of the values of all lines."""

    counter: str
    heading: str
    explained: str
    worth: Callable[[Sequence[float]], bool]
    shaded: bool = True
    quiet: bool = False  # shown on a phone only where it is much


COLUMNS = (
    Column("instructions", "instr.", "instructions, one for each warp that executes one", any, quiet=True),
    Column("active_lanes", "lanes", "mean number of lanes at work, 32 at best", lambda v: min(v) < 31.5, False),
    Column("divergent_branches", "div.", "branches at which the lanes of a warp went both ways", any),
    Column("sectors", "sectors", "sectors of 32 bytes that global loads and stores touched", any),
    Column("sector_efficiency", "used", "part of the bytes in those sectors that was asked for", any, False),
    Column("wavefronts", "wavefr.", "wavefronts of shared memory", any),
    Column("excess_wavefronts", "excess", "wavefronts that bank conflicts cost", any),
)


@dataclass(frozen=True)
class Cell:
    """A counter of a line in words ("" for none), and how much of the whole it is: 0 to HEATS."""

    text: str = ""
    heat: int = 0


@dataclass(frozen=True)
class SourceLine:
    number: int
    text: str
    cells: tuple[Cell, ...]
    mark: str | None = None  # a word, or "", where a finding is about this line


@dataclass(frozen=True)
class Listing:
    columns: tuple[Column, ...]
    lines: tuple[SourceLine, ...]
    left_out: int = 0  # lines beyond those shown


def listing(source: str, launches: Iterable[LaunchRecord], marks: Mapping[int, str]) -> Listing:
    """Return the source with the counters of all launches added up; columns that tell nothing are left out."""
    lines = source_lines(source)
    counted = _added_up(launches)
    columns = tuple(c for c in COLUMNS if (known := _values(counted, c.counter)) and c.worth(known))
    totals = {c.counter: math.fsum(_values(counted, c.counter)) for c in columns}
    rows = tuple(
        SourceLine(
            number,
            cut(text, CHARACTERS_SHOWN),
            tuple(_cell(c, counted.get(number, {}).get(c.counter), totals[c.counter]) for c in columns),
            marks.get(number),
        )
        for number, text in enumerate(lines[:LINES_SHOWN], start=1)
    )
    return Listing(columns, rows, max(0, len(lines) - LINES_SHOWN))


def source_lines(source: str) -> list[str]:
    """Return the lines as compilers count them: nothing but a newline ends one."""
    return [line.rstrip() for line in source.removesuffix("\n").split("\n")]


def _added_up(launches: Iterable[LaunchRecord]) -> dict[int, dict[str, float]]:
    """Counters by line: sums, and means of the ratios by their weights."""
    sums: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for launch in launches:
        for line in launch.lines:
            for name, value in line.counters.items():
                if math.isfinite(value):
                    weight = line.counters.get(RATIOS[name], 0.0) if name in RATIOS else 1.0
                    sums[line.line][name] += value * weight
    for counters in sums.values():
        for ratio, weight_name in RATIOS.items():
            if ratio in counters:
                counters[ratio] = counters[ratio] / counters[weight_name] if counters.get(weight_name) else math.nan
    return {number: dict(counters) for number, counters in sums.items()}


def _values(counted: Mapping[int, Mapping[str, float]], counter: str) -> list[float]:
    return [c[counter] for c in counted.values() if math.isfinite(c.get(counter, math.nan))]


def _cell(column: Column, value: float | None, total: float) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell()
    share = value / total if column.shaded and total else 0.0
    return Cell(_words(column.counter, value), min(HEATS, math.ceil(share * HEATS)) if share >= LEAST_SHADED else 0)


def _words(counter: str, value: float) -> str:
    if counter == "sector_efficiency":
        return percent(value)
    return f"{value:.1f}" if counter == "active_lanes" and not value.is_integer() else f"{value:,.0f}".replace(",", " ")
