"""Hints for races: the barrier that is missing, too weak or not reached by all threads."""

from __future__ import annotations

import re

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.findings.sentences.words import VERBS, Words
from grader.grading.hints.arrays import value_of
from grader.grading.hints.indices import as_matrix, bounds, made_of, of_the_access, one_index, origins
from grader.grading.hints.rules import Seen, access, finding, kernel, race, rule, table
from grader.grading.source_view import SourceView
from grader.launch import Launch, LaunchPlan
from grader.text import listed

_WRITE_READ = (access("write", 49, 4), access("read", 5, 6))
_OTHER_BLOCK = (access("write", 5, 4, block=1), access("read", 5, 6))


# ----------------------------------------------------------------------------------------------- from the source


def _lines(found: Finding, seen: Seen) -> tuple[int, int] | None:
    """The lines of the two accesses, the upper one first, if the source between them is known; else None."""
    places = [(place.line, place.block) for place in found.places if place.line is not None]
    copies = any(place.role == "copy" for place in found.places)
    if not places or len({block for _, block in places}) > 1 or copies:
        return None  # a copy is often started in another function, above the barriers
    low, *_, high = sorted((places[0][0], places[-1][0]))
    same_function = seen.source.function(low) == seen.source.function(high)
    return (low, high) if same_function and seen.source.is_clear(low, high) else None


def _weak_barrier(found: Finding, seen: Seen) -> Part | None:
    """The first barrier that is not called, or is for one warp although the threads are in two.

    It is between the two lines, or the next one after both in a loop that returns to the upper one.
    """
    lines = _lines(found, seen)
    if lines is None:
        return None
    low, high = lines
    barriers = seen.source.barriers(low, high) if low != high else []
    loop = seen.source.loop(low, high)
    if loop is not None and (found.places[0].line or 0) >= (found.places[-1].line or 0):
        barriers += seen.source.barriers(high, loop.last)[:1]
    weak = (one for one in barriers if one.kind == "name" or (one.name == "__syncwarp" and not _in_one_warp(found)))
    return next(weak, None)


@rule("race", example=race("within_block", *_WRITE_READ), seen=kernel("part[t] = 1;", "__syncthreads;"))
def barrier_that_is_not_called(found: Finding, seen: Seen) -> str:
    weak = _weak_barrier(found, seen)
    if weak is None or weak.kind == "call":
        return ""
    return f"line {weak.line} says `{weak.name}` without (), which calls nothing: write `{weak.name}();`"


@rule("race", example=race("within_block", *_WRITE_READ), seen=kernel("part[t] = 1;", "__syncwarp();"))
def barrier_of_one_warp(found: Finding, seen: Seen) -> str:
    weak = _weak_barrier(found, seen)
    if weak is None:
        return ""
    lanes = f"the __syncwarp() in line {weak.line} orders the lanes of one warp only"
    return f"{lanes}: between warps it takes __syncthreads()"


def _passed_by(found: Finding, seen: Seen) -> tuple[int, int, int] | None:
    """The two lines in order, and the line of a block barrier between them, which does not order them; else None."""
    lines = _lines(found, seen)
    if lines is None or lines[0] == lines[1]:
        return None
    whole = [one.line for one in seen.source.barriers(*lines) if one.name == "__syncthreads"]
    return (*lines, whole[0]) if whole else None


_WRITE_READ_7 = race("within_block", access("write", 49, 4), access("read", 5, 7))


@rule("race", example=_WRITE_READ_7,
      seen=kernel("part[t] = 1;", "if (t > 9) return;", "__syncthreads();", "x = part[t ^ 1];"))  # fmt: skip
def return_before_the_barrier(found: Finding, seen: Seen) -> str:
    passed = _passed_by(found, seen)
    left = seen.source.first_return(passed[0], passed[2]) if passed else None
    if passed is None or left is None:
        return ""
    return (
        f"the __syncthreads() in line {passed[2]} does not order these two: threads that return in line {left} never "
        "reach it, and it waits for the others only. Put the work into an if, so that every thread of the block stays "
        "until the last barrier"
    )


@rule("race", example=race("within_block", access("read", 49, 7), access("write", 5, 5)),
      seen=kernel("for (;;) {", "    part[t] = 1;", "    __syncthreads();", "    x = part[t ^ 1];", "}"))  # fmt: skip
