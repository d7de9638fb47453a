"""The part of `cuda.bindings.runtime` that host files use for what CuPy does not have: persisting L2, limits.

As in cuda.bindings, every function returns a tuple that begins with a ``cudaError_t``, and raises no CUDA error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import wraps
from typing import Any

from grader.standin.client.connection import HOST, placed
from grader.standin.client.errors import STATUS, Closed, CUDARuntimeError
from grader.standin.client.runtime import ALL_ATTRIBUTES, NUMBERS, PERSISTING_L2, cuda, invalid, native

ENUMERATIONS: Mapping[str, Any] = {
    name: IntEnum(name, dict(members), module=__name__)
    for name, members in {
        "cudaError_t": STATUS,
        "cudaAccessProperty": {
            "cudaAccessPropertyNormal": 0,
            "cudaAccessPropertyStreaming": 1,
            "cudaAccessPropertyPersisting": 2,
        },
        "cudaStreamAttrID": {
            "cudaLaunchAttributeAccessPolicyWindow": 1,
            "cudaLaunchAttributeSynchronizationPolicy": 3,
            "cudaLaunchAttributePriority": 8,
        },
        "cudaLimit": {
            **{name: number for name, number in NUMBERS.items() if name.startswith("cudaLimit")},
            "cudaLimitPersistingL2CacheSize": PERSISTING_L2,
        },
        "cudaDeviceAttr": {f"cudaDevAttr{name}": number for name, number in ALL_ATTRIBUTES.items()},
    }.items()
}
cudaError_t, cudaAccessProperty = ENUMERATIONS["cudaError_t"], ENUMERATIONS["cudaAccessProperty"]
WINDOW = ENUMERATIONS["cudaStreamAttrID"].cudaLaunchAttributeAccessPolicyWindow


class cudaAccessPolicyWindow:
    """A range of addresses, and how the L2 cache treats accesses to it."""

    # As in cuda.bindings: no arguments, and no other attribute can be set, so that a misspelling is an error.
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


class cudaDeviceProp(Closed):
    """The properties of a device, as attributes."""

    _full_name = "cuda.bindings.runtime.cudaDeviceProp"

    def __init__(self, properties: dict[str, Any]) -> None:
        self.__dict__.update(properties)


def _set_attribute(hStream: Any, attr: Any, value: Any) -> None:
    """Set a stream's access-policy window; other attributes have no effect in the stand-in."""
    if int(attr) != WINDOW:
        return
    window = value.accessPolicyWindow
    fields = {
        "base": HOST.to_device(int(window.base_ptr)), "bytes": int(window.num_bytes),
        "hit_ratio": float(window.hitRatio), "hit": int(window.hitProp), "miss": int(window.missProp),
    }  # fmt: skip
    placed("stream_attribute", native(hStream), "access_policy_window", fields)


def _device_pointer(pHost: int, flags: int) -> int:
    address = int(cuda.pointerGetAttributes(pHost).devicePointer)
    if not address:
        raise invalid(f"{pHost:#x} is not mapped")
    return address


def _name(error: Any) -> tuple[Any, bytes]:
    return cudaError_t(0), cudaError_t(int(error)).name.encode()


def _returning(name: str, function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """``function``, but with a tuple of cudaSuccess and its result, or of the error that it raised and None.

    Such an error is easily overlooked: the report shows it with its line, even if the host file handles it.
    """

    @wraps(function)
    def returning(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        try:
            result = function(*args, **kwargs)
        except CUDARuntimeError as error:
            placed("refused", name, str(error))
            return cudaError_t(error.status), None
        return (cudaError_t(0),) if result is None else (cudaError_t(0), result)

    return returning


CONTENTS: Mapping[str, Any] = {
    **ENUMERATIONS,
    "cudaLaunchAttributeID": ENUMERATIONS["cudaStreamAttrID"],
    "cudaStreamAttributeAccessPolicyWindow": WINDOW,
    "cudaAccessPolicyWindow": cudaAccessPolicyWindow,
    "cudaStreamAttrValue": cudaStreamAttrValue,
    "cudaLaunchAttributeValue": cudaStreamAttrValue,
    "cudaDeviceProp": cudaDeviceProp,
    "cudaGetErrorName": lambda error: _name(error),
    "cudaGetErrorString": lambda error: _name(error),
} | {
    name: _returning(name, function)
    for name, function in {
        "cudaStreamSetAttribute": _set_attribute,
        "cudaDeviceSetLimit": lambda limit, value: cuda.deviceSetLimit(int(limit), int(value)),
        "cudaDeviceGetLimit": lambda limit: cuda.deviceGetLimit(int(limit)),
        "cudaDeviceGetAttribute": lambda attr, device: cuda.deviceGetAttribute(int(attr), int(device)),
        "cudaCtxResetPersistingL2Cache": lambda: None,  # has no effect in the stand-in
        "cudaHostGetDevicePointer": _device_pointer,
        "cudaGetDeviceProperties": lambda device: cudaDeviceProp(cuda.getDeviceProperties(int(device))),
        "cudaGetDevice": cuda.getDevice,
        "cudaDeviceSynchronize": cuda.deviceSynchronize,
        "cudaStreamSynchronize": lambda stream: cuda.streamSynchronize(stream),
    }.items()
}
"""The names of the module `cuda.bindings.runtime`; parameters have the same names as there."""
