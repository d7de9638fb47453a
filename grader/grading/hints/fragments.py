"""Hints for the address and the stride of a tile that a warp loads or stores as a fragment.

A finding is about one lane's part of the tile, whose address is not in the source.
"""

from __future__ import annotations

from grader.findings.record import Finding
from grader.findings.sentences.words import Words
from grader.grading.hints.rules import Seen, access, kernel, race, rule, stray

_AT = {"load_matrix_sync": 1, "store_matrix_sync": 0}
"""The index of the argument with the tile's address; the third argument is the stride of its rows."""

_LOAD = {"instruction": "wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "width": 4, "element_bytes": 2}
_STORE = {"instruction": "wmma.store.d.sync.aligned.row.m16n16k16.global.f32"}
_LINE = kernel("wmma::load_matrix_sync(a, src + row * k + i, k);")
_STORES = kernel("wmma::store_matrix_sync(src + row * n + col, sum, k, wmma::mem_row_major);")


def _tile(found: Finding, seen: Seen) -> tuple[str, str] | None:
    """The expressions for the tile's address and its stride, "" if unclear; None if the finding is not about a tile."""
    if seen.given_kernel or not found.facts.get("instruction", "").startswith(("wmma.load", "wmma.store")):
        return None
    line = found.line or 0
    called = {part.name.rpartition("::")[2]: part.texts for part in seen.source.parts(line, line, "call")}
    known = [(texts[_AT[name]], texts[2]) for name, texts in called.items() if name in _AT and len(texts) > 2]
    return known[0] if len(known) == 1 and all(known[0]) else ("", "")


def _begins(tile: tuple[str, str]) -> str:
    begins, apart = tile
    return f"the tile begins at `{begins}`, and its rows are `{apart}` elements apart. " if begins else ""


@rule("out_of_bounds", example=stray("too_wide", 528, 512, facts=_LOAD), seen=_LINE)
def tile_in_the_matrix(found: Finding, seen: Seen) -> str:
    tile = _tile(found, seen)
    if tile is None or found.facts.get("misaligned"):
        return ""
    loop = seen.source.loop(found.line or 0)
    too_long = f" Or does the loop in line {loop.line} go on for too long?" if loop else ""
    asks = f"Does this warp have a tile there, and is a row of {Words(found).name} that long?"
    return f"this is one lane's part of a tile: {_begins(tile)}{asks}{too_long}"


@rule("misaligned", "out_of_bounds",
      example=stray("too_wide", 255, 256, facts=_LOAD | {"misaligned": True}), seen=_LINE)  # fmt: skip
def tile_at_a_multiple(found: Finding, seen: Seen) -> str:
    tile = _tile(found, seen)
    if tile is None:
        return ""
    look = f": look at `{tile[0]}`, at how far its variables go on in a step, and at `{tile[1]}`" if tile[0] else ""
    return f"a tile must begin at a multiple of 32 bytes, and its rows must be a multiple of 16 bytes apart{look}"


@rule("race", example=race("one_index", access("write", 4, 4), access("write", 64, 4), space="global", facts=_STORE),
      seen=_STORES)  # fmt: skip
def tile_of_another_warp(found: Finding, seen: Seen) -> str:
    """Two warps store to the same element in one line."""
    tile = _tile(found, seen)
    stores = {(place.role, place.line) for place in found.places} == {("write", found.line)}
    if tile is None or not stores:
        return ""
    asks = f"Does each warp of the grid have a tile of its own, and is a row of {Words(found).name} that long?"
    return f"the tiles of two warps have this element in common: {_begins(tile)}{asks}"
