"""One memory request as a terminal draws it: which words of which sectors, or which banks, its lanes touch. Pure.

        sector 0 sector 1 sector 2 sector 3
byte 0 │█░█░█░█░│█░█░█░█░│█░█░█░█░│█░█░█░█░│ lanes 0–15
   128 │█░█░█░█░│█░█░█░█░│█░█░█░█░│█░█░█░█░│ lanes 16–31
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from grader.render.access_rows import (
    CELLS,
    IDLE,
    PARTLY,
    USED,
    WASTED,
    Row,
    busiest_bank,
    lane_words,
    picture_for,
    rows_of,
    shown_rows,
    summary,
    title,
)
from grader.text import to_ascii
from grader.verdict import Diagnostic, LaunchRecord, WorstRequest

if TYPE_CHECKING:
    from rich.text import Text

INKS: Mapping[str, str] = {USED: "█", PARTLY: "▒", WASTED: "░", IDLE: " "}
MEANINGS: Mapping[str, str] = {USED: "wanted", PARTLY: "partly wanted", WASTED: "moved for nothing"}
GROUP = 8  # cells between two bars: a sector, or a quarter of the banks
NARROWEST, WIDEST = 60, 74
STYLES: Mapping[str, str] = {"█+": "cyan", "░+": "red", "▲": "bold red"}
INDENT = 4


def access_picture(request: WorstRequest, *, width: int = WIDEST, unicode: bool = True) -> list[str]:
    """Return the lines of the picture, without colour; none where the width leaves no room for it."""
    if width < NARROWEST:
        return []
    drawn = [*_wrapped(title(request), width), "", *_drawing(request, min(width, WIDEST))]
    drawn += [line for text in _sentences(request) for line in _wrapped(text, width)]
    return drawn if unicode else [to_ascii(line) for line in drawn]


def picture_of(found: Diagnostic, launches: Sequence[LaunchRecord], width: int) -> list[Text]:
    """Return the picture of the request that a missed expectation is about, for the report; mostly there is none."""
    from rich.text import Text

    request = picture_for(found, launches)
    lines = access_picture(request, width=width - INDENT) if request else []
    return [_coloured(Text(" " * INDENT + line, no_wrap=True)) for line in lines]


def _coloured(line: Text) -> Text:
    for pattern, style in STYLES.items():
        line.highlight_regex(pattern, style)
    return line


def _drawing(request: WorstRequest, width: int) -> Iterator[str]:
    rows = rows_of(request)
    first, left_out, last = shown_rows(rows)
    shared = request.space == "shared"
    word = "wavefront" if shared else "byte"
    digits = max(len(str(row.label)) for row in rows)
    margin = len(word) + digits + 1
    yield " " * (margin + 2) + (_banks() if shared else " ".join(f"sector {i}" for i in range(4)))
    for i, row in enumerate((*first, *last)):
        if left_out and i == len(first):
            more = f"⋮ {left_out} more {'wavefront' if shared else 'cache line'}{'s' * (left_out > 1)}"
            yield " " * (margin + 2) + more
        label = f"{word if i == 0 else '':<{len(word)}} {row.label:>{digits}}"
        yield f"{label} │{_cells(row)}│ {lane_words(row.lanes)}"[:width]
    if busiest := busiest_bank(request):
        yield " " * (margin + 2 + busiest[0] + busiest[0] // GROUP) + "▲"


def _cells(row: Row) -> str:
    inks = "".join(INKS[cell] for cell in row.cells)
    return "│".join(inks[at : at + GROUP] for at in range(0, CELLS, GROUP))


def _banks() -> str:
    return "".join(f"{f'bank {bank}' if bank == 0 else bank:<{GROUP + 1}}" for bank in range(0, CELLS, GROUP)).rstrip()


def _sentences(request: WorstRequest) -> list[str]:
    busiest = busiest_bank(request)
    if request.space == "shared":
        return [*([busiest[1]] if busiest else []), summary(request)]
    cells = {cell for row in rows_of(request) for cell in row.cells}
    legend = [f"{INKS[cell]} {words}" for cell, words in MEANINGS.items() if cell in cells]
    return ["   ".join(legend), summary(request)]


def _wrapped(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return wrap(text, width, subsequent_indent="  ")
