"""A wait for asynchronous copies that stands in the file and leaves the copy of a finding under way. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.verdict import Diagnostic

READ = 300  # characters of a line that are looked at
_WAIT = re.compile(
    r"__pipeline_wait_prior\s*\(([^;]{1,40})\)\s*;|wait_prior\s*<([^>;]{1,40})>|cp\.async\.wait_group\s+([^;%\"]{1,40})"
)


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