def barrier_of_one_round(found: Finding, seen: Seen) -> str:
    passed = _passed_by(found, seen)
    loop = seen.source.loop(passed[0], passed[1]) if passed else None
    if passed is None or loop is None:
        return ""
    orders = f"the __syncthreads() in line {passed[2]} orders one iteration of the loop in line {loop.line}"
    return f"{orders}, but not the next iteration after it: end the loop's body with a __syncthreads() too"


_HELPER = Seen(
    SourceView("""\
__device__ void f() {
    part[t] = 1;
    __syncthreads();
    x = part[t ^ 1];
}
__global__ void k() {
    f();
    f();
}""")
)
_TWO_CALLS = race("within_block", access("write", 49, 2), access("read", 5, 4), facts={"calls": (8, 7)})


@rule("race", example=_TWO_CALLS, seen=_HELPER)
def barrier_of_one_call(found: Finding, seen: Seen) -> str:
    """The accesses are in two calls of a function: its barrier is between those of one call."""
    passed = _passed_by(found, seen)
    function = seen.source.function(passed[0]) if passed else None
    if passed is None or function is None or function.kind != "function" or not function.name:
        return ""
    orders = f"the __syncthreads() in line {passed[2]} orders the accesses of one call of {function.name}()"
    after = f"end {function.name}() with a __syncthreads() after its last access"
    if calls := found.facts.get("calls"):
        (first, second), (one, other) = (VERBS[place.role] for place in found.places), calls
        return (
            f"{first} in the call in line {one}, {second} in the call in line {other}, and {orders} only: {after}, or "
            "give each call an array of its own"
        )
    loops = {line: seen.source.loop(line) for line in seen.source.calls(function.name)}
    line, loop = next(((line, loop) for line, loop in loops.items() if loop is not None), (0, None))
    if loop is None or any(map(seen.source.condition, seen.source.barriers(passed[0], passed[1]))):
        return ""
    return f"{orders}, but not the next call, and the one in line {line} is in the loop in line {loop.line}: {after}"


@rule("race", example=_WRITE_READ_7,
      seen=kernel("part[t] = 1;", "if (t > 9)", "    __syncthreads();", "x = part[t ^ 1];"))  # fmt: skip
def way_around_the_barrier(found: Finding, seen: Seen) -> str:
    passed = _passed_by(found, seen)
    if passed is None:
        return ""
    return f"the __syncthreads() in line {passed[2]} does not order these two: is there a way around it?"


_NOT_IN_STEP = (
    "both threads are lanes of one warp, and the lanes of a warp do not run in step: put a __syncwarp() between"
)
_READ_FIRST = "read into a variable, {}, then write"


@rule("race", example=race("one_line", access("write", 9, 5), access("read", 5, 5)),
      seen=kernel("if (t < 32)", "    part[t] += part[t + 4];"))  # fmt: skip
def step_of_one_warp(found: Finding, seen: Seen) -> str:
    lines = _of_one_warp(found, seen)
    if lines is None or lines[0] != lines[1] or not _of_two_elements(found, seen, lines[0]):
        return ""
    loop = seen.source.loop(*lines)
    first, last = (loop.line, loop.last) if loop is not None else lines
    if any(one.name == "__syncwarp" for one in seen.source.barriers(first, last)):
        return (
            "within one step a lane reads the element that another lane of its warp writes: let only the lanes that "
            f"add take part (`if (t < s)`), or {_READ_FIRST.format('__syncwarp()')}. Shuffles need neither"
        )
    return (
        f"{_NOT_IN_STEP} a step and the next, and let only the lanes that add take part (`if (t < s)`); or "
        f"{_READ_FIRST.format('__syncwarp()')}. Shuffles need neither"
    )


@rule("race", example=race("within_block", access("write", 9, 5), access("read", 5, 6)),
      seen=kernel("if (t < 32) {", "    part[t] = 1;", "    x = part[t + 4];", "}"))  # fmt: skip
def steps_of_one_warp(found: Finding, seen: Seen) -> str:
    lines = _of_one_warp(found, seen)
    if lines is None or lines[0] == lines[1]:
        return ""
    between, loop = seen.source.barriers(*lines), seen.source.loop(*lines)
    if between and loop is None:
        return ""
    if between and loop is not None:
        orders = f"the __syncwarp() in line {between[0].line} orders one iteration of the loop in line {loop.line}"
        return f"{orders}, but not the next iteration after it: end the loop's body with a __syncwarp() too"
    return f"{_NOT_IN_STEP} the two accesses"


