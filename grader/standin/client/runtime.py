"""`cupy.cuda.runtime`: the functions of the CUDA runtime that host files use, with CuPy's names and order of arguments.

`FUNCTIONS` is the table of them; the other modules of this package call them as ``cuda.NAME``. Addresses of host memory
are those of this process, addresses of device memory those of the device.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from grader.frozen import dataclass
from grader.standin.client.connection import HOST, call, placed
from grader.standin.client.errors import CUDARuntimeError, Outside, advised, is_known

NUMBERS: Mapping[str, int] = {
    "cudaCpuDeviceId": -1, "cudaInvalidDeviceId": -2,
    "cudaLimitDevRuntimePendingLaunchCount": 4, "cudaLimitDevRuntimeSyncDepth": 3, "cudaLimitMallocHeapSize": 2,
    "cudaLimitMaxL2FetchGranularity": 5, "cudaLimitPrintfFifoSize": 1, "cudaLimitStackSize": 0,
    "cudaMemAdviseSetAccessedBy": 5, "cudaMemAdviseSetPreferredLocation": 3, "cudaMemAdviseSetReadMostly": 1,
    "cudaMemAdviseUnsetAccessedBy": 6, "cudaMemAdviseUnsetPreferredLocation": 4, "cudaMemAdviseUnsetReadMostly": 2,
    "cudaMemAttachGlobal": 1, "cudaMemAttachHost": 2, "cudaMemAttachSingle": 4,
    "cudaMemoryTypeDevice": 2, "cudaMemoryTypeHost": 1,
    "eventBlockingSync": 1, "eventDefault": 0, "eventDisableTiming": 2, "eventInterprocess": 4,
    "hostAllocDefault": 0, "hostAllocMapped": 2, "hostAllocPortable": 1, "hostAllocWriteCombined": 4,
    "memcpyDefault": 4, "memcpyDeviceToDevice": 3, "memcpyDeviceToHost": 2, "memcpyHostToDevice": 1,
    "memcpyHostToHost": 0,
    "memoryTypeDevice": 2, "memoryTypeHost": 1, "memoryTypeManaged": 3, "memoryTypeUnregistered": 0,
    "streamCaptureModeGlobal": 0, "streamCaptureModeRelaxed": 2, "streamCaptureModeThreadLocal": 1,
    "streamCaptureStatusActive": 1, "streamCaptureStatusInvalidated": 2, "streamCaptureStatusNone": 0,
    "streamDefault": 0, "streamLegacy": 1, "streamNonBlocking": 1, "streamPerThread": 2,
}  # fmt: skip

DEVICE_ATTRIBUTES: Mapping[str, int] = {
    "MaxThreadsPerBlock": 1, "MaxBlockDimX": 2, "MaxBlockDimY": 3, "MaxBlockDimZ": 4, "MaxGridDimX": 5,
    "MaxGridDimY": 6, "MaxGridDimZ": 7, "MaxSharedMemoryPerBlock": 8, "TotalConstantMemory": 9, "WarpSize": 10,
    "MaxPitch": 11, "MaxRegistersPerBlock": 12, "ClockRate": 13, "TextureAlignment": 14, "GpuOverlap": 15,
    "MultiProcessorCount": 16, "KernelExecTimeout": 17, "Integrated": 18, "CanMapHostMemory": 19, "ComputeMode": 20,
    "ConcurrentKernels": 31, "EccEnabled": 32, "PciBusId": 33, "PciDeviceId": 34, "TccDriver": 35,
    "MemoryClockRate": 36, "GlobalMemoryBusWidth": 37, "L2CacheSize": 38, "MaxThreadsPerMultiProcessor": 39,
    "AsyncEngineCount": 40, "UnifiedAddressing": 41, "PciDomainId": 50, "StreamPrioritiesSupported": 78,
    "GlobalL1CacheSupported": 79, "LocalL1CacheSupported": 80, "MaxSharedMemoryPerMultiprocessor": 81,
    "MaxRegistersPerMultiprocessor": 82, "ManagedMemory": 83, "IsMultiGpuBoard": 84, "HostNativeAtomicSupported": 86,
    "SingleToDoublePrecisionPerfRatio": 87, "PageableMemoryAccess": 88, "ConcurrentManagedAccess": 89,
    "ComputePreemptionSupported": 90, "CanUseHostPointerForRegisteredMem": 91, "CooperativeLaunch": 95,
    "MaxSharedMemoryPerBlockOptin": 97, "HostRegisterSupported": 99,
    "PageableMemoryAccessUsesHostPageTables": 100, "DirectManagedMemAccessFromHost": 101,
    "MaxBlocksPerMultiprocessor": 106, "ReservedSharedMemoryPerBlock": 111, "MemoryPoolsSupported": 115,
}  # fmt: skip
"""cudaDeviceAttr by the names of `Device.attributes`; in `cupy.cuda.runtime` they begin with ``cudaDevAttr``."""

ALL_ATTRIBUTES: Mapping[str, int] = {
    **DEVICE_ATTRIBUTES, "ComputeCapabilityMajor": 75, "ComputeCapabilityMinor": 76, "MaxPersistingL2CacheSize": 108,
    "MaxAccessPolicyWindowSize": 109,
}  # fmt: skip
"""Also the attributes of CUDA for which CuPy has no name."""

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
"""The attribute for each of CUDA's device properties (cudaDeviceProp)."""

