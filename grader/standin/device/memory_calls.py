"""The device's calls on devices and memory, copies included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.standin.device.core import DeviceCore
from grader.standin.device.managed import ADVICE
from grader.standin.device.memory import MemoryRegion
from grader.standin.device.operations import HOST, Copy, Memset, Prefetch, StreamOperation, StreamTask, missing
from grader.standin.device.persisting import SetAside
from grader.standin.device.report import OVER_THE_LINK
from grader.standin.device.streams import DeviceStream
from grader.standin.protocol import HOST_BASE, CudaRefusal

INVALID = "cudaErrorInvalidValue"
POINTER_TYPES = {"pinned": 1, "device": 2, "managed": 3}
ON_DEVICE = ("device", "managed")


class MemoryCalls(DeviceCore):
    # -- devices ----------------------------------------------------------------------------------------------------
    def device_count(self) -> int:
        return self.devices

    def attributes(self, device: int) -> Mapping[str, int]:
        self.check_device(device)
        return {**self.model.attributes, "TotalGlobalMem": self.space.memory_bytes}

    def memory_info(self, device: int) -> Sequence[int]:
        self.check_device(device)
        return self.space.memory_bytes - self.space.used[device], self.space.memory_bytes

    def set_limit(self, line: int, limit: str, value: int) -> None:
        if limit != "persisting_l2_bytes":
            raise CudaRefusal("cudaErrorUnsupportedLimit", f"the stand-in has no limit {limit}")
        most = self.model.attributes["MaxPersistingL2CacheSize"]
        self.set_aside = SetAside(min(max(value, 0), most), line)
        self.mark()

    def refused(self, line: int, function: str, message: str) -> None:
        # cuda.bindings returns errors, and the host file may ignore them: the report shows them.
        facts = {"function": str(function)[:80], "error": str(message)[:400]}
        self.executor.findings.add(self.executor.records.at("refused", line, **facts))

    def enable_peer(self, line: int, device: int, peer: int) -> None:
        self.check_device(device)
        self.check_device(peer)
        if device == peer:
            raise CudaRefusal("cudaErrorInvalidDevice", "a device is not a peer of itself")
        if (device, peer) in self.executor.peers:
            raise CudaRefusal(
                "cudaErrorPeerAccessAlreadyEnabled", f"device {device} can access the memory of device {peer} already"
            )
        self.executor.peers.add((device, peer))
        self.mark()

    # -- memory -----------------------------------------------------------------------------------------------------
    def malloc(self, line: int, device: int, size: int, managed: bool) -> int:
        self.check_device(device)
        self.refuse_unsafe("allocating memory")
        if size < 1:
            return 0
        if not managed:
            region = self.space.allocate(size, device, line)
            self.executor.tally.most("device_bytes", sum(self.space.used))
        else:
            region = self.space.allocate_shared(size, "managed", device, line)
            self.managed.add(region)
        self._give(region)
        return region.start

    def _give(self, region: MemoryRegion) -> None:
        self.gpu.add(region)
        self.mark()

    def free(self, line: int, address: int) -> None:
        if address:
            self.release(line, address, "device", "managed")

    def give_back(self, line: int, address: int) -> None:
        self._dropped.append((line, address))

    def host_alloc(self, line: int, size: int, flags: int) -> int:
        self.refuse_unsafe("allocating pinned memory")
        if size < 1:
            return 0
        region = self.space.allocate_shared(size, "pinned", 0, line)
        self.executor.staged.watch(region)
        self.executor.tally.add("pinned_bytes", size)
        self._give(region)
        return region.start

    def free_host(self, line: int, address: int) -> None:
        if address:
            self.release(line, address, "pinned")

    def host_register(self, line: int, address: int, size: int, flags: int) -> None:
        self.refuse_unsafe("pinning memory")
        if not self.space.is_pinned_again(address, size):
            self._give(self.space.register(address, size, line))
        self.executor.tally.add("pinned_bytes", size)

    def host_unregister(self, line: int, address: int) -> None:
        region = self.space.at(address)
        if region is None or not region.was_registered:
            raise CudaRefusal("cudaErrorHostMemoryNotRegistered", f"{self.space.name(address)} is not registered")
        self.release(line, address, "pinned", registered=True)

    def pointer(self, address: int) -> Mapping[str, int]:
        region = self.space.at(address)
        if region is None:
            host = address if HOST_BASE <= address < HOST_BASE + self.space.shared.size else 0
            return {"type": 0, "device": -2, "device_pointer": 0, "host_pointer": host}
        on_host = region.kind != "device"
        return {
            "type": POINTER_TYPES[region.kind], "device": region.device, "device_pointer": address,
            "host_pointer": address if on_host else 0,
        }  # fmt: skip

    def advise(self, line: int, address: int, size: int, advice: int, device: int) -> None:
        if advice not in ADVICE:
            raise CudaRefusal(INVALID, f"there is no advice {advice}")
        if device != HOST:
            self.check_device(device)
        self._check_size(size)
        self._check_managed(address, size, "memAdvise")
        self.managed.advise(address, size, advice, device)
        self.mark()

    def _check_managed(self, address: int, size: int, what: str) -> None:
        if self.space.place(address, size) != "managed":
            raise CudaRefusal(INVALID, f"{what} is for managed memory; {self.space.name(address)} is not managed")

    # -- copies -----------------------------------------------------------------------------------------------------
    def copy(self, line: int, target: int, source: int | bytes, size: int, stream: int, blocking: bool) -> None:
        self._check_size(size)
        if not isinstance(source, int) and len(source) != size:
            raise CudaRefusal(INVALID, f"a copy of {size} bytes from {len(source)} bytes")
        if size:
            source = source if isinstance(source, int) else bytes(source)
            self._copy(line, target, source, size, self.streams.stream(stream), blocking)

    def _check_size(self, size: int) -> None:
        if size < 0:
            raise CudaRefusal(INVALID, f"a size of {size} bytes")

    def _copy(
        self, line: int, target: int, source: int | bytes, size: int, stream: DeviceStream, blocking: bool
    ) -> None:
        to = self.space.place(target, size)
        at = self.space.place(source, size) if isinstance(source, int) else "pageable"
        if isinstance(source, int) and 0 < abs(target - source) < size:  # undefined behaviour in CUDA
            raise CudaRefusal(
                INVALID,
                f"source and target of a copy of {size} bytes overlap by {size - abs(target - source)} bytes: the "
                "result is undefined; copy through another buffer",
            )
        pageable = "pageable" in (to, at)
        if pageable or blocking:
            self._refuse_copy(stream, pageable)
        if to in ON_DEVICE and isinstance(source, int):
            self.space.note_copy(target, source, size)
        elif isinstance(source, int):
            self.space.note_copy(source, target, size)
        # Pageable memory is read now, before the stream's earlier work is done: the driver stages it in a buffer.
        taken = bytes(self.space.view(source, size)) if isinstance(source, int) and at == "pageable" else source
        kind = self._kind(target, to, source, at)
        name = self.space.copied_name(source if isinstance(source, int) and at not in ON_DEVICE else target)
        name = name or (self.space.copied_name(source) if isinstance(source, int) else "")
        task = StreamTask(kind, Copy(target, taken, size, pageable), stream.device, line, name)
        staged = at == "pageable" and to in ON_DEVICE
        if staged and blocking:
            self._await_stream(line, stream)
        op = self.issue(task, stream)
        if op is None:
            return
        if to == "pageable" or kind == "on_host" or (blocking and kind in OVER_THE_LINK and not staged):
            self.wait(line, [op])
        elif pageable:
            self.clock.wait([op])  # the host copies all bytes to the driver's buffer: it takes time, but is no wait

    def _await_stream(self, line: int, stream: DeviceStream) -> None:
        """Wait as cudaMemcpy from pageable memory does: for the stream's earlier work, and until its bytes are staged.

        The transfer to the device may still be in flight (CUDA Runtime API, "API synchronization behavior").
        """
        mark = self.streams.issue(None, stream)
        if mark is None:
            return
        if any(op.task is not None for op in missing([mark])):
            self.clock.call(mark)
            self.wait(line, [mark])
        self.streams.chains.waited(mark)

    def _refuse_copy(self, stream: DeviceStream, pageable: bool) -> None:
        what = "a copy from or to memory that is not pinned" if pageable else "a blocking copy"
        self.refuse_while_capturing(what, [stream])

    def _kind(self, target: int, to: str, source: int | bytes, at: str) -> str:
        if to in ON_DEVICE and at in ON_DEVICE:
            ends = [self.space.at(address) for address in (target, source) if isinstance(address, int)]
            devices = {region.device for region in ends if region is not None and region.kind == "device"}
            return "peer" if len(devices) > 1 else "on_device"
        if to in ON_DEVICE:
            return "to_device"
        return "to_host" if at in ON_DEVICE else "on_host"

    def fetch(self, line: int, source: int, size: int, stream: int) -> bytes:
        self._check_size(size)
        if not size:
            return b""
        queue = self.streams.stream(stream)
        at = self.space.place(source, size)
        self._refuse_copy(queue, pageable=True)
        taken = bytearray(size)
        kind = "to_host" if at in ON_DEVICE else "on_host"
        task = StreamTask(kind, Copy(taken, source, size, True), queue.device, line, self.space.copied_name(source))
        self._done(line, self.issue(task, queue))
        return bytes(taken)

    def _done(self, line: int, op: StreamOperation | None) -> None:
        assert op is not None
        self.wait(line, [op])

    def fill(self, line: int, address: int, value: int, size: int, stream: int, blocking: bool) -> None:
        self._check_size(size)
        if not size:
            return
        queue = self.streams.stream(stream)
        place = self.space.place(address, size)
        if place == "pageable":
            raise CudaRefusal(INVALID, f"memset of {self.space.name(address)}, which is pageable host memory")
        waits = blocking and place == "pinned"
        if waits:
            self.refuse_while_capturing("a blocking fill", [queue])
        task = StreamTask(
            "fill", Memset(address, value & 0xFF, size), queue.device, line, self.space.copied_name(address)
        )
        op = self.issue(task, queue)
        if waits:
            self._done(line, op)

    def prefetch(self, line: int, address: int, size: int, device: int, stream: int) -> None:
        if device != HOST:
            self.check_device(device)
        self._check_size(size)
        self._check_managed(address, size, "memPrefetchAsync")
        queue = self.streams.stream(stream)
        self.refuse_while_capturing("a prefetch", [queue])
        name = self.space.copied_name(address)
        self.issue(StreamTask("prefetch", Prefetch(address, size, device), queue.device, line, name), queue)
