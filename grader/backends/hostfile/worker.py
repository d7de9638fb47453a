"""A host file in its own process, on any backend: load it, call `setup` and `run`, report errors with their lines.

    load  ─▶ the module and the host file ─▶ {"loaded": true}
    setup ─▶ maps arrays of the shared file, calls setup(module, *arrays) ─▶ {"done": true}
    run   ─▶ run() ─▶ {"done": true}           (on a GPU signals request runs, see `gpu.hostfile.signals`)

Child side: `sim.hostfile.client_child` and `gpu.hostfile.hostfile_child` subclass `HostfileWorker`. The parent trusts
no answer: it takes the time and reads the outputs in the shared file itself (`grader.backends.hostfile.case`).
"""

from __future__ import annotations

import errno
import mmap
import os
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.hostfile.allowance import FEWER_THREADS, MOST_THREADS, TooManyThreads, limit_threads
from grader.backends.hostfile.child_files import dump_stack_on_request
from grader.backends.mappings import Span, view

if TYPE_CHECKING:
    from grader.backends.output import Printed
    from grader.process.channel import Channel
    from grader.process.sandbox import Sandbox


def _print_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: object = None,
    line: str | None = None,
) -> None:  # fmt: skip
    print(f"{filename}:{lineno}: {category.__name__}: {message}")


class HostfileWorker:
    """Answers the parent's requests by calling the student's functions.

    ``start`` is the parent's first message; ``load`` makes the module for `setup`.
    """

    def __init__(
        self, channel: Channel, start: Mapping[str, Any], printed: Printed, load: Callable[[dict[str, Any]], Any]
    ) -> None:
        self._channel = channel
        self._fd, self._stacks = int(start["fd"]), int(start["stacks"])
        self._printed = printed
        self._load_module = load
        self._name = ""
        self._module: Any = None
        self._functions: dict[str, Callable[..., Any]] = {}
        self._mappings: list[mmap.mmap] = []  # until the process ends: pages may be registered with CUDA
        self._actions = {
            "load": self._load, "setup": self._setup, "run": self._run,
            "printed": lambda _: dict(zip(("printed", "too_much"), self._printed.take(), strict=True)),
        }  # fmt: skip

    def serve(self) -> None:
        """Answer until the parent closes the channel."""
        from grader.process.channel import ChannelClosed

        warnings.showwarning = _print_warning  # without the source line: the report has an excerpt
        self._printed.catch_errors()
        dump_stack_on_request(self._stacks)
        limit_threads()
        while True:
            try:
                message, _ = self._channel.receive(None)
            except ChannelClosed:
                return
            answer = self.answer(partial(self._actions[message["do"]], message))
            self._channel.send(answer)
            if message["do"] == "setup" and "done" in answer:
                self.after_setup()

    def after_setup(self) -> None:
        """Called after a successful `setup`, before the next message."""

    def answer(self, action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The answer of ``action``; a ``fault`` for an exception of the student's file."""
        try:
            return action()
        except BaseException as error:  # also SystemExit: a host file may call sys.exit()
            return self._fault(error)

    def _load(self, message: dict[str, Any]) -> dict[str, Any]:
        self._name = str(message["name"])
        self._module = self._load_module(message)
        scope: dict[str, Any] = {"__name__": Path(self._name).stem, "__file__": self._name}
        exec(compile(bytes(message["source"]).decode(), self._name, "exec"), scope)
        missing = [name for name in ("setup", "run") if not callable(scope.get(name))]
        if missing:
            text = f"{self._name} defines no function {missing[0]}()"
            return {"fault": "invalid", "message": text, "diagnostics": [{"kind": "invalid", "message": text}]}
        self._functions = {name: scope[name] for name in ("setup", "run")}
        return {"loaded": True}

    def _setup(self, message: dict[str, Any]) -> dict[str, Any]:
        arrays = [self.array(Span(a["offset"], a["size"]), a["dtype"]) for a in message["arrays"]]
        self._functions["setup"](self._module, *arrays)
        return {"done": True}

    def array(self, span: Span, dtype: str) -> Any:
        """The exercise's array at ``span`` of the shared file."""
        mapping = mmap.mmap(self._fd, span.mapped, offset=span.offset)
        self._mappings.append(mapping)
        return view(mapping, span.size, dtype)

    def run(self) -> dict[str, Any]:
        """One run, requested by a signal instead of a message."""
        return self.answer(lambda: self._run({}))

    def _run(self, _: dict[str, Any]) -> dict[str, Any]:
        self._functions["run"]()
        return {"done": True}

    def finding(self, error: BaseException) -> tuple[str, dict[str, Any]] | None:
        """The verdict and the finding for an error of this backend; None for any other error."""
        return None

    def _fault(self, error: BaseException) -> dict[str, Any]:
        """The answer for an exception of the student's file, with a finding at its line."""
        line = self._line(error)
        verdict, found = self.finding(error) or self._plain(error)
        place = {"file": self._name, "line": line} if line else {}
        where = f" ({self._name}:{line})" if line else ""
        message = found["message"] + ("" if where in found["message"] else where)
        return {"fault": verdict, "message": message, "diagnostics": [found | place]}

    def _plain(self, error: BaseException) -> tuple[str, dict[str, Any]]:
        if isinstance(error, SyntaxError):
            return "invalid", {"kind": "invalid", "message": f"{self._name} is not Python: {error.msg}"}
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            message = f"{self._name} printed more than there is room for"
            return "limit", {"kind": "limit", "message": message, "hint": "setup() and run() are called for each case"}
        if isinstance(error, TooManyThreads):
            message = f"{self._name} starts more than {MOST_THREADS} threads"
            return "limit", {"kind": "limit", "message": message, "hint": FEWER_THREADS}
        return "crash", {"kind": "crash", "message": f"{type(error).__name__}: {error}"}

    def _line(self, error: BaseException) -> int | None:
        if isinstance(error, SyntaxError) and error.filename == self._name:
            return error.lineno
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == self._name]
        return lines[-1] if lines else None


def apply_sandbox(channel: Channel, inner: Sandbox) -> bool:
    """Apply the sandbox for the host file, and tell the parent; False if that failed."""
    try:
        closed = inner.apply()
    except Exception as error:
        channel.send({"error": f"the host file's sandbox could not be closed: {error}"})
        return False
    channel.send({"ready": True, "sandbox": closed, "pid": os.getpid()})
    return True