NAME = b"NVIDIA A100-PCIE-40GB"
"""The name of the GPU whose time is modelled (`grader.standin.device.modelled_time`)."""

PERSISTING_L2 = 6  # cudaLimitPersistingL2CacheSize, for which CuPy has no name
_LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 3: 2, 4: 2048, 5: 128, PERSISTING_L2: 0}
_COPIES = {number: name for name, number in NUMBERS.items() if name.startswith("memcpy")}
"""Kinds of copies, by their numbers (cudaMemcpyKind)."""
_BETWEEN = NUMBERS["memcpyDeviceToDevice"]

DEVICE_RANGES: dict[int, int] = {}  # address -> bytes of each allocation of `malloc`, also through the pool
_STREAMS: dict[int, tuple[int, int]] = {}  # stream -> the flags and the priority of its creation
_CAPTURED: set[int] = set()  # streams whose capture has begun; other streams need no call to the device


class _Thread(threading.local):
    """The state of a thread: CUDA's current device, and the per-thread default stream on each device."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, int] = {}


_THREAD = _Thread()


# ---------------------------------------------------------------------------------------------------------- arguments


def invalid(message: str) -> CUDARuntimeError:
    """cudaErrorInvalidValue, for a call that is refused without a message to the device."""
    return CUDARuntimeError.named("cudaErrorInvalidValue", message)


def _plain(value: Any) -> int:
    """An address or a handle. As in CuPy, it must be a Python int. Raises TypeError."""
    if isinstance(value, int):
        return int(value)
    advice = ""
    if isinstance(value, np.generic):
        advice = "an address or a handle must be a Python int: `int(address)`"
    elif hasattr(value, "ptr"):
        advice = "functions of cupy.cuda.runtime take the object's number: its `.ptr`, as in `stream.ptr`"
    elif isinstance(value, np.ndarray):
        advice = "the address of a host array is its `.ctypes.data`"
    elif hasattr(value, "data"):
        advice = "the address of a device array is its `.data.ptr`"
    raise advised(TypeError("an integer is required"), advice)


def _address(ptr: Any) -> int:
    """The device's address for an address of this process or of the device."""
    return HOST.to_device(_plain(ptr))


def native(stream: int) -> int:
    """The device's handle of a stream: for 0 and 1 the current device's default stream, for 2 that of the thread."""
    number, device = _plain(stream), _THREAD.device
    if number in (NUMBERS["streamDefault"], NUMBERS["streamLegacy"]):
        return -device
    if number != NUMBERS["streamPerThread"]:
        return number
    if device not in _THREAD.streams:  # on the device it is an ordinary blocking stream
        _THREAD.streams[device] = int(placed("stream_create", device, False, 0))
    return _THREAD.streams[device]


