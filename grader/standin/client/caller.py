"""How the stand-in's CuPy asks the machine: each call is a message to the parent and waits for its answer.

`LINE` holds the one connection of this process; the modules of this package ask through `call`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from grader.standin.client.errors import CUDARuntimeError
from grader.standin.messages import pack

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends one message and returns the one that answers it."""


@dataclass
class Line:
    """The connection to the machine. ``host_file`` is the name under which the host file was compiled."""

    ask: Ask | None = None
    host_file: str = ""
    open: bool = True  # False between two runs
    lock: threading.RLock = field(default_factory=threading.RLock)  # a host file may have threads
    later: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)


LINE = Line()


def connect(ask: Ask, host_file: str) -> None:
    """From now on calls go through ``ask``."""
    LINE.ask, LINE.host_file = ask, host_file


def here() -> int:
    """The line of the host file that is being executed: of its innermost frame; 0 where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == LINE.host_file:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def call(name: str, *arguments: Any) -> Any:
    """The result of one call of `grader.standin.protocol`. Raises CUDARuntimeError where CUDA would refuse it."""
    with LINE.lock:
        if not LINE.open:
            raise RuntimeError("CUDA was called by a thread after setup() or run() had returned")
        while LINE.later:
            _asked(*LINE.later.pop(0))
        answer = _asked(name, arguments)
    if "error" in answer:
        raise CUDARuntimeError.named(str(answer["error"]), str(answer.get("message", "")))
    return answer.get("result")


def placed(name: str, *arguments: Any) -> Any:
    """`call` with the line of the host file as the first argument."""
    return call(name, here(), *arguments)


def call_later(name: str, *arguments: Any) -> None:
    """A call without a result, made with the next one: what destructors need, who run at any moment."""
    LINE.later.append((name, arguments))


def _asked(name: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    assert LINE.ask is not None
    return LINE.ask(pack(name, arguments))
