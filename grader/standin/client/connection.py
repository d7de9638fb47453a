"""How the stand-in's CuPy asks the device: each call is a message to the parent and waits for its answer.

`CONNECTION` holds the one connection of this process; the modules of this package ask through `call`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grader.standin.client.errors import HOSTFILE, CUDARuntimeError, here
from grader.standin.messages import pack

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends one message and returns the one that answers it."""


@dataclass
class Connection:
    """The connection to the device."""

    ask: Ask | None = None
    open: bool = True  # False between two runs
    lock: threading.RLock = field(default_factory=threading.RLock)  # a host file may have threads
    deferred: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)


CONNECTION = Connection()


def connect(ask: Ask, hostfile: str) -> None:
    """From now on calls go through ``ask``; ``hostfile`` is the name under which the host file was compiled."""
    CONNECTION.ask, HOSTFILE.name = ask, hostfile


def call(name: str, *arguments: Any) -> Any:
    """The result of one call of `grader.standin.protocol`. Raises CUDARuntimeError where CUDA would refuse it."""
    with CONNECTION.lock:
        if not CONNECTION.open:
            raise RuntimeError("CUDA was called by a thread after setup() or run() had returned")
        while CONNECTION.deferred:
            _asked(*CONNECTION.deferred.pop(0))
        answer = _asked(name, arguments)
    if "error" in answer:
        raise CUDARuntimeError.named(str(answer["error"]), str(answer.get("message", "")))
    return answer.get("result")


def placed(name: str, *arguments: Any) -> Any:
    """`call` with the line of the host file as the first argument."""
    return call(name, here(), *arguments)


def call_later(name: str, *arguments: Any) -> None:
    """A call without a result, made with the next one: what destructors need, who run at any moment."""
    CONNECTION.deferred.append((name, arguments))


def _asked(name: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    assert CONNECTION.ask is not None
    return CONNECTION.ask(pack(name, arguments))
