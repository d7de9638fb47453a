"""The picture of time on a ladder's page: which stage is in flight when, in two steps side by side.

From docs/results/simulated/stages.json, which `scripts/ladders` counts on the simulator (`warp_paths`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

from markdown_check import ROOT
from markupsafe import Markup
from pictures import LETTER, LINE, box, group, line, lines_of_text, picture, reuse, text
from warp_paths import Recorded, Span, Warp

from grader.exercise import Size
from grader.text import counted

STAGES = ROOT / "docs" / "results" / "simulated" / "stages.json"
UNIT = (
    "One unit is one PTX instruction of one warp, counted on the simulator: an order, and no measured time.",
    "A load is in flight from its instruction to the first one that needs its value, an asynchronous",
    "copy to the wait for its group.",
)
OF_BARRIERS = (
    "One unit is one PTX instruction of one warp, counted on the simulator: an order, and no measured time.",
    "Warps leave a barrier when the last one has come, as if each executed one instruction a unit.",
)


@dataclass(frozen=True)
class Story:
    """Two steps of a ladder at one size. ``of_warps`` has a row for each warp, else a row is a stage of one warp.

    ``tiles`` draws loads that are waited for together as one. ``whole`` shows all of the longer step, else the picture
    ends with the shorter one.
    """

    steps: tuple[str, str]
    size: Size
    of_warps: bool = False
    tiles: bool = True
    whole: bool = False
    computing: str = "multiply-adds"


STORIES: Mapping[str, Story] = {
    "transpose": Story(("transpose_v3", "transpose_v4"), {"rows": 768, "cols": 1280}, tiles=False, whole=True),
    "reduce": Story(("reduce_v3", "reduce_v10"), {"n": 2**20}, of_warps=True, whole=True),
    "sgemm": Story(("sgemm_v7", "sgemm_v8"), {"m": 256, "n": 256, "k": 64}),
    "hgemm": Story(("hgemm_wmma_v2", "hgemm_wmma_v5"), {"m": 256, "n": 256, "k": 256}, computing="products"),
}
"""Each ladder's picture: the steps between which the order of the stages is the idea."""


# ---------------------------------------------------------------------------------------------------------- the records


def stages_to_json(records: Sequence[Recorded]) -> str:
    """The document; runs of equal instructions are a letter and a number."""
    rows = [
        {
            "step": one.step, "code": one.code, "size": dict(one.size), "grid": one.grid, "block": one.block,
            "warps": [{"kinds": _packed(warp.kinds), "spans": warp.spans} for warp in one.warps],
        }
        for one in records
    ]  # fmt: skip
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{{"schema": "warpgrade/stages/1", "steps": [\n{lines}\n]}}\n'


@cache
def recorded_steps(path: Path = STAGES) -> Mapping[str, Recorded]:
    """The records by their steps."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["steps"]
    return {row["step"]: _recorded(row) for row in rows}


def _recorded(row: Mapping[str, Any]) -> Recorded:
    warps = [Warp(_unpacked(one["kinds"]), [(began, ended) for began, ended in one["spans"]]) for one in row["warps"]]
    return Recorded(row["step"], row["size"], tuple(row["grid"]), tuple(row["block"]), row["code"], warps)


def _packed(kinds: str) -> str:
    return "".join(f"{letter}{len(list(run))}" for letter, run in groupby(kinds))


def _unpacked(packed: str) -> str:
    return "".join(letter * int(count) for letter, count in re.findall(r"([a-z])(\d+)", packed))


# ---------------------------------------------------------------------------------------------------------- the drawing

LEFT, RIGHT = 152, 706
HEAD, GAP = 28, 14
LANE = 19
STAGE_ROWS = (
    ("w", "to shared memory", "issue"), ("ba", "barriers and waits", "stop"), ("r", "from shared memory", "issue"),
    ("c", "", "multiply"), ("s", "to global memory", "issue"),
)  # fmt: skip
"""Letters of `KINDS`, what they are, and how they are drawn; the arithmetic's name is the ladder's."""

THIN = {"rest": 0.3, "wait": 0.41}
"""What is drawn thinner, so that it can be told without colours: this part of a row stays free above it and below."""

Bar = tuple[int, int, str]
"""From a unit to another one, and how it is drawn."""


@dataclass(frozen=True)
class Panel:
    """One step: rows of bars, how high each is, and how many units there are in all."""

    step: str
    words: str
    rows: Sequence[tuple[str, Sequence[Bar]]]
    height: float
    units: int


def time_in_words(ladder: str) -> str:
    """The picture for those who do not see it."""
    story = STORIES[ladder]
    told = "; ".join(_told(recorded_steps()[step], story) for step in story.steps)
    return f"Stages in flight, in instructions of a warp: {told}"


def _told(one: Recorded, story: Story) -> str:
    warp = one.warps[0]
    if story.of_warps:
        adding = sum("c" in _phase(each.kinds, 1) for each in one.warps)
        barriers = counted(warp.kinds.count("b"), "barrier")
        return f"{one.step}: {barriers}; after the first one {adding} of {len(one.warps)} warps add"
    if not story.tiles:
        return f"{one.step}: at most {counted(most_in_flight(warp), 'load')} in flight"
    return f"{one.step}: {100 * covered(warp):.0f} % of its {story.computing} while a tile is in flight"


def most_in_flight(warp: Warp) -> int:
    return max(sum(began <= at < ended for began, ended in warp.spans) for at, _ in warp.spans)


def covered(warp: Warp) -> float:
    """The part of a warp's arithmetic that is executed while something is in flight."""
    computing = [at for at, kind in enumerate(warp.kinds) if kind == "c"]
    return sum(any(began < at < ended for began, ended in warp.spans) for at in computing) / len(computing)


