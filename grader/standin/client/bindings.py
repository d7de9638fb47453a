"""The part of `cuda.bindings.runtime` that host files use where CuPy has nothing: persisting L2, limits.

As there, every function returns a tuple that begins with a ``cudaError_t`` and raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import Any

from grader.standin.client import constants, runtime
from grader.standin.client.connection import placed
from grader.standin.client.errors import STATUS, Closed, CUDARuntimeError
from grader.standin.client.hostmemory import HOST

cudaError_t = IntEnum("cudaError_t", dict(STATUS))  # type: ignore[misc]  # its members are in a table
"""CUDA's errors."""


class cudaAccessProperty(IntEnum):  # CUDA's names, here and below
    cudaAccessPropertyNormal = 0
    cudaAccessPropertyStreaming = 1
    cudaAccessPropertyPersisting = 2


class cudaStreamAttrID(IntEnum):
    cudaLaunchAttributeAccessPolicyWindow = 1
    cudaLaunchAttributeSynchronizationPolicy = 3
    cudaLaunchAttributePriority = 8


cudaLaunchAttributeID = cudaStreamAttrID
cudaStreamAttributeAccessPolicyWindow = cudaStreamAttrID.cudaLaunchAttributeAccessPolicyWindow


class cudaLimit(IntEnum):
    cudaLimitStackSize = 0
    cudaLimitPrintfFifoSize = 1
    cudaLimitMallocHeapSize = 2
    cudaLimitDevRuntimeSyncDepth = 3
    cudaLimitDevRuntimePendingLaunchCount = 4
    cudaLimitMaxL2FetchGranularity = 5
    cudaLimitPersistingL2CacheSize = 6


cudaDeviceAttr = IntEnum(  # type: ignore[misc]  # its members are in tables
    "cudaDeviceAttr",
    {f"cudaDevAttr{name}": number for name, number in constants.DEVICE_ATTRIBUTES.items()}
    | {f"cudaDevAttr{name}": number for number, name in constants.UNNAMED_ATTRIBUTES.items()},
)
"""The attributes of a device."""


class cudaAccessPolicyWindow:
    """A range of addresses, and what the L2 does with accesses to it."""

    # As there: made without arguments, and no other attribute can be set, so that a slip is no silent one.
    __slots__ = ("base_ptr", "hitProp", "hitRatio", "missProp", "num_bytes")

    def __init__(self) -> None:
        self.base_ptr = 0
        self.num_bytes = 0
        self.hitRatio = 0.0
        self.hitProp = cudaAccessProperty.cudaAccessPropertyNormal
        self.missProp = cudaAccessProperty.cudaAccessPropertyNormal


class cudaStreamAttrValue:
    """The value of a stream's attribute."""

    __slots__ = ("accessPolicyWindow", "priority")

    def __init__(self) -> None:
        self.accessPolicyWindow = cudaAccessPolicyWindow()
        self.priority = 0


cudaLaunchAttributeValue = cudaStreamAttrValue


def _told(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """``function`` with its result in a tuple behind cudaSuccess, or the error that it raised.

    Such an error is easily overlooked: the report names it and its line, whatever the host file does about it.
    """

    @wraps(function)
    def asked(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        try:
            result = function(*args, **kwargs)
        except CUDARuntimeError as error:
            placed("refused", function.__name__, str(error))
            return cudaError_t(error.status), None
        return (cudaError_t(0),) if result is None else (cudaError_t(0), result)

    return asked


@_told
def cudaStreamSetAttribute(hStream: Any, attr: Any, value: Any) -> None:
    """Set a stream's access-policy window; other attributes change nothing that the stand-in shows."""
    if int(attr) != cudaStreamAttributeAccessPolicyWindow:
        return
    window = value.accessPolicyWindow
    told = {
        "base": HOST.to_device(int(window.base_ptr)), "bytes": int(window.num_bytes),
        "hit_ratio": float(window.hitRatio), "hit": int(window.hitProp), "miss": int(window.missProp),
    }  # fmt: skip
    placed("stream_attribute", runtime.native(hStream), "access_policy_window", told)


@_told
def cudaDeviceSetLimit(limit: Any, value: int) -> None:
    runtime.deviceSetLimit(int(limit), int(value))


@_told
def cudaDeviceGetLimit(limit: Any) -> int:
    return runtime.deviceGetLimit(int(limit))


@_told
def cudaDeviceGetAttribute(attr: Any, device: int) -> int:
    return runtime.deviceGetAttribute(int(attr), int(device))


@_told
def cudaCtxResetPersistingL2Cache() -> None:
    """What persists in the L2 becomes normal: nothing that the stand-in shows."""


@_told
def cudaHostGetDevicePointer(pHost: int, flags: int) -> int:
    found = runtime.pointerGetAttributes(pHost).devicePointer
    if not found:
        raise runtime.invalid(f"{pHost:#x} is not mapped")
    return found


class cudaDeviceProp(Closed):
    """The properties of a device, as attributes."""

    _full_name = "cuda.bindings.runtime.cudaDeviceProp"

    def __init__(self, found: dict[str, Any]) -> None:
        self.__dict__.update(found)


@_told
def cudaGetDeviceProperties(device: int) -> cudaDeviceProp:
    return cudaDeviceProp(runtime.getDeviceProperties(int(device)))


@_told
def cudaGetDevice() -> int:
    return runtime.getDevice()


@_told
def cudaDeviceSynchronize() -> None:
    runtime.deviceSynchronize()


@_told
def cudaStreamSynchronize(stream: Any) -> None:
    runtime.streamSynchronize(stream)


def cudaGetErrorName(error: Any) -> tuple[Any, bytes]:
    return cudaError_t(0), cudaError_t(int(error)).name.encode()


def cudaGetErrorString(error: Any) -> tuple[Any, bytes]:
    return cudaGetErrorName(error)
