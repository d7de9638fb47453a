"""The interface between the stand-in's CuPy and the device that plays the GPU: one method for each call.

    host file ─▶ client ─▶ Caller ══ messages, relayed by the parent ══▶ `answer` ─▶ DeviceCalls

Arguments and results are integers, floats, strings, bytes, None, and lists and dicts of these. Every call that stands
in the host file begins with ``line``, the line that made it (0 if it is not known): findings name that line.

**Addresses.** There is one address space for all memory. Host memory that the grader shares with the host file (the
exercise's arrays, allocations of `host_alloc`, and managed memory, which the host may access too) has the address
``HOST_BASE`` + its offset in the shared file. Device memory has the addresses that `malloc` returned. Other host memory
is never passed as an address: `copy` takes its bytes, `fetch` returns bytes. It is always pageable.

**Streams.** The legacy default stream of device ``d`` is the handle ``-d``: 0, -1, -2 … It waits for the blocking
streams of its device, and they wait for it. For `synchronize` and `query`, the handle of a ``device`` is its number.

**When operations are executed.** Operations are queued and executed as late as is legal. A call that waits
(`synchronize`, `fetch`, a copy to pageable memory, a repeated `query`) executes the operations that it waits for and
their dependencies, and no others. Of several operations that may come next, the latest issued is executed first. A GPU
may be busy for any time: a `query` that finds operations pending which the query before it did not find returns False,
and executes nothing. A program that keeps asking waits for the operations.

**Errors.** A call that CUDA would refuse raises `CudaRefusal` with CUDA's name of the error
(``cudaErrorInvalidValue``) and a sentence that says what was wrong; the client raises it as CuPy would. A fault of a
kernel, or a missing wait between operations, is a finding of the run, not an error of a call. But after a kernel that
ended with a fault every later wait of its run raises ``cudaErrorIllegalAddress`` or a similar error, as on a GPU.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

HOST_BASE = 0x5000_0000_0000
"""Where the shared file begins in the address space: outside the simulator's windows of generic addresses."""