def _phase(kinds: str, number: int) -> str:
    """A warp's instructions after so many barriers."""
    return (kinds.split("b") + [""] * number)[number]


def time_picture(ladder: str) -> str:
    """Both steps of the ladder's story, one above the other, in the same units."""
    story = STORIES[ladder]
    panels = [_panel(recorded_steps()[step], story) for step in story.steps]
    used = {label for panel in panels for label, bars in panel.rows if bars}
    panels = [replace(one, rows=[row for row in one.rows if row[0] in used or not row[0]]) for one in panels]
    units = (max if story.whole else min)(panel.units for panel in panels)
    body: list[Markup] = []
    y = 4.0
    for panel in panels:
        body += _drawn(panel, y, units)
        y += HEAD + panel.height * len(panel.rows) + GAP
    body += _axis(y, units)
    body += _legend(panels, story, y + 46)
    below = OF_BARRIERS if story.of_warps else UNIT
    body += lines_of_text(y + 76, below)
    return picture("Which stage is in flight when", time_in_words(ladder), body, y + 70 + LINE * len(below))


def _panel(one: Recorded, story: Story) -> Panel:
    if story.of_warps:
        return _warps(one)
    rows = list(_stages(one.warps[0], story))
    words = f"one of the {prod(one.block) // 32} warps of a block"
    return Panel(one.step, words, rows, LANE, len(one.warps[0].kinds))


# A row for each stage of a warp


def _stages(warp: Warp, story: Story) -> Iterator[tuple[str, Sequence[Bar]]]:
    what = "tile in flight" if story.tiles else "load in flight"
    for at, spans in enumerate(_slots(_tiles(warp) if story.tiles else warp.spans)):
        yield (
            "one more" if at else what,
            [(*span, "flight") for span in spans],
        )
    for letters, words, kind in STAGE_ROWS:
        yield words or story.computing, [(*span, kind) for span in _runs(warp.kinds, letters)]


def _tiles(warp: Warp) -> list[Span]:
    """Loads through registers that overlap, as one; groups of asynchronous copies as they are."""
    if "a" in warp.kinds:
        return sorted(warp.spans)
    tiles: list[Span] = []
    for began, ended in sorted(warp.spans):
        if tiles and began < tiles[-1][1]:
            tiles[-1] = (tiles[-1][0], max(ended, tiles[-1][1]))
        else:
            tiles.append((began, ended))
    return tiles


def _slots(spans: Sequence[Span]) -> list[list[Span]]:
    """The spans in as few rows as they overlap."""
    rows: list[list[Span]] = []
    for span in sorted(spans):
        free = next((row for row in rows if row[-1][1] <= span[0]), None)
        if free is None:
            rows.append([span])
        else:
            free.append(span)
    return rows


def _runs(kinds: str, letters: str) -> Iterator[Span]:
    """From where to where the instructions are of these kinds."""
    at = 0
    for wanted, run in groupby(kinds, lambda letter: letter in letters):
        length = len(list(run))
        if wanted:
            yield at, at + length
        at += length


# A row for each warp of a block: a barrier is left by all when the last one has come


def _warps(one: Recorded) -> Panel:
    starts = _barriers(one.warps)
    labels = {0: "warp 0", len(one.warps) - 1: f"warp {len(one.warps) - 1}"}
    rows = [(labels.get(at, ""), list(_row(warp, starts))) for at, warp in enumerate(one.warps)]
    each = prod(one.size.values()) // prod(one.grid)
    words = f"a block of {len(one.warps)} warps, which adds {each} elements"
    return Panel(one.step, words, rows, 128 / len(rows) if len(rows) < 16 else 6, starts[-1])


