"""Hints for races of two threads that store to one element, where each was to have its own: index, row or array."""

from __future__ import annotations

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.findings.sentences.words import Words
from grader.grading.hints.arrays import value_of
from grader.grading.hints.indices import as_matrix, bounds, of_the_access, one_index, origins
from grader.grading.hints.rules import Seen, access, kernel, race, rule
from grader.grading.source_view import SourceView
from grader.launch import Launch, LaunchPlan
from grader.text import listed

_SAME_STORE = race("between_blocks", access("write", 0, 4, block=1), access("write", 0, 4), space="global", index=0)


def _stored_by_both(found: Finding, seen: Seen) -> list[Part] | None:
    """The accesses to the array in the line where two blocks store to it; None for other races."""
    first, second = found.places
    same_store = first.role == second.role == "write" and first.line == second.line
    known = same_store and found.line is not None and seen.source.is_clear(found.line, found.line)
    return of_the_access(found, seen.source) if known and not found.facts.get("grid_sync") else None


@rule("race", example=_SAME_STORE, seen=kernel("src[0] = sum;"), cause="between_blocks")
def one_element_of_all_blocks(found: Finding, seen: Seen) -> str:
    """All blocks store to element 0, with the literal index 0."""
    accesses = _stored_by_both(found, seen)
    pointed = [one.name for one in seen.source.parts(found.line or 0, found.line or 0, "pointer")]
    says = one_index(accesses) == "0" if accesses else Words(found).name in pointed
    if accesses is None or found.index != 0 or not says:
        return ""
    meant = f"did each block mean {Words(found).name}[blockIdx.x]? "
    return f"{meant}If the element is meant for all of them: use an atomic, or a second launch"


def _is_the_same_for_all(index: str, number: str, found: Finding, seen: Seen) -> bool:
    """Whether an index does not depend on the number of the thread, or of the block."""
    depends = origins(index, seen.source, found.line or 0) if index else None
    return depends is not None and number not in depends


_TWO_ROWS = LaunchPlan((Launch(kernel="k", args=("x", 2, 3), grid=(1, 1, 1), block=(8, 8, 1), line=1),))
_ROWS_OF_2 = "__global__ void k(float* x, int rows, int cols) {\nif (r < rows && c < cols) x[r * rows + c] = 1;\n}"


@rule("race", cause="one_index between_blocks", seen=Seen(SourceView(_ROWS_OF_2), _TWO_ROWS),
      example=race("one_index", access("write", 1, 2), access("write", 2, 2), space="global"))  # fmt: skip
def rows_that_overlap(found: Finding, seen: Seen) -> str:
    """A row of the index is shorter than its column may be: the next row begins inside it."""
    accesses = of_the_access(found, seen.source) if _on_one_line(found) and found.line else []
    index, known = one_index(accesses), bounds(seen.source, accesses[0]) if accesses else {}
    matrix = as_matrix(index, known)
    if matrix is None or not {matrix.row, matrix.column} <= known.keys():
        return ""
    end = known[matrix.column].more
    long, longest = value_of(matrix.length, found, seen), value_of(end, found, seen)
    if long is None or longest is None or longest <= long:
        return ""
    overlap = f"in `{index}` a row is `{matrix.length}` elements long, but `{matrix.column}` ends at `{end}`"
    return f"{overlap}, so the rows overlap: how long is a row of {Words(found).name}, and is the condition on it?"


def _on_one_line(found: Finding) -> bool:
    return len({place.line for place in found.places}) == 1


@rule("race", cause="one_index", seen=kernel("x[blockIdx.x] = 1;"),
      example=race("one_index", access("write", 49, 4), access("write", 5, 4), space="global"))  # fmt: skip
def one_index_for_all_threads(found: Finding, seen: Seen) -> str:
    index = one_index(of_the_access(found, seen.source)) if found.line else ""
    if not _is_the_same_for_all(index, "threadIdx", found, seen):
        return ""
    return (
        f"`{index}` is the same for all threads of a block: let one of them store there (`if (threadIdx.x == 0)`), or "
        "does the index lack threadIdx?"
    )


@rule("race", example=_SAME_STORE, seen=kernel("src[threadIdx.x] = 1;"), cause="between_blocks")
def one_index_in_all_blocks(found: Finding, seen: Seen) -> str:
    accesses = _stored_by_both(found, seen) or []
    index = one_index(accesses)
    own = bool(accesses) and accesses[0].name in seen.source.parameters(found.kernel or "")
    if not own or index.isdigit() or not _is_the_same_for_all(index, "blockIdx", found, seen):
        return ""
    return f"`{index}` is the same in all blocks, so each stores to the same elements: does the index lack blockIdx?"