class CudaRefusal(Exception):
    """Raised when CUDA would return an error: ``name`` is CUDA's (``cudaErrorInvalidValue``)."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.message = message


class DeviceCalls(Protocol):
    """One to eight simulated GPUs of the same model, and the host memory that they can access."""

    # -- devices ----------------------------------------------------------------------------------------------------
    def device_count(self) -> int: ...

    def attributes(self, device: int) -> Mapping[str, int]:
        """The device's attributes, with the names of CuPy's `Device.attributes` (``MultiProcessorCount`` …)."""

    def memory_info(self, device: int) -> Sequence[int]:
        """Free and total bytes of a device's memory."""

    def set_limit(self, line: int, limit: str, value: int) -> None:
        """``limit``: ``persisting_l2_bytes`` (cudaLimitPersistingL2CacheSize)."""

    def refused(self, line: int, function: str, message: str) -> None:
        """A function that returns error codes, as those of cuda.bindings do, returned one: the report shows it."""

    def enable_peer(self, line: int, device: int, peer: int) -> None:
        """Let kernels on ``device`` access memory of ``peer``. `copy` between them needs no permission."""

    # -- memory -----------------------------------------------------------------------------------------------------
    def malloc(self, line: int, device: int, size: int, managed: bool) -> int:
        """The address of ``size`` new bytes, filled with poison; managed memory is in the shared file.

        Raises CudaRefusal (``cudaErrorMemoryAllocation``) if not enough memory is left.
        """

    def free(self, line: int, address: int) -> None:
        """Free memory without waiting for queued operations: an operation that uses freed memory is a finding."""

    def give_back(self, line: int, address: int) -> None:
        """Memory that a pool gives back after a run. It is freed when all queued operations are done, because the pool
        would have kept it until then. ``line`` is where the last array on it was dropped."""

    def host_alloc(self, line: int, size: int, flags: int) -> int:
        """Allocate pinned memory; returns its address, HOST_BASE + an offset in the shared file, page-aligned.

        Raises CudaRefusal (``cudaErrorMemoryAllocation``) if the shared file has no room.
        """

    def free_host(self, line: int, address: int) -> None: ...

    def host_register(self, line: int, address: int, size: int, flags: int) -> None:
        """Pin memory of the shared file. Raises CudaRefusal if any of it is pinned already."""

    def host_unregister(self, line: int, address: int) -> None: ...

    def pointer(self, address: int) -> Mapping[str, int]:
        """cudaPointerGetAttributes: ``type`` (0 unregistered, 1 host, 2 device, 3 managed), ``device``,
        ``device_pointer`` (0 if kernels may not access it) and ``host_pointer``."""

    def advise(self, line: int, address: int, size: int, advice: int, device: int) -> None: ...

    # -- streams and events -----------------------------------------------------------------------------------------
    def stream_create(self, line: int, device: int, non_blocking: bool, priority: int) -> int:
        """Create a stream; returns a handle above 0. ``priority`` may change the modelled clock, never the results."""

    def stream_destroy(self, stream: int) -> None:
        """Operations that are queued on the stream are still executed, as in CUDA."""

    def stream_attribute(self, line: int, stream: int, name: str, value: Mapping[str, float]) -> None:
        """``access_policy_window``: ``base``, ``bytes``, ``hit_ratio``, ``hit`` and ``miss`` (cudaAccessProperty)."""

    def event_create(self, line: int, device: int, timing: bool) -> int:
        """An event of a device: only streams of that device can record it. Any stream may wait for it."""

    def event_destroy(self, event: int) -> None: ...

    def event_record(self, line: int, event: int, stream: int) -> None: ...

    def stream_wait_event(self, line: int, stream: int, event: int) -> None:
        """Wait for the event's last record; waiting for an event that was never recorded does nothing."""

    def elapsed_ms(self, first: int, last: int) -> float:
        """Milliseconds between two events, by the modelled clock. Raises CudaRefusal if an event was not recorded, has
        no timing or is still pending, and for events of two devices."""

    # -- operations -------------------------------------------------------------------------------------------------
    def copy(self, line: int, target: int, source: int | bytes, size: int, stream: int, blocking: bool) -> None:
        """cudaMemcpyAsync, or with ``blocking`` cudaMemcpy; the direction follows from the addresses.

        From pageable memory (bytes, or an address that is not pinned) the bytes are taken at once. To memory of the
        shared file that is not pinned, and from host to host, the call returns when the copy is done.
        """

    def fetch(self, line: int, source: int, size: int, stream: int) -> bytes:
        """A copy to pageable memory outside the shared file: done when this returns."""

    def fill(self, line: int, address: int, value: int, size: int, stream: int, blocking: bool) -> None:
        """cudaMemsetAsync: ``size`` bytes of the byte ``value``."""

    def prefetch(self, line: int, address: int, size: int, device: int, stream: int) -> None:
        """cudaMemPrefetchAsync; device -1 is the host."""

    def launch(
        self, line: int, kernel: str, grid: Sequence[int], block: Sequence[int], shared_bytes: int,
        arguments: Sequence[bytes], kinds: Sequence[str], stream: int, cooperative: bool, device: int,
    ) -> None:  # fmt: skip
        """``arguments`` are the bytes of each argument: a parameter takes as many as its size; ``kinds`` are the
        types that the host file passed (`device.gpu`). ``device`` is the current device. Raises CudaRefusal for a
        stream of another device, for a grid or block that the device cannot run, and
        ``cudaErrorCooperativeLaunchTooLarge`` if not all blocks of a cooperative launch can be resident."""

    def kernel_attributes(self, kernel: str) -> Mapping[str, Any]:
        """``parameters`` (a list of [PTX type, bytes]), ``shared_bytes`` (static), ``max_threads``, ``registers``,
        ``local_bytes``. Raises CudaRefusal if the module has no such kernel."""

    def resident_blocks(self, kernel: str, block_threads: int, shared_bytes: int) -> int:
        """cudaOccupancyMaxActiveBlocksPerMultiprocessor."""

    # -- graphs -----------------------------------------------------------------------------------------------------
    def capture_begin(self, line: int, stream: int, mode: int) -> None:
        """``mode`` is a cudaStreamCaptureMode: unless it is relaxed (2), the capture allows no allocation."""

    def capture_end(self, line: int, stream: int) -> int:
        """The handle of the graph, ready for a launch. Raises CudaRefusal if a captured stream was not joined."""

    def is_capturing(self, stream: int) -> bool: ...

    def graph_launch(self, line: int, graph: int, stream: int) -> None: ...

    def graph_destroy(self, graph: int) -> None: ...

    # -- waiting ----------------------------------------------------------------------------------------------------
    def synchronize(self, line: int, what: str, handle: int) -> None:
        """``what``: ``stream``, ``event`` or ``device``. Raises CudaRefusal after a kernel's fault, and for waiting
        for a stream that is being captured."""

    def query(self, line: int, what: str, handle: int) -> bool:
        """Whether all work is done. False, without executing anything, if operations are pending that were not
        pending at the last query. Otherwise it waits for them, counts as a wait, and returns True."""


