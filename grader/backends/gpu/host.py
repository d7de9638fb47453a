"""Host exercises: a `.cu` with a Python file beside it, in a child of its own; the parent owns memory and clock.

    backend = HostBackend(gpu_backend, exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

The protocol and its reasons: docs/design/host-protocol.md.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.base import CaseRun, Execution, Limits
from grader.backends.gpu import environment, python_folders
from grader.backends.gpu.mappings import PAGE, SharedFile, pages
from grader.backends.gpu.session import SETTLE_S, START_S, ChildSession
from grader.backends.gpu.signals import Signals, undisturbed
from grader.errors import GraderFault, SubmissionError, Unsupported
from grader.exercise import SECRET_SIZES
from grader.inputs import element_count, poison

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.gpu import GpuBackend
    from grader.channel import Sandbox
    from grader.compile import Program
    from grader.exercise import Exercise, Size
    from grader.launch import DeviceLimits
    from grader.process import Child

    Arrays = Mapping[str, npt.NDArray[np.generic]]

LINK_WARM_UPS = 2
LINK_SAMPLES = 15

_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/opt", "/sys")
_PROC = ("/proc/self", "/proc/driver", "/proc/sys", "/proc/meminfo", "/proc/cpuinfo", "/proc/devices")


class HostBackend:
    """Runs host exercises on one GPU. ``source`` is the host file's text, ``name`` its name in messages."""

    name = "gpu"

    def __init__(
        self, backend: GpuBackend, exercise: Exercise, source: bytes, name: str, *, sandbox: bool = True
    ) -> None:
        self.gpu = backend.gpu
        self.exercise = exercise
        self._source = source
        self._name = name
        self._sandbox = sandbox

    @property
    def device_limits(self) -> DeviceLimits:
        return self.gpu.limits

    def open(self, program: Program, limits: Limits) -> HostSession:
        """Start a child and load module and host file there.

        Raises Unsupported where files cannot be closed to it (unless ``sandbox=False``), SubmissionError where the host
        file is no Python, lacks a function, or fails when it is read.
        """
        from grader.compile import assemble
        from grader.sandbox import available

        if self._sandbox and available() == "none":
            raise Unsupported(
                "this system cannot close its files to a host file's code (no Landlock)",
                hint="--no-sandbox runs it all the same, with your own rights: only for files that you trust",
            )
        cubin = assemble(program, self.gpu.arch_for(program.target))
        session = HostSession(self, program, limits)
        try:
            session.load(cubin, self._source, self._name)
        except BaseException:
            session.close()
            raise
        return session

    @property
    def link_bytes(self) -> int:
        """What one timed run moves over the link, in bytes: the size of the link's ceiling. 0: nothing is timed."""
        from grader.expressions import evaluate

        target = self.exercise.target
        if self.exercise.timed is None or target is None or target.unit != "transfer":
            return 0
        return int(evaluate(self.exercise.work.bytes, self.exercise.timed))

    def start_child(self, shared: SharedFile, folder: str, limits: Limits) -> Child:
        """Start the child, with the shared file open in it."""
        from grader.channel import ChannelClosed

        outer = _outer_sandbox(folder) if self._sandbox else None
        inner = _inner_sandbox(folder) if self._sandbox else _nothing_closed()
        child = spawn_child(
            "grader.backends.gpu.host_child", sandbox=outer, env=environment(folder), pass_fds=(shared.fd,), cwd=folder
        )
        request = {"do": "start", "device": self.gpu.index, "printf_bytes": limits.printf_bytes, "fd": shared.fd}
        with contextlib.suppress(ChannelClosed):  # the session that waits for the child says what happened
            child.channel.send(request | {"link_bytes": self.link_bytes, "inner": inner.to_dict()})
        return child


