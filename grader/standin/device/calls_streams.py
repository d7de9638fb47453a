"""Calls on streams and events, and all that wait."""

from __future__ import annotations

from collections.abc import Mapping

from grader.standin.device.core import Core
from grader.standin.device.operations import Operation
from grader.standin.device.order import missing
from grader.standin.device.persisting import Window
from grader.standin.device.streams import Event
from grader.standin.protocol import CudaError

INVALID = "cudaErrorInvalidValue"
WINDOW = "access_policy_window"
ADDRESSES = 1 << 62
"""What no address comes near."""


class StreamCalls(Core):
    def stream_create(self, where: int, device: int, non_blocking: bool, priority: int) -> int:
        self.check_device(device)
        self.mark()
        return self.streams.create(device, blocking=not non_blocking)

    def stream_destroy(self, stream: int) -> None:
        self.streams.destroy(stream)

    def stream_attribute(self, where: int, stream: int, name: str, value: Mapping[str, float]) -> None:
        if name != WINDOW:
            raise CudaError(INVALID, f"the stand-in knows no stream attribute {name}")
        most = self.model.attributes["MaxAccessPolicyWindowSize"]
        size, ratio = value.get("bytes", 0), value.get("hit_ratio", 0.0)
        if not 0 <= size <= most:
            raise CudaError(INVALID, f"a window of {size} bytes; at most {most} (MaxAccessPolicyWindowSize)")
        if not 0.0 <= ratio <= 1.0:
            raise CudaError(INVALID, f"a hit ratio of {ratio}: it is a part, from 0 to 1")
        base, hit = int(value.get("base", 0)), int(value.get("hit", 0))
        if not 0 <= base < ADDRESSES:
            raise CudaError(INVALID, f"a window at {base:#x}: no address is like that")
        self.streams.stream(stream).window = Window(base, int(size), float(ratio), hit, where)
        self.mark()

    # -- events -----------------------------------------------------------------------------------------------------
    def event_create(self, where: int, device: int, timing: bool) -> int:
        self.check_device(device)
        return self.streams.create_event(device, timing=timing)

    def event_destroy(self, event: int) -> None:
        self.streams.destroy_event(event)

    def event_record(self, where: int, event: int, stream: int) -> None:
        self.mark(self.streams.record(self.streams.event(event), self.streams.stream(stream), where))

    def stream_wait_event(self, where: int, stream: int, event: int) -> None:
        self.mark(self.streams.wait(self.streams.stream(stream), self.streams.event(event), where))

    def elapsed_ms(self, first: int, last: int) -> float:
        marks = [self._timed(handle) for handle in (first, last)]
        devices = [self.streams.event(handle).device for handle in (first, last)]
        if devices[0] != devices[1]:
            message = f"the events are of devices {devices[0]} and {devices[1]}: each has a clock of its own"
            raise CudaError("cudaErrorInvalidResourceHandle", message)
        self.clock.compute()
        begun, ended = (mark.end_s for mark in marks)
        if begun is None or ended is None:
            raise CudaError("cudaErrorNotReady", "an event is not done yet: wait for it first")
        return 1e3 * (ended - begun)

    def _timed(self, handle: int) -> Operation:
        event = self.streams.event(handle)
        if not event.timing:
            raise CudaError("cudaErrorInvalidResourceHandle", "the event was made with disable_timing=True")
        if event.mark is None:
            raise CudaError("cudaErrorInvalidResourceHandle", "the event was never recorded")
        if not event.mark.done:
            raise CudaError("cudaErrorNotReady", "an event is not done yet: wait for it first")
        return event.mark

    # -- waiting ----------------------------------------------------------------------------------------------------
    def synchronize(self, where: int, what: str, handle: int) -> None:
        self.wait(where, self._awaited(what, handle, f"waiting for the {what}"))

    def query(self, where: int, what: str, handle: int) -> bool:
        wanted = self._awaited(what, handle, "asking whether it is done")
        left = frozenset(op.number for op in missing(wanted) if op.task is not None)
        if left <= self.asked.get((what, handle), frozenset()):
            self.wait(where, wanted)
            return True
        self.asked[what, handle] = left
        self.mark()
        self.check_fault()
        return False

    def _awaited(self, what: str, handle: int, doing: str) -> list[Operation]:
        """The operations that must be done. Raises CudaError for what is being captured."""
        if what == "event":
            return self._of_event(self.streams.event(handle))
        if what == "device":
            self.check_device(handle)
            self.refuse_while_capturing(doing, self.streams.capturing())
            return self.streams.tails(handle)
        if what != "stream":
            raise CudaError(INVALID, f"there is no waiting for a {what}")
        stream = self.streams.stream(handle)
        self.refuse_while_capturing(doing, [stream])
        # The default stream waits for the blocking streams when something is put there, and for this call, too.
        if stream.is_default:
            self.mark(self.streams.issue(None, stream))
        return [] if stream.tail is None else [stream.tail]

    def _of_event(self, event: Event) -> list[Operation]:
        if event.captured is not None:
            message = "the event was recorded in a capture: the host cannot wait for it"
            raise event.captured[0].break_off("cudaErrorCapturedEvent", message)
        return [] if event.mark is None else [event.mark]
