"""Two words of shared memory that request a run and signal its end, without waking a sleeping process.

A sleeping process needs some fifty microseconds to receive a message from a pipe, and more if a virtual machine must
wake a core first. So both sides poll a word, as long as runs follow one another:

    parent   call(n) ───────▶ word CALL = n            done(n)? … done(n)? … yes ─▶ the clock stops
    child             serve(…, run): run() ─▶ word END = n ──────────────────────────────────┘

The parent does not trust END: if the child writes it early, the outputs are read early.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.process.channel import Channel

CALL, END = 0, 8  # in words of 8 bytes: on cache lines of their own
FAILED = 2**63  # added to END: there is a message to read
LEAVE = 2**62  # added to CALL: no run, receive messages again
LOOKS = 256  # reads of a word before other threads may run
ATTENTIVE_S = 0.25  # time for which a child polls without a pause
PAUSE_S = 100e-6  # its pause afterwards


class Signals:
    """Both words, in the first page of the shared file ``fd``. Construct one in each process, before the first call.

    Calls are numbered from 1, including those to leave: the word always changes, so that none is missed or seen twice.
    """

    def __init__(self, fd: int) -> None:
        self._words = memoryview(mmap.mmap(fd, mmap.PAGESIZE))[: 8 * (END + 1)].cast("Q")
        self._number = 0  # the parent's last call
        self._seen = 0  # the last call that the child saw

    # the parent's side

    def call(self) -> int:
        """Request a run; returns its number."""
        self._number += 1
        self._words[CALL] = self._number
        return self._number

    def leave(self) -> None:
        """Let the child receive messages again."""
        self._number += 1
        self._words[CALL] = self._number | LEAVE

    def watch(self, number: int) -> bool | None:
        """Poll END `LOOKS` times: True if the run has ended, False if it failed, None if it is still running."""
        words, failed = self._words, number | FAILED
        for _ in range(LOOKS):
            word = words[END]
            if word == number:
                return True
            if word == failed:
                return False
        os.sched_yield()
        return None

    # the child's side

    def serve(self, channel: Channel, run: Callable[[], dict[str, Any]]) -> None:
        """Call ``run`` for each of the parent's calls, until it says to leave. A failed run's answer is sent as a
        message.
        """
        while (number := self._next()) is not None:
            answer = run()
            failed = "done" not in answer
            if failed:
                channel.send(answer)
            self._words[END] = number | FAILED if failed else number

    def _next(self) -> int | None:
        """Wait for the next call; its number, or None to leave."""
        words, known = self._words, self._seen
        started = time.monotonic()
        while True:
            for _ in range(LOOKS):
                word = words[CALL]
                if word != known:
                    self._seen = word
                    return None if word & LEAVE else word
            os.sched_yield()
            if time.monotonic() - started > ATTENTIVE_S:
                time.sleep(PAUSE_S)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Disable Python's garbage collection inside this context."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
