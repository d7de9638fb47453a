"""The page's drawings as SVG: a request's sectors or banks, the bar with the pass line, the roofline. Pure.

Each has a title and a description, takes its colours from the page's style sheet, and is readable at 330 pixels.
`Markup.format` escapes everything that is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from grader.render.access import CELLS, GROUP, busiest_bank, lane_words, shown_rows, summary, title
from grader.render.evidence import lined_fraction
from grader.text import percent, rate, safe
from grader.verdict import Measurement, Roof, WorstRequest

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


def svg(
    kind: str, name: str, height: float, heading: str, described: str, body: Sequence[Markup], width: int = WIDTH
) -> Markup:
    """Return a whole drawing; ``name`` is unique on the page."""
    words = {"title": safe(heading), "desc": safe(described)}
    return _SVG.format(kind=kind, id=name, width=width, height=f"{height:g}", body=Markup("").join(body), **words)


def text(x: float, y: float, words: str, kind: str = "label") -> Markup:
    return _TEXT.format(x=x, y=y, words=safe(words), kind=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return _LINE.format(x1=x1, y1=y1, x2=x2, y2=y2, kind=kind)


# --------------------------------------------------------------------------------------------------------- a request

CELL, GAP = 10, 4  # a cell is a word or a bank; a gap stands between groups of 8
ROW = 34  # caption and cells


def access_svg(request: WorstRequest, name: str) -> Markup:
    """Return the rows of cells that lanes touch; the words below the drawing are the page's."""
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
    """Return the fraction that the pass line is about as a bar, with the line in it; nothing where it is not known."""
    whole, fraction = lined_fraction(measured)
    if fraction is None:
        return Markup("")
    line_at = measured.line_fraction or None  # 0: no line is known on this GPU
    fill = "fill met" if line_at is None or fraction >= line_at else "fill missed"
    told = f"{percent(fraction)} of the {whole}"
    body = [
        _RECT.format(x=0, y=18, w=WIDTH, h=16, kind="track"),
        _RECT.format(x=0, y=18, w=WIDTH * min(1.0, fraction), h=16, kind=fill),
        text(0, 12, told, "label strong"),
    ]
    if line_at is not None:
        x = WIDTH * min(1.0, line_at)
        body.append(line(x, 14, x, 40, "passline"))
        body.append(text(x, 52, f"line {percent(line_at)}", "label end" if x > WIDTH / 2 else "label"))
        told += f"; the pass line is {measured.line}"
    return svg("bar", name, 56 if line_at else 38, "Speed and pass line", told, body)


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
    """Decades that the drawing shows, and where a value stands."""

    x_decades: tuple[int, int]
    y_decades: tuple[int, int]

    def x(self, intensity: float) -> float:
        low, high = self.x_decades
        return LEFT + (log10(intensity) - low) / (high - low) * (RIGHT - LEFT)

    def y(self, achieved: float) -> float:
        low, high = self.y_decades
        return BOTTOM - (log10(achieved) - low) / (high - low) * (BOTTOM - TOP)


def roofline_svg(roof: Roof, history: Sequence[Point], name: str) -> Markup:
    """Return the two roofs, this run, and earlier runs of its ladder: the last POINTS_SHOWN of them."""
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
    """Dots with names beside them; names that would overlap make room for each other."""
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
    """Heights of names, from the top, each at least a name's height below the one before it and above the axis."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + LABEL_HEIGHT) if placed else height)
    room = BOTTOM - 6.0
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], room)
        room = placed[i] - LABEL_HEIGHT
    return placed
