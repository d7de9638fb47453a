"""What the stand-in's CuPy asks of the device that plays the GPU: one method for each call.

    host file ─▶ client ─▶ Caller ══ messages, relayed by the parent ══▶ `answer` ─▶ DeviceCalls

Arguments and results are integers, floats, strings, bytes, None, and lists and dicts of them. Every call that a person
wrote begins with ``line``, the line of the host file that made it (0 where it is not known): findings name it.

**Addresses.** There is one space for all memory. Memory of the host that the grader shares with the host file (the
exercise's arrays, what `host_alloc` gave, and managed memory, which the host may touch too) lies at ``HOST_BASE`` + its
offset in the shared file. Device memory lies at what `malloc` gave, also inside of it. Other memory of the host never
travels as an address: `copy` takes its bytes, `fetch` gives bytes back. It is always pageable.

**Streams.** The legacy default stream of device ``d`` is the handle ``-d``: 0, -1, -2 … It waits for the blocking
streams of its device, and they wait for it. For `synchronize` and `query`, the handle of a ``device`` is its number.

**When things happen.** Operations are queued and executed as late as is legal. Whatever waits (`synchronize`, `fetch`,
a copy to pageable memory, a `query` that is asked again) forces what it waits for, with what that depends on, and
nothing else. Of several operations that might come next, the latest issued is executed first. A GPU may be busy for as
long as it likes: a `query` that finds something new says that it is not done, and nothing happens by it. Whoever goes
on asking waits.

**Errors.** A call that CUDA would refuse raises `CudaRefusal` with CUDA's name for it (``cudaErrorInvalidValue``) and a
sentence that says what was wrong; the stand-in raises it as CuPy would. What a kernel did wrong, and what the order
of operations allowed to go wrong, is a finding of the run and no error of a call; but a kernel that ended with a fault
makes every later wait of its run raise ``cudaErrorIllegalAddress`` or its like, as on a GPU.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

HOST_BASE = 0x5000_0000_0000
"""Where the shared file begins in the address space: clear of the simulator's windows of generic addresses."""


