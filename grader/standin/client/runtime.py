"""`cupy.cuda.runtime`: the functions of the CUDA runtime that host files use, with CuPy's names and order of arguments.

An address is one of this process for memory of the host, and the device's for memory of a device.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.standin.client import constants
from grader.standin.client.connection import call, placed
from grader.standin.client.errors import CUDARuntimeError, advised, is_known, outside
from grader.standin.client.hostmemory import HOST, bytes_at, write_at


class _Thread(threading.local):
    """What belongs to a thread: CUDA's current device, and the thread's default stream on each device."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, int] = {}


_THREAD = _Thread()
_DEVICE_RANGES: dict[int, int] = {}  # address -> bytes of what `malloc` gave, here or through the pool
_LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 3: 2, 4: 2048, 5: 128, constants.LIMIT_PERSISTING_L2: 0}


def invalid(message: str) -> CUDARuntimeError:
    """cudaErrorInvalidValue, for what is refused before the device is asked."""
    return CUDARuntimeError.named("cudaErrorInvalidValue", message)


def _plain(value: Any) -> int:
    """An address or a handle. CuPy takes Python's own int for these, and nothing else."""
    if isinstance(value, int):
        return int(value)
    raise advised(TypeError("an integer is required"), _advice(value))


def _advice(value: Any) -> str:
    if isinstance(value, np.generic):
        return "an address or a handle must be Python's own int: `int(address)`"
    if hasattr(value, "ptr"):
        return "functions of cupy.cuda.runtime take the number behind the object: its `.ptr`, as in `stream.ptr`"
    if isinstance(value, np.ndarray):
        return "the address of an array of the host is its `.ctypes.data`"
    return "the address of an array of the device is its `.data.ptr`" if hasattr(value, "data") else ""


def _on_device_side(ptr: Any) -> int:
    """An address as the device knows it."""
    return HOST.to_device(_plain(ptr))


# ------------------------------------------------------------------------------------------------------------- devices


def getDevice() -> int:
    return _THREAD.device


def setDevice(device: int) -> None:
    if not 0 <= int(device) < getDeviceCount():
        count = getDeviceCount()
        raise CUDARuntimeError.named("cudaErrorInvalidDevice", f"there is no device {device}: {count} in all")
    _THREAD.device = int(device)


def getDeviceCount() -> int:
    return int(call("device_count"))


def attributes_of(device: int) -> Mapping[str, int]:
    """All attributes of a device by CuPy's names."""
    if not 0 <= device < getDeviceCount():
        raise CUDARuntimeError.named("cudaErrorInvalidDevice", f"there is no device {device}")
    return {str(name): int(value) for name, value in call("attributes", device).items()}


def deviceGetAttribute(attrib: int, device: int) -> int:
    names = {number: name for name, number in constants.DEVICE_ATTRIBUTES.items()} | dict(constants.UNNAMED_ATTRIBUTES)
    found = attributes_of(device).get(names.get(int(attrib), ""))
    if found is None:
        raise invalid(f"the stand-in's device has no attribute {attrib}")
    return found


_PROPERTIES = {
    "multiProcessorCount": "MultiProcessorCount", "warpSize": "WarpSize", "maxThreadsPerBlock": "MaxThreadsPerBlock",
    "maxThreadsPerMultiProcessor": "MaxThreadsPerMultiProcessor", "sharedMemPerBlock": "MaxSharedMemoryPerBlock",
    "sharedMemPerBlockOptin": "MaxSharedMemoryPerBlockOptin", "regsPerBlock": "MaxRegistersPerBlock",
    "sharedMemPerMultiprocessor": "MaxSharedMemoryPerMultiprocessor", "l2CacheSize": "L2CacheSize",
    "regsPerMultiprocessor": "MaxRegistersPerMultiprocessor", "asyncEngineCount": "AsyncEngineCount",
    "canMapHostMemory": "CanMapHostMemory", "concurrentKernels": "ConcurrentKernels",
    "managedMemory": "ManagedMemory", "concurrentManagedAccess": "ConcurrentManagedAccess",
    "pageableMemoryAccess": "PageableMemoryAccess", "unifiedAddressing": "UnifiedAddressing",
    "cooperativeLaunch": "CooperativeLaunch", "clockRate": "ClockRate", "memoryClockRate": "MemoryClockRate",
    "memoryBusWidth": "GlobalMemoryBusWidth", "totalConstMem": "TotalConstantMemory",
    "persistingL2CacheMaxSize": "MaxPersistingL2CacheSize", "accessPolicyMaxWindowSize": "MaxAccessPolicyWindowSize",
    "major": "ComputeCapabilityMajor", "minor": "ComputeCapabilityMinor", "totalGlobalMem": "TotalGlobalMem",
    "maxBlocksPerMultiProcessor": "MaxBlocksPerMultiprocessor",
}  # fmt: skip


