"""Starting the simulator's child, which takes longer than anything else at the start of a grading: so it comes first.

This module imports little; a command that knows that it will need a simulator calls `start_early` before it imports
the rest, and the first backend that wants a child takes that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.process.child import spawn
from grader.process.sandbox import Sandbox

if TYPE_CHECKING:
    from grader.process.child import Child

ADDRESS_SPACE = 8 << 30  # LLVM and NumPy reserve far more than they use

_early: list[Child] = []


def start(*, sandbox: bool = True) -> Child:
    """A child that gets ready: the one that was started early, or a new one."""
    if sandbox and _early:
        return _early.pop()
    closed = Sandbox(files=True, processes=False, network=False, memory_bytes=ADDRESS_SPACE)
    return spawn("grader.backends.sim.child", sandbox=closed if sandbox else None)


def start_early() -> None:
    """Start the child that the next `start` gives."""
    _early.append(start())


def end_early() -> None:
    """End a child that nobody took."""
    while _early:
        _early.pop().close()
