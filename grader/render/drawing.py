"""The page's drawings as SVG: a request's sectors or banks, the bar with the pass line, the roofline. Pure.

Each has a title and a description, takes its colours from the page's style sheet, and is readable at 330 pixels.
`Markup.format` escapes everything that is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from grader.render.access_rows import (
    CELLS,
    IDLE,
    PARTLY,
    USED,
    WASTED,
    Row,
    busiest_bank,
    lane_words,
    rows_of,
    shown_rows,
    summary,
    title,
)
from grader.text import percent, safe
from grader.verdict import Measurement, WorstRequest

WIDTH = 332
CELL, GAP = 10, 4  # a cell is a word or a bank; a gap stands between groups of 8
ROW = 34  # caption and cells
SHADES = {USED: "used", PARTLY: "partly", WASTED: "wasted", IDLE: "idle"}

_SVG = Markup(
    '<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{id}-t {id}-d">'
    '<title id="{id}-t">{title}</title><desc id="{id}-d">{desc}</desc>{body}</svg>'
)
_TEXT = Markup('<text x="{x:g}" y="{y:g}" class="{kind}">{words}</text>')
_RECT = Markup('<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" class="{kind}"></rect>')
_LINE = Markup('<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"></line>')


def svg(
    kind: str, name: str, height: float, heading: str, described: str, body: Sequence[Markup], width: int = WIDTH
) -> Markup:
    """Return a whole drawing; ``name`` is unique on the page."""
    words = {"title": safe(heading), "desc": safe(described)}
    return _SVG.format(kind=kind, id=name, width=width, height=f"{height:g}", body=Markup("").join(body), **words)


def text(x: float, y: float, words: str, kind: str = "label") -> Markup:
    return _TEXT.format(x=x, y=y, words=safe(words), kind=kind)


def rect(x: float, y: float, w: float, h: float, kind: str) -> Markup:
    return _RECT.format(x=x, y=y, w=w, h=h, kind=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return _LINE.format(x1=x1, y1=y1, x2=x2, y2=y2, kind=kind)


# --------------------------------------------------------------------------------------------------------- a request


def access_svg(request: WorstRequest, name: str) -> Markup:
    """Return the rows of cells that lanes touch; the words below the drawing are the page's."""
    first, left_out, last = shown_rows(rows_of(request))
    body = [*_headings(request)]
    y = 16.0
    for i, row in enumerate((*first, *last)):
        if left_out and i == len(first):
            noun = "wavefront" if request.space == "shared" else "cache line"
            body.append(text(0, y + 13, f"⋮ {left_out} more {noun}{'s' * (left_out > 1)}"))
            y += 20
        body += _row(row, request, y)
        y += ROW
    busiest = busiest_bank(request)
    if busiest:
        body.append(text(_x(busiest[0]) + CELL / 2, y + 9, f"▲ bank {busiest[0]}", _anchor(busiest[0])))
        y += 12
    described = " ".join(filter(None, [summary(request) + ".", busiest[1] if busiest else ""]))
    return svg("access", name, y + 2, title(request), described, body)


def _anchor(bank: int) -> str:
    return "mark end" if bank > CELLS // 2 else "mark"


def _headings(request: WorstRequest) -> Iterator[Markup]:
    for group in range(4):
        words = f"banks {8 * group}–{8 * group + 7}" if request.space == "shared" else f"sector {group}"
        yield text((_x(8 * group) + _x(8 * group + 7) + CELL) / 2, 10, words, "label middle")


def _row(row: Row, request: WorstRequest, y: float) -> Iterator[Markup]:
    word = "wavefront" if request.space == "shared" else "byte"
    yield text(0, y + 12, f"{word} {row.label}", "label strong")
    yield text(WIDTH, y + 12, lane_words(row.lanes), "label end")
    for i, cell in enumerate(row.cells):
        yield rect(_x(i) + 0.5, y + 16.5, CELL - 1, 13, f"cell {SHADES[cell]}")


def _x(cell: int) -> float:
    return cell * CELL + cell // 8 * GAP


# ----------------------------------------------------------------------------------------------------------- the bar


def speed_bar(measured: Measurement, name: str) -> Markup:
    """Return the fraction that the pass line is about as a bar, with the line in it; nothing where it is not known."""
    of_ceiling = "ceiling" in measured.line
    fraction = measured.fraction_of_ceiling if of_ceiling else measured.fraction_of_peak
    if fraction is None:
        return Markup("")
    whole = "ceiling" if of_ceiling else "peak"
    line_at = measured.line_fraction or None  # 0: no line is known on this GPU
    met = line_at is None or fraction >= line_at
    body = [
        rect(0, 18, WIDTH, 16, "track"),
        rect(0, 18, WIDTH * min(1.0, fraction), 16, "fill met" if met else "fill missed"),
        text(0, 12, f"{percent(fraction)} of the {whole}", "label strong"),
    ]
    if line_at is not None:
        x = WIDTH * min(1.0, line_at)
        body += [
            line(x, 14, x, 40, "passline"),
            text(x, 52, f"line {percent(line_at)}", "label end" if x > WIDTH / 2 else "label"),
        ]
    told = f"{percent(fraction)} of the {whole}" + (f"; the pass line is {measured.line}" if line_at else "")
    return svg("bar", name, 56 if line_at else 38, "Speed and pass line", told, body)