CALLS = tuple(name for name, value in vars(DeviceCalls).items() if not name.startswith("_") and callable(value))
"""The names of all calls: nothing else is relayed."""


def answer(device: DeviceCalls, call: Mapping[str, Any]) -> dict[str, Any]:
    """The message that answers one call: ``{"result": …}`` or ``{"error": name, "message": …}``.

    ``call`` is hostile: ``{"name": …, "arguments": […]}``. An unknown name or malformed arguments are answered with
    ``cudaErrorInvalidValue``.
    """
    name, arguments = call.get("name"), call.get("arguments")
    if name not in CALLS or not isinstance(arguments, list):
        return {"error": "cudaErrorInvalidValue", "message": f"{name!r} is not a call of the stand-in"}
    try:
        return {"result": getattr(device, name)(*arguments)}
    except CudaRefusal as error:
        return {"error": error.name, "message": error.message}
    except (TypeError, ValueError, OverflowError) as error:
        return {"error": "cudaErrorInvalidValue", "message": str(error)}


Check = Callable[[Any], bool]


def pack(name: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """One call as a message."""
    blobs: dict[str, bytes] = {}

    def packed(value: Any) -> Any:
        if isinstance(value, bytes):
            blobs[f"b{len(blobs)}"] = value
            return {"blob": f"b{len(blobs) - 1}"}
        return [packed(one) for one in value] if isinstance(value, list | tuple) else value

    return {"is": "call", "name": name, "arguments": [packed(one) for one in arguments], **blobs}


def relayed(message: Mapping[str, Any]) -> dict[str, Any]:
    """A call as the parent relays it: name, arguments and byte strings, and no other field of the hostile message."""
    blobs = {name: value for name, value in message.items() if isinstance(value, bytes)}
    call = {name: message.get(name) for name in ("name", "arguments")}
    return {"do": "call", "call": call} | {f"blob:{name}": value for name, value in blobs.items()}


def unpack(message: Mapping[str, Any]) -> dict[str, Any]:
    """The call in a message of `relayed`: ``name`` and ``arguments``, as `protocol.answer` takes them.

    Both are None if there is no call of that name, or an argument has the wrong type.
    """
    call = message["call"]
    name, listed = call["name"], call["arguments"]

    def unpacked(value: Any) -> Any:
        is_blob = isinstance(value, dict) and [*value] == ["blob"]
        return message.get(f"blob:{value['blob']}") if is_blob else value

    if not isinstance(listed, list):
        return {"name": None, "arguments": None}
    arguments = [[unpacked(one) for one in value] if isinstance(value, list) else unpacked(value) for value in listed]
    return {"name": name, "arguments": arguments} if _fits(name, arguments) else {"name": None, "arguments": None}


def _fits(name: Any, arguments: list[Any]) -> bool:
    """Whether there is a call of this name that takes arguments of these types."""
    if not isinstance(name, str) or name not in CALLS:
        return False
    checks = _checks(name)
    return len(checks) == len(arguments) and all(check(one) for check, one in zip(checks, arguments, strict=True))


@cache
def _checks(name: str) -> tuple[Check, ...]:
    """A type check for each argument, from its annotation in the protocol."""
    parameters = list(inspect.signature(getattr(DeviceCalls, name)).parameters.values())[1:]
    return tuple(_KINDS[str(parameter.annotation)] for parameter in parameters)


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < MOST


MOST = 1 << 63
"""Every number must be smaller: addresses and sizes become 64-bit integers."""


_KINDS: Mapping[str, Check] = {
    "int": _whole,
    "bool": lambda value: type(value) is bool,
    "str": lambda value: isinstance(value, str),
    "int | bytes": lambda value: _whole(value) or isinstance(value, bytes),
    "Sequence[str]": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "Sequence[int]": lambda value: isinstance(value, list) and all(map(_whole, value)),
    "Sequence[bytes]": lambda value: isinstance(value, list) and all(isinstance(one, bytes) for one in value),
    "Mapping[str, float]": lambda value: (
        isinstance(value, dict) and all(type(n) in (int, float) and -MOST < n < MOST for n in value.values())
    ),
}
