"""The student's file: lines around a finding, and all lines with their counters. Pure."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from rich.text import Text

from grader.frozen import dataclass
from grader.text import cut, percent, safe
from grader.verdict import LaunchRecord

GAP = 0
"""In the line numbers of an excerpt, the mark for omitted lines between two places."""


def source_lines(source: str) -> list[str]:
    """Return the lines as compilers count them: only a newline ends a line."""
    return [line.rstrip() for line in source.removesuffix("\n").split("\n")]


def lines_around(marks: Iterable[int], last: int, context: int) -> list[int]:
    """Return the numbers of the marked lines, from 1 to ``last``, and of their neighbours; a GAP between two places."""
    existing = [line for line in marks if 1 <= line <= last]
    shown = sorted({n for at in existing for n in range(at - context, at + context + 1) if 1 <= n <= last})
    gaps = {n for before, n in pairwise(shown) if n > before + 1}
    return [n for line in shown for n in ([GAP, line] if line in gaps else [line])]


# -------------------------------------------------------------------------------------------------------- the terminal

CONTEXT = 1  # lines shown before and after each marked line


def excerpt(
    source: str,
    marks: Mapping[int, str],
    *,
    caret: tuple[int, int] | None = None,
    width: int = 80,
    names: Sequence[str] = (),
) -> list[Text]:
    """Return the marked lines with their neighbours; ``marks`` maps a line number, from 1, to a word beside it.

    ``caret`` is a line and a column, from 1. A gap between two places is drawn as ``⋮``. A line that is too long is
    cut around the caret's column, or else, in a marked line, around the first of ``names`` with all of its indices.
    """
    lines = source_lines(source)
    shown = lines_around(marks, len(lines), CONTEXT)
    digits = len(str(max(shown, default=1)))
    margin = " " * (4 + digits)
    drawn: list[Text] = []
    for number in shown:
        if number == GAP:
            drawn.append(Text(f"{margin} ⋮", style="dim"))
            continue
        code, mark = lines[number - 1], marks.get(number)
        column = caret[1] if caret is not None and number == caret[0] else None
        beside = f"  {mark}" if mark else ""
        focus = (column, column) if column is not None else accessed(code, names, mark) if mark is not None else None
        window, at = _window(code, focus or (1, 1), width - 7 - digits - len(beside))
        row = Text("  ▶ " if mark is not None else "    ", style="bold red", no_wrap=True, overflow="ellipsis")
        row.append(f"{number:>{digits}} │ ", style="dim not bold default")
        row.append(window, style="bold default" if mark is not None else "not bold default")
        drawn.append(row.append(beside, style="bold red"))
        if column is not None:
            dots = "…" if window.startswith("…") else ""  # in both rows, because it is longer in plain ASCII
            row = Text(f"{margin} │ {dots}", style="dim", no_wrap=True, overflow="crop")
            drawn.append(row.append(" " * (at - len(dots)) + "^", style="bold red"))
    return drawn


def accessed(code: str, names: Sequence[str], mark: str) -> tuple[int, int] | None:
    """The columns, from 1, of the first of ``names`` with an index, up to its last bracket: the mistake may be there.

    Of several in a line, what is read is right of an assignment's ``=``.
    """
    for name in names:
        found = [*re.finditer(rf"\b{re.escape(name)}\s*(?=\[)", code)]
        sign = re.search(r"(?<![=!<>])=(?!=)", code)
        reads = [match for match in found if sign and match.start() > sign.start()] if mark.startswith("read") else []
        if found:
            first = (reads or found)[0]
            return first.start() + 1, _end_of_indices(code, first.end())
    return None


_NEXT_INDEX = re.compile(r"\s*\[")


def _end_of_indices(code: str, at: int) -> int:
    """Where the brackets that begin at ``at`` end: ``[threadIdx.y][threadIdx.x + 1]``."""
    depth = 0
    for end, character in enumerate(code[at:], start=at):
        depth += (character == "[") - (character == "]")
        if depth == 0 and character == "]" and not _NEXT_INDEX.match(code, end + 1):
            return end + 1
    return len(code)


def _window(code: str, focus: tuple[int, int], room: int) -> tuple[str, int]:
    """At most ``room`` characters of ``code`` that include the columns ``focus``, and the first one's place in them."""
    text, room = safe(code), max(10, room)
    at, last = (min(len(safe(code[: max(0, column - 1)])), len(text)) for column in focus)
    if len(text) <= room:
        return text, at
    begin = 0 if last < room - 1 else min(at, (at + last) // 2 - room // 2, len(text) - room + 1)
    begin = max(0, begin, at - room + 3)
    end = begin + room - (begin > 0)  # one character is needed for the … before it
    if end < len(text):
        end -= 1
    shown = ("…" if begin else "") + text[begin:end] + ("…" if end < len(text) else "")
    return shown, at - begin + (begin > 0)


# ------------------------------------------------------------------------------------------------------------ the page

LINES_SHOWN = 1500
CHARACTERS_SHOWN = 240
HEATS = 4
"""Steps of shading, by the line's share of the whole."""
LEAST_SHADED = 0.05

RATIOS: Mapping[str, str] = {"sector_efficiency": "sectors", "active_lanes": "instructions"}
"""The weight of each ratio when several launches are added up."""


@dataclass(frozen=True)
class Column:
    """One counter next to the source. ``worth`` decides from the values of all lines whether to show it."""

    counter: str
    heading: str
    explained: str
    worth: Callable[[Sequence[float]], bool]
    shaded: bool = True
    quiet: bool = False  # on a phone, shown only for large values


COLUMNS = (
    Column("instructions", "instr.", "instructions, one for each warp that executes one", any, quiet=True),
    Column("active_lanes", "lanes", "mean number of active lanes, 32 at best", lambda v: min(v) < 31.5, False),
    Column("divergent_branches", "div.", "branches at which the lanes of a warp diverged", any),
    Column("sectors", "sectors", "sectors of 32 bytes that global accesses touched", any),
    Column("sector_efficiency", "used", "part of the bytes in those sectors that was requested", any, False),
    Column("wavefronts", "wavefr.", "wavefronts of shared memory", any),
    Column("excess_wavefronts", "excess", "wavefronts that bank conflicts cost", any),
)


@dataclass(frozen=True)
class CounterCell:
    """A counter of a line as text ("" for none), and its share of the total as a shade: 0 to HEATS."""

    text: str = ""
    heat: int = 0


@dataclass(frozen=True)
class SourceLine:
    number: int
    text: str
    cells: tuple[CounterCell, ...]
    mark: str | None = None  # a word, or "", if a finding is about this line


@dataclass(frozen=True)
class Listing:
    columns: tuple[Column, ...]
    lines: tuple[SourceLine, ...]
    left_out: int = 0  # number of lines that are not shown


def listing(source: str, launches: Iterable[LaunchRecord], marks: Mapping[int, str]) -> Listing:
    """Return the source with the counters of all launches added up, without columns that are not `worth` showing."""
    lines = source_lines(source)
    counters = _added_up(launches)
    values = {c: [x for at in counters.values() if math.isfinite(x := at.get(c.counter, math.nan))] for c in COLUMNS}
    columns = {c: math.fsum(values[c]) for c in COLUMNS if values[c] and c.worth(values[c])}
    rows = (
        SourceLine(
            number,
            cut(text, CHARACTERS_SHOWN),
            tuple(_cell(c, counters.get(number, {}).get(c.counter, math.nan), total) for c, total in columns.items()),
            marks.get(number),
        )
        for number, text in enumerate(lines[:LINES_SHOWN], start=1)
    )
    return Listing(tuple(columns), tuple(rows), max(0, len(lines) - LINES_SHOWN))


def _added_up(launches: Iterable[LaunchRecord]) -> dict[int, dict[str, float]]:
    """Counters by line: sums, and weighted means of the ratios."""
    sums: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for launch in launches:
        for line in launch.lines:
            for name, value in line.counters.items():
                if math.isfinite(value):
                    weight = line.counters.get(RATIOS[name], 0.0) if name in RATIOS else 1.0
                    sums[line.line][name] += value * weight
    for counters in sums.values():
        for ratio in RATIOS.keys() & counters.keys():
            total = counters.get(RATIOS[ratio])
            counters[ratio] = counters[ratio] / total if total else math.nan
    return {number: dict(counters) for number, counters in sums.items()}


def _cell(column: Column, value: float, total: float) -> CounterCell:
    if not math.isfinite(value):
        return CounterCell()
    if column.counter == "sector_efficiency":
        words = percent(value)
    elif column.counter == "active_lanes" and not value.is_integer():
        words = f"{value:.1f}"
    else:
        words = f"{value:,.0f}".replace(",", " ")
    share = value / total if column.shaded and total else 0.0
    return CounterCell(words, min(HEATS, math.ceil(share * HEATS)) if share >= LEAST_SHADED else 0)