class CudaRefusal(Exception):
    """Raised where CUDA would return an error: ``name`` is CUDA's (``cudaErrorInvalidValue``)."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.message = message


class DeviceCalls(Protocol):
    """One to eight simulated GPUs of one kind, and the host's memory that they can reach."""

    # -- devices ----------------------------------------------------------------------------------------------------
    def device_count(self) -> int: ...

    def attributes(self, device: int) -> Mapping[str, int]:
        """By the names that CuPy has in `Device.attributes` (``MultiProcessorCount``, ``WarpSize`` …)."""

    def memory_info(self, device: int) -> Sequence[int]:
        """Free and total bytes of a device's memory."""

    def set_limit(self, line: int, limit: str, value: int) -> None:
        """``limit``: ``persisting_l2_bytes`` (cudaLimitPersistingL2CacheSize)."""

    def refused(self, line: int, function: str, message: str) -> None:
        """A function that returns its errors, as those of cuda.bindings do, returned one: the run's report tells it."""

    def enable_peer(self, line: int, device: int, peer: int) -> None:
        """Let kernels on ``device`` use memory of ``peer``. `copy` between them needs no permission."""

    # -- memory -----------------------------------------------------------------------------------------------------
    def malloc(self, line: int, device: int, size: int, managed: bool) -> int:
        """The address of ``size`` bytes, poisoned; of managed memory in the shared file.

        Raises CudaRefusal where there is not so much memory.
        """

    def free(self, line: int, address: int) -> None:
        """Waits for nothing that was queued: using freed memory is a finding."""

    def give_back(self, line: int, address: int) -> None:
        """What a pool gives back after a run: it is freed once all that is queued has been done, for the pool would
        have kept it until then. ``line`` the last array on it died."""

    def host_alloc(self, line: int, size: int, flags: int) -> int:
        """Pinned memory: its address, HOST_BASE + an offset in the shared file, on a page of its own.

        Raises CudaRefusal (``cudaErrorMemoryAllocation``) where the shared file has no room.
        """

    def free_host(self, line: int, address: int) -> None: ...

    def host_register(self, line: int, address: int, size: int, flags: int) -> None:
        """Pin memory of the shared file. Raises CudaRefusal where it is pinned already (in part, too)."""

    def host_unregister(self, line: int, address: int) -> None: ...

    def pointer(self, address: int) -> Mapping[str, int]:
        """cudaPointerGetAttributes: ``type`` (0 unregistered, 1 host, 2 device, 3 managed), ``device``,
        ``device_pointer`` (0 where a kernel may not use it) and ``host_pointer``."""

    def advise(self, line: int, address: int, size: int, advice: int, device: int) -> None: ...

    # -- streams and events -----------------------------------------------------------------------------------------
    def stream_create(self, line: int, device: int, non_blocking: bool, priority: int) -> int:
        """A handle above 0. ``priority`` changes the modelled clock at most, never what is legal."""

    def stream_destroy(self, stream: int) -> None:
        """What is queued there is still done, as with CUDA."""

    def stream_attribute(self, line: int, stream: int, name: str, value: Mapping[str, float]) -> None:
        """``access_policy_window``: ``base``, ``bytes``, ``hit_ratio``, ``hit`` and ``miss`` (cudaAccessProperty)."""

    def event_create(self, line: int, device: int, timing: bool) -> int:
        """An event of a device: it can be recorded on that one's streams only. Others may wait for it."""

    def event_destroy(self, event: int) -> None: ...

    def event_record(self, line: int, event: int, stream: int) -> None: ...

    def stream_wait_event(self, line: int, stream: int, event: int) -> None:
        """For the event's last record; an event that was never recorded holds nobody up."""

    def elapsed_ms(self, first: int, last: int) -> float:
        """By the modelled clock. Raises CudaRefusal where one is not recorded, has no timing, or is not done yet,
        and for events of two devices."""

    # -- operations -------------------------------------------------------------------------------------------------
    def copy(self, line: int, target: int, source: int | bytes, size: int, stream: int, blocking: bool) -> None:
        """cudaMemcpyAsync, or with ``blocking`` cudaMemcpy, by unified addressing: the kind follows from the places.

        From pageable memory (bytes, or an address that is not pinned) the bytes are taken now. To memory of the shared
        file that is not pinned, and from host to host, the call returns when the copy is done.
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
        """``arguments`` are bytes, of which each parameter takes as many as it has; ``kinds`` says what they are
        (`device.gpu`). ``device`` is the current one. Raises CudaRefusal for a stream of another device, for a
        shape that the device does not have, and ``cudaErrorCooperativeLaunchTooLarge`` where not all blocks of a
        cooperative launch can be resident."""

    def kernel_attributes(self, kernel: str) -> Mapping[str, Any]:
        """``parameters`` (a list of [PTX type, bytes]), ``shared_bytes`` (static), ``max_threads``, ``registers``,
        ``local_bytes``. Raises CudaRefusal where the module has no such kernel."""

    def resident_blocks(self, kernel: str, block_threads: int, shared_bytes: int) -> int:
        """cudaOccupancyMaxActiveBlocksPerMultiprocessor."""

    # -- graphs -----------------------------------------------------------------------------------------------------
    def capture_begin(self, line: int, stream: int, mode: int) -> None:
        """``mode`` as cudaStreamCaptureMode: unless it is relaxed (2), nothing may be allocated until the end."""

    def capture_end(self, line: int, stream: int) -> int:
        """The graph, ready to be launched. Raises CudaRefusal where a captured stream was not joined."""

    def is_capturing(self, stream: int) -> bool: ...

    def graph_launch(self, line: int, graph: int, stream: int) -> None: ...

    def graph_destroy(self, graph: int) -> None: ...

    # -- waiting ----------------------------------------------------------------------------------------------------
    def synchronize(self, line: int, what: str, handle: int) -> None:
        """``what``: ``stream``, ``event`` or ``device``. Raises CudaRefusal after a kernel's fault, and for waiting
        for a stream that is being captured."""

    def query(self, line: int, what: str, handle: int) -> bool:
        """Whether it is done. False where something is left that was not left when this was last asked: nothing is
        done by that. Asked again, it waits for what is left, counts as a wait, and says True."""


CALLS = tuple(name for name, value in vars(DeviceCalls).items() if not name.startswith("_") and callable(value))
"""The names of all calls: nothing else is relayed."""


def answer(device: DeviceCalls, call: Mapping[str, Any]) -> dict[str, Any]:
    """The message that answers one call: ``{"result": …}`` or ``{"error": name, "message": …}``.

    ``call`` is hostile: ``{"name": …, "arguments": […]}``. A name that is no call, or arguments that are none, end as
    ``cudaErrorInvalidValue``.
    """
    name, arguments = call.get("name"), call.get("arguments")
    if name not in CALLS or not isinstance(arguments, list):
        return {"error": "cudaErrorInvalidValue", "message": f"{name!r} is no call of the stand-in"}
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
    """A call as the parent hands it on: what is called, and byte strings, but no word that the simulator acts on."""
    blobs = {name: value for name, value in message.items() if isinstance(value, bytes)}
    call = {name: message.get(name) for name in ("name", "arguments")}
    return {"do": "call", "call": call} | {f"blob:{name}": value for name, value in blobs.items()}


def unpack(message: Mapping[str, Any]) -> dict[str, Any]:
    """The call that `relayed` made of a message: ``name`` and ``arguments``, as `protocol.answer` takes them.

    What is no call, by its name or by the kinds of its arguments, has None for both.
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
    """Whether there is such a call, with arguments of these kinds."""
    if not isinstance(name, str) or name not in CALLS:
        return False
    checks = _checks(name)
    return len(checks) == len(arguments) and all(check(one) for check, one in zip(checks, arguments, strict=True))


@cache
def _checks(name: str) -> tuple[Check, ...]:
    """A check for each argument, by its annotation in the protocol."""
    parameters = list(inspect.signature(getattr(DeviceCalls, name)).parameters.values())[1:]
    return tuple(_KINDS[str(parameter.annotation)] for parameter in parameters)


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < MOST


MOST = 1 << 63
"""No number is as large: addresses and sizes are taken for 64-bit integers."""


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
