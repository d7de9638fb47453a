"""The drawing of a timeline for a terminal: a row for each stream, the axis, a legend, and how busy the engines were.

stream 1 │» x »»»»█ smooth ████« out ««                │
stream 2 │        » x »»»»█ smooth ████« out ««        │
         0          1          2          3 ms
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice

from rich.text import Text

from grader.render.timeline import ENGINES, RETURNED, Bar, Chart, Lane, Marked, chart_of
from grader.text import counted
from grader.verdict import Timeline

GLYPHS: Mapping[str, str] = {
    "to_device": "»", "kernel": "█", "to_host": "«", "peer": "↔", "prefetch": "≈", "on_device": "=",
    "on_host": "+", "fill": "0",
}  # fmt: skip
STYLES: Mapping[str, str] = {
    "to_device": "cyan", "kernel": "green", "to_host": "yellow", "peer": "magenta", "prefetch": "blue",
    "on_device": "blue", "on_host": "blue", "fill": "blue",
}  # fmt: skip
MARKED = "bold red"
NARROWEST, WIDEST = 60, 112
INDENT = 4
LABELS = 14  # approximate number of cells left of the bars
BETWEEN = "│"  # between two bars of one kind that touch
NEXT = "here the next one begins"
GAP = 0.25  # smaller gaps, in cells, are not drawn
DRIFT = 2  # the maximum of cells by which bars may be shifted right, so that equal gaps look equal


def timeline_text(timeline: Timeline | None, width: int, marks: Sequence[Marked] = ()) -> list[Text]:
    """Return the lines of the drawing; empty if there is nothing to draw, or the width is too small."""
    if timeline is None or width < NARROWEST:
        return []
    room = min(width, WIDEST) - INDENT
    chart = chart_of(timeline, cells=room - LABELS, marks=marks)
    return [] if chart is None else [*_drawn(chart, room)]


def _drawn(chart: Chart, room: int) -> Iterator[Text]:
    margin = max(len(lane.label) for lane in chart.lanes)
    cells = room - margin - 3
    rows = [(lane, [*_cells(lane, cells)]) for lane in chart.lanes]
    for lane, row in rows:
        yield _line(f"{lane.label:<{margin}} │", *row, ("│", "dim"))
        for bar, begin, end in placed(lane.bars, cells):
            if bar.mark:  # the words of the finding
                yield _pointed((begin + end - 1) // 2, f"{bar.mark}{bar.lines_words}", cells, margin)
    if chart.returned is not None:
        yield _pointed(round(chart.returned * (cells - 1)), RETURNED, cells, margin)
    yield _line(" " * (margin + 1), (_axis(chart, cells), "dim"))
    if chart.left_out:
        yield _line(f"{counted(chart.left_out, 'more row')} not drawn (all of them with --json)")
    parted = any(piece[0].startswith(BETWEEN) for _, row in rows for piece in row if isinstance(piece, tuple))
    legend: list[Piece] = []
    for kind in chart.kinds:
        legend += ["   " if legend else "", (GLYPHS[kind] * 2, STYLES[kind]), f" {ENGINES[kind]}"]
    yield _line(*legend, f"   {BETWEEN} {NEXT}" if parted else "")
    for words in (*_packed(chart.shares_words, room), *_packed(chart.caption, room)):
        yield _line((words, "dim"))


Piece = str | tuple[str, str]


def _line(*pieces: Piece) -> Text:
    return Text.assemble(" " * INDENT, *pieces, no_wrap=True, overflow="crop")


def _packed(parts: Sequence[str], room: int) -> list[str]:
    """The parts, separated by dots, in as few lines as possible."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= room:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


# ---------------------------------------------------------------------------------------------------------- the bars


def _cells(lane: Lane, cells: int) -> Iterator[Piece]:
    """The row from its first cell to its last: gaps and bars."""
    at = 0
    before: Bar | None = None
    for bar, begin, end in placed(lane.bars, cells):
        yield " " * (begin - at)
        touches = before is not None and begin == at and before.kinds[-1] == bar.kinds[0]
        yield from _one(bar, end - begin, BETWEEN if touches and end - begin > 2 else "")
        at, before = end, bar
    yield " " * (cells - at)


def placed(bars: Sequence[Bar], cells: int) -> list[tuple[Bar, int, int]]:
    """Bars with their first cell and the cell after their last. Each has at least one cell, and they do not overlap."""
    spans: list[list[int]] = []
    before: Bar | None = None
    for bar in bars:
        begin = max(round(bar.left * cells), spans[-1][1] if spans else 0)
        if before is not None and (bar.left - before.right) * cells >= GAP:
            begin = _after_a_gap(spans[-1], begin, len(before.kinds), bar.left * cells)
        spans.append([begin, max(begin + len(bar.kinds), round(bar.right * cells))])
        before = bar
    limit = cells
    for span in reversed(spans):  # bars that are beyond the end move back
        span[1] = min(span[1], limit)
        span[0] = limit = min(span[0], span[1] - 1)
    return [(bar, begin, end) for bar, (begin, end) in zip(bars, spans, strict=True) if begin >= 0]


def _after_a_gap(before: list[int], begin: int, least: int, left: float) -> int:
    """The first cell of a bar with a visible gap before it: the bar before gets shorter, or this bar moves."""
    if begin > before[1]:
        return begin
    if before[1] - before[0] > least:
        before[1] -= 1
        return begin
    return begin + 1 if begin + 1 - left <= DRIFT else begin


def _one(bar: Bar, cells: int, first: str) -> Iterator[Piece]:
    """A bar with its name in it if there is room: ``» x »»»»``."""
    kind = bar.kinds[0]
    style = MARKED if bar.mark else STYLES[kind]
    label = f" {bar.name} "
    has_room = len(label) + 2 + len(first) <= cells and label.replace("×", "x").isascii()
    if has_room:
        yield from ((first + GLYPHS[kind], style), (label, MARKED if bar.mark else ""))
        cells -= len(first) + 1 + len(label)
        first = ""
    if len(bar.kinds) > 1:  # the glyphs of a mixture alternate
        yield from islice(cycle((GLYPHS[kind], STYLES[kind]) for kind in bar.kinds), cells)
    else:
        yield first + GLYPHS[kind] * (cells - len(first)), style


def _pointed(at: int, words: str, cells: int, margin: int) -> Text:
    """Words after an arrow to a cell, or before it if there is no room."""
    text = f"▲ {words}" if at + len(words) + 2 <= cells else f"{words} ▲"
    start = at if text.startswith("▲") else max(0, at - len(words) - 1)
    return _line(" " * (margin + 2 + start), (text, MARKED))


def _axis(chart: Chart, cells: int) -> str:
    """Labels that begin below their positions, without those that would touch the label before."""
    axis = ""
    for place, label in chart.ticks:
        at = 1 + round(place * cells)
        fits = at > len(axis) or not axis
        last = label == chart.ticks[-1][1]
        if at + len(label) > cells + 2 and last:
            at = cells + 2 - len(label)
        if fits:
            axis = axis.ljust(at) + label
    return axis
