"""Which wait an asynchronous copy lacks: one that stands there and is too weak, or the one of its library. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.verdict import Diagnostic

READ = 300  # characters of a line that are looked at
_WAIT = re.compile(
    r"__pipeline_wait_prior\s*\(([^;]{1,40})\)\s*;|wait_prior\s*<([^>;]{1,40})>|cp\.async\.wait_group\s+([^;%\"]{1,40})"
)
_COMMIT = re.compile(r"__pipeline_commit\b|commit_group\b|producer_commit\b|wait_all\b|(?<!\w)memcpy_async\b")
_OF_GROUP = re.compile(r"(?:\bcg|\bcooperative_groups)::memcpy_async\b")
_OF_OBJECT = re.compile(r"\bcuda::memcpy_async\b")


def lacking_wait(found: Diagnostic, lines: Sequence[str]) -> str:
    """A hint at the wait that the copy of a finding lacks; "" where the general one says it."""
    return _uncommitted(lines) or weak_wait(found, lines) or _wait_of_library(found, lines)


def _uncommitted(lines: Sequence[str]) -> str:
    """Copies that no line makes a group of, though one waits for groups."""
    waits = [at for at, text in enumerate(lines, start=1) if _newest(text)]
    if not waits or any(_COMMIT.search(text[:READ]) for text in lines):
        return ""
    return (
        f"the wait in line {waits[0]} waits for groups of copies, and none is ever closed: put __pipeline_commit() "
        "behind the copies of each step"
    )


def _wait_of_library(found: Diagnostic, lines: Sequence[str]) -> str:
    """The wait that goes with the call that started the copy, other than `__pipeline_memcpy_async`."""
    copy = next((place.line for place in found.accesses if place.kind == "copy"), None)
    text = lines[copy - 1][:READ] if copy and copy <= len(lines) else ""
    when = "before the access" if found.space == "shared" else "before its source changes"
    if _OF_GROUP.search(text):
        return (
            f"cg::memcpy_async only starts the copy: put cg::wait(group) {when}. It waits for all copies and "
            "synchronises the group; wait_prior<N> leaves the newest N under way, and sync() waits for none"
        )
    if _OF_OBJECT.search(text):
        return (
            f"cuda::memcpy_async only starts the copy, and its last argument is what to wait for {when}: a pipeline "
            "with consumer_wait(), a barrier with wait() or arrive_and_wait(). __syncthreads() does not wait for it"
        )
    return ""


def weak_wait(found: Diagnostic, lines: Sequence[str]) -> str:
    """What the nearest wait before the access leaves under way; "" where none stands there, or it leaves nothing."""
    threads = {(place.thread, place.block) for place in found.accesses}
    last = found.line or 0
    waits = [(at, _newest(lines[at - 1])) for at in range(_kernel(lines, last), last) if _newest(lines[at - 1])]
    if found.space != "shared" or len(threads) != 1 or not waits:  # of two threads one may only be late
        return ""
    line, newest = waits[-1]
    if newest == "0":
        return ""
    return (
        f"line {line} waits until at most {_quoted(newest)} of the newest groups {'is' if newest == '1' else 'are'} "
        "under way, and this copy is in one of them: wait for more, or close a group more before (an empty one counts)"
    )


def _kernel(lines: Sequence[str], last: int) -> int:
    """The line where the access's kernel begins: a wait above it may stand in a function that nobody calls."""
    return max((at for at in range(1, last + 1) if "__global__" in lines[at - 1]), default=1)


def _newest(text: str) -> str:
    match = _WAIT.search(text[:READ])
    return next(filter(None, match.groups()), "").strip() if match else ""


def _quoted(newest: str) -> str:
    return newest if newest.isdigit() else f"`{newest}`"
