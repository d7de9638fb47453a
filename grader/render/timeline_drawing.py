"""A timeline as SVG: a row for each stream, bars with names, the axis. Pure.

Every bar says what it is when a pointer rests on it; the same words stand in the page's table below the drawing. It is
as wide as a page on a desk, and scrolls sideways on a phone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from grader.render.drawing import line, svg, text
from grader.render.timeline import ENGINES, RETURNED, Chart, Lane, Marked, chart_of
from grader.text import counted, duration, safe
from grader.verdict import Timeline

WIDTH = 680
RIGHT = WIDTH - 6
LANE, BAR, GAP = 26, 18, 14  # a row, the bar in it, and the room below a row for what a finding says
CHARACTER = 6.2  # pixels, about, of a name's letter
CELLS = (300, 150, 80, 40, 20)
BARS_SHOWN = 120
ROWS_SHOWN = 60
SHADES: Mapping[str, str] = {
    "to_device": "in", "kernel": "run", "to_host": "out", "peer": "peer", "prefetch": "aside", "on_device": "aside",
    "on_host": "aside", "fill": "aside",
}  # fmt: skip

_BAR = Markup(
    '<g class="{kind}"><title>{title}</title>'
    '<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}" rx="2"></rect>{label}</g>'
)


@dataclass(frozen=True)
class TimelinePicture:
    """The drawing, its keys (class and words), sentences below it, and the same as a table."""

    drawing: Markup
    keys: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # stream, what, from, for, bytes, line
    more_rows: int


def timeline_picture(
    timeline: Timeline | None, name: str, marks: Sequence[Marked] = (), remark: str = ""
) -> TimelinePicture | None:
    """Return the picture; ``name`` is unique on the page. None where there is nothing to draw.

    ``remark`` is said below it.
    """
    chart = None if timeline is None else _fitting(timeline, marks)
    if chart is None:
        return None
    rows = [*_rows(chart)]
    left_out = (f"{counted(chart.left_out, 'more row')} not drawn.",) if chart.left_out else ()
    keys: dict[str, list[str]] = {}
    for kind in chart.kinds:
        keys.setdefault(SHADES[kind], []).append(ENGINES[kind])
    return TimelinePicture(
        drawing=_drawing(chart, name),
        keys=tuple((shade, ", ".join(words)) for shade, words in keys.items()),
        words=(
            " · ".join(chart.shares_words).replace(" %", "\N{NO-BREAK SPACE}%"),
            " · ".join(chart.caption),
            *left_out,
            *((remark,) if remark else ()),
        ),
        rows=tuple(rows[:ROWS_SHOWN]),
        more_rows=max(0, len(rows) - ROWS_SHOWN),
    )


def _fitting(timeline: Timeline, marks: Sequence[Marked]) -> Chart | None:
    """The finest chart that has no more bars than a page should carry."""
    charts = (chart_of(timeline, cells=cells, marks=marks) for cells in CELLS)
    return next((c for c in charts if c is None or len(c.bars) <= BARS_SHOWN or c.cells == CELLS[-1]), None)


def _drawing(chart: Chart, name: str) -> Markup:
    left = 12 + CHARACTER * max(len(lane.label) for lane in chart.lanes)
    body: list[Markup] = []
    y = 6.0
    for lane in chart.lanes:
        body += [text(0, y + 13, lane.label, "label"), line(left, y + BAR + 3.5, RIGHT, y + BAR + 3.5, "grid")]
        body += _bars(lane, left, y)
        said = [*_said(lane, left, y + BAR + 14)]
        body += said
        y += LANE + GAP * bool(said)
    if chart.returned is not None:
        x = _x(chart.returned, left)
        body += [line(x, 2, x, y + 2, "returned"), text(x, y + 12, RETURNED, "mark end" if x > WIDTH / 2 else "mark")]
        y += GAP
    axis = [*_axis(chart, left, y)]
    told = "; ".join(f"{lane.label or 'beside it'}: {_summary(lane)}" for lane in chart.lanes)
    described = f"{told}. {', '.join(chart.shares_words)}. {', '.join(chart.caption)}."
    title = f"Timeline of {counted(len(chart.lanes), 'row')}, {duration(chart.elapsed_s)}"
    return svg("timeline", name, y + 18, title, described, [*axis, *body], width=WIDTH)


def _summary(lane: Lane) -> str:
    """A row in words, as much of it as anybody would listen to."""
    names = [bar.name if bar.count > 1 else f"{ENGINES[bar.kinds[0]]} {bar.name}" for bar in lane.bars[:SPOKEN]]
    return ", ".join(names) + (f" and {len(lane.bars) - SPOKEN} more" if len(lane.bars) > SPOKEN else "")


SPOKEN = 6


def _x(place: float, left: float) -> float:
    return left + place * (RIGHT - left)


def _bars(lane: Lane, left: float, y: float) -> Iterator[Markup]:
    for bar in lane.bars:
        x, end = _x(bar.left, left), _x(bar.right, left)
        width = max(1.5, end - x - 0.6)  # a hair's breadth between two bars
        fits = len(bar.name) * CHARACTER + 6 <= width
        label = text(x + 4, y + 13, bar.name, "name") if fits else Markup("")
        shade = SHADES[bar.kinds[0]] if len(bar.kinds) == 1 else "mixed"
        kind = f"bar-{shade}" + (" marked-bar" if bar.mark else "")
        title = safe(f"{bar.words}: {bar.mark}" if bar.mark else bar.words)
        yield _BAR.format(kind=kind, title=title, x=min(x, RIGHT - width), y=f"{y:g}", w=width, h=BAR, label=label)


def _said(lane: Lane, left: float, y: float) -> Iterator[Markup]:
    """What the finding says of a bar, below it."""
    for bar in lane.bars:
        if bar.mark:
            x = _x((bar.left + bar.right) / 2, left)
            words = f"▲ {bar.mark}{bar.lines_words}"
            fits = x + len(words) * CHARACTER <= RIGHT
            yield text(x - 4, y, words, "mark") if fits else text(x + 4, y, f"{words[2:]} ▲", "mark end")


def _axis(chart: Chart, left: float, y: float) -> Iterator[Markup]:
    for place, label in chart.ticks:
        x = _x(place, left)
        yield line(x, 2, x, y, "grid")
        yield text(min(x, RIGHT), y + 12, label, "label end" if place > 0.97 else "label middle")


def _rows(chart: Chart) -> Iterator[tuple[str, ...]]:
    """Every bar in words, for the table."""
    stream = ""
    for lane in chart.lanes:
        stream = lane.label or stream
        for bar in lane.bars:
            what = f"{' and '.join(ENGINES[kind] for kind in bar.kinds)}: {bar.name}" + f" ({bar.mark})" * bool(
                bar.mark
            )
            start = duration(bar.start_s) if bar.start_s else "0"
            yield stream, what, start, duration(bar.end_s - bar.start_s), bar.moved, bar.lines_shown