# ------------------------------------------------------------------------------------------------------------ devices


def _device_count() -> int:
    return int(call("device_count"))


def _set_device(device: int) -> None:
    if not 0 <= int(device) < (count := _device_count()):
        raise CUDARuntimeError.named("cudaErrorInvalidDevice", f"there is no device {device}: there are {count}")
    _THREAD.device = int(device)


def attributes_of(device: int) -> Mapping[str, int]:
    """All attributes of a device by CuPy's names. Raises CUDARuntimeError if there is no such device."""
    if not 0 <= device < _device_count():
        raise CUDARuntimeError.named("cudaErrorInvalidDevice", f"there is no device {device}")
    return {str(name): int(value) for name, value in call("attributes", device).items()}


def _attribute(attrib: int, device: int) -> int:
    values = {ALL_ATTRIBUTES[name]: value for name, value in attributes_of(device).items() if name in ALL_ATTRIBUTES}
    if int(attrib) not in values:
        raise invalid(f"the stand-in's device has no attribute {attrib}")
    return values[int(attrib)]


def _properties(device: int) -> dict[str, Any]:
    values = attributes_of(device)
    return _Properties(
        {"name": NAME, **{name: values[attribute] for name, attribute in _PROPERTIES.items() if attribute in values}}
    )


class _Properties(dict[str, Any]):
    """A device's properties by CUDA's names. Raises Outside for properties that only a real GPU has."""

    def __missing__(self, key: str) -> Any:
        if is_known("cuda.bindings.runtime.cudaDeviceProp", key):
            raise Outside(f"cupy.cuda.runtime.getDeviceProperties: {key!r}")
        raise KeyError(key)


def _limit(limit: int) -> int:
    if limit not in _LIMITS:
        raise CUDARuntimeError.named("cudaErrorUnsupportedLimit", f"the stand-in has no limit {limit}")
    return _LIMITS[limit]


def _set_limit(limit: int, value: int) -> None:
    if limit == PERSISTING_L2:
        placed("set_limit", "persisting_l2_bytes", int(value))
    _limit(limit)  # raises if there is no such limit
    _LIMITS[limit] = int(value)


def _can_access_peer(device: int, peerDevice: int) -> int:
    count = _device_count()
    return int(device != peerDevice and 0 <= device < count and 0 <= peerDevice < count)


# ------------------------------------------------------------------------------------------------------------- memory


def _allocated(size: int, *, managed: bool) -> int:
    if size < 0:
        raise invalid(f"{size} bytes cannot be allocated")
    if size == 0:
        return 0
    address = HOST.from_device(int(placed("malloc", _THREAD.device, int(size), managed)))
    if not managed:
        DEVICE_RANGES[address] = int(size)
    return address


def _free(ptr: int) -> None:
    if _plain(ptr):
        placed("free", _address(ptr))
        DEVICE_RANGES.pop(ptr, None)


def _host_register(ptr: int, size: int, flags: int) -> None:
    if not HOST.holds(_plain(ptr)):
        raise Outside("cupy.cuda.runtime.hostRegister of memory outside the exercise's arrays")
    placed("host_register", _address(ptr), int(size), int(flags))


@dataclass(frozen=True)
class PointerAttributes:
    """The result of cudaPointerGetAttributes."""

    device: int
    devicePointer: int
    hostPointer: int
    type: int = -1


def _pointer_attributes(ptr: int) -> PointerAttributes:
    attributes = call("pointer", _address(ptr))
    device, host = (HOST.from_device(int(attributes[name])) for name in ("device_pointer", "host_pointer"))
    return PointerAttributes(int(attributes["device"]), device, host, int(attributes["type"]))