NAME = b"NVIDIA A100-PCIE-40GB"
"""As the GPU is called whose time is modelled (`grader.standin.device.modelled_time`)."""


def getDeviceProperties(device: int) -> dict[str, Any]:
    known = attributes_of(device)
    found: dict[str, Any] = {name: known[attribute] for name, attribute in _PROPERTIES.items() if attribute in known}
    return _Properties({"name": NAME, **found})


class _Properties(dict[str, Any]):
    """A device's properties by CUDA's names; those that the simulated GPU has not need a GPU."""

    def __missing__(self, key: str) -> Any:
        if is_known("cuda.bindings.runtime.cudaDeviceProp", key):
            raise outside(f"cupy.cuda.runtime.getDeviceProperties: {key!r}")
        raise KeyError(key)


def deviceSynchronize() -> None:
    placed("synchronize", "device", getDevice())


def deviceGetLimit(limit: int) -> int:
    if limit not in _LIMITS:
        raise CUDARuntimeError.named("cudaErrorUnsupportedLimit", f"the stand-in has no limit {limit}")
    return _LIMITS[limit]


def deviceSetLimit(limit: int, value: int) -> None:
    if limit == constants.LIMIT_PERSISTING_L2:
        placed("set_limit", "persisting_l2_bytes", int(value))
    deviceGetLimit(limit)  # raises where there is no such limit
    _LIMITS[limit] = int(value)


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    count = getDeviceCount()
    return int(device != peerDevice and 0 <= device < count and 0 <= peerDevice < count)


def deviceEnablePeerAccess(peerDevice: int) -> None:
    placed("enable_peer", getDevice(), int(peerDevice))


def memGetInfo() -> tuple[int, int]:
    free, total = call("memory_info", getDevice())
    return int(free), int(total)


def runtimeGetVersion() -> int:
    return 12090


def driverGetVersion() -> int:
    return 12090


# -------------------------------------------------------------------------------------------------------------- memory


def malloc(size: int) -> int:
    return _allocated(size, managed=False)


def mallocManaged(size: int, flags: int = 1) -> int:
    return _allocated(size, managed=True)


def _allocated(size: int, *, managed: bool) -> int:
    if size < 0:
        raise invalid(f"{size} bytes cannot be allocated")
    if size == 0:
        return 0
    address = HOST.from_device(int(placed("malloc", getDevice(), int(size), managed)))
    if not managed:
        _DEVICE_RANGES[address] = int(size)
    return address


def free(ptr: int) -> None:
    if _plain(ptr):
        placed("free", _on_device_side(ptr))
        _DEVICE_RANGES.pop(ptr, None)


def hostAlloc(size: int, flags: int) -> int:
    return HOST.from_device(int(placed("host_alloc", int(size), int(flags)))) if size else 0


def freeHost(ptr: int) -> None:
    if _plain(ptr):
        placed("free_host", _on_device_side(ptr))


def hostRegister(ptr: int, size: int, flags: int) -> None:
    if not HOST.holds(_plain(ptr)):
        raise outside("cupy.cuda.runtime.hostRegister of memory that is none of the exercise's arrays")
    placed("host_register", _on_device_side(ptr), int(size), int(flags))


