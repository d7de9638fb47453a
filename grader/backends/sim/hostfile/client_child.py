"""The host file's process on a machine without a GPU: Python, the stand-in's CuPy, and a sandbox.

    start ─▶ maps the shared file, installs the stand-in as `cupy`, applies the sandbox ─▶ {"ready": true}
    load, setup, run, printed ─▶ `grader.backends.hostfile.worker.HostfileWorker`
                 └─▶ {"is": "call", …} ─▶ the parent ─▶ the simulator's process ─▶ the answer

Device memory, findings, counters and times are in the simulator's process, because this one is hostile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.backends.hostfile.worker import HostfileWorker, apply_sandbox

if TYPE_CHECKING:
    from grader.backends.mappings import Span
    from grader.backends.output import Printed
    from grader.process.channel import Channel


def main() -> None:
    """Serve one parent; called by `grader.process.child.spawn`."""
    from grader.process.channel import attach, end_session, fork_for_each_session
    from grader.process.sandbox import Sandbox

    channel, _ = attach()
    _open_everything()
    from grader.backends.output import Printed
    from grader.standin.client import connection, namespaces
    from grader.standin.client.connection import HOST

    fork_for_each_session(channel)
    message, _ = channel.receive(None)
    if message["do"] == "end":
        end_session(channel)
    printed = Printed(int(message["printf_bytes"]), int(message["printed"]))
    HOST.map(int(message["fd"]), int(message["size"]))

    def ask(message: dict[str, Any]) -> dict[str, Any]:
        channel.send(message)
        return channel.receive(None)[0]

    connection.connect(ask, str(message["name"]))
    namespaces.install()
    if apply_sandbox(channel, Sandbox(**message["inner"])):
        ClientWorker(channel, message, printed).serve()


def _open_everything() -> None:
    """Import what is needed later, by us and by host files: the sandbox closes all files."""
    from importlib import import_module

    for name in ("ctypes", "numpy", "traceback", "linecache", "grader.standin.client.namespaces"):
        import_module(name)


class ClientWorker(HostfileWorker):
    """A `HostfileWorker` with one mapping of the whole shared file, and with the stand-in's errors."""

    def __init__(self, channel: Channel, start: dict[str, Any], printed: Printed) -> None:
        from grader.process.channel import end_session
        from grader.standin.client.kernels import RawModule

        super().__init__(channel, start, printed, lambda message: RawModule._made(bool(message.get("cooperative"))))
        self._actions["end"] = lambda _: end_session(channel)
        self._is_first_run = False

    def answer(self, action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """As `HostfileWorker.answer`. The stand-in works only inside, so that no thread can continue between runs."""
        from grader.standin.client.connection import CONNECTION

        with CONNECTION.lock:
            CONNECTION.open = True
        try:
            return super().answer(action)
        finally:
            with CONNECTION.lock:
                CONNECTION.open = False

    def _setup(self, message: dict[str, Any]) -> dict[str, Any]:
        self._is_first_run = True
        return super()._setup(message)

    def _run(self, message: dict[str, Any]) -> dict[str, Any]:
        """Call `run`; after the first run of a case, free the memory in the pool that is not in use.

        So memory of earlier cases does not count in `device_bytes`, and a host file that kept an array's address, but
        not the array, is found out: CuPy's pool would give that memory to the next allocation.
        """
        from grader.standin.client.connection import call
        from grader.standin.client.memory import POOL

        answer = super()._run(message)
        if self._is_first_run:
            POOL._give_back_after_the_run()
            call("device_count")  # any call: it sends the queued operations along
        self._is_first_run = False
        return answer

    def array(self, span: Span, dtype: str) -> Any:
        from grader.standin.client.connection import HOST

        return HOST.array(span.offset, span.size, dtype)

    def finding(self, error: BaseException) -> tuple[str, dict[str, Any]] | None:
        from grader.standin.client import errors

        if isinstance(error, errors.Outside | errors.OutsideImport):
            return "unsupported", {"kind": "outside", "message": str(error), "hint": OUTSIDE_HINT}
        if isinstance(error, errors.CUDARuntimeError | errors.CUDADriverError | errors.OutOfMemoryError):
            word = "out_of_bounds" if getattr(error, "status", 0) == ILLEGAL_ADDRESS else "crash"
            return word, {"kind": "cuda_error", "message": str(error)}
        advice = getattr(error, "__notes__", ())
        if advice:  # of the stand-in, or the host file's own
            return "crash", {"kind": "crash", "message": f"{type(error).__name__}: {error}", "hint": str(advice[0])}
        return None


ILLEGAL_ADDRESS = 700  # cudaErrorIllegalAddress


OUTSIDE_HINT = (
    "arrays of the stand-in do not compute: let a kernel do that. `print(dir(cupy))` in the host file lists what there "
    "is, and so does `dir` of cupy.cuda, of cupy.cuda.runtime or of any object. All of CuPy is there on a GPU "
    "(--backend gpu)"
)