def _barriers(warps: Sequence[Warp]) -> list[int]:
    """When each phase begins: after the last warp's barrier; the end of all is the last one."""
    phases = [[len(part) + 1 for part in warp.kinds.split("b")] for warp in warps]
    starts = [0]
    for number in range(max(map(len, phases))):
        starts.append(starts[-1] + max(lengths[number] for lengths in phases if number < len(lengths)))
    return starts


def _row(warp: Warp, starts: Sequence[int]) -> Iterator[Bar]:
    """A warp's instructions from the start of each phase, and the rest of it, in which the warp waits."""
    begins = 0
    parts = warp.kinds.split("b")
    for number, part in enumerate(parts):
        at = starts[number]
        for began, ended in warp.spans:
            if begins <= began < begins + len(part):
                yield at + began - begins, at + min(ended - begins, len(part)), "flight"
        for kind, letters in (("rest", "os"), ("multiply", "crw")):
            yield from ((at + first, at + last, kind) for first, last in _runs(part, letters))
        if number + 1 < len(parts):
            yield at + len(part), starts[number + 1], "wait"
        begins += len(part) + 1


# What both have


def _drawn(panel: Panel, y: float, units: int) -> Iterator[Markup]:
    shown = f", the first {units} of {panel.units} instructions" if panel.units > units else ""
    yield text(8, y + 15, panel.step, "plain strong")
    yield text(LEFT, y + 15, panel.words + shown, "dim")
    y += HEAD
    first: dict[tuple[Bar, ...], tuple[str, float]] = {}  # rows that are alike are drawn once
    for at, (label, bars) in enumerate(panel.rows):
        middle = y + panel.height / 2
        if label:
            yield text(LEFT - 8, middle + 4.5, label, "plain end")
        if panel.height > 8:
            yield line(LEFT, y + panel.height - 0.5, RIGHT, y + panel.height - 0.5, "grid")
        name, drawn_at = first.setdefault(tuple(bars), (f"{panel.step}-{at}", y))
        yield reuse(name, y - drawn_at) if drawn_at < y else group(name, [*_boxes(bars, y, panel.height, units)])
        y += panel.height


def _boxes(bars: Sequence[Bar], y: float, height: float, units: int) -> Iterator[Markup]:
    """Bars in their order, those of one kind with less than a pixel between them as one."""
    scale = (RIGHT - LEFT) / units
    for kind in dict.fromkeys(kind for *_, kind in bars):
        last: list[float] = []
        for began, ended, _ in sorted(bar for bar in bars if bar[2] == kind and bar[0] < units):
            x, end = LEFT + began * scale, LEFT + min(ended, units) * scale
            if last and kind != "flight" and x - last[1] < 1:
                last[1] = end
                continue
            yield from _box(last, y, height, kind)
            last = [x, end]
        yield from _box(last, y, height, kind)


def _box(ends: Sequence[float], y: float, height: float, kind: str) -> Iterator[Markup]:
    if ends:
        inset = height * THIN[kind] if kind in THIN else 0.5 if height < 8 else 3.0
        yield box(ends[0], y + inset, max(1.2, ends[1] - ends[0]), height - 2 * inset - 0.5, kind)


def _axis(y: float, units: int) -> Iterator[Markup]:
    step = next(step for step in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if units / step <= 8)
    for at in range(0, units + 1, step):
        x = LEFT + at * (RIGHT - LEFT) / units
        yield line(x, y - GAP, x, y - 6, "axis")
        yield text(x, y + 8, f"{at}", "dim middle")
    yield text((LEFT + RIGHT) / 2, y + 26, "instructions of the warp", "dim middle")


def _legend(panels: Sequence[Panel], story: Story, y: float) -> Iterator[Markup]:
    kinds = {kind for panel in panels for _, bars in panel.rows for *_, kind in bars}
    names = {
        "flight": "in flight", "multiply": "adds" if story.of_warps else story.computing, "issue": "moves data",
        "rest": "other instructions", "stop": "barrier or wait", "wait": "waits at a barrier",
    }  # fmt: skip
    x = float(LEFT)
    for kind in (kind for kind in names if kind in kinds):
        yield from _box([x, x + 16], y - 11, 14, kind)
        yield text(x + 22, y, names[kind])
        x += 44 + LETTER * len(names[kind])
