"""Starting a backend's child early: of all that a grading begins with, this takes longest.

This module imports little. A command that knows which children it will need calls `start_early` before it imports the
rest; the first backend that needs such a child takes it. Call it in a thread that lives as long as the children: Linux
ends a child with the thread that started it.
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
"""The default limit for the output of a kernel in one case."""

_PASSED_ON = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH", "PATH")
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/opt", "/bin", "/sbin", "/sys")
_WRITABLE = ("/dev", "/proc", "/run", "/var")

_early: dict[str, Child] = {}


def start_early(*, simulator: bool = False, gpu: int | None = None) -> None:
    """Start the children that the next `simulator_child`, and the next `gpu_child` for GPU number ``gpu``, return."""
    if simulator:
        _early["sim"] = simulator_child()
    if gpu is not None:
        _early[f"gpu {gpu}"] = gpu_child(gpu)


def end_early() -> None:
    """End the early children that were not used."""
    while _early:
        _early.popitem()[1].close()


def simulator_child(*, sandbox: bool = True) -> Child:
    """A simulator child: the early one, or a new one."""
    if sandbox and "sim" in _early:
        return _early.pop("sim")
    closed = Sandbox(files=True, processes=False, network=False, memory_bytes=ADDRESS_SPACE)
    return spawn("grader.backends.sim.child", sandbox=closed if sandbox else None)


def gpu_child(device: int, *, sandbox: bool = True) -> Child:
    """A child that creates its context on GPU number ``device`` at once: the early one, or a new one.

    It may access the files that CUDA needs, and read those of Python, its packages and the grader; no other home
    folders.
    """
    from grader.process.channel import ChannelClosed

    if sandbox and f"gpu {device}" in _early:
        return _early.pop(f"gpu {device}")
    python = (sys.prefix, sys.base_prefix, str(PACKAGE), *(str(Path(p).absolute()) for p in sys.path if p))
    closed = Sandbox(files=True, read=(*_SYSTEM, *python), write=(*_WRITABLE, "/tmp", tempfile.gettempdir()))
    child = spawn("grader.backends.gpu.child", sandbox=closed if sandbox else None, env=environment())
    with contextlib.suppress(ChannelClosed):  # the session reports it when it waits for the child
        child.channel.send({"do": "start", "device": device, "printf_bytes": PRINTF_BYTES})
    return child


def environment(scratch: str | None = None) -> dict[str, str]:
    """A GPU child's environment: which GPU, where CUDA is, and a temporary folder."""
    inherited = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    scratch = scratch or tempfile.gettempdir()
    return inherited | {"HOME": scratch, "CUPY_CACHE_IN_MEMORY": "1", "CUDA_CACHE_DISABLE": "1", "TMPDIR": scratch}