def _of_one_warp(found: Finding, seen: Seen) -> tuple[int, int] | None:
    """The lines, if the race is between lanes of the only warp that works, without a block barrier; else None."""
    lines = _lines(found, seen)
    if lines is None or found.space != "shared" or not _in_one_warp(found) or _passed_by(found, seen):
        return None
    return lines if any(map(_lets_one_warp_in, seen.source.comparisons(lines[0]))) else None


def _lets_one_warp_in(comparison: Part) -> bool:
    left, right = comparison.texts
    one_warp = {"<": ("32", "warpSize"), "<=": ("31",), "==": ("0",)}.get(comparison.name, ())
    return right in one_warp and (right != "0" or left.replace(" ", "").endswith("/32"))


def _in_one_warp(found: Finding) -> bool:
    """Whether both threads are known, and are lanes of one warp (in a one-dimensional block)."""
    threads = [place.thread for place in found.places if place.thread is not None]
    return len(threads) > 1 and len({(x // 32, y, z) for x, y, z in threads}) == 1


def _of_two_elements(found: Finding, seen: Seen, line: int) -> bool:
    """Whether a line accesses two elements of the array, or of a pointer to it, as a step of a tree reduction does."""
    name = found.names[-1] if found.names else found.array
    accesses = seen.source.elements(line)
    own = [one for one in accesses if one.name == name] or [
        one for one in accesses if name in made_of(one.name, seen.source, line)
    ]
    return len({(one.name, one.texts) for one in own}) > len({one.name for one in own})


@rule("race", example=race("one_line", access("write", 49, 5), access("read", 5, 5)),
      seen=kernel("for (int s = 64; s > 0; s /= 2)", "    part[t] += part[t + s];"))  # fmt: skip
def no_barrier_before_the_next_round(found: Finding, seen: Seen) -> str:
    """A line in a loop reads an element and writes another one, without a barrier between iterations."""
    lines = _lines(found, seen)
    loop = seen.source.loop(*lines) if lines and lines[0] == lines[1] else None
    if lines is None or loop is None or not _of_two_elements(found, seen, lines[0]):
        return ""
    inside = [one.name for one in seen.source.barriers(loop.line, loop.last)]
    if "__syncthreads" in inside or not seen.source.is_clear(loop.line, loop.last):
        return ""
    return (
        f"line {lines[0]} runs again in the next iteration of the loop in line {loop.line}, on what other threads have "
        "just written: end the loop's body with __syncthreads()"
    )


@rule("race", example=race("one_line", access("read", 32, 4), access("write", 31, 4)), cause="one_line",
      seen=kernel("part[t] += part[t - 1];", "__syncthreads();"))  # fmt: skip
def read_and_write_of_one_step(found: Finding, seen: Seen) -> str:
    """A statement reads one element and writes another one, and a thread reads what another one writes there."""
    lines = _lines(found, seen)
    if lines is None or lines[0] != lines[1] or found.space != "shared":
        return ""
    if {place.role for place in found.places} != {"read", "write"} or not _of_two_elements(found, seen, lines[0]):
        return ""
    return (
        f"in line {lines[0]} a thread reads the element that another one writes: "
        f"{_READ_FIRST.format('__syncthreads()')}. If only some threads are to take part in a step, does a condition "
        "hold back the others? In a loop each step needs a barrier after it as well"
    )


# ---------------------------------------------------------------------------------------------- from the accesses


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


def _is_of_the_grid(found: Finding) -> bool:
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
    written = _stores(found, seen) if found.space == "global" and not _is_of_the_grid(found) else None
    if not written or len({*written}) < 2:
        return ""
    (first, second), (one, other) = found.places, written
    meet = f"`{one}` in line {first.line} and `{other}` in line {second.line} are one element for two blocks"
    return f"{meet}: if each block is to have its own, look at where a block begins, and at both indices"


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


@rule("missing_fence", "order_dependent", seen=kernel("src[0] = 1;", "__threadfence_block();"),
      example=race("", *_OTHER_BLOCK, kind="missing_fence", space="global"))  # fmt: skip
def fence_of_the_block(found: Finding, seen: Seen) -> str:
    lines = seen.source.calls("__threadfence_block")
    if not lines:
        return ""
    own = f"the __threadfence_block() in line {lines[0]} orders for the threads of its own block"
    return f"{own}: what another block is to see takes a __threadfence()"


@rule("missing_fence", example=race("", access("write", 0, 4, block=1), access("write", 0, 4), kind="missing_fence",
      space="global"))  # fmt: skip
def one_block_should_store(found: Finding, seen: Seen) -> str:
    """Two plain stores: first it has to be clear which block should store, and only then a fence can help."""
    if {place.role for place in found.places} != {"write"} or _is_of_the_grid(found):
        return ""
    return (
        "let one block store there, the one that has the whole result, or give each block elements of its own: is the "
        "index, or where the block begins, right? Only where one block waits for the other's signal, put a "
        "__threadfence() before that signal"
    )


@rule("race", "missing_fence", example=race("between_blocks", access("atomic", 0, 5), access("write", 0, 4, block=1),
      space="global", names=("x",)), seen=kernel("x[t] = 0;", "atomicAdd(&x[t], 1);"))  # fmt: skip
def number_before_the_atomics(found: Finding, seen: Seen) -> str:
    """A block stores a number to what other blocks change by atomics further down."""
    lines = {place.role: place.line for place in found.places}
    store, atomic = lines.get("write"), lines.get("atomic")
    if found.space != "global" or not store or not atomic or store >= atomic:
        return ""
    names = (*found.names, found.array)
    stored = [one.texts[-1] for one in seen.source.parts(store, store, "stored") if one.name in names]
    if not stored or not all(re.fullmatch(r"-?[\d.]+[fu]?", text) for text in stored):
        return ""
    late = f"a block that begins late stores {stored[0]} in line {store} over what others have added by then"
    zero = f": a `// zero {found.array}` line" if float(stored[0].rstrip("fu")) == 0 else ": a launch of its own"
    return f"{late}{zero} does that before all of them"


@rule("race", cause="between_blocks within_block",
      example=race("between_blocks", *_OTHER_BLOCK, space="global", names=("src", "dst")))  # fmt: skip
def one_array_for_two_parameters(found: Finding, seen: Seen) -> str:
    if len(found.names) != 2:
        return ""
    first, second = found.names
    return f"the kernel's {first} and {second} are the same memory here: pass two arrays that take turns"


def _has(role: str, found: Finding) -> bool:
    return any(place.role == role for place in found.places)


def _is_for_the_grid(found: Finding) -> bool:
    """Whether a missing grid barrier in a cooperative launch is the likely cause."""
    within = found.space != "shared" and not found.facts.get("grid_sync") and not _has("copy", found)
    return bool(found.facts.get("cooperative")) and (found.cause == "between_blocks" or within)


def _copy_meets_read(found: Finding) -> bool:
    return found.space == "shared" and _has("copy", found)


def _copy_is_last(found: Finding, seen: Seen) -> bool:
    """Whether the copy certainly starts after the other access: a barrier is missing before it, and not after its wait.

    The accesses of one warp are in their order. Between warps the lines decide, if no loop returns to the upper one.
    """
    first, second = found.places
    if not _copy_meets_read(found) or first.role == second.role:
        return False
    if _in_one_warp(found):
        return second.role == "copy"
    copy, other = (first, second) if first.role == "copy" else (second, first)
    low, high = other.line or 0, copy.line or 0
    function = seen.source.function(low)
    return bool(
        0 < low < high
        and seen.source.is_clear()
        and function is not None
        and function.kind == "kernel"
        and function == seen.source.function(high)
        and seen.source.loop(low, high) is None
    )


_BETWEEN = race("between_blocks", *_OTHER_BLOCK, space="global")
_GRID_SYNC, _COOPERATIVE = {"grid_sync": "grid.sync()"}, {"cooperative": True}
_IN_ANOTHER_ORDER = {"kind": "race", "accesses": (("write", 4), ("read", 6))}
_SAME_LINE = (access("write", 49, 4), access("read", 5, 4))

_OF_BLOCK = (access("atomic", 0, 4, block=1), access("atomic", 0, 4))

table(
    "races",
    ("atomic_of_the_block", "race", "scope_of_the_block", race("scope_of_the_block", *_OF_BLOCK, space="global"),
     "leave out the `_block` in the function's name (in PTX it is `.cta`): without it an atomic is one step for all "
     "blocks"),
    ("grid_sync_between_blocks", "race", "between_blocks",
     race("between_blocks", *_OTHER_BLOCK, space="global", facts=_GRID_SYNC),
     "put a grid.sync() between the two accesses: it orders all blocks, __syncthreads() only its own",
     lambda found: found.facts.get("grid_sync")),
    ("all_blocks_wait", "race", "between_blocks within_block",
     race("between_blocks", *_OTHER_BLOCK, space="global", facts=_COOPERATIVE),
     "put a cooperative_groups::this_grid().sync() between the two accesses: it orders all blocks, __syncthreads() "
     "only its own", _is_for_the_grid),
    ("read_and_write_of_blocks", "race", "between_blocks", _BETWEEN,
     "blocks run in any order. If both are to use this element: write to another array than the one that is read, or "
     "use a second launch; where all blocks change it, an atomic. If not, one of the two indices is wrong",
     lambda found: _has("read", found)),
    ("writes_of_blocks", "race", "between_blocks",
     race("between_blocks", access("write", 0, 4, block=1), access("write", 0, 6), space="global"),
     "blocks run in any order: let only one of them store to the element; where each has a part of the result, use an "
     "atomic, or a second launch"),
)  # fmt: skip


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


table(
    "races",
    ("one_line_in_shared", "race", "one_line several_readers", race("one_line", *_SAME_LINE),
     "one line does both: in a loop, end its body with __syncthreads(); else let one thread do it, or atomicAdd",
     lambda found: found.space == "shared"),
    ("one_line", "race", "one_line several_readers", race("one_line", *_SAME_LINE, space="global"),
     "one line does both: if the element is meant for all of them, use atomicAdd; if threads read what others write, "
     "write to another array than the one that is read"),
)  # fmt: skip


@rule("race", example=race("within_block", access("read", 49, 4), access("copy", 5, 6)),
      seen=kernel("x = part[t ^ 32];", "", "__pipeline_memcpy_async(part + t, src + t, 4);"))  # fmt: skip
def copy_overwrites(found: Finding, seen: Seen) -> str:
    if not _copy_is_last(found, seen):
        return ""
    return (
        "the copy overwrites what other threads may still need: put a __syncthreads() between their last use and the "
        "copy"
    )


table(
    "races",
    ("copy_of_another_thread", "race", "", race("within_block", access("copy", 49, 4), access("read", 5, 6)),
     "a wait is for the thread's own copies only: put a __syncthreads() after it. In a loop the copy of the next "
     "iteration must not start, either, before every thread is done with what it overwrites", _copy_meets_read),
    ("grid_sync_or_barrier", "race", "", race("within_block", *_WRITE_READ, space="global", facts=_GRID_SYNC),
     "put a grid.sync() between the two accesses, or a __syncthreads() if other blocks never touch them",
     lambda found: found.facts.get("grid_sync")),
    ("barrier_of_the_block", "race", "", race("within_block", *_WRITE_READ),
     "put a __syncthreads() between the two accesses; if they stand in a loop, one between its rounds, too",
     lambda found: found.space == "shared" or _has("copy", found)),
    # Shared memory belongs to one block; a race in global memory is likely to be with other blocks as well.
    ("within_one_launch", "race", "", race("within_block", *_WRITE_READ, space="global"),
     "if no other block touches these elements, put a __syncthreads() between the two accesses; else write to another "
     "array than the one that is read, or use a second launch"),
    ("barrier_of_ones_own", "missing_fence", "",
     race("", *_OTHER_BLOCK, kind="missing_fence", space="global", facts=_COOPERATIVE),
     "let all blocks wait with cooperative_groups::this_grid().sync(). A barrier of your own needs a __threadfence() "
     "before its atomic and after its wait, and a counter that begins anew in each launch",
     lambda found: found.facts.get("cooperative")),
    ("fence_before_the_signal", "missing_fence", "", race("", *_OTHER_BLOCK, kind="missing_fence", space="global"),
     "if an atomic tells the other block that the value is there, put a __threadfence() before that atomic"),
    ("volatile_orders_nothing", "order_dependent", "volatile",
     finding("order_dependent", "volatile", facts=_IN_ANOTHER_ORDER),
     "`volatile` lets no thread wait for another. Between threads of a block put a __syncthreads(), within one warp a "
     "__syncwarp(). To hand values to another block, put a __threadfence() before the atomic or the flag that tells "
     "about them"),
    ("no_order_of_atomics", "order_dependent", "atomic",
     finding("order_dependent", "atomic", facts=_IN_ANOTHER_ORDER),
     "an atomic is one step, but nothing holds two of them together, and no block knows that it is the last: change "
     "the element with one atomic, and let the block that draws the last ticket do what is left"),
    ("the_same_work_twice", "same_value_write", "",
     race("", access("write", 0, 4, block=1), access("write", 0, 4), kind="same_value_write", space="global"),
     "both compute the same index. If each element is to be one thread's work, look at where a thread's index begins, "
     "and how far it steps", lambda found: found.space == "global"),
    ("one_writer_is_enough", "same_value_write", "",
     race("", access("write", 49, 4), access("write", 5, 4), kind="same_value_write"),
     "harmless here, but one writer is enough"),
)  # fmt: skip
