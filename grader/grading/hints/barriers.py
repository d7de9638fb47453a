"""Hints for races in a block, from the source: the barrier that is missing, too weak or not reached by all threads."""

from __future__ import annotations

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.findings.sentences.words import VERBS
from grader.grading.hints.indices import made_of
from grader.grading.hints.rules import Seen, access, kernel, race, rule
from grader.grading.source_view import SourceView

_WRITE_READ = (access("write", 49, 4), access("read", 5, 6))


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
    weak = (one for one in barriers if one.kind == "name" or (one.name == "__syncwarp" and not in_one_warp(found)))
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
    if lines is None or found.space != "shared" or not in_one_warp(found) or _passed_by(found, seen):
        return None
    return lines if any(map(_lets_one_warp_in, seen.source.comparisons(lines[0]))) else None


def _lets_one_warp_in(comparison: Part) -> bool:
    left, right = comparison.texts
    one_warp = {"<": ("32", "warpSize"), "<=": ("31",), "==": ("0",)}.get(comparison.name, ())
    return right in one_warp and (right != "0" or left.replace(" ", "").endswith("/32"))


def in_one_warp(found: Finding) -> bool:
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
