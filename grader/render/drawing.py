"""The page's drawings as SVG: a request's sectors or banks, the pass line, the roofline, the timeline. Pure.

Each has a title and a description, takes its colours from the page's style sheet, and is readable at 330 pixels; but a
timeline has the width of a desktop page, and scrolls sideways on a phone. Its bars have tooltips. `Markup.format`
escapes all inserted text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

from markupsafe import Markup

from grader.frozen import dataclass
from grader.render.access import CELLS, GROUP, busiest_bank, lane_words, shown_rows, summary, title
from grader.render.evidence import lined_fraction
from grader.render.timeline import ENGINES, RETURNED, Chart, Lane, Marked, chart_of
from grader.text import counted, duration, percent, rate, safe
from grader.verdict import Measurement, Roof, Timeline, WorstRequest

WIDTH = 332

_SVG = Markup(
    '<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{id}-t {id}-d">'
    '<title id="{id}-t">{title}</title><desc id="{id}-d">{desc}</desc>{body}</svg>'
)
_TEXT = Markup('<text x="{x:g}" y="{y:g}" class="{kind}">{words}</text>')
_RECT = Markup('<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" class="{kind}"></rect>')
_LINE = Markup('<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"></line>')
_DOT = Markup('<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="{kind}"></circle>')
_PATH = Markup('<polyline points="{points}" class="roof"></polyline>')
_BAR = Markup(
    '<g class="{kind}"><title>{title}</title>'
    '<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}" rx="2"></rect>{label}</g>'
)


def svg(
    kind: str, name: str, height: float, heading: str, described: str, body: Sequence[Markup], width: int = WIDTH
) -> Markup:
    """Return a complete drawing; ``name`` must be unique on the page."""
    words = {"title": safe(heading), "desc": safe(described)}
    return _SVG.format(kind=kind, id=name, width=width, height=f"{height:g}", body=Markup("").join(body), **words)


def text(x: float, y: float, words: str, kind: str = "label") -> Markup:
    return _TEXT.format(x=x, y=y, words=safe(words), kind=kind)


def rect(x: float, y: float, w: float, h: float, kind: str) -> Markup:
    return _RECT.format(x=x, y=y, w=w, h=h, kind=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return _LINE.format(x1=x1, y1=y1, x2=x2, y2=y2, kind=kind)


# --------------------------------------------------------------------------------------------------------- a request

CELL, GAP = 10, 4  # a cell is a word or a bank; a gap separates groups of 8
ROW = 34  # caption and cells


def access_svg(request: WorstRequest, name: str) -> Markup:
    """Return the rows of cells that lanes access; the page adds the sentences below."""
    shared = request.space == "shared"
    heads = [f"banks {at}–{at + GROUP - 1}" if shared else f"sector {at // GROUP}" for at in range(0, CELLS, GROUP)]
    body = [text(_cell_x(GROUP * i) + (GROUP * CELL) / 2, 10, head, "label middle") for i, head in enumerate(heads)]
    y = 16.0
    for row in shown_rows(request):
        if isinstance(row, str):
            body.append(text(0, y + 13, row))
            y += 20
            continue
        body.append(text(0, y + 12, f"{'wavefront' if shared else 'byte'} {row.label}", "label strong"))
        body.append(text(WIDTH, y + 12, lane_words(row.lanes), "label end"))
        for i, cell in enumerate(row.cells):
            body.append(_RECT.format(x=_cell_x(i) + 0.5, y=y + 16.5, w=CELL - 1, h=13, kind=f"cell {cell}"))
        y += ROW
    described = f"{summary(request)}."
    if busiest := busiest_bank(request):
        bank, words = busiest
        body.append(
            text(_cell_x(bank) + CELL / 2, y + 9, f"▲ bank {bank}", "mark end" if bank > CELLS // 2 else "mark")
        )
        y += 12
        described += f" {words}"
    return svg("access", name, y + 2, title(request), described, body)


def _cell_x(cell: int) -> float:
    return cell * CELL + cell // GROUP * GAP


# ----------------------------------------------------------------------------------------------------------- the bar


def speed_bar(measured: Measurement, name: str) -> Markup:
    """Return the fraction of the peak or ceiling as a bar, with the pass line in it; empty if it is not known."""
    reference, fraction = lined_fraction(measured)
    if fraction is None:
        return Markup("")
    line_at = measured.line_fraction or None  # 0: no line is known on this GPU
    fill = "fill met" if line_at is None or fraction >= line_at else "fill missed"
    description = f"{percent(fraction)} of the {reference}"
    body = [
        _RECT.format(x=0, y=18, w=WIDTH, h=16, kind="track"),
        _RECT.format(x=0, y=18, w=WIDTH * min(1.0, fraction), h=16, kind=fill),
        text(0, 12, description, "label strong"),
    ]
    if line_at is not None:
        x = WIDTH * min(1.0, line_at)
        body.append(line(x, 14, x, 40, "passline"))
        body.append(text(x, 52, f"line {percent(line_at)}", "label end" if x > WIDTH / 2 else "label"))
        description += f"; the pass line is {measured.line}"
    return svg("bar", name, 56 if line_at else 38, "Speed and pass line", description, body)


# -------------------------------------------------------------------------- the roofline, both axes of it logarithmic

LEFT, RIGHT, TOP, BOTTOM = 38, 320, 22, 216
LABEL_HEIGHT = 12
POINTS_SHOWN = 8


@dataclass(frozen=True)
class Point:
    """An earlier run of the same ladder: its name, flop per byte, and flop per second."""

    label: str
    intensity: float
    achieved: float


@dataclass(frozen=True)
class _Scale:
    """The decades of the axes, and the position of a value."""

    x_decades: tuple[int, int]
    y_decades: tuple[int, int]

    def x(self, intensity: float) -> float:
        low, high = self.x_decades
        return LEFT + (log10(intensity) - low) / (high - low) * (RIGHT - LEFT)

    def y(self, achieved: float) -> float:
        low, high = self.y_decades
        return BOTTOM - (log10(achieved) - low) / (high - low) * (BOTTOM - TOP)


def roofline_svg(roof: Roof, history: Sequence[Point], name: str) -> Markup:
    """Return the two roofs, this run, and the last POINTS_SHOWN earlier runs of its ladder."""
    earlier = [p for p in history if p.intensity > 0 and p.achieved > 0][-POINTS_SHOWN:]
    slope, ridge = roof.bandwidth * roof.intensity, roof.compute / roof.bandwidth
    described = (
        f"This run: {rate(roof.achieved, roof.unit)} at {roof.intensity:.3g} {roof.unit.lower()} per byte. "
        f"There {'memory bandwidth' if slope < roof.compute else 'arithmetic'} allows "
        f"{rate(min(slope, roof.compute), roof.unit)}."
    )
    if earlier:
        described += " Earlier: " + ", ".join(f"{p.label} {rate(p.achieved, roof.unit)}" for p in earlier)
    xs = [roof.intensity, ridge, *(p.intensity for p in earlier)]
    ys = [roof.achieved, roof.compute, *(p.achieved for p in earlier)]
    x_low, x_high = floor(log10(min(xs) / 2)), ceil(log10(max(xs) * 2))
    y_low = floor(log10(min(*ys, roof.bandwidth * 10**x_low) / 1.2))
    scale = _Scale((x_low, x_high), (y_low, ceil(log10(max(ys) * 1.1))))
    body = [*_grid(scale, roof.unit), *_roofs(roof, ridge, scale), *_points(roof, earlier, scale)]
    return svg("roofline", name, BOTTOM + 34, "Roofline", described, body)


def _grid(scale: _Scale, unit: str) -> Iterator[Markup]:
    for decade in range(scale.x_decades[0], scale.x_decades[1] + 1):
        x = scale.x(10.0**decade)
        yield line(x, TOP, x, BOTTOM, "grid")
        yield text(x, BOTTOM + 14, f"{10.0**decade:g}", "label middle")
    low, high = scale.y_decades
    for decade in range(low, high + 1, 2 if high - low > 6 else 1):
        value, y = 10.0**decade, scale.y(10.0**decade)
        short = f"{value / 1e15:g}P" if value >= 1e15 else rate(value, "").removesuffix("/s").replace(" ", "")
        yield line(LEFT, y, RIGHT, y, "grid")
        yield text(LEFT - 4, y + 4, short, "label end")
    yield text((LEFT + RIGHT) / 2, BOTTOM + 29, f"{unit.lower()} per byte", "label middle")
    yield text(LEFT, TOP - 8, f"{unit}/s", "label middle")


def _roofs(roof: Roof, ridge: float, scale: _Scale) -> Iterator[Markup]:
    left, right = (10.0**decade for decade in scale.x_decades)
    corners = [(left, roof.bandwidth * left), (ridge, roof.compute), (right, roof.compute)]
    yield _PATH.format(points=" ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in corners))
    yield text(RIGHT, scale.y(roof.compute) + 14, rate(roof.compute, roof.unit), "label end")
    middle = (left * ridge) ** 0.5
    yield text(scale.x(middle) - 6, scale.y(roof.bandwidth * middle) - 4, rate(roof.bandwidth, "B"), "label end")


def _points(roof: Roof, earlier: Sequence[Point], scale: _Scale) -> Iterator[Markup]:
    """Dots with labels beside them; labels are moved so that they do not overlap."""
    now = Point("this run", roof.intensity, roof.achieved)
    points = sorted([*earlier, now], key=lambda point: -point.achieved)
    heights = _spread([scale.y(point.achieved) for point in points])
    for point, at in zip(points, heights, strict=True):
        x, y = scale.x(point.intensity), scale.y(point.achieved)
        side = 1 if x < WIDTH * 0.6 else -1
        words = ("label strong" if point is now else "label") + (" end" if side < 0 else "")
        yield line(x, y, x + 12 * side, at, "leader")
        yield _DOT.format(x=x, y=y, r=5 if point is now else 3.5, kind="dot now" if point is now else "dot")
        yield text(x + 14 * side, at + 4, f"{point.label} {rate(point.achieved, roof.unit)}", words)


def _spread(heights: Sequence[float]) -> list[float]:
    """Heights of labels, from the top, each at least a label's height below the one before, and above the axis."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + LABEL_HEIGHT) if placed else height)
    room = BOTTOM - 6.0
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], room)
        room = placed[i] - LABEL_HEIGHT
    return placed


