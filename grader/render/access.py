"""A picture of one memory request: rows of 32 cells, sentences below them, and the drawing for a terminal. Pure.

        sector 0 sector 1 sector 2 sector 3
byte 0 │█░█░█░█░│█░█░█░█░│█░█░█░█░│█░█░█░█░│ lanes 0–15
   128 │█░█░█░█░│█░█░█░█░│█░█░█░█░│█░█░█░█░│ lanes 16–31

global   a row is a cache line of 128 bytes, a cell its 4-byte word; 8 cells are a sector
shared   a row is a wavefront, a cell one of the 32 banks
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import wrap

from rich.text import Text

from grader.frozen import dataclass
from grader.text import counted, index_words, safe
from grader.verdict import Diagnostic, LaunchRecord, WorstRequest

CELLS = 32
GROUP = 8  # cells between two bars: a sector, or a quarter of the banks
LINE_BYTES, SECTOR_BYTES, WORD_BYTES = 128, 32, 4
USED, PARTLY, WASTED, IDLE = "used", "partly", "wasted", "idle"
"""A cell's bytes: all requested; some requested; moved but not requested; not moved (a bank: idle)."""

ROWS_SHOWN = 5
WORDS_SHOWN = 4
LANES_SHOWN = 3


@dataclass(frozen=True)
class AccessRow:
    """One cache line or wavefront. ``label`` is a byte offset or the wavefront's number."""

    label: int
    cells: tuple[str, ...]
    lanes: tuple[int, ...]


def rows_of(request: WorstRequest) -> tuple[AccessRow, ...]:
    """Return the rows of a request's picture, all of them."""
    return _wavefronts(request) if request.space == "shared" else _cache_lines(request)


def shown_rows(request: WorstRequest) -> list[AccessRow | str]:
    """Return the rows to draw, with a line of text for those that are not drawn."""
    rows = rows_of(request)
    if len(rows) <= ROWS_SHOWN:
        return [*rows]
    noun = "wavefront" if request.space == "shared" else "cache line"
    return [*rows[: ROWS_SHOWN - 2], f"⋮ {len(rows) - ROWS_SHOWN + 1} more {noun}s", rows[-1]]


def picture_for(found: Diagnostic, launches: Iterable[LaunchRecord]) -> WorstRequest | None:
    """Return the request to draw for a finding about a counter; None if no picture would explain it."""
    counter = found.counter or ""
    if "wavefront" in counter or counter.startswith("shared_"):
        space = "shared"
    elif "sector" in counter or counter.startswith("global_"):
        space = "global"
    else:
        return None
    candidates = [
        request
        for launch in launches
        for request in launch.worst
        if request.space == space and found.line in (None, request.line) and found.kernel in (None, request.kernel)
    ]
    worst = max(candidates, key=lambda request: request.taken - request.least, default=None)
    return worst if worst is not None and worst.taken > worst.least else None


# ---------------------------------------------------------------------------------------------------------------- words


def title(request: WorstRequest) -> str:
    """Return e.g. ``line 6: one load from x, 32 lanes × 4 bytes (block 0, warp 0)``."""
    verb = {"load": "load from", "store": "store to", "atomic": "atomic on"}.get(request.kind, request.kind)
    where = f"{'shared ' if request.space == 'shared' else ''}{safe(request.array or 'memory')}"
    lanes = f"{counted(len(_active(request)), 'lane')} × {counted(request.bytes_per_lane, 'byte')}"
    place = f"block {index_words(request.block)}, warp {request.warp}"
    return f"line {request.line}: one {verb} {where}, {lanes} ({place})"


