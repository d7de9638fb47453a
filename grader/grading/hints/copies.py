"""Hints for asynchronous copies: a wait that is missing or too weak, and barriers between a copy and other threads."""

from __future__ import annotations

from collections.abc import Iterator

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.grading.hints.barriers import in_one_warp
from grader.grading.hints.rules import Seen, access, kernel, race, rule, table
from grader.grading.source_view import END, SourceView

_KIND = "missing_async_wait"
_COMMITS = ("pipeline_commit", "commit_group", "producer_commit", "wait_all", "::memcpy_async")
_PTX_WAIT = "cp.async.wait_group"

_OWN = race("own_copy", access("copy", 5, 4), access("read", 5, 6), kind=_KIND)


def _waits(source: SourceView, first: int = 1, last: int = END) -> Iterator[tuple[int, str]]:
    """The waits for groups in these lines: line, and the text of the number of newest groups that stay in flight."""
    for part in source.parts(first, last, "call", "asm"):
        if part.kind == "call" and part.name.endswith("wait_prior"):
            yield part.line, "".join(part.texts[:1])
        elif part.kind == "asm" and _PTX_WAIT in part.texts[0]:
            number = part.texts[0].partition(_PTX_WAIT)[2].partition(";")[0].strip(' "')
            yield part.line, number if number.isdigit() else ""


@rule(_KIND, example=_OWN,
      seen=kernel("__pipeline_memcpy_async(a, b, 4);", "__pipeline_wait_prior(0);", "x = part[3];"))  # fmt: skip
def group_that_is_never_closed(found: Finding, seen: Seen) -> str:
    """Copies that are not committed as a group, but there is a wait for groups."""
    waits = [line for line, _ in _waits(seen.source)]
    if not waits or any(map(_closes_a_group, seen.source.parts(1, END, "call", "asm", "error"))):
        return ""
    return (
        f"the wait in line {waits[0]} waits for groups of copies, and none is ever closed: put __pipeline_commit() "
        "after the copies of each step"
    )


def _closes_a_group(part: Part) -> bool:
    """Whether a part closes a group, or may contain code that does."""
    return part.kind == "error" or any(name in f"::{part.name}{part.texts[:1]}" for name in _COMMITS)


@rule(_KIND, example=_OWN, seen=kernel("__pipeline_commit();", "__pipeline_wait_prior(1);", "x = part[3];"))
def wait_that_leaves_groups(found: Finding, seen: Seen) -> str:
    """The nearest wait before the access leaves too many groups in flight."""
    line, newest = _last_wait(seen.source, found.line or 0)
    threads = {(place.thread, place.block) for place in found.places}
    if found.space != "shared" or len(threads) != 1 or newest in ("", "0"):  # of two threads one may only be late
        return ""
    quoted = newest if newest.isdigit() else f"`{newest}`"
    return (
        f"line {line} waits until at most {quoted} of the newest groups {'is' if newest == '1' else 'are'} "
        "in flight, and this copy is in one of them: wait for more, or close a group more before (an empty one counts)"
    )


def _last_wait(source: SourceView, last: int) -> tuple[int, str]:
    """The line of the function's last wait before ``last``, and the number of groups that it leaves in flight.

    A device function without a wait of its own is as if it stood where it is called, if that is one place.
    """
    function = source.function(last)
    first = function.line if function else last
    if function is not None and function.kind == "function" and not any(_waits(source, first, function.last)):
        calls = source.calls(function.name) if function.name else []
        last = calls[0] if len(calls) == 1 else last
        function = source.function(last)
        first = function.line if function else last
    return max(_waits(source, first, last - 1), default=(0, "")) if source.is_clear(first, last) else (0, "")


def _starts_the_copy(found: Finding, seen: Seen, *functions: str) -> bool:
    """Whether the line that starts the copy calls one of these functions."""
    line = next((place.line for place in found.places if place.role == "copy"), None) or 0
    return any(part.name in functions for part in seen.source.parts(line, line, "call"))


def _when(found: Finding) -> str:
    return "before the access" if found.space == "shared" else "before its source changes"


@rule(_KIND, example=_OWN, seen=kernel("cg::memcpy_async(block, part, x, 256);", "", "x = part[3];"))
def wait_of_the_group(found: Finding, seen: Seen) -> str:
    if not _starts_the_copy(found, seen, "cg::memcpy_async", "cooperative_groups::memcpy_async"):
        return ""
    return (
        f"cg::memcpy_async only starts the copy: put cg::wait(group) {_when(found)}. It waits for all copies and "
        "synchronises the group; wait_prior<N> leaves the newest N in flight, and sync() waits for none"
    )


@rule(_KIND, example=_OWN, seen=kernel("cuda::memcpy_async(part, x, 256, bar);", "", "x = part[3];"))
def wait_of_the_object(found: Finding, seen: Seen) -> str:
    if not _starts_the_copy(found, seen, "cuda::memcpy_async"):
        return ""
    return (
        f"cuda::memcpy_async only starts the copy, and its last argument is what to wait for {_when(found)}: a "
        "pipeline with consumer_wait(), a barrier with wait() or arrive_and_wait(). __syncthreads() does not wait for "
        "it"
    )


_PLAIN_WAIT = (
    "__pipeline_wait_prior(0) (cp.async.wait_group 0; a larger number leaves that many of the newest groups in flight)"
)

table(
    "copies",
    ("wait_for_the_first_copy", _KIND, "second_copy",
     race("second_copy", access("copy", 49, 4), access("copy", 5, 6), kind=_KIND),
     "wait for the first copy, and let all threads read what it brought, before the next one overwrites it"),
    ("wait_before_the_access", _KIND, "own_copy", _OWN,
     f"before the access: {_PLAIN_WAIT}; then a __syncthreads(), too, if threads use what others have copied"),
    ("every_thread_waits", _KIND, "", race("copy_of_another", access("copy", 49, 4), access("read", 5, 6), kind=_KIND),
     f"every thread must wait for its own copies, {_PLAIN_WAIT}, and a __syncthreads() must follow before others read "
     "them"),
)  # fmt: skip


def _is_in_shared(found: Finding) -> bool:
    return found.space == "shared" and any(place.role == "copy" for place in found.places)


def _copy_is_last(found: Finding, seen: Seen) -> bool:
    """Whether the copy certainly starts after the other access: a barrier is missing before it, and not after its wait.

    The accesses of one warp are in their order. Between warps the lines decide, if no loop returns to the upper one.
    """
    first, second = found.places
    if not _is_in_shared(found) or first.role == second.role:
        return False
    if in_one_warp(found):
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


@rule("race", example=race("within_block", access("read", 49, 4), access("copy", 5, 6)), cause="within_block",
      seen=kernel("x = part[t ^ 32];", "", "__pipeline_memcpy_async(part + t, src + t, 4);"))  # fmt: skip
def copy_overwrites(found: Finding, seen: Seen) -> str:
    if not _copy_is_last(found, seen):
        return ""
    return (
        "the copy overwrites what other threads may still need: put a __syncthreads() between their last use and the "
        "copy"
    )


table(
    "copies",
    ("copy_of_another_thread", "race", "within_block",
     race("within_block", access("copy", 49, 4), access("read", 5, 6)),
     "a wait is for the thread's own copies only: put a __syncthreads() after it. In a loop the copy of the next "
     "iteration must not start, either, before every thread is done with what it overwrites", _is_in_shared),
)  # fmt: skip
