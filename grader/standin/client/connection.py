"""The client's connection to the grader: calls of the device, and the file that the grader shares.

`CONNECTION` is the only connection of this process; the modules of this package make their calls through `call`. Each
call is a message to the parent and waits for the answer.

Memory of the shared file has a device address; other host memory is pageable. The whole file is one mapping, at
`HOST_BASE` if these addresses are free, so that an array has the same address in this process and on the device.
Otherwise addresses are translated.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.standin.client.errors import HOSTFILE, CUDARuntimeError, here
from grader.standin.protocol import HOST_BASE, pack

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends one message and returns the answer."""


@dataclass
class Connection:
    """The connection to the device."""

    ask: Ask | None = None
    open: bool = True  # False between two runs
    lock: threading.RLock = field(default_factory=threading.RLock)  # a host file may have threads
    deferred: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)


CONNECTION = Connection()


def connect(ask: Ask, hostfile: str) -> None:
    """Send calls through ``ask`` from now on; ``hostfile`` is the name under which the host file was compiled."""
    CONNECTION.ask, HOSTFILE.name = ask, hostfile


def call(name: str, *arguments: Any) -> Any:
    """The result of one call of `grader.standin.protocol`. Raises CUDARuntimeError if CUDA would refuse it."""
    with CONNECTION.lock:
        if not CONNECTION.open:
            raise RuntimeError("CUDA was called by a thread after setup() or run() had returned")
        while CONNECTION.deferred:
            _send(*CONNECTION.deferred.pop(0))
        answer = _send(name, arguments)
    if "error" in answer:
        raise CUDARuntimeError.named(str(answer["error"]), str(answer.get("message", "")))
    return answer.get("result")


def placed(name: str, *arguments: Any) -> Any:
    """`call` with the line of the host file as the first argument."""
    return call(name, here(), *arguments)


def call_later(name: str, *arguments: Any) -> None:
    """Make a call without a result before the next `call`: for destructors, which may run at any moment."""
    CONNECTION.deferred.append((name, arguments))


def _send(name: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    assert CONNECTION.ask is not None
    return CONNECTION.ask(pack(name, arguments))


# ------------------------------------------------------------------------------------------------------- host memory

_MAP_FIXED_NOREPLACE = 0x100000


class HostMemory:
    """The shared file in this process: ``size`` bytes from `base`."""

    def __init__(self) -> None:
        self.base = 0
        self.size = 0

    def map(self, fd: int, size: int) -> None:
        """Map the whole file; pages take memory only when they are accessed. Raises OSError."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        access = mmap.PROT_READ | mmap.PROT_WRITE
        for place, flags in ((HOST_BASE, _MAP_FIXED_NOREPLACE), (None, 0)):
            address = libc.mmap(place, size, access, mmap.MAP_SHARED | flags, fd, 0)
            if address not in (None, ctypes.c_void_p(-1).value):
                self.base, self.size = int(address), size
                return
        raise OSError(ctypes.get_errno(), "the shared file cannot be mapped")

    def holds(self, address: int) -> bool:
        return self.base <= address < self.base + self.size

    def to_device(self, address: int) -> int:
        """The device's address for an address of this process in the shared file; other numbers are unchanged."""
        return address - self.base + HOST_BASE if self.holds(address) else address

    def from_device(self, address: int) -> int:
        inside = HOST_BASE <= address < HOST_BASE + self.size
        return address - HOST_BASE + self.base if inside else address

    def array(self, offset: int, size: int, dtype: str) -> npt.NDArray[np.generic]:
        """``size`` bytes of the file as a 1-D array."""
        return np.frombuffer(buffer_at(self.base + offset, size), dtype=np.uint8, count=size).view(dtype)


HOST = HostMemory()


def buffer_at(address: int, size: int) -> Any:
    """``size`` bytes at an address of this process, as an object with the buffer protocol."""
    return (ctypes.c_char * size).from_address(address)
