"""Calls by signals: the child's loop. `grader.backends.gpu.signals` has the words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.backends.gpu.signals import Signals
    from grader.process.channel import Channel


def serve_calls(channel: Channel, signals: Signals, run: Callable[[], dict[str, Any]]) -> None:
    """Call ``run`` for each of the parent's calls until it says to leave. What failed is told by a message."""
    while (number := signals.next()) is not None:
        answer = run()
        failed = "done" not in answer
        if failed:
            channel.send(answer)
        signals.end(number, failed=failed)