def _copy(dst: int, src: int, size: int, kind: int, stream: int, *, blocking: bool) -> None:
    """One copy. Memory of this process outside the shared file is read or written here; ``kind`` says which end it is.

    Raises CUDARuntimeError if ``kind`` says host memory and the address is a device's: it cannot be accessed here.
    """
    stream = native(stream)
    dst, src, size = _plain(dst), _plain(src), int(size)
    if size <= 0:
        return
    if kind not in _COPIES:
        raise CUDARuntimeError.named("cudaErrorInvalidMemcpyDirection", f"there is no kind {kind} of copies")
    to_host, from_host = kind in (0, 2), kind in (0, 1)
    for end, address, of_host in (("target", dst, to_host), ("source", src, from_host)):
        if of_host and _on_device(address):
            raise invalid(f"{_COPIES[kind]} needs a {end} in host memory, and {address:#x} is in device memory")
    private_target = not HOST.holds(dst) and (to_host or (kind == 4 and not _on_device(dst)))
    private_source = not HOST.holds(src) and (from_host or (kind == 4 and not _on_device(src)))
    source: int | bytes = ctypes.string_at(src, size) if private_source else HOST.to_device(src)
    if not private_target:
        placed("copy", HOST.to_device(dst), source, size, stream, blocking)
    else:
        content = source if isinstance(source, bytes) else bytes(placed("fetch", source, size, stream))
        ctypes.memmove(dst, content, len(content))


def _on_device(address: int) -> bool:
    return any(start <= address < start + size for start, size in DEVICE_RANGES.items())


def _fill(ptr: int, value: int, size: int, stream: int, *, blocking: bool) -> None:
    if size > 0:
        placed("fill", _address(ptr), int(value) & 0xFF, int(size), native(stream), blocking)


# ----------------------------------------------------------------------------------------------------------- streams


def _create_stream(flags: int, priority: int) -> int:
    stream = int(placed("stream_create", _THREAD.device, bool(flags & 1), int(priority)))
    _STREAMS[stream] = (int(flags), int(priority))
    return stream


def _create_event(flags: int) -> int:
    return int(placed("event_create", _THREAD.device, not flags & NUMBERS["eventDisableTiming"]))


def _query(what: str, handle: int) -> int:
    return 0 if placed("query", what, handle) else 600  # cudaErrorNotReady


def _begin_capture(stream: int, mode: int = 2) -> None:
    placed("capture_begin", native(stream), int(mode))
    _CAPTURED.add(native(stream))


def _end_capture(stream: int) -> int:
    _CAPTURED.discard(native(stream))
    return int(placed("capture_end", native(stream)))


def _is_capturing(stream: int) -> bool:
    return bool(call("is_capturing", native(stream)))


def refuse_while_capturing(stream: int, direction: str) -> None:
    """Raises RuntimeError while the stream is captured, as CuPy's arrays do: only `memcpyAsync` can be captured."""
    if _CAPTURED and _is_capturing(stream):
        raise advised(
            RuntimeError(f"the current stream is capturing, so {direction} transfers are disallowed"),
            "in a capture copy with `cupy.cuda.runtime.memcpyAsync(target, source, size, kind, stream.ptr)`, and pin "
            "the host array first",
        )


