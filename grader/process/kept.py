"""Persistent children, for sources of the course and of tests: starting a process takes longer than most of its work.

Everywhere else each source has processes of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from grader.process.channel import ChannelError
from grader.process.child import Child, ChildPool, Closing, PooledChild

PROGRAMS = 100  # of one child, which is then replaced


class KeptChildren(Closing):
    """Pools of idle children, and a folder that they may write to. Thread-safe; ends its children on exit."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="warpgrade-kept-")
        self._pools: dict[Hashable, ChildPool] = {}

    @property
    def folder(self) -> str:
        return self._folder.name

    def answer(
        self, key: Hashable, start: Callable[[], Child], ask: Callable[[PooledChild], dict[str, Any]]
    ) -> dict[str, Any] | None:
        """The answer of a child from ``start``; None if it gave none: a process for this source alone finds out why."""
        pool = self._pools.setdefault(key, ChildPool(start, programs=PROGRAMS))
        used = pool.take()
        try:
            answer = ask(used)
        except ChannelError:
            used.child.close()
            return None
        pool.give_back(used)
        return answer

    def close(self) -> None:
        """End the children, and delete the folder."""
        for pool in self._pools.values():
            pool.close()
        self._folder.cleanup()


def asked(used: PooledChild, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """One request and its answer. Raises ChannelError."""
    used.child.channel.send(request)
    return dict(used.child.channel.receive(timeout_s)[0])


KEPT: KeptChildren | None = None
"""The persistent children, inside `children_kept`."""


def _forget() -> None:
    """Run in a forked process: the children belong to the other process, which alone can use and end them."""
    global KEPT
    KEPT = None


os.register_at_fork(after_in_child=_forget)


@contextmanager
def children_kept() -> Iterator[None]:
    """Compile, assemble and parse in persistent children inside this context; a nested context uses the outer one's."""
    global KEPT
    if KEPT is not None:
        yield
        return
    with KeptChildren() as KEPT:
        try:
            yield
        finally:
            KEPT = None