# ------------------------------------------------------------------------------------------------------- the timeline

CHART_WIDTH = 680
CHART_RIGHT = CHART_WIDTH - 6
LANE, BAR, NOTE = 26, 18, 14  # a row, the bar in it, and the space below a row for the words of a finding
CHARACTER = 6.2  # approximate width of a letter in pixels
FINENESS = (300, 150, 80, 40, 20)  # cells of a chart, the finest first
BARS_SHOWN = 120
BARS_DESCRIBED = 6  # bars of a row that the description names
ROWS_SHOWN = 60
SHADES: Mapping[str, str] = {
    "to_device": "in", "kernel": "run", "to_host": "out", "peer": "peer", "prefetch": "aside", "on_device": "aside",
    "on_host": "aside", "fill": "aside",
}  # fmt: skip


def timeline_picture(
    timeline: Timeline | None, name: str, marks: Sequence[Marked] = (), remark: str = ""
) -> dict[str, Any] | None:
    """Return the drawing, its legend (class and words), sentences below it, and the same as a table.

    ``name`` must be unique on the page, ``remark`` is the last sentence. None if there is nothing to draw.
    """
    if timeline is None:
        return None
    charts = (chart_of(timeline, cells=cells, marks=marks) for cells in FINENESS)
    # the finest chart with at most BARS_SHOWN bars
    chart = next((c for c in charts if c is None or len(c.bars) <= BARS_SHOWN or c.cells == FINENESS[-1]), None)
    if chart is None:
        return None
    rows = [*_rows(chart)]
    legend: dict[str, list[str]] = {}
    for kind in chart.kinds:
        legend.setdefault(SHADES[kind], []).append(ENGINES[kind])
    left_out = f"{counted(chart.left_out, 'more row')} not drawn." if chart.left_out else ""
    shares = " · ".join(chart.shares_words).replace(" %", "\N{NO-BREAK SPACE}%")
    return {
        "drawing": _timeline_svg(chart, name),
        "legend": [(shade, ", ".join(words)) for shade, words in legend.items()],
        "words": [words for words in (shares, " · ".join(chart.caption), left_out, remark) if words],
        "rows": rows[:ROWS_SHOWN],
        "more_rows": max(0, len(rows) - ROWS_SHOWN),
    }