def summary(request: WorstRequest) -> str:
    """Return the cost of a request in words: sectors and bytes, or wavefronts."""
    wasteful = request.taken > request.least
    if request.space == "shared":
        better = f" where {request.least} would do: a bank serves one word at a time" if wasteful else ""
        return counted(request.taken, "wavefront") + better
    wanted = len(_bytes_wanted(request))
    moved = request.taken * SECTOR_BYTES
    better = f"; {counted(request.least, 'sector')} would do" if wasteful else ""
    part = f"{100 * wanted / moved:.3g} %"
    return f"{counted(request.taken, 'sector')} = {moved} bytes moved for {wanted} wanted ({part}){better}"


def busiest_bank(request: WorstRequest) -> tuple[int, str] | None:
    """Return a bank with the most words, and a sentence that lists them; None if no bank has two."""
    if request.space != "shared":
        return None
    banks = [bank for group in _groups(request) for bank in group.items()]
    bank, words = max(banks, key=lambda bank_and_words: len(bank_and_words[1]), default=(0, {}))
    if len(words) < 2:
        return None
    named = [f"{word} ({lane_words(lanes)})" for word, lanes in words.items()]
    more = " …" if len(named) > WORDS_SHOWN else ""
    return bank, f"bank {bank} has {len(words)} words: " + ", ".join(named[: WORDS_SHOWN - bool(more)]) + more


def lane_words(lanes: Sequence[int]) -> str:
    """Return e.g. ``lane 3``, ``lanes 0–15``, ``lanes 0, 2 … 30``, ``lanes 1, 5, 7 …``."""
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    steps = {after - before for before, after in pairwise(lanes)}
    if steps == {1} and len(lanes) > 2:
        return f"lanes {lanes[0]}–{lanes[-1]}"
    if len(lanes) <= LANES_SHOWN:
        return "lanes " + ", ".join(map(str, lanes))
    if len(steps) == 1:
        return f"lanes {lanes[0]}, {lanes[1]} … {lanes[-1]}"
    return "lanes " + ", ".join(map(str, lanes[:LANES_SHOWN])) + " …"


# --------------------------------------------------------------------------------------------------------------- global


def _active(request: WorstRequest) -> dict[int, int]:
    """Lane -> byte offset, of the active lanes."""
    return {lane: offset for lane, offset in enumerate(request.offsets) if offset is not None}


def _bytes_wanted(request: WorstRequest) -> set[int]:
    return {offset + i for offset in _active(request).values() for i in range(request.bytes_per_lane)}