def hostUnregister(ptr: int) -> None:
    placed("host_unregister", _on_device_side(ptr))


@dataclass(frozen=True)
class PointerAttributes:
    """What cudaPointerGetAttributes tells."""

    device: int
    devicePointer: int
    hostPointer: int
    type: int = -1


def pointerGetAttributes(ptr: int) -> PointerAttributes:
    found = call("pointer", _on_device_side(ptr))
    device, host = (HOST.from_device(int(found[name])) for name in ("device_pointer", "host_pointer"))
    return PointerAttributes(int(found["device"]), device, host, int(found["type"]))


def memAdvise(devPtr: int, count: int, advice: int, device: int) -> None:
    placed("advise", _on_device_side(devPtr), int(count), int(advice), int(device))


def memPrefetchAsync(devPtr: int, count: int, dstDevice: int, stream: int) -> None:
    placed("prefetch", _on_device_side(devPtr), int(count), int(dstDevice), native(stream))


# -------------------------------------------------------------------------------------------------------------- copies


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    _copy(dst, src, size, kind, native(0), blocking=True)


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    _copy(dst, src, size, kind, native(stream), blocking=False)


def memcpyPeer(dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
    _copy(dst, src, size, constants.RUNTIME["memcpyDeviceToDevice"], native(0), blocking=True)


def memcpyPeerAsync(dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int) -> None:
    _copy(dst, src, size, constants.RUNTIME["memcpyDeviceToDevice"], native(stream), blocking=False)


def _copy(dst: int, src: int, size: int, kind: int, stream: int, *, blocking: bool) -> None:
    """One copy; ``kind`` tells the places apart as far as they are not known."""
    dst, src, size = _plain(dst), _plain(src), int(size)
    if size <= 0:
        return
    _check_direction(dst, src, kind)
    to_host, from_host = kind in (0, 2), kind in (0, 1)
    foreign_target = not HOST.holds(dst) and (to_host or (kind == 4 and not _on_device(dst)))
    foreign_source = not HOST.holds(src) and (from_host or (kind == 4 and not _on_device(src)))
    source: int | bytes = bytes_at(src, size) if foreign_source else HOST.to_device(src)
    if not foreign_target:
        placed("copy", HOST.to_device(dst), source, size, stream, blocking)
    elif isinstance(source, bytes):
        write_at(dst, source)
    else:
        write_at(dst, bytes(placed("fetch", source, size, stream)))


def _check_direction(dst: int, src: int, kind: int) -> None:
    """Raises CUDARuntimeError where an end that should be the host's is a device's: nobody may look there from here."""
    if kind not in DIRECTIONS:
        raise CUDARuntimeError.named("cudaErrorInvalidMemcpyDirection", f"there is no kind {kind} of copies")
    for end, address, of_host in (("target", dst, kind in (0, 2)), ("source", src, kind in (0, 1))):
        if of_host and _on_device(address):
            raise invalid(f"{DIRECTIONS[kind]} has a {end} in the host's memory, and {address:#x} is a device's")


DIRECTIONS = {number: name for name, number in constants.RUNTIME.items() if name.startswith("memcpy")}
"""Kinds of copies, by their numbers (cudaMemcpyKind)."""


def _on_device(address: int) -> bool:
    return any(start <= address < start + size for start, size in _DEVICE_RANGES.items())


def memset(ptr: int, value: int, size: int) -> None:
    if size > 0:
        placed("fill", _on_device_side(ptr), int(value) & 0xFF, int(size), native(0), True)


def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    if size > 0:
        placed("fill", _on_device_side(ptr), int(value) & 0xFF, int(size), native(stream), False)


# -------------------------------------------------------------------------------------------------- streams and events


def native(stream: int) -> int:
    """A stream as the device knows it: the default streams are the current device's, one of them the thread's own."""
    number = _plain(stream)
    if number in (0, 1):
        return -getDevice()
    return _own_stream() if number == PER_THREAD else number


PER_THREAD = constants.RUNTIME["streamPerThread"]


def _own_stream() -> int:
    """The per-thread default stream: for the device a blocking stream like others."""
    device = getDevice()
    if device not in _THREAD.streams:
        _THREAD.streams[device] = int(placed("stream_create", device, False, 0))
    return _THREAD.streams[device]


def streamCreate() -> int:
    return streamCreateWithFlags(0)


def streamCreateWithFlags(flags: int) -> int:
    return streamCreateWithPriority(flags, 0)


def streamCreateWithPriority(flags: int, priority: int) -> int:
    stream = int(placed("stream_create", getDevice(), bool(flags & 1), int(priority)))
    _STREAM_FLAGS[stream] = (int(flags), int(priority))
    return stream


_STREAM_FLAGS: dict[int, tuple[int, int]] = {}


def streamGetFlags(stream: int) -> int:
    return _STREAM_FLAGS.get(stream, (0, 0))[0]


def streamGetPriority(stream: int) -> int:
    return max(-5, min(0, _STREAM_FLAGS.get(stream, (0, 0))[1]))


def streamDestroy(stream: int) -> None:
    call("stream_destroy", _plain(stream))


def streamSynchronize(stream: int) -> None:
    placed("synchronize", "stream", native(stream))


def streamQuery(stream: int) -> int:
    return _queried("stream", native(stream))


def _queried(what: str, handle: int) -> int:
    return 0 if placed("query", what, handle) else 600  # cudaErrorNotReady


def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    placed("stream_wait_event", native(stream), _plain(event))


def eventCreate() -> int:
    return eventCreateWithFlags(0)


def eventCreateWithFlags(flags: int) -> int:
    return int(placed("event_create", getDevice(), not flags & constants.RUNTIME["eventDisableTiming"]))


def eventDestroy(event: int) -> None:
    call("event_destroy", _plain(event))


def eventRecord(event: int, stream: int) -> None:
    placed("event_record", _plain(event), native(stream))


def eventSynchronize(event: int) -> None:
    placed("synchronize", "event", _plain(event))


def eventQuery(event: int) -> int:
    return _queried("event", _plain(event))


def eventElapsedTime(start: int, end: int) -> float:
    return float(call("elapsed_ms", _plain(start), _plain(end)))


# -------------------------------------------------------------------------------------------------------------- graphs


_CAPTURED: set[int] = set()  # streams whose capture has begun, so that others need not be asked about


def streamBeginCapture(stream: int, mode: int = 2) -> None:
    placed("capture_begin", native(stream), int(mode))
    _CAPTURED.add(native(stream))


def streamEndCapture(stream: int) -> int:
    _CAPTURED.discard(native(stream))
    return int(placed("capture_end", native(stream)))


def refuse_while_capturing(stream: int, way: str) -> None:
    """What CuPy's arrays and pointers do before they copy: only `memcpyAsync` itself may be captured."""
    if _CAPTURED and streamIsCapturing(stream):
        raise advised(
            RuntimeError(f"the current stream is capturing, so {way} transfers are disallowed"),
            "in a capture copy by `cupy.cuda.runtime.memcpyAsync(target, source, size, kind, stream.ptr)`, and pin the "
            "host's array first",
        )


def streamIsCapturing(stream: int) -> bool:
    return bool(call("is_capturing", native(stream)))


def graphInstantiate(graph: int) -> int:
    return _plain(graph)


def graphLaunch(graphExec: int, stream: int) -> None:
    placed("graph_launch", _plain(graphExec), native(stream))


def graphUpload(graphExec: int, stream: int) -> None:
    """There is nothing to upload: the device holds the graph already."""


def graphDestroy(graph: int) -> None:
    """The device has one object for a graph and what is made of it; `graphExecDestroy` ends it."""


def graphExecDestroy(graphExec: int) -> None:
    call("graph_destroy", _plain(graphExec))