def _timeline_svg(chart: Chart, name: str) -> Markup:
    left = 12 + CHARACTER * max(len(lane.label) for lane in chart.lanes)
    body: list[Markup] = []
    y = 6.0
    for lane in chart.lanes:
        body += [text(0, y + 13, lane.label, "label"), line(left, y + BAR + 3.5, CHART_RIGHT, y + BAR + 3.5, "grid")]
        body += _bars(lane, left, y)
        notes = [*_notes(lane, left, y + BAR + 14)]
        body += notes
        y += LANE + NOTE * bool(notes)
    if chart.returned is not None:
        x = _time_x(chart.returned, left)
        body.append(line(x, 2, x, y + 2, "returned"))
        body.append(text(x, y + 12, RETURNED, "mark end" if x > CHART_WIDTH / 2 else "mark"))
        y += NOTE
    axis: list[Markup] = []
    for place, label in chart.ticks:
        x = _time_x(place, left)
        kind = "label end" if place > 0.97 else "label middle"
        axis += [line(x, 2, x, y, "grid"), text(min(x, CHART_RIGHT), y + 12, label, kind)]
    lanes = "; ".join(f"{lane.label or 'at the same time'}: {_described(lane)}" for lane in chart.lanes)
    described = f"{lanes}. {', '.join(chart.shares_words)}. {', '.join(chart.caption)}."
    title = f"Timeline of {counted(len(chart.lanes), 'row')}, {duration(chart.elapsed_s)}"
    return svg("timeline", name, y + 18, title, described, [*axis, *body], width=CHART_WIDTH)


