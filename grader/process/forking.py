"""The child's side of a child that serves one session after another: each session runs in a fork of it.

    spawn(MODULE, forks=True) ─▶ imports what is heavy ─▶ fork ─▶ sandbox, one session, "end" ─▶ "ended"
                                        ▲───────────────────────────────────────────────────────┘

A fork has all imports, and nothing of the session before. One that dies in any other way takes the child with it, in
the same way: the parent sees what it would have seen without a fork.
"""

from __future__ import annotations

import gc
import os
import signal
from os import _exit as leave  # a host file's worker replaces `os._exit`
from typing import TYPE_CHECKING, NoReturn

from grader.process.sandbox import die_with_parent

if TYPE_CHECKING:
    from grader.process.channel import Channel

ENDED = 87
"""The exit status of a session that the parent ended; a host file may leave with any."""


def fork_for_each_session(channel: Channel) -> None:
    """Return in a fork for each session where the parent asked for that, else at once."""
    if not channel.forks:
        return
    parent = os.getpid()
    gc.collect()
    gc.freeze()
    while pid := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status < 0:
            signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
            os.kill(parent, -status)
        if status != ENDED:
            leave(max(status, 0))
    die_with_parent(parent)


def end_session(channel: Channel) -> NoReturn:
    """Answer the parent's "end", and end."""
    channel.send({"is": "ended"})
    leave(ENDED)