def _cache_lines(request: WorstRequest) -> tuple[AccessRow, ...]:
    wanted = _bytes_wanted(request)
    sectors = {byte // SECTOR_BYTES for byte in wanted}
    starts = sorted({byte // LINE_BYTES * LINE_BYTES for byte in wanted})
    return tuple(
        AccessRow(
            start,
            tuple(_cell(start + WORD_BYTES * i, wanted, sectors) for i in range(CELLS)),
            tuple(lane for lane, offset in _active(request).items() if 0 <= offset - start < LINE_BYTES),
        )
        for start in starts
    )


def _cell(byte: int, wanted: set[int], sectors: set[int]) -> str:
    if byte // SECTOR_BYTES not in sectors:
        return IDLE
    used = sum(byte + i in wanted for i in range(WORD_BYTES))
    return {0: WASTED, WORD_BYTES: USED}.get(used, PARTLY)


# --------------------------------------------------------------------------------------------------------------- shared

Bank = dict[int, list[int]]  # word -> the lanes that want it


def _wavefronts(request: WorstRequest) -> tuple[AccessRow, ...]:
    """Wavefront k of a group of lanes serves the k-th word of each bank; the hardware's order is not known."""
    rows: list[AccessRow] = []
    for group in _groups(request):
        for k in range(max(map(len, group.values()))):
            served = {bank: list(words.values())[k] for bank, words in group.items() if k < len(words)}
            lanes = tuple(sorted({lane for some in served.values() for lane in some}))
            cells = tuple(USED if bank in served else IDLE for bank in range(CELLS))
            rows.append(AccessRow(len(rows) + 1, cells, lanes))
    return tuple(rows)


def _groups(request: WorstRequest) -> list[Mapping[int, Bank]]:
    """The words of each bank, for each group of lanes that are served together."""
    active = _active(request)
    words = max(1, request.bytes_per_lane // WORD_BYTES)
    span = CELLS // words * (2 if words > 1 and request.kind == "load" and _partners_agree(active) else 1)
    groups: list[Mapping[int, Bank]] = []
    for first in range(0, CELLS, span):
        banks: dict[int, Bank] = {}
        for lane in (lane for lane in active if first <= lane < first + span):
            start = active[lane] // WORD_BYTES
            for word in range(start, start + words):
                bank = (word + request.base // WORD_BYTES) % CELLS
                banks.setdefault(bank, {}).setdefault(word, []).append(lane)
        if banks:
            groups.append(banks)
    return groups


def _partners_agree(active: Mapping[int, int]) -> bool:
    """Whether all active lanes l and l ^ 1 have one address, or all l and l ^ 2: then groups are twice as large."""
    return any(
        all(active.get(lane ^ distance, offset) == offset for lane, offset in active.items()) for distance in (1, 2)
    )


# ------------------------------------------------------------------------------------------------------------- terminal

INKS: Mapping[str, str] = {USED: "█", PARTLY: "▒", WASTED: "░", IDLE: " "}
MEANINGS: Mapping[str, str] = {USED: "wanted", PARTLY: "partly wanted", WASTED: "moved for nothing"}
STYLES: Mapping[str, str] = {"█+": "cyan", "░+": "red", "▲": "bold red"}
NARROWEST, WIDEST = 60, 74
INDENT = 4


def picture_of(found: Diagnostic, launches: Sequence[LaunchRecord], width: int) -> list[Text]:
    """Return the picture of the request for a missed expectation; empty if there is none."""
    request = picture_for(found, launches)
    lines = access_picture(request, width=width - INDENT) if request else []
    drawn = [Text(" " * INDENT + line, no_wrap=True) for line in lines]
    for line in drawn:
        for pattern, style in STYLES.items():
            line.highlight_regex(pattern, style)
    return drawn


def access_picture(request: WorstRequest, *, width: int = WIDEST) -> list[str]:
    """Return the lines of the picture, without colour; empty if the width is too small."""
    if width < NARROWEST:
        return []
    cells = {cell for row in rows_of(request) for cell in row.cells}
    legend = "   ".join(f"{INKS[cell]} {words}" for cell, words in MEANINGS.items() if cell in cells)
    busiest = busiest_bank(request)
    below = [legend] if request.space != "shared" else [busiest[1]] if busiest else []
    lines = [*wrap(title(request), width, subsequent_indent="  "), ""]
    lines += _drawing(request, busiest, min(width, WIDEST))
    return lines + [line for text in (*below, summary(request)) for line in wrap(text, width, subsequent_indent="  ")]


def _drawing(request: WorstRequest, busiest: tuple[int, str] | None, width: int) -> Iterator[str]:
    shared = request.space == "shared"
    rows = shown_rows(request)
    word = "wavefront" if shared else "byte"
    digits = max(len(str(row.label)) for row in rows if isinstance(row, AccessRow))
    margin = " " * (len(word) + digits + 3)
    heads = ("bank 0", *range(GROUP, CELLS, GROUP)) if shared else [f"sector {i}" for i in range(CELLS // GROUP)]
    yield margin + "".join(f"{head:<{GROUP + 1}}" for head in heads).rstrip()
    for i, row in enumerate(rows):
        if isinstance(row, str):
            yield margin + row
            continue
        inks = "".join(INKS[cell] for cell in row.cells)
        bars = "│".join(inks[at : at + GROUP] for at in range(0, CELLS, GROUP))
        yield f"{'' if i else word:<{len(word)}} {row.label:>{digits}} │{bars}│ {lane_words(row.lanes)}"[:width]
    if busiest:
        yield margin + " " * (busiest[0] + busiest[0] // GROUP) + "▲"