def _described(lane: Lane) -> str:
    """The first BARS_DESCRIBED bars of a row, in words."""
    shown, more = lane.bars[:BARS_DESCRIBED], len(lane.bars) - BARS_DESCRIBED
    names = [bar.name if bar.count > 1 else f"{ENGINES[bar.kinds[0]]} {bar.name}" for bar in shown]
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _time_x(place: float, left: float) -> float:
    return left + place * (CHART_RIGHT - left)


def _bars(lane: Lane, left: float, y: float) -> Iterator[Markup]:
    for bar in lane.bars:
        x, end = _time_x(bar.left, left), _time_x(bar.right, left)
        width = max(1.5, end - x - 0.6)  # a thin space between two bars
        fits = len(bar.name) * CHARACTER + 6 <= width
        label = text(x + 4, y + 13, bar.name, "name") if fits else Markup("")
        shade = SHADES[bar.kinds[0]] if len(bar.kinds) == 1 else "mixed"
        kind = f"bar-{shade}" + (" marked-bar" if bar.mark else "")
        title = safe(f"{bar.words}: {bar.mark}" if bar.mark else bar.words)
        x = min(x, CHART_RIGHT - width)
        yield _BAR.format(kind=kind, title=title, x=x, y=f"{y:g}", w=width, h=BAR, label=label)


def _notes(lane: Lane, left: float, y: float) -> Iterator[Markup]:
    """The words of the finding below its bars."""
    for bar in lane.bars:
        if bar.mark:
            x = _time_x((bar.left + bar.right) / 2, left)
            words = f"▲ {bar.mark}{bar.lines_words}"
            fits = x + len(words) * CHARACTER <= CHART_RIGHT
            yield text(x - 4, y, words, "mark") if fits else text(x + 4, y, f"{words[2:]} ▲", "mark end")


def _rows(chart: Chart) -> Iterator[tuple[str, ...]]:
    """The rows of the table, one for each bar: stream, operation, start, duration, bytes, line."""
    stream = ""
    for lane in chart.lanes:
        stream = lane.label or stream
        for bar in lane.bars:
            what = f"{' and '.join(ENGINES[kind] for kind in bar.kinds)}: {bar.name}"
            what += f" ({bar.mark})" if bar.mark else ""
            start = duration(bar.start_s) if bar.start_s else "0"
            yield stream, what, start, duration(bar.end_s - bar.start_s), bar.moved, bar.lines_shown