@rule("race", example=_SAME_STORE, seen=kernel("if (c < n) x[start + c] = 1;"), cause="between_blocks")
def same_index_in_two_blocks(found: Finding, seen: Seen) -> str:
    """The computed index has the same value in two blocks."""
    accesses = _stored_by_both(found, seen) or []
    index, w = one_index(accesses), Words(found)
    if not index or index.isdigit() or found.facts.get("cooperative"):
        return ""
    first, second = (w.thread(place.thread, place.block) for place in found.places)
    conditions = dict.fromkeys(filter(None, map(seen.source.condition, accesses)))
    loop = seen.source.loop(found.line or 0)
    parts = ["the index", *(f"the condition `{one}`" for one in conditions)]
    parts += [f"the end of the loop in line {loop.line}"] if loop else []
    own = not seen.source.is_changed(accesses[0].name) and accesses[0].name in (*found.names, found.array)
    same = f"`{index}` is {found.index}" if own else f"the index `{index}` leads to the same element"
    return f"{same} for {first} and for {second}, and only one of them should store there: check {listed(parts)}"


NEIGHBOURS = 2  # lines from a statement to the next one
_TWO_STORES = (access("write", 0, 4, block=1), access("write", 0, 5))


def is_of_the_grid(found: Finding) -> bool:
    """Whether all blocks run at the same time, and may wait for each other between two accesses."""
    return bool(found.facts.get("grid_sync") or found.facts.get("cooperative"))


def _stores(found: Finding, seen: Seen) -> list[str] | None:
    """The elements to which two lines store (`=`), as they are written; None if that is not clear."""
    lines = [place.line for place in found.places if place.role == "write" and place.line]
    written = []
    for line in lines if len({*lines}) == 2 else ():
        stored = [one for one in seen.source.parts(line, line, "stored") if one.line == one.last == line]
        elements = [one for one in seen.source.elements(line) if stored and one.name == stored[0].name]
        if len(stored) != 1 or stored[0].texts[0] != "=" or not one_index(elements):
            return None
        written.append(f"{stored[0].name}[{one_index(elements)}]")
    return written or None


@rule("race", "missing_fence", example=race("between_blocks", *_TWO_STORES, space="global", names=("x",)),
      seen=kernel("x[t] = a;", "x[t + 64] = b;"))  # fmt: skip
def two_indices_that_meet(found: Finding, seen: Seen) -> str:
    """Two lines store to the same element in two blocks, and neither adds anything to it."""
    written = _stores(found, seen) if found.space == "global" and not is_of_the_grid(found) else None
    if not written or len({*written}) < 2:
        return ""
    (first, second), (one, other) = found.places, written
    who = "block" if first.block != second.block else "thread"
    meet = f"`{one}` in line {first.line} and `{other}` in line {second.line} are one element for two {who}s"
    return f"{meet}: if each {who} is to have its own, look at where a {who} begins, and at both indices"


@rule("race", example=race("within_block", access("write", 0, 4), access("write", 64, 5)), cause="within_block",
      seen=kernel("low[t] = a;", "high[t] = b;"))  # fmt: skip
def arrays_that_overlap(found: Finding, seen: Seen) -> str:
    """Two statements, one after the other, store to the same element through two names."""
    written = _stores(found, seen)
    if not written or len({one.partition("[")[0] for one in written}) < 2:
        return ""
    first, second = (place.line or 0 for place in found.places)
    stored = [seen.source.parts(line, line, "stored")[0] for line in (first, second)]
    if abs(first - second) > NEIGHBOURS or stored[0].inside != stored[1].inside:
        return ""  # where memory is used again later, under another name, a barrier may be missing
    overlap = f"`{written[0]}` in line {first} and `{written[1]}` in line {second} are one element for two threads"
    return f"{overlap}, so the two arrays overlap: where does each begin, and how many elements has it?"


@rule("race", example=race("one_index", access("write", 49, 4), access("write", 5, 4)), cause="one_index",
      seen=kernel("if (t < n) x[t / 2] = 1;"))  # fmt: skip
def same_index_twice(found: Finding, seen: Seen) -> str:
    two = "two threads come to the same index: give each an element of its own, or let only one of them store there"
    if any(number for place in found.places for number in (place.thread or ())[1:]):
        return (
            f"{two}. In an array of rows, x counts by 1, y by the length of a row, and z by rows times columns, and "
            "each of them must be less than its own length: work out the index for both threads"
        )
    if any(map(seen.source.conditions, of_the_access(found, seen.source))):
        return f"{two}, or look at the condition: is it about the element that this line stores?"
    return f"{two}: work out the index for both threads"
