"""What a timed host file is measured against, as runs of the grader's own: each has `run` and `free`. Child side.

They are called by the same words of shared memory as a host file's `run`, so that launches, the wait and the protocol
count on both sides. `grader.backends.gpu.hostfile.baselines` says what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Protocol

from grader.backends import plans
from grader.backends.arguments import resolve

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.gpu.signals import Signals
    from grader.process.channel import Channel


PIECE = 256 << 20  # bytes of one copy between devices
PATTERN = 1 << 18  # elements that are drawn; an array repeats them


class Measured(Protocol):
    """One baseline, ready to be timed."""

    def run(self) -> None:
        """Do it once and wait for its end. Raises CuPy's error where CUDA refuses it."""

    def free(self) -> None: ...


Make = Callable[[Mapping[str, Any]], Measured]


def serve_baselines(channel: Channel, signals: Signals, make: Make) -> bool:
    """Let the parent time one baseline after another, as it will time runs; whether it then asks for the sandbox."""
    from grader.process.channel import ChannelClosed

    while True:
        try:
            message, _ = channel.receive(None)
        except ChannelClosed:
            return False
        if message["do"] != "baseline":
            return True
        _serve(channel, signals, make, message)


def _serve(channel: Channel, signals: Signals, make: Make, message: Mapping[str, Any]) -> None:
    from grader.backends.gpu.calls import serve_calls

    name = message["name"]
    try:
        one = make(message)
    except Exception as error:
        channel.send({"error": f"{name} could not be measured: {error}"})
        return
    channel.send({"made": True})

    def run() -> dict[str, Any]:
        try:
            one.run()
        except Exception as error:
            return {"error": f"{name} could not be measured: {error}"}
        return {"done": True}

    serve_calls(channel, signals, run)
    one.free()


def make(message: Mapping[str, Any]) -> Measured:
    """The baseline that the parent asks for."""
    if "plan" in message:
        return Kernels(message)
    if "each" in message:
        return BetweenDevices(int(message["each"]), int(message["devices"]))
    return LinkCopies(int(message.get("into", 0)), int(message.get("out_of", 0)))


class LinkCopies:
    """Copies of so many bytes into the device and out of it, in pinned memory, at once on two streams."""

    def __init__(self, into: int, out_of: int) -> None:
        from cupy.cuda import Stream, runtime

        self._runtime = runtime
        directions = ((into, runtime.memcpyHostToDevice), (out_of, runtime.memcpyDeviceToHost))
        self._copies = []
        for size, kind in directions:
            if size:
                host, device = runtime.hostAlloc(size, runtime.hostAllocMapped), runtime.malloc(size)
                runtime.memset(device, 0, size)
                ends = (device, host) if kind == runtime.memcpyHostToDevice else (host, device)
                self._copies.append((*ends, size, kind, Stream(non_blocking=True)))

    def run(self) -> None:
        for to, source, size, kind, stream in self._copies:
            self._runtime.memcpyAsync(to, source, size, kind, stream.ptr)
        for *_, stream in self._copies:
            stream.synchronize()

    def free(self) -> None:
        for to, source, _, kind, _ in self._copies:
            device, host = (to, source) if kind == self._runtime.memcpyHostToDevice else (source, to)
            self._runtime.free(device)
            self._runtime.freeHost(host)
        self._copies.clear()


