"""Two words of shared memory by which a run is told to begin and its end is told back, without waking anybody.

A message through a pipe costs a process that sleeps some fifty microseconds to notice, and more where a virtual
machine must wake a core first. So both sides watch a word instead, for as long as runs follow one another:

    parent   call(n) ───────▶ word CALL = n            done(n)? … done(n)? … yes ─▶ the clock stops
    child             serve(…, run): run() ─▶ word END = n ──────────────────────────────────┘

Nothing here is believed. Who writes END early has its output looked at early.
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
LEAVE = 2**62  # added to CALL: no run, listen to messages again
LOOKS = 256  # before a watcher lets others run, and looks at the clock
ATTENTIVE_S = 0.25  # how long a child watches without a pause
PAUSE_S = 100e-6  # and its pause afterwards


class Signals:
    """Both words, in the first page of the shared file ``fd``. Make one in each process, before the first call.

    Calls are numbered from 1, those to leave among them: each is another word, and none can be missed or seen twice.
    """

    def __init__(self, fd: int) -> None:
        self._words = memoryview(mmap.mmap(fd, mmap.PAGESIZE))[: 8 * (END + 1)].cast("Q")
        self._number = 0  # the parent's last call
        self._seen = 0  # the last one that the child saw

    # the parent's side

    def call(self) -> int:
        """Tell the child to begin; the number of the run."""
        self._number += 1
        self._words[CALL] = self._number
        return self._number

    def leave(self) -> None:
        """Tell the child to listen to messages again."""
        self._number += 1
        self._words[CALL] = self._number | LEAVE

    def watch(self, number: int) -> bool | None:
        """Look some hundred times whether the run has ended: True, or False where it failed; None: not yet."""
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
        """Call ``run`` for each of the parent's calls until it says to leave. What failed is told by a message."""
        while (number := self._next()) is not None:
            answer = run()
            failed = "done" not in answer
            if failed:
                channel.send(answer)
            self._words[END] = number | FAILED if failed else number

    def _next(self) -> int | None:
        """Wait for the next call; its number, or None where the parent said to leave."""
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
    """No garbage collection of Python's between two looks at the clock."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
