"""A GPU made of NumPy: memory is one byte array, kernels are Python functions over it. For the child's own logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.backends.gpu.cuda import CudaError

BASE = 1 << 20  # no allocation starts at 0
Kernel = Callable[..., None]


class FakeDevice:
    """Runs everything at once, in order. A kernel is called as ``kernel(device, grid, block, *args)``."""

    def __init__(self, modules: dict[bytes, dict[str, Any]], capacity: int = 64 << 20) -> None:
        self.memory = np.zeros(capacity, dtype=np.uint8)
        self.modules = modules
        self.clock_s = 0.0
        self.kernel_s: dict[str, float] = {}
        self.launched: list[str] = []
        self.log: list[tuple[str, Any]] = []
        self._next = BASE
        self._pending: str | None = None

    # memory ------------------------------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        address = self._next
        self._next += -(-size // 256) * 256
        if self._next > BASE + self.memory.size:
            raise CudaError("cudaErrorMemoryAllocation: out of memory")
        return address

    def free(self, address: int) -> None:
        self.log.append(("free", address))

    def bytes_at(self, address: int, size: int) -> np.ndarray:
        if address < BASE or address + size > BASE + self.memory.size:
            self._pending = "cudaErrorIllegalAddress: an illegal memory access was encountered"
            return np.zeros(size, dtype=np.uint8)
        return self.memory[address - BASE : address - BASE + size]

    def array(self, address: int, dtype: str, count: int) -> np.ndarray:
        return self.bytes_at(int(address), int(count) * np.dtype(dtype).itemsize).view(dtype)

    def fill8(self, address: int, value: int, size: int) -> None:
        self.bytes_at(address, size)[:] = value

    def fill16(self, address: int, value: int, count: int) -> None:
        self.array(address, "uint16", count)[:] = value

    def upload(self, address: int, data: np.ndarray) -> None:
        self.bytes_at(address, data.nbytes)[:] = np.frombuffer(data.tobytes(), np.uint8)

    def download(self, address: int, size: int) -> np.ndarray:
        self.synchronise()
        return self.bytes_at(address, size).copy()

    def copy(self, to: int, source: int, size: int) -> None:
        self.log.append(("copy", size))
        self.bytes_at(to, size)[:] = self.bytes_at(source, size).copy()

    # modules and launches ---------------------------------------------------------------------------------------

    def load(self, cubin: bytes) -> dict[str, Any]:
        content = dict(self.modules[cubin])
        self.log.append(("load", cubin))
        variables = content.pop("variables", {})
        content["addresses"] = {name: (self._variable(data), data.nbytes) for name, data in variables.items()}
        return content

    def _variable(self, data: np.ndarray) -> int:
        address = self.allocate(data.nbytes)
        self.upload(address, data)
        return address

    def function(self, module: dict[str, Any], name: str) -> tuple[str, Kernel]:
        if name not in module:
            raise CudaError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        return name, module[name]

    def allow_shared(self, function: Any, size: int) -> None:
        if size > 227 << 10:
            raise CudaError("CUDA_ERROR_INVALID_VALUE: invalid argument")

    def variable(self, module: dict[str, Any], name: str) -> tuple[int, int]:
        if name not in module["addresses"]:
            raise CudaError("CUDA_ERROR_NOT_FOUND: cuModuleGetGlobal")
        return module["addresses"][name]

    def tensor_map(self, wanted: Any, address: int) -> bytes:
        """Not CUDA's layout: 128 bytes that begin with the address, so that a kernel of Python can find it."""
        self.log.append(("tensor_map", (wanted.name, address)))
        if wanted.box[-1] > 256:
            raise CudaError("CUDA_ERROR_INVALID_VALUE: cuTensorMapEncodeTiled")
        return address.to_bytes(8, "little") + bytes(120)

    def launch(self, function, grid, block, args, shared_bytes=0, *, cooperative=False, cluster=(1, 1, 1)):
        name, kernel = function
        self.launched.append(name)
        self.clock_s += self.kernel_s.get(name, 1e-5)
        kernel(self, grid, block, *args)

    def fail(self, text: str) -> None:
        """What a kernel calls to crash: the error appears at the next synchronisation, as on a GPU."""
        self._pending = text

    # time --------------------------------------------------------------------------------------------------------

    def event(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float]) -> None:
        event[0] = self.clock_s

    def elapsed_s(self, start: list[float], stop: list[float]) -> float:
        return stop[0] - start[0]

    def synchronise(self) -> None:
        if self._pending is not None:
            raise CudaError(self._pending)

    def reset_persisting_l2(self) -> None:
        self.log.append(("reset", None))


def find_changed(device: FakeDevice, grid, block, zone, size, pattern, after, nearest) -> None:
    content = device.array(zone, "uint8", size)
    changed = np.flatnonzero(content != np.uint8(pattern))
    if len(changed):
        distances = changed if after else int(size) - 1 - changed
        word = device.array(nearest, "uint64", 1)
        word[0] = min(word[0], np.uint64(distances.min()))


def read_through(device: FakeDevice, grid, block, clean, count, never, sink) -> None:
    device.log.append(("read", int(count)))


def control_copy(device: FakeDevice, grid, block, source, target, count) -> None:
    device.log.append(("control", int(count)))


def copy_pieces(device: FakeDevice, grid, block, table) -> None:
    for to, source, size in device.array(table, "uint64", 3 * grid[0]).reshape(-1, 3).tolist():
        device.copy(to, source, size)


SUPPORT = {
    "find_changed": find_changed,
    "read_through": read_through,
    "control_copy": control_copy,
    "copy_pieces": copy_pieces,
}
