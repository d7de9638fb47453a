"""Which wait an asynchronous copy lacks: one that stands there and is too weak, or the one of its library."""

from __future__ import annotations

import re

from grader.findings.record import Finding
from grader.grading.hints.rules import Example, Seen, access, race, rule
from grader.grading.source_view import READ, SourceView

_WAIT = re.compile(
    r"__pipeline_wait_prior\s*\(([^;]{1,40})\)\s*;|wait_prior\s*<([^>;]{1,40})>|cp\.async\.wait_group\s+([^;%\"]{1,40})"
)
_COMMIT = re.compile(r"__pipeline_commit\b|commit_group\b|producer_commit\b|wait_all\b|(?<!\w)memcpy_async\b")
_OF_GROUP = re.compile(r"(?:\bcg|\bcooperative_groups)::memcpy_async\b")
_OF_OBJECT = re.compile(r"\bcuda::memcpy_async\b")

_OWN = race("own_copy", access("copy", 5, 4), access("read", 5, 6), kind="missing_async_wait")
_ANOTHER = race("copy_of_another", access("copy", 49, 4), access("read", 5, 6), kind="missing_async_wait")
_SECOND = race("second_copy", access("copy", 49, 4), access("copy", 5, 6), kind="missing_async_wait")
_SOURCE = race("source", access("copy", 49, 4), access("write", 5, 6), kind="missing_async_wait", space="global")


def _kernel(*body: str) -> str:
    return "\n".join(["", "", "__global__ void k(float* src) {", *body, "}"])


def _newest(text: str) -> str:
    """How many of the newest groups a wait in this line leaves in flight, as it says it; "" where it has none."""
    match = _WAIT.search(text[:READ])
    return next(filter(None, match.groups()), "").strip() if match else ""


@rule(
    "missing_async_wait",
    example=Example(_OWN, _kernel("__pipeline_memcpy_async(a, b, 4);", "__pipeline_wait_prior(0);", "x = part[3];")),
)
def group_that_is_never_closed(found: Finding, seen: Seen) -> str:
    """Copies that no line makes a group of, though one waits for groups."""
    lines = seen.source.lines
    waits = [at for at, text in enumerate(lines, start=1) if _newest(text)]
    if not waits or any(_COMMIT.search(text[:READ]) for text in lines):
        return ""
    return (
        f"the wait in line {waits[0]} waits for groups of copies, and none is ever closed: put __pipeline_commit() "
        "behind the copies of each step"
    )


@rule(
    "missing_async_wait",
    example=Example(_OWN, _kernel("__pipeline_commit();", "__pipeline_wait_prior(1);", "x = part[3];")),
)
def wait_that_leaves_groups(found: Finding, seen: Seen) -> str:
    """What the nearest wait before the access leaves in flight."""
    line, newest = _last_wait(seen.source, found.line or 0)
    threads = {(place.thread, place.block) for place in found.places}
    if found.space != "shared" or len(threads) != 1 or newest in ("", "0"):  # of two threads one may only be late
        return ""
    quoted = newest if newest.isdigit() else f"`{newest}`"
    return (
        f"line {line} waits until at most {quoted} of the newest groups {'is' if newest == '1' else 'are'} "
        "under way, and this copy is in one of them: wait for more, or close a group more before (an empty one counts)"
    )


def _last_wait(source: SourceView, last: int) -> tuple[int, str]:
    """The line of the last wait of the kernel before ``last``, and how many groups it leaves."""
    waits = ((at, _newest(source.text(at))) for at in range(last - 1, source.kernel_of(last) - 1, -1))
    return next(((at, newest) for at, newest in waits if newest), (0, ""))


def _starts_the_copy(found: Finding, seen: Seen) -> str:
    return seen.source.text(next((place.line for place in found.places if place.role == "copy"), None) or 0)


def _when(found: Finding) -> str:
    return "before the access" if found.space == "shared" else "before its source changes"


@rule(
    "missing_async_wait", example=Example(_OWN, _kernel("cg::memcpy_async(block, part, x, 256);", "", "x = part[3];"))
)
def wait_of_the_group(found: Finding, seen: Seen) -> str:
    if not _OF_GROUP.search(_starts_the_copy(found, seen)):
        return ""
    return (
        f"cg::memcpy_async only starts the copy: put cg::wait(group) {_when(found)}. It waits for all copies and "
        "synchronises the group; wait_prior<N> leaves the newest N under way, and sync() waits for none"
    )


@rule(
    "missing_async_wait", example=Example(_OWN, _kernel("cuda::memcpy_async(part, x, 256, bar);", "", "x = part[3];"))
)
def wait_of_the_object(found: Finding, seen: Seen) -> str:
    if not _OF_OBJECT.search(_starts_the_copy(found, seen)):
        return ""
    return (
        f"cuda::memcpy_async only starts the copy, and its last argument is what to wait for {_when(found)}: a "
        "pipeline with consumer_wait(), a barrier with wait() or arrive_and_wait(). __syncthreads() does not wait for "
        "it"
    )


@rule("missing_async_wait", example=Example(_SOURCE))
def wait_before_the_source_changes(found: Finding, seen: Seen) -> str:
    if found.cause != "source":
        return ""
    return "wait for the copy before its source changes: __pipeline_wait_prior(0), then __syncthreads()"


@rule("missing_async_wait", example=Example(_SECOND))
def wait_for_the_first_copy(found: Finding, seen: Seen) -> str:
    if found.cause != "second_copy":
        return ""
    return "wait for the first copy, and let all threads read what it brought, before the next one overwrites it"


_PLAIN_WAIT = (
    "__pipeline_wait_prior(0) (cp.async.wait_group 0; a larger number leaves that many of the newest groups under way)"
)


@rule("missing_async_wait", example=Example(_OWN))
def wait_before_the_access(found: Finding, seen: Seen) -> str:
    return f"before the access: {_PLAIN_WAIT}, then __syncthreads()" if found.cause == "own_copy" else ""


@rule("missing_async_wait", example=Example(_ANOTHER))
def every_thread_waits(found: Finding, seen: Seen) -> str:
    return (
        f"every thread must wait for its own copies, {_PLAIN_WAIT}, and a __syncthreads() must follow before others "
        "read them"
    )
