"""The baselines of timed host files (see `grader.backends.gpu.hostfile.baselines`), each with `run`. Child side.

They are called by the same signals as a host file's `run`, so that the protocol's cost is in both times.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from grader.backends.plans import resolve
from grader.compile import Entry
from grader.launch import LaunchPlan
from grader.reading import from_json

if TYPE_CHECKING:
    from grader.backends.gpu.hostfile.signals import Signals
    from grader.process.channel import Channel

PIECE = 256 << 20  # bytes of one copy between devices
PATTERN = 1 << 18  # random elements; an array repeats them


class Measured(Protocol):
    """One baseline, ready to be timed."""

    def run(self) -> None:
        """Do it once and wait for its end. Raises CuPy's errors."""

    def free(self) -> None: ...


Make = Callable[[Mapping[str, Any]], Measured]


def serve_baselines(channel: Channel, signals: Signals, make: Make) -> bool:
    """Let the parent time baselines, in the way that it times runs; returns whether it then requests the sandbox."""
    from grader.process.channel import ChannelClosed

    while True:
        try:
            message, _ = channel.receive(None)
        except ChannelClosed:
            return False
        if message["do"] != "baseline":
            return True
        try:
            one = make(message)
        except Exception as error:
            channel.send(_failed(message, error))
            continue
        channel.send({"made": True})
        signals.serve(channel, partial(_run, one, message))
        one.free()


def _run(one: Measured, message: Mapping[str, Any]) -> dict[str, Any]:
    try:
        one.run()
    except Exception as error:
        return _failed(message, error)
    return {"done": True}


def _failed(message: Mapping[str, Any], error: Exception) -> dict[str, Any]:
    return {"error": f"{message['name']} could not be measured: {error}"}


def make(message: Mapping[str, Any]) -> Measured:
    """The requested baseline."""
    if "plan" in message:
        return Kernels(message)
    if "each" in message:
        return BetweenDevices(int(message["each"]), int(message["devices"]))
    return LinkCopies(int(message.get("into", 0)), int(message.get("out_of", 0)))


class _Buffer:
    """A buffer on the device, and one of the same size in pinned host memory."""

    def __init__(self, runtime: Any, size: int) -> None:
        self._runtime, self._size = runtime, size
        self.device, self._host = runtime.malloc(size), runtime.hostAlloc(size, runtime.hostAllocMapped)

    def fill(self, dtype: str, bounds: Sequence[float]) -> None:
        """Fill both with random values within ``bounds``."""
        memory = memoryview((ctypes.c_char * self._size).from_address(self._host)).cast("B")
        _fill(np.frombuffer(memory, dtype=dtype), bounds)
        self._runtime.memcpy(self.device, self._host, self._size, self._runtime.memcpyHostToDevice)

    def copy(self, role: str, stream: Any) -> None:
        """Queue the copy of an input (``in``) to the device, or of an output (``out``) to the host."""
        to, source, kind = self.device, self._host, self._runtime.memcpyHostToDevice
        if role == "out":
            to, source, kind = source, to, self._runtime.memcpyDeviceToHost
        self._runtime.memcpyAsync(to, source, self._size, kind, stream.ptr)

    def free(self) -> None:
        self._runtime.free(self.device)
        self._runtime.freeHost(self._host)


class LinkCopies:
    """Copies of ``into`` bytes to the device and of ``out_of`` bytes from it, concurrently on two streams."""

    def __init__(self, into: int, out_of: int) -> None:
        from cupy.cuda import Stream, runtime

        self._copies = []
        for role, size in (("in", into), ("out", out_of)):
            if size:
                buffer = _Buffer(runtime, size)
                runtime.memset(buffer.device, 0, size)
                self._copies.append((buffer, role, Stream(non_blocking=True)))

    def run(self) -> None:
        for buffer, role, stream in self._copies:
            buffer.copy(role, stream)
        for *_, stream in self._copies:
            stream.synchronize()

    def free(self) -> None:
        for buffer, *_ in self._copies:
            buffer.free()
        self._copies.clear()


