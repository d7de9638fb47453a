"""What a picture of one memory request shows: rows of 32 cells, and the sentences below them. Pure.

global   a row is a cache line of 128 bytes, a cell its 4-byte word; 8 cells are a sector
shared   a row is a wavefront, a cell one of the 32 banks
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from grader.text import index_words, safe
from grader.verdict import Diagnostic, LaunchRecord, WorstRequest

CELLS = 32
LINE_BYTES, SECTOR_BYTES, WORD_BYTES = 128, 32, 4
USED, PARTLY, WASTED, IDLE = "used", "partly", "wasted", "idle"
"""A cell's bytes: wanted by lanes; some of them; moved for nothing; not moved (of a bank: has nothing to do)."""

ROWS_SHOWN = 5
WORDS_SHOWN = 4


@dataclass(frozen=True)
class Row:
    """One cache line or wavefront. ``label`` is a byte offset or the wavefront's number."""

    label: int
    cells: tuple[str, ...]
    lanes: tuple[int, ...]


def rows_of(request: WorstRequest) -> tuple[Row, ...]:
    """Return the rows of a request's picture, all of them."""
    return _wavefronts(request) if request.space == "shared" else _cache_lines(request)


def shown_rows(rows: Sequence[Row], most: int = ROWS_SHOWN) -> tuple[Sequence[Row], int, Sequence[Row]]:
    """Return the rows to draw first, how many to leave out, and the rows to draw after those."""
    if len(rows) <= most:
        return rows, 0, ()
    return rows[: most - 2], len(rows) - most + 1, rows[-1:]


def picture_for(found: Diagnostic, launches: Iterable[LaunchRecord]) -> WorstRequest | None:
    """Return the request to draw beside a finding about a counter; None where no picture would explain it."""
    space = _space_of(found.counter or "")
    candidates = [
        request
        for launch in launches
        for request in launch.worst
        if request.space == space and found.line in (None, request.line) and found.kernel in (None, request.kernel)
    ]
    worst = max(candidates, key=lambda request: request.taken - request.least, default=None)
    return worst if worst is not None and _wastes(worst) else None


def _wastes(request: WorstRequest) -> bool:
    return request.taken > request.least


def _space_of(counter: str) -> str:
    if "wavefront" in counter or counter.startswith("shared_"):
        return "shared"
    return "global" if "sector" in counter or counter.startswith("global_") else ""


# ---------------------------------------------------------------------------------------------------------------- words


def title(request: WorstRequest) -> str:
    """Return e.g. ``line 6: one load from x, 32 lanes × 4 bytes (block 0, warp 0)``."""
    active = sum(offset is not None for offset in request.offsets)
    verb = {"load": "load from", "store": "store to", "atomic": "atomic on"}.get(request.kind, request.kind)
    where = f"{'shared ' if request.space == 'shared' else ''}{safe(request.array or 'memory')}"
    lanes = f"{_count(active, 'lane')} × {_count(request.bytes_per_lane, 'byte')}"
    place = f"block {index_words(request.block)}, warp {request.warp}"
    return f"line {request.line}: one {verb} {where}, {lanes} ({place})"


def summary(request: WorstRequest) -> str:
    """Return what it costs: sectors and bytes, or wavefronts."""
    if request.space == "shared":
        told = _count(request.taken, "wavefront")
        return told + (f" where {request.least} would do: a bank serves one word at a time" if _wastes(request) else "")
    wanted = len(_bytes_wanted(request))
    moved = request.taken * SECTOR_BYTES
    told = f"{_count(request.taken, 'sector')} = {moved} bytes moved for {wanted} wanted ({100 * wanted / moved:.3g} %)"
    return told + (f"; {_count(request.least, 'sector')} would do" if _wastes(request) else "")


def busiest_bank(request: WorstRequest) -> tuple[int, str] | None:
    """Return a bank with the most words, and which they are; None where no bank has two."""
    if request.space != "shared":
        return None
    banks = [bank for group in _groups(request) for bank in group.items()]
    bank, words = max(banks, key=lambda found: len(found[1]), default=(0, {}))
    if len(words) < 2:
        return None
    named = [f"{word} ({lane_words(lanes)})" for word, lanes in words.items()]
    more = " …" if len(named) > WORDS_SHOWN else ""
    return bank, f"bank {bank} has {len(words)} words: " + ", ".join(named[: WORDS_SHOWN - bool(more)]) + more


def lane_words(lanes: Sequence[int], most: int = 3) -> str:
    """Return e.g. ``lane 3``, ``lanes 0–15``, ``lanes 0, 2 … 30``, ``lanes 1, 5, 7 …``."""
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    steps = {after - before for before, after in pairwise(lanes)}
    if steps == {1} and len(lanes) > 2:
        return f"lanes {lanes[0]}–{lanes[-1]}"
    if len(lanes) <= most:
        return "lanes " + ", ".join(map(str, lanes))
    if len(steps) == 1:
        return f"lanes {lanes[0]}, {lanes[1]} … {lanes[-1]}"
    return "lanes " + ", ".join(map(str, lanes[:most])) + " …"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


# --------------------------------------------------------------------------------------------------------------- global


def _active(request: WorstRequest) -> list[tuple[int, int]]:
    return [(lane, offset) for lane, offset in enumerate(request.offsets) if offset is not None]


def _bytes_wanted(request: WorstRequest) -> set[int]:
    return {offset + i for _, offset in _active(request) for i in range(request.bytes_per_lane)}


def _cache_lines(request: WorstRequest) -> tuple[Row, ...]:
    wanted = _bytes_wanted(request)
    sectors = {byte // SECTOR_BYTES for byte in wanted}
    starts = sorted({byte // LINE_BYTES * LINE_BYTES for byte in wanted})
    return tuple(
        Row(
            start,
            tuple(_cell(start + WORD_BYTES * i, wanted, sectors) for i in range(CELLS)),
            tuple(lane for lane, offset in _active(request) if 0 <= offset - start < LINE_BYTES),
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


def _wavefronts(request: WorstRequest) -> tuple[Row, ...]:
    """Wavefront k of a group of lanes serves the k-th word of each bank; which one the hardware takes is its own."""
    rows: list[Row] = []
    for group in _groups(request):
        for turn in range(max(map(len, group.values()))):
            served = {bank: list(words.values())[turn] for bank, words in group.items() if turn < len(words)}
            lanes = tuple(sorted({lane for some in served.values() for lane in some}))
            cells = tuple(USED if bank in served else IDLE for bank in range(CELLS))
            rows.append(Row(len(rows) + 1, cells, lanes))
    return tuple(rows)


def _groups(request: WorstRequest) -> list[Mapping[int, Bank]]:
    """The words that each bank has to serve, for each group of lanes that are served together."""
    active = dict(_active(request))
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
    """Whether all active lanes l and l ^ 1 want one address, or all l and l ^ 2: then groups are twice as large."""
    return any(
        all(active.get(lane ^ distance, offset) == offset for lane, offset in active.items()) for distance in (1, 2)
    )