class HostSession(ChildSession):
    """One host submission in its child.

    ``link_s`` are the link's samples in seconds: a copy of ``link_bytes`` in place of a run, called and timed like a
    run, before any of the submission's code was read.
    """

    def __init__(self, backend: HostBackend, program: Program, limits: Limits) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warpgrade-host-", ignore_cleanup_errors=True)
        self._shared = SharedFile(PAGE + _shared_bytes(backend.exercise))
        self._shared.reserve(PAGE)  # the first page is for signals
        self._signals = Signals(self._shared.fd)
        self._watched = False
        self.link_s: tuple[float, ...] = ()
        self.link_bytes = backend.link_bytes
        super().__init__(backend.start_child(self._shared, self._folder.name, limits), program, limits)

    def load(self, cubin: bytes, source: bytes, name: str) -> None:
        """Measure the link, then hand over the module and the host file."""
        self.wait_ready()
        if self.link_bytes:
            self.link_s = self._time_link()
        kernel = self.program.entries[0].name if self.program.entries else ""
        self._load({"do": "load", "cubin": cubin, "source": source, "name": name, "kernel": kernel})

    def _time_link(self) -> tuple[float, ...]:
        self._watched = True
        try:
            with undisturbed():
                return tuple(self._call(START_S) for _ in range(LINK_WARM_UPS + LINK_SAMPLES))[LINK_WARM_UPS:]
        except SubmissionError as error:  # nothing of the submission has run yet
            raise self._stop(GraderFault(f"the link's speed could not be measured: {error.message}")) from error

    def run(self, run: CaseRun) -> Execution:
        """Run one case: fresh mappings, `setup`, one `run`. An exception in the host file becomes ``failure``."""
        buffers = [buffer for buffer in run.buffers if buffer.role != "scratch"]
        data = {b.name: b.data if b.data is not None else poison(b.dtype, b.count) for b in buffers}
        outputs = tuple(b.name for b in buffers if b.role == "out")
        try:
            shared = self.set_up(data)
            elapsed_s = self.go()
        except SubmissionError as error:
            return Execution({}, diagnostics=error.diagnostics, failure=error.verdict, printed=self._printed())
        results = {name: shared[name].copy() for name in outputs}
        changed = tuple(n for n in shared if n not in outputs and shared[n].tobytes() != data[n].tobytes())
        return Execution(results, printed=self._printed(), inputs_changed=changed, elapsed_s=elapsed_s)

    def set_up(self, data: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        """Share copies of ``data`` with the child and call its `setup`; returns the parent's view of them."""
        shared, told = {}, []
        for name, values in data.items():
            span = self._shared.reserve(values.nbytes)
            shared[name] = self._shared.array(span, values.dtype.name)
            shared[name][:] = values
            told.append({"offset": span.offset, "size": span.size, "dtype": values.dtype.name})
        self._send({"do": "setup", "arrays": told})
        self._await(self._limits.launch_s + SETTLE_S)
        self._watched = True
        return shared

    def go(self) -> float:
        """One timed run: seconds by the parent's clock, from the call to the child's answer.

        Raises SubmissionError for an exception in the host file, a run that does not end, or a process that died.
        """
        return self._call(self._limits.launch_s)

    def _call(self, timeout_s: float) -> float:
        if self._stopped is not None:
            raise self._stopped
        allowed_s = self._allowed(timeout_s)
        start = time.perf_counter()
        number = self._signals.call()
        while (ended := self._signals.watch(number)) is None:
            self._look_after(time.perf_counter() - start, allowed_s)
        seconds = time.perf_counter() - start
        if not ended:
            self._await(SETTLE_S)  # raises what went wrong
            raise self._stop(SubmissionError("crash", "the process that ran the host file failed and does not say how"))
        return seconds

    def _look_after(self, spent_s: float, allowed_s: float) -> None:
        """Whether the child that is being watched still lives, and has time left."""
        if spent_s > allowed_s:
            raise self._stop(self._hung(allowed_s, starting=False))
        if self._child.wait(0.0) is not None:
            raise self._stop(self._died(starting=False))

    def _send(self, request: dict[str, Any], arrays: dict[str, npt.NDArray[np.generic]] | None = None) -> None:
        """A child that watches for calls listens to messages only after it was told to."""
        if self._watched:
            self._signals.leave()
            self._watched = False
        super()._send(request, arrays)

    def close(self) -> None:
        super().close()
        self._shared.close()
        self._folder.cleanup()

    def _printed(self) -> str:
        if self._stopped is not None:
            return ""
        answer = self.call({"do": "printed"}, SETTLE_S)
        self._check_printed(answer)
        return str(answer.get("printed", ""))


def spawn_child(module: str, **keywords: Any) -> Child:
    """Start a child; apart, so that tests can put another module in its place."""
    from grader.channel import spawn

    return spawn(module, **keywords)


def host_file_beside(path: Path, exercise: str) -> Path:
    """The Python file that belongs to a `.cu`: ``M_host.py``, else ``NAME_host.py``, beside it.

    Raises SubmissionError (``invalid``) where there is neither.
    """
    for name in (f"{path.stem}_host.py", f"{exercise}_host.py"):
        candidate = path.with_name(name)
        if candidate.is_file():
            return candidate
    message = f"{path.name} needs its host file: there is no {exercise}_host.py beside it"
    raise SubmissionError("invalid", message, hint=f"`grade start {exercise}` copies both files here")


def _shared_bytes(exercise: Exercise) -> int:
    """Room for every case (each with two kinds of values) and the timed size, each array on its own pages."""
    largest = {name: most for name, (_, most, _) in exercise.secret.items()}
    secret = [largest] * SECRET_SIZES if largest else []
    sizes = [size for size in (*exercise.small, *secret) for _ in range(2)]
    timed = [exercise.timed] if exercise.timed is not None else []
    return sum(_case_bytes(exercise, size) for size in (*sizes, exercise.simulated, *timed))


def _case_bytes(exercise: Exercise, size: Size) -> int:
    import numpy as np

    return sum(pages(element_count(a, size) * np.dtype(a.dtype).itemsize) for a in exercise.arrays)


def _outer_sandbox(folder: str) -> Sandbox:
    """Closed before CUDA starts, for all threads: what CUDA needs to start, as for a kernel submission."""
    from grader.channel import Sandbox

    write = ("/dev", "/proc", "/run", "/var", folder)
    return Sandbox(files=True, read=(*_SYSTEM, "/etc", *python_folders()), write=write)


def _inner_sandbox(folder: str) -> Sandbox:
    """Closed once CUDA runs and before any of the host file's code: GPU devices, system folders, its own folder."""
    from grader.channel import Sandbox

    devices = [str(path) for path in Path("/dev").glob("nvidia*")]
    return Sandbox(
        files=True,
        read=(*_SYSTEM, *_PROC, "/dev/urandom", *python_folders()),
        write=(*devices, "/dev/null", "/dev/zero", folder),
        processes=False,
        network=False,
        file_bytes=1 << 30,
    )


def _nothing_closed() -> Sandbox:
    from grader.channel import Sandbox

    return Sandbox()