class BetweenDevices:
    """Every GPU sends ``size`` bytes to the next one, concurrently, in pieces of at most `PIECE` bytes."""

    def __init__(self, size: int, count: int) -> None:
        from cupy.cuda import Device, Stream, runtime

        self._runtime, self._device, self._count = runtime, Device, count
        self._pieces = [PIECE] * (size // PIECE) + [size % PIECE] * (size % PIECE > 0)
        self._here = runtime.getDevice()
        self._ends: list[tuple[int, int]] = []  # addresses of each device: the source and the target of copies
        self._streams = []
        for device in range(count):
            with Device(device):
                self._ends.append((runtime.malloc(self._pieces[0]), runtime.malloc(self._pieces[0])))
                self._streams.append(Stream(non_blocking=True))
                if self._reaches_next(device):
                    runtime.deviceEnablePeerAccess((device + 1) % count)
                runtime.memset(self._ends[-1][0], 0, self._pieces[0])
                runtime.deviceSynchronize()

    def _reaches_next(self, device: int) -> bool:
        """Whether a device can access the next one's memory directly; else a copy goes through the host."""
        peer = (device + 1) % self._count
        return bool(device != peer and self._runtime.deviceCanAccessPeer(device, peer))

    def run(self) -> None:
        for device in range(self._count):
            peer = (device + 1) % self._count
            self._runtime.setDevice(device)
            to, source = self._ends[peer][1], self._ends[device][0]
            for piece in self._pieces:
                self._runtime.memcpyPeerAsync(to, peer, source, device, piece, self._streams[device].ptr)
        for stream in self._streams:
            stream.synchronize()
        self._runtime.setDevice(self._here)

    def free(self) -> None:
        """Free the memory, and disable peer access: a host file must enable it itself."""
        for device, ends in enumerate(self._ends):
            with self._device(device):
                for address in ends:
                    self._runtime.free(address)
                if self._reaches_next(device):
                    self._runtime.deviceDisablePeerAccess((device + 1) % self._count)


class Kernels:
    """Launches of a trusted kernel: its launch lines once, on data on the device; or ``rounds`` launches in a plain
    loop, between copies of the inputs and of the outputs.
    """

    def __init__(self, message: Mapping[str, Any]) -> None:
        from cupy.cuda import Stream, runtime

        self._stream = Stream(non_blocking=True)
        plan = from_json(LaunchPlan, message["plan"])
        entries = {entry.name: entry for entry in from_json(tuple[Entry, ...], message["entries"])}
        scratch = [
            {"name": s.name, "dtype": s.dtype, "count": s.count, "role": "scratch", "range": [0, 1, 0, 1]}
            for s in plan.scratch
        ]
        addresses = {}
        self._buffers: list[tuple[_Buffer, str]] = []  # with the roles of the arrays
        for array in [*message["arrays"], *scratch]:
            buffer = _Buffer(runtime, int(array["count"]) * np.dtype(array["dtype"]).itemsize)
            buffer.fill(array["dtype"], array["range"])
            self._buffers.append((buffer, str(array["role"])))
            addresses[str(array["name"])] = buffer.device
        cooperative = any(x.cooperative for x in plan.launches)
        module = load_module(bytes(message["cubin"]), plan.launches[0].kernel, cooperative=cooperative)
        launches = []
        for launch in plan.launches:
            kernel = module.get_function(launch.kernel)
            if launch.shared_bytes:
                kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
            args = tuple(resolve(launch.args, entries[launch.kernel].parameters, addresses))
            launches.append((kernel, launch.grid, launch.block, args, launch.shared_bytes))
        rounds = int(message["rounds"])
        self._launches = tuple(islice(cycle(launches), rounds or len(launches)))
        copied = self._buffers if rounds else []
        self._before, self._after = ([b for b, own in copied if own == role] for role in ("in", "out"))

    def run(self) -> None:
        stream = self._stream
        with stream:
            for buffer in self._before:
                buffer.copy("in", stream)
            for kernel, grid, block, args, shared_bytes in self._launches:
                kernel(grid, block, args, shared_mem=shared_bytes)
            for buffer in self._after:
                buffer.copy("out", stream)
            stream.synchronize()

    def free(self) -> None:
        for buffer, _ in self._buffers:
            buffer.free()


def _fill(values: npt.NDArray[np.generic], bounds: Sequence[float]) -> None:
    """Fill ``values`` with random values within ``bounds``, which repeat."""
    low, high, exact_low, exact_high = bounds
    random, count = np.random.default_rng(1), min(PATTERN, values.size)
    drawn: npt.NDArray[np.generic]
    if values.dtype.kind == "f":
        drawn = random.uniform(low, high, count).astype(values.dtype)
    else:
        drawn = random.integers(int(exact_low), int(exact_high), count, endpoint=True).astype(values.dtype)
    for start in range(0, values.size, count):
        values[start : start + count] = drawn[: values.size - start]


def load_module(cubin: bytes, kernel: str, *, cooperative: bool = False, devices: int = 1) -> Any:
    """A `cupy.RawModule`, loaded on the current device, or on the first ``devices`` devices, while its file exists.

    CuPy uses cooperative launches for all kernels of a ``cooperative`` module, as `grid.sync()` requires.
    """
    import cupy

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        module = cupy.RawModule(path=file.name, enable_cooperative_groups=cooperative)
        module.get_function(kernel)
        for device in range(devices if devices > 1 else 0):
            with cupy.cuda.Device(device):
                module.get_function(kernel)
    return module