class BetweenDevices:
    """Every GPU sends ``size`` bytes to the next one, all at once; more than a piece is sent piece by piece."""

    def __init__(self, size: int, count: int) -> None:
        from cupy.cuda import Device, Stream, runtime

        self._runtime, self._device = runtime, Device
        self._pieces = [PIECE] * (size // PIECE) + [size % PIECE] * (size % PIECE > 0)
        self._here = runtime.getDevice()
        self._ends: list[tuple[int, int]] = []  # of each device: what it sends, and what it gets
        self._streams = []
        for device in range(count):
            with Device(device):
                self._ends.append((runtime.malloc(self._pieces[0]), runtime.malloc(self._pieces[0])))
                self._streams.append(Stream(non_blocking=True))
                self._allow(device, (device + 1) % count)
                runtime.memset(self._ends[-1][0], 0, self._pieces[0])
                runtime.deviceSynchronize()

    def _allow(self, device: int, peer: int) -> None:
        """Let the two reach each other's memory directly, where the machine can: else a copy goes through the host."""
        if device != peer and self._runtime.deviceCanAccessPeer(device, peer):
            self._runtime.deviceEnablePeerAccess(peer)

    def run(self) -> None:
        count = len(self._ends)
        for device in range(count):
            peer = (device + 1) % count
            self._runtime.setDevice(device)
            to, source = self._ends[peer][1], self._ends[device][0]
            for piece in self._pieces:
                self._runtime.memcpyPeerAsync(to, peer, source, device, piece, self._streams[device].ptr)
        for stream in self._streams:
            stream.synchronize()
        self._runtime.setDevice(self._here)

    def free(self) -> None:
        """Give back the memory, and the permissions: a host file must ask for its own."""
        count = len(self._ends)
        for device, ends in enumerate(self._ends):
            with self._device(device):
                for address in ends:
                    self._runtime.free(address)
                peer = (device + 1) % count
                if device != peer and self._runtime.deviceCanAccessPeer(device, peer):
                    self._runtime.deviceDisablePeerAccess(peer)


class Kernels:
    """Launches of a trusted kernel: its launch lines once on data that is on the device, or ``rounds`` launches in a
    plain loop between copies in and out.
    """

    def __init__(self, message: Mapping[str, Any]) -> None:
        from cupy.cuda import Stream, runtime

        from grader.backends.gpu.modules import load_module

        self._runtime, self._stream = runtime, Stream(non_blocking=True)
        plan = plans.plan_from_json(message["plan"])
        entries = {entry.name: entry for entry in plans.entries_from_json(message["entries"])}
        self._buffers = [_Buffer(runtime, array) for array in [*message["arrays"], *_scratch(plan)]]
        addresses = {buffer.name: buffer.device for buffer in self._buffers}
        module = load_module(
            bytes(message["cubin"]), plan.launches[0].kernel, cooperative=any(x.cooperative for x in plan.launches)
        )
        launches = []
        for launch in plan.launches:
            kernel = module.get_function(launch.kernel)
            if launch.shared_bytes:
                kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
            args = tuple(resolve(launch.args, entries[launch.kernel].parameters, addresses))
            launches.append((kernel, launch.grid, launch.block, args, launch.shared_bytes))
        rounds = int(message["rounds"])
        self._launches = tuple(islice(cycle(launches), rounds or len(launches)))
        self._copied = self._buffers if rounds else []

    def run(self) -> None:
        stream = self._stream
        with stream:
            for buffer in self._copied:
                buffer.copy("in", stream)
            for kernel, grid, block, args, shared_bytes in self._launches:
                kernel(grid, block, args, shared_mem=shared_bytes)
            for buffer in self._copied:
                buffer.copy("out", stream)
            stream.synchronize()

    def free(self) -> None:
        for buffer in self._buffers:
            buffer.free()


class _Buffer:
    """One array on the device, filled, with its pinned counterpart on the host."""

    def __init__(self, runtime: Any, array: Mapping[str, Any]) -> None:
        import numpy as np

        self._runtime = runtime
        self.name, self.role = str(array["name"]), str(array["role"])
        self.size = int(array["count"]) * np.dtype(array["dtype"]).itemsize
        self.device = runtime.malloc(self.size)
        self._host = runtime.hostAlloc(self.size, runtime.hostAllocMapped)
        _fill(_bytes_at(self._host, self.size).view(array["dtype"]), array["range"])
        runtime.memcpy(self.device, self._host, self.size, runtime.memcpyHostToDevice)

    def copy(self, role: str, stream: Any) -> None:
        """Queue the copy of an input to the device, or of an output to the host."""
        if self.role != role:
            return
        if role == "in":
            self._runtime.memcpyAsync(self.device, self._host, self.size, self._runtime.memcpyHostToDevice, stream.ptr)
        else:
            self._runtime.memcpyAsync(self._host, self.device, self.size, self._runtime.memcpyDeviceToHost, stream.ptr)

    def free(self) -> None:
        self._runtime.free(self.device)
        self._runtime.freeHost(self._host)


def _scratch(plan: Any) -> list[dict[str, Any]]:
    return [
        {"name": s.name, "dtype": s.dtype, "count": s.count, "role": "scratch", "range": [0, 1, 0, 1]}
        for s in plan.scratch
    ]


def _bytes_at(address: int, size: int) -> npt.NDArray[np.uint8]:
    import ctypes

    import numpy as np

    memory = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
    return np.frombuffer(memory, dtype=np.uint8)


def _fill(values: npt.NDArray[np.generic], bounds: Sequence[float]) -> None:
    """Values of the array's range: a pattern that repeats, because only their kind matters."""
    import numpy as np

    low, high, exact_low, exact_high = bounds
    random, count = np.random.default_rng(1), min(PATTERN, values.size)
    drawn: npt.NDArray[np.generic]
    if values.dtype.kind == "f":
        drawn = random.uniform(low, high, count).astype(values.dtype)
    else:
        drawn = random.integers(int(exact_low), int(exact_high), count, endpoint=True).astype(values.dtype)
    for start in range(0, values.size, count):
        values[start : start + count] = drawn[: values.size - start]
