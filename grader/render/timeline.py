"""The layout of a timeline: a row for each stream, runs of short operations merged, axis, busy engines. Pure.

    chart_of(timeline, cells=60) -> Chart | None        positions from 0 to 1, for timeline_text and drawing

``cells`` is the drawing's horizontal resolution: narrower operations are merged with their neighbours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product

from grader.frozen import dataclass
from grader.text import bytes_words, counted, duration, safe
from grader.verdict import Operation, Timeline

ENGINES: Mapping[str, str] = {
    "to_device": "copy in", "kernel": "compute", "to_host": "copy out", "peer": "between GPUs",
    "prefetch": "prefetch", "on_device": "copy on the GPU", "on_host": "copy on the host", "fill": "fill",
}  # fmt: skip
"""The engine of each kind of operation, in the order of the legend."""

OPERATIONS_DRAWN = 20_000
LANES_SHOWN = 14
NAME_SHOWN = 24
LINES_SHOWN = 4
ALIKE = 1.5  # touching operations of one name that are shorter (in cells) are merged; with a visible gap, one cell
BEAT = 1.85  # operations of one name whose starts are closer (in cells) are merged: a bar and a gap need two cells
RETURNED = "run() had returned"


@dataclass(frozen=True)
class Marked:
    """An operation of a finding: its line of the host file, its stream if that is known, and a word."""

    line: int
    word: str
    stream: int | None = None
    device: int = 0  # valid if the stream is known
    turn: int | None = None  # its number among the operations of its line, if the finding has it
    drawn: bool = True  # False for an operation of an earlier run, which is not in the timeline

    def fits(self, operation: Operation) -> bool:
        same_stream = self.stream is None or (operation.device, operation.stream) == (self.device, self.stream)
        same_turn = self.turn is None or operation.turn in (self.turn, 0)
        return self.drawn and operation.line == self.line and same_stream and same_turn


@dataclass(frozen=True)
class Bar:
    """One operation, or a run of short ones, between ``left`` and ``right`` of the whole width."""

    kinds: tuple[str, ...]  # a run of several kinds has them in the order of their first operation
    name: str  # "x", "1000 × step", "500 × (x, step)"
    left: float
    right: float
    start_s: float
    end_s: float
    count: int
    bytes: int
    lines: tuple[int, ...]
    mark: str = ""
    scale: float = 1.0  # the time is for this multiple of the bytes

    @property
    def words(self) -> str:
        """The bar in a sentence, for tooltips and screen readers."""
        what = " and ".join(ENGINES[kind] for kind in self.kinds)
        moved = f", {self.moved}" if self.bytes else ""
        at = f" from {duration(self.start_s)}" if self.start_s else " from the beginning"
        return f"{what}: {self.name}{moved}, {duration(self.end_s - self.start_s)}{at}{self.lines_words}"

    @property
    def moved(self) -> str:
        """``64 MiB``, or ``32 KiB, timed as 4 MiB``; "" if no bytes were moved."""
        timed = f", timed as {bytes_words(self.bytes * self.scale)}" if self.scale != 1 else ""
        return f"{bytes_words(self.bytes)}{timed}" if self.bytes else ""

    @property
    def lines_shown(self) -> str:
        return ", ".join(map(str, self.lines[:LINES_SHOWN])) + ", …" * (len(self.lines) > LINES_SHOWN)

    @property
    def lines_words(self) -> str:
        return f" (line{'s' * (len(self.lines) > 1)} {self.lines_shown})" if self.lines else ""


@dataclass(frozen=True)
class Lane:
    """One row: a stream, or one of several rows of a stream whose operations run concurrently (as a graph's may)."""

    label: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Chart:
    """A timeline, ready to be drawn."""

    lanes: tuple[Lane, ...]
    left_out: int  # number of lanes that are not shown
    ticks: tuple[tuple[float, str], ...]  # place on the axis, label
    shares: tuple[tuple[str, float], ...]  # engine and the part of the time that it is busy; mean over the GPUs
    together: float  # the part of the time in which two or more of a GPU's engines are busy; mean over the GPUs
    devices: int
    kinds: tuple[str, ...]
    elapsed_s: float
    caption: tuple[str, ...]
    cells: int
    returned: float | None  # the position at which `run()` returned, if operations ran after it

    @property
    def bars(self) -> list[Bar]:
        return [bar for lane in self.lanes for bar in lane.bars]

    @property
    def shares_words(self) -> tuple[str, ...]:
        """E.g. ``copy in 92 % busy``, ``compute 81 %``, ``two or more at once 70 %``."""
        words = [f"{engine} {_part(share)}" for engine, share in self.shares]
        words[0] += " busy"
        words += [f"two or more at once {_part(self.together)}"] if len(self.shares) > 1 else []
        words += [f"mean of {self.devices} GPUs"] if self.devices > 1 else []
        return tuple(words)


def _part(share: float) -> str:
    return f"{100 * min(1.0, share):.0f} %"


def chart_of(timeline: Timeline, *, cells: int, marks: Sequence[Marked] = ()) -> Chart | None:
    """Return the layout; None if there is no operation with valid times."""
    operations = [operation for operation in timeline.operations[:OPERATIONS_DRAWN] if _is_sound(operation)]
    total_s = max([timeline.elapsed_s if math.isfinite(timeline.elapsed_s) else 0.0, *(o.end_s for o in operations)])
    if not operations or total_s <= 0:
        return None
    lanes = [*_lanes(operations, total_s, cells, _marked(operations, marks), timeline.scale)]
    shown = _most_telling(lanes)
    devices = {operation.device for operation in operations}
    busy = _busy_spans(operations)
    length_s = {
        kind: sum(math.fsum(end - start for start, end in spans) for spans in by_device.values())
        for kind, by_device in busy.items()
    }
    together_s = sum(_together([spans[at] for spans in busy.values() if at in spans]) for at in devices)
    return Chart(
        lanes=tuple(shown),
        left_out=len(lanes) - len(shown),
        ticks=_ticks(total_s),
        shares=tuple((name, length_s[kind] / total_s / len(devices)) for kind, name in ENGINES.items() if kind in busy),
        together=together_s / total_s / len(devices),
        devices=len(devices),
        kinds=tuple(kind for kind in ENGINES if any(kind in bar.kinds for lane in shown for bar in lane.bars)),
        elapsed_s=total_s,
        caption=_caption(timeline),
        cells=cells,
        returned=timeline.elapsed_s / total_s if 0 <= timeline.elapsed_s < total_s * (1 - 1e-6) else None,
    )


def _caption(timeline: Timeline) -> tuple[str, ...]:
    """The source of the times, and that they are not the measurement of the stage `fast`."""
    device = safe(timeline.device)
    first = (f"the first {OPERATIONS_DRAWN} operations",) if len(timeline.operations) > OPERATIONS_DRAWN else ()
    if not timeline.modelled:
        return f"measured on {device} by events", *first, "not graded"
    article = "an" if device[:1] in "AEIO" else "a"
    scaled = device.replace(", with", " with").replace(" simulated ", " ")
    return f"modelled for {article} {scaled}", *first, "times not graded as `fast`"


def _is_sound(operation: Operation) -> bool:
    """Whether an operation can be drawn: a GPU's timeline comes from the child, which is hostile."""
    times = (operation.start_s, operation.end_s)
    return all(map(math.isfinite, times)) and 0 <= times[0] <= times[1] and operation.kind in ENGINES


# ------------------------------------------------------------------------------------------------------------ the bars


def _lanes(
    operations: Iterable[Operation], total_s: float, cells: int, marked: Mapping[int, str], scale: float
) -> Iterator[Lane]:
    """The rows of every stream, in the order of GPUs and streams."""
    streams: dict[tuple[int, int], list[Operation]] = {}
    for operation in operations:
        streams.setdefault((operation.device, operation.stream), []).append(operation)
    several = len({device for device, _ in streams}) > 1
    for (device, stream), queued in sorted(streams.items()):
        label = f"stream {stream}" if stream else "default"
        label = f"GPU {device} {label}" if several else label
        for i, lane in enumerate(_side_by_side(queued)):
            bars = (_bar(run, total_s, marked, scale) for run in _runs(lane, total_s / cells, marked))
            yield Lane(label if i == 0 else "", tuple(bars))


def _side_by_side(operations: Iterable[Operation]) -> list[list[Operation]]:
    """The operations of a stream in rows without overlap: one row, except for a graph's branches."""
    lanes: list[list[Operation]] = []
    for operation in sorted(operations, key=lambda o: (o.start_s, o.end_s)):
        slack_s = 1e-9 + 1e-6 * operation.end_s  # clocks are rounded
        free = next((lane for lane in lanes if lane[-1].end_s <= operation.start_s + slack_s), None)
        if free is None and len(lanes) < LANES_SHOWN:
            lanes.append(free := [])
        (lanes[-1] if free is None else free).append(operation)
    return lanes


def _runs(lane: Sequence[Operation], cell_s: float, marked: Mapping[int, str]) -> list[list[Operation]]:
    """Merge neighbours that could not be distinguished: first those of one name, then other narrow ones."""

    def near(a: list[Operation], b: list[Operation]) -> bool:
        return b[0].start_s - a[-1].end_s < cell_s and id(a[-1]) not in marked and id(b[0]) not in marked

    def alike(a: list[Operation], b: list[Operation]) -> bool:
        before, after = a[-1], b[0]
        touching = after.start_s - before.end_s < cell_s / 4
        most_s = cell_s * (ALIKE if touching else 1)
        short = all(one.end_s - one.start_s < most_s for one in (before, after))
        hasty = after.start_s - before.start_s < cell_s * BEAT
        return (short or hasty) and (before.kind, before.name) == (after.kind, after.name)

    def narrow(a: list[Operation], b: list[Operation]) -> bool:
        return all(one[-1].end_s - one[0].start_s < cell_s for one in (a, b))

    return _joined(_joined([[one] for one in lane], near, alike), near, narrow)


Test = Callable[[list[Operation], list[Operation]], bool]


def _joined(pieces: Iterable[list[Operation]], *tests: Test) -> list[list[Operation]]:
    """Pieces in a row, joined if all ``tests`` hold between a piece and the next one (before any joining)."""
    joined: list[list[Operation]] = []
    before: list[Operation] | None = None
    for piece in pieces:
        if before is not None and all(test(before, piece) for test in tests):
            joined[-1] += piece
        else:
            joined.append([*piece])
        before = piece
    return joined


def _bar(run: Sequence[Operation], total_s: float, marked: Mapping[int, str], scale: float) -> Bar:
    start_s, end_s = run[0].start_s, max(operation.end_s for operation in run)
    return Bar(
        kinds=tuple(dict.fromkeys(operation.kind for operation in run)),
        name=_name(run),
        left=start_s / total_s,
        right=end_s / total_s,
        start_s=start_s,
        end_s=end_s,
        count=len(run),
        bytes=sum(operation.bytes for operation in run),
        lines=tuple(sorted({operation.line for operation in run if operation.line})),
        mark=marked.get(id(run[0]), ""),
        scale=scale,
    )


def _name(run: Sequence[Operation]) -> str:
    """``step``, ``1000 × step``, ``500 × (x, step)``; for a mixture, the number of operations."""
    counts = Counter(_short(operation.name) or ENGINES[operation.kind] for operation in run)
    (name, most), *others = counts.items()
    if not others:
        return name if most == 1 else f"{most} × {name}"
    if len(counts) <= 3 and all(count == most for _, count in others):
        return f"{most} × " * (most > 1) + f"({', '.join(counts)})"
    return counted(len(run), "operation")


def _short(name: str) -> str:
    shown = safe(name[: 4 * NAME_SHOWN])
    return shown if len(shown) <= NAME_SHOWN else shown[: NAME_SHOWN - 2] + ".."


def _most_telling(lanes: Sequence[Lane]) -> list[Lane]:
    """At most LANES_SHOWN rows in their order: preferably those of a finding, then the fullest ones."""

    def worth(i: int) -> tuple[bool, float]:
        bars = lanes[i].bars
        return not any(bar.mark for bar in bars), -sum(bar.right - bar.left for bar in bars)

    return [lanes[i] for i in sorted(sorted(range(len(lanes)), key=worth)[:LANES_SHOWN])]


# ----------------------------------------------------------------------------------------------------- what is marked


def _marked(operations: Sequence[Operation], marks: Sequence[Marked]) -> dict[int, str]:
    """The words of marked operations, by identity. If several operations fit two marks, the closest pair."""
    choices = [[o for o in operations if m.fits(o)] for m in marks]
    if len(choices) == 2 and all(choices):
        pairs = product(choices[0][:NEAR], choices[1][:NEAR])
        first, second = min(pairs, key=lambda pair: (pair[0] is pair[1], abs(pair[0].start_s - pair[1].end_s)))
        return {id(second): marks[1].word, id(first): marks[0].word}
    return {id(found[0]): mark.word for found, mark in zip(choices, marks, strict=True) if found}


NEAR = 64  # the maximum number of operations of each line that are compared


# ----------------------------------------------------------------------------------------------------- busy engines

Spans = list[tuple[float, float]]


def _busy_spans(operations: Iterable[Operation]) -> dict[str, dict[int, Spans]]:
    """By kind and GPU, the times at which at least one such operation runs, in order, without overlap."""
    busy: dict[str, dict[int, Spans]] = {}
    for operation in sorted(operations, key=lambda o: (o.start_s, o.end_s)):
        spans = busy.setdefault(operation.kind, {}).setdefault(operation.device, [])
        if spans and operation.start_s <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(operation.end_s, spans[-1][1]))
        else:
            spans.append((operation.start_s, operation.end_s))
    return busy


def _together(engines: Iterable[Spans]) -> float:
    """Seconds in which two or more of the engines are busy."""
    events = sorted(
        (at, change) for spans in engines for span in spans for at, change in zip(span, (1, -1), strict=True)
    )
    busy, several = 0, 0.0
    for (now, change), (then, _) in pairwise(events):
        busy += change
        several += (then - now) * (busy >= 2)
    return several


# ------------------------------------------------------------------------------------------------------------ the axis


def _ticks(total_s: float) -> tuple[tuple[float, str], ...]:
    """Four to eight round times in one unit, which the last label has."""
    scale, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if total_s >= s), (1e-9, "ns"))
    whole = total_s / scale
    raw = 10.0 ** math.floor(math.log10(whole / 4))
    step = next(raw * factor for factor in (5, 2, 1) if raw * factor <= whole / 3)
    places = [step * i for i in range(int(whole / step + 1e-9) + 1)]
    labels = [f"{place:.10g}" for place in places]
    labels[-1] += f" {unit}"
    return tuple((place / whole, label) for place, label in zip(places, labels, strict=True))
