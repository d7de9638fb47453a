"""Starting a backend's child, which takes longer than anything else at the start of a grading: so it comes first.

This module imports little. A command that knows which children it will need calls `start_early` before it imports the
rest, and the first backend that wants such a child takes that one. Start them in a thread that lives as long as they
do: the kernel ends a child with the thread that started it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from grader.paths import PACKAGE
from grader.process.child import spawn
from grader.process.sandbox import Sandbox

if TYPE_CHECKING:
    from grader.process.child import Child

ADDRESS_SPACE = 8 << 30  # LLVM and NumPy reserve far more than they use
PRINTF_BYTES = 64 << 10
"""What a kernel may print in one case, by default."""

_PASSED_ON = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH", "PATH")
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/opt", "/bin", "/sbin", "/sys")
_WRITABLE = ("/dev", "/proc", "/run", "/var")

_early: dict[str, Child] = {}


def start_early(*, simulator: bool = False, gpu: int | None = None) -> None:
    """Start the children that the next `simulator_child` and the next `gpu_child` for GPU number ``gpu`` give."""
    if simulator:
        _early["sim"] = simulator_child()
    if gpu is not None:
        _early[f"gpu {gpu}"] = gpu_child(gpu)


def end_early() -> None:
    """End the children that nobody took."""
    while _early:
        _early.popitem()[1].close()


def simulator_child(*, sandbox: bool = True) -> Child:
    """A child that gets ready to simulate: the one that was started early, or a new one."""
    if sandbox and "sim" in _early:
        return _early.pop("sim")
    closed = Sandbox(files=True, processes=False, network=False, memory_bytes=ADDRESS_SPACE)
    return spawn("grader.backends.sim.child", sandbox=closed if sandbox else None)


def gpu_child(device: int, *, sandbox: bool = True) -> Child:
    """A child that makes its context on GPU number ``device`` at once: the one that was started early, or a new one.

    What CUDA needs of the file system is open to it; home folders stay closed, but for where Python, its packages and
    the grader lie.
    """
    from grader.process.channel import ChannelClosed

    if sandbox and f"gpu {device}" in _early:
        return _early.pop(f"gpu {device}")
    python = (sys.prefix, sys.base_prefix, str(PACKAGE), *(str(Path(p).absolute()) for p in sys.path if p))
    closed = Sandbox(files=True, read=(*_SYSTEM, *python), write=(*_WRITABLE, "/tmp", tempfile.gettempdir()))
    child = spawn("grader.backends.gpu.child", sandbox=closed if sandbox else None, env=environment())
    with contextlib.suppress(ChannelClosed):  # the session that waits for the child says what happened
        child.channel.send({"do": "start", "device": device, "printf_bytes": PRINTF_BYTES})
    return child


def environment(scratch: str | None = None) -> dict[str, str]:
    """A GPU child's environment: which GPU, where CUDA is, and a temporary folder."""
    inherited = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    scratch = scratch or tempfile.gettempdir()
    return inherited | {"HOME": scratch, "CUPY_CACHE_IN_MEMORY": "1", "CUDA_CACHE_DISABLE": "1", "TMPDIR": scratch}
