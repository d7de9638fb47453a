"""The stand-in's CuPy in this process, over a machine that does everything at once and keeps what it was asked."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grader.backends.mappings import SharedFile, Span
from grader.standin.client import connection, memory, namespaces, runtime, streams
from grader.standin.client.connection import HOST
from grader.standin.protocol import CALLS, HOST_BASE, CudaRefusal, DeviceCalls, answer, relayed, unpack

FILE_BYTES = 1 << 20
POOL = FILE_BYTES // 2  # where pinned and managed memory begins
DEVICE_BASE = 1 << 40


class FakeDevice:
    """Memory is real, streams are not. ``calls`` has the name and the arguments of every call."""

    def __init__(self, shared: np.ndarray) -> None:
        self.shared = shared
        self.calls: list[tuple[Any, ...]] = []
        self.blocks: dict[int, np.ndarray] = {}
        self.next_block, self.next_host, self.next_handle = DEVICE_BASE, POOL, 16
        self.fails: dict[str, CudaRefusal] = {}

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name.startswith("_") or name not in CALLS:
            return found

        def recorded(*arguments: Any) -> Any:
            self.calls.append((name, *arguments))
            if name in self.fails:
                raise self.fails[name]
            return found(*arguments)

        return recorded

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of the calls of one name, without the line."""
        return [call[2:] if name in PLACED else call[1:] for call in self.calls if call[0] == name]

    def _at(self, address: int, size: int) -> np.ndarray:
        if address >= HOST_BASE:
            return self.shared[address - HOST_BASE :][:size]
        start = max(base for base in self.blocks if base <= address)
        return self.blocks[start][address - start :][:size]

    def device_count(self) -> int:
        return 2

    def attributes(self, device: int) -> dict[str, int]:
        return {
            "MultiProcessorCount": 108, "WarpSize": 32, "MaxSharedMemoryPerBlockOptin": 163 << 10,
            "ComputeCapabilityMajor": 8, "ComputeCapabilityMinor": 0, "MaxPersistingL2CacheSize": 30 << 20,
        }  # fmt: skip

    def memory_info(self, device: int) -> list[int]:
        return [3 << 20, 4 << 20]

    def malloc(self, where: int, device: int, size: int, managed: bool) -> int:
        if managed:
            return self.host_alloc(where, size, 0)
        address, self.next_block = self.next_block, self.next_block + (1 << 24)
        self.blocks[address] = np.full(size, 0xA5, np.uint8)
        return address

    def host_alloc(self, where: int, size: int, flags: int) -> int:
        address, self.next_host = self.next_host, self.next_host + -(-size // 4096) * 4096
        return HOST_BASE + address

    def copy(self, where: int, target: int, source: int | bytes, size: int, stream: int, blocking: bool) -> None:
        content = np.frombuffer(source, np.uint8) if isinstance(source, bytes) else self._at(source, size)
        self._at(target, size)[:] = content[:size]

    def fetch(self, where: int, source: int, size: int, stream: int) -> bytes:
        return self._at(source, size).tobytes()

    def fill(self, where: int, address: int, value: int, size: int, stream: int, blocking: bool) -> None:
        self._at(address, size)[:] = value

    def pointer(self, address: int) -> dict[str, int]:
        return {"type": 1, "device": 0, "device_pointer": address, "host_pointer": address}

    def kernel_attributes(self, kernel: str) -> dict[str, Any]:
        if kernel != "smooth":
            raise CudaRefusal("cudaErrorSymbolNotFound", f"no kernel {kernel}")
        parameters = [["u64", 8], ["u64", 8], ["u32", 4]]
        return {"parameters": parameters, "shared_bytes": 1024, "max_threads": 1024, "registers": 20, "local_bytes": 0}

    def resident_blocks(self, kernel: str, block_threads: int, shared_bytes: int) -> int:
        return 2048 // block_threads

    def query(self, where: int, what: str, handle: int) -> bool:
        return False

    def is_capturing(self, stream: int) -> bool:
        return True

    def elapsed_ms(self, first: int, last: int) -> float:
        return 1.5

    def _handle(self, *arguments: Any) -> int:
        self.next_handle += 1
        return self.next_handle

    stream_create = event_create = capture_end = _handle

    def _nothing(self, *arguments: Any) -> None: ...

    refused = set_limit = enable_peer = free = free_host = host_register = host_unregister = advise = _nothing
    stream_destroy = _nothing
    stream_attribute = event_destroy = event_record = stream_wait_event = prefetch = launch = _nothing
    capture_begin = graph_launch = graph_destroy = synchronize = _nothing


PLACED = {name for name in CALLS if "line" in inspect.signature(getattr(DeviceCalls, name)).parameters}


@pytest.fixture(scope="session")
def _shared_file() -> Iterator[SharedFile]:
    file = SharedFile(FILE_BYTES)
    HOST.map(file.fd, file.size)
    yield file
    file.close()


@pytest.fixture
def standin(_shared_file: SharedFile, request: pytest.FixtureRequest) -> Iterator[SimpleNamespace]:
    """``cupy``, ``cupyx``, ``cudart`` and the ``device`` behind them; this file plays the host file."""
    gc.disable()  # arrays of earlier tests, at the same addresses, must not die in the middle of this one
    device = FakeDevice(_shared_file.array(Span(0, FILE_BYTES), "uint8"))
    connection.connect(lambda message: answer(device, unpack(relayed(message))), str(request.path))
    memory.POOL._free.clear()
    memory.PINNED_POOL._free.clear()
    connection.CONNECTION.deferred.clear()
    streams._CURRENT.stream.clear()
    runtime._THREAD.device = 0
    runtime._THREAD.streams.clear()
    made = namespaces.modules()
    yield SimpleNamespace(
        cupy=made["cupy"], cupyx=made["cupyx"], cudart=made["cuda.bindings.runtime"], device=device, made=made,
        array=lambda count, dtype="float32", offset=0: HOST.array(offset, count * np.dtype(dtype).itemsize, dtype),
    )  # fmt: skip
    gc.enable()
    connection.CONNECTION.deferred.clear()