# --------------------------------------------------------------------------------------------------------- the table

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    # devices
    "getDevice": lambda: _THREAD.device,
    "setDevice": _set_device,
    "getDeviceCount": _device_count,
    "deviceGetAttribute": _attribute,
    "getDeviceProperties": _properties,
    "deviceSynchronize": lambda: placed("synchronize", "device", _THREAD.device),
    "deviceGetLimit": _limit,
    "deviceSetLimit": _set_limit,
    "deviceCanAccessPeer": _can_access_peer,
    "deviceEnablePeerAccess": lambda peerDevice: placed("enable_peer", _THREAD.device, int(peerDevice)),
    "memGetInfo": lambda: tuple(map(int, call("memory_info", _THREAD.device))),
    "runtimeGetVersion": lambda: 12090,
    "driverGetVersion": lambda: 12090,
    # memory
    "malloc": lambda size: _allocated(size, managed=False),
    "mallocManaged": lambda size, flags=1: _allocated(size, managed=True),
    "free": _free,
    "hostAlloc": lambda size, flags: HOST.from_device(placed("host_alloc", int(size), int(flags))) if size else 0,
    "freeHost": lambda ptr: placed("free_host", _address(ptr)) if _plain(ptr) else None,
    "hostRegister": _host_register,
    "hostUnregister": lambda ptr: placed("host_unregister", _address(ptr)),
    "pointerGetAttributes": _pointer_attributes,
    "memAdvise": lambda devPtr, count, advice, device: placed(
        "advise", _address(devPtr), int(count), int(advice), int(device)
    ),
    "memPrefetchAsync": lambda devPtr, count, dstDevice, stream: placed(
        "prefetch", _address(devPtr), int(count), int(dstDevice), native(stream)
    ),
    # copies and fills
    "memcpy": lambda dst, src, size, kind: _copy(dst, src, size, kind, 0, blocking=True),
    "memcpyAsync": lambda dst, src, size, kind, stream: _copy(dst, src, size, kind, stream, blocking=False),
    "memcpyPeer": lambda dst, dstDevice, src, srcDevice, size: _copy(dst, src, size, _BETWEEN, 0, blocking=True),
    "memcpyPeerAsync": lambda dst, dstDevice, src, srcDevice, size, stream: _copy(
        dst, src, size, _BETWEEN, stream, blocking=False
    ),
    "memset": lambda ptr, value, size: _fill(ptr, value, size, 0, blocking=True),
    "memsetAsync": lambda ptr, value, size, stream: _fill(ptr, value, size, stream, blocking=False),
    # streams and events
    "streamCreate": lambda: _create_stream(0, 0),
    "streamCreateWithFlags": lambda flags: _create_stream(flags, 0),
    "streamCreateWithPriority": lambda flags, priority: _create_stream(flags, priority),
    "streamGetFlags": lambda stream: _STREAMS.get(stream, (0, 0))[0],
    "streamGetPriority": lambda stream: max(-5, min(0, _STREAMS.get(stream, (0, 0))[1])),
    "streamDestroy": lambda stream: call("stream_destroy", _plain(stream)),
    "streamSynchronize": lambda stream: placed("synchronize", "stream", native(stream)),
    "streamQuery": lambda stream: _query("stream", native(stream)),
    "streamWaitEvent": lambda stream, event, flags=0: placed("stream_wait_event", native(stream), _plain(event)),
    "eventCreate": lambda: _create_event(0),
    "eventCreateWithFlags": lambda flags: _create_event(flags),
    "eventDestroy": lambda event: call("event_destroy", _plain(event)),
    "eventRecord": lambda event, stream: placed("event_record", _plain(event), native(stream)),
    "eventSynchronize": lambda event: placed("synchronize", "event", _plain(event)),
    "eventQuery": lambda event: _query("event", _plain(event)),
    "eventElapsedTime": lambda start, end: float(call("elapsed_ms", _plain(start), _plain(end))),
    # graphs: the device has one object for a graph and its executable form; `graphExecDestroy` destroys it
    "streamBeginCapture": _begin_capture,
    "streamEndCapture": _end_capture,
    "streamIsCapturing": _is_capturing,
    "graphInstantiate": lambda graph: _plain(graph),
    "graphLaunch": lambda graphExec, stream: placed("graph_launch", _plain(graphExec), native(stream)),
    "graphUpload": lambda graphExec, stream: None,
    "graphDestroy": lambda graph: None,
    "graphExecDestroy": lambda graphExec: call("graph_destroy", _plain(graphExec)),
}
"""By CuPy's names. The parameters have CuPy's names, too, because a host file may pass them by name."""

for _name, _function in FUNCTIONS.items():  # Python's error messages use these names
    _function.__name__ = _function.__qualname__ = _name

cuda = SimpleNamespace(**FUNCTIONS)
