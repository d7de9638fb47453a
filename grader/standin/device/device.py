"""The device that the stand-in simulates: one method for each call of the protocol.

This module has the calls on kernels, streams, events and graphs, and all calls that wait; `memory_calls` has the calls
on memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from grader.simt.engine.codegen import Kernel as Code
from grader.simt.occupancy import MOST_THREADS, SIMULATED, most_threads, occupancy
from grader.simt.ptx import Function
from grader.standin.device import findings as host_findings
from grader.standin.device.gpu import mismatch
from grader.standin.device.memory_calls import MemoryCalls
from grader.standin.device.operations import Dim3, KernelLaunch, StreamOperation, StreamTask, missing
from grader.standin.device.persisting import Policy, Window
from grader.standin.device.streams import DeviceEvent
from grader.standin.protocol import CudaRefusal
from grader.text import counted

INVALID, SHAPE = "cudaErrorInvalidValue", "cudaErrorInvalidConfiguration"
RESOURCES = "cudaErrorLaunchOutOfResources"
ASSUMED_REGISTERS = 32
"""Registers per thread in `kernel_attributes` where `ptxas` has not assembled the kernel."""
AXES = "xyz"
WINDOW = "access_policy_window"
ADDRESSES = 1 << 62
"""Greater than every address."""


class StandinDevice(MemoryCalls):
    """Implements `protocol.DeviceCalls` over the simulator. `protocol.unpack` has checked the arguments' types."""

    # -- attributes of kernels --------------------------------------------------------------------------------------
    def _entry(self, kernel: str) -> Function:
        entry = self.module.functions.get(kernel)
        if entry is None or not entry.is_entry:
            kernels = ", ".join(name for name, f in self.module.functions.items() if f.is_entry)
            raise CudaRefusal("cudaErrorSymbolNotFound", f"the module has no kernel {kernel}; it has {kernels}")
        return entry

    def _code(self, kernel: str) -> Code:
        self._entry(kernel)
        return self.cache.get(self.module, kernel, self.options.observed).kernel

    def kernel_attributes(self, kernel: str) -> Mapping[str, Any]:
        entry, code = self._entry(kernel), self._code(kernel)
        return {
            "parameters": [[p.element, p.size] for p in entry.parameters], "shared_bytes": code.declared_shared_bytes,
            "max_threads": min(self._by_bounds(kernel), self._by_registers(kernel)),
            "registers": self.registers.get(kernel, ASSUMED_REGISTERS), "local_bytes": code.local_bytes,
        }  # fmt: skip

    def _by_bounds(self, kernel: str) -> int:
        """Threads of a block as its `__launch_bounds__` allow."""
        return min(self.max_threads.get(kernel, MOST_THREADS), self.model.attributes["MaxThreadsPerBlock"])

    def _by_registers(self, kernel: str) -> int:
        """Most threads of a block that the register file allows; ASSUMED_REGISTERS where `ptxas` has not run."""
        return most_threads(SIMULATED, self.registers.get(kernel, ASSUMED_REGISTERS))

    def resident_blocks(self, kernel: str, block_threads: int, shared_bytes: int) -> int:
        code = self._code(kernel)
        if not 1 <= block_threads <= self.model.attributes["MaxThreadsPerBlock"] or shared_bytes < 0:
            raise CudaRefusal(INVALID, f"blocks of {block_threads} threads with {shared_bytes} bytes of shared memory")
        static = code.declared_shared_bytes
        if static + shared_bytes > self.model.attributes["MaxSharedMemoryPerBlockOptin"]:
            return 0
        blocks = code.blocks_per_sm(block_threads, shared_bytes)
        if kernel not in self.registers:  # not assembled
            return blocks
        registers = self.registers[kernel]
        has = occupancy(SIMULATED, threads=block_threads, registers=registers, shared_bytes=static + shared_bytes)
        return min(blocks, has.blocks)

    # -- launches ---------------------------------------------------------------------------------------------------
    def launch(
        self, line: int, kernel: str, grid: Sequence[int], block: Sequence[int], shared_bytes: int,
        arguments: Sequence[bytes], kinds: Sequence[str], stream: int, cooperative: bool, device: int,
    ) -> None:  # fmt: skip
        queue = self.streams.stream(stream)
        if queue.device != device:
            raise CudaRefusal(
                "cudaErrorInvalidResourceHandle",
                f"{kernel} is launched on a stream of device {queue.device} while device {device} is current: launch "
                f"it inside `with cupy.cuda.Device({queue.device}):`",
            )
        shape = self._shape("grid", grid), self._shape("block", block)
        self._check_shape(*shape, shared_bytes, kernel)
        parameter_bytes = self._arguments(kernel, arguments)
        self._explain_arguments(line, kernel, arguments, kinds)
        if cooperative:
            self._check_resident(kernel, *shape, shared_bytes)
        window = queue.window if queue.window is not None and queue.window.size else None
        policy = None if window is None else Policy(window, (queue.number, queue.device), self.set_aside)
        work = KernelLaunch(kernel, *shape, shared_bytes, parameter_bytes, cooperative, policy)
        op = self.issue(StreamTask("kernel", work, queue.device, line, kernel), queue)
        self.executor.tally.add("launch_calls", 1)  # a captured launch, too: it takes the host the same time
        if op is not None:
            self.executor.tally.add("cooperative_launches", cooperative)

    def _shape(self, what: str, given: Sequence[int]) -> Dim3:
        """Three extents; the default is 1. Raises CudaRefusal for extents that the device does not have."""
        if not 1 <= len(given) <= len(AXES):
            raise CudaRefusal(INVALID, f"{what}={tuple(given)}: one to three extents")
        extents = (*(int(x) for x in given), 1, 1)[:3]
        limits = [self.model.attributes[f"Max{what.capitalize()}Dim{axis.upper()}"] for axis in AXES]
        for axis, extent, limit in zip(AXES, extents, limits, strict=True):
            if not 1 <= extent <= limit:
                raise CudaRefusal(SHAPE, f"{what}={tuple(given)}: {axis} must be from 1 to {limit}")
        return extents[0], extents[1], extents[2]

    def _check_shape(self, grid: Dim3, block: Dim3, shared_bytes: int, kernel: str) -> None:
        threads, most = math.prod(block), self.model.attributes["MaxThreadsPerBlock"]
        if threads > most:
            raise CudaRefusal(SHAPE, f"block={block} is {threads} threads; a block has at most {most}")
        if threads > (most := self._by_bounds(kernel)):
            why = f"{kernel} is compiled for blocks of at most {most}: see its __launch_bounds__"
            raise CudaRefusal(INVALID, f"block={block} is {threads} threads; {why}")
        if threads > (most := self._by_registers(kernel)):
            why = f"{kernel} needs {self.registers[kernel]} registers for each, which allows blocks of at most {most}"
            more = f"__launch_bounds__({threads}) tells the compiler to use fewer"
            raise CudaRefusal(RESOURCES, f"block={block} is {threads} threads; {why}; {more}")
        static, limit = self._code(kernel).declared_shared_bytes, self.model.attributes["MaxSharedMemoryPerBlockOptin"]
        if shared_bytes < 0 or static + shared_bytes > limit:
            raise CudaRefusal(
                INVALID, f"{static + shared_bytes} bytes of shared memory in each block of {kernel}; at most {limit}"
            )

    def _arguments(self, kernel: str, given: Sequence[bytes]) -> tuple[bytes, ...]:
        """The bytes of each parameter. CUDA takes as many as the kernel declares, from wider arguments too."""
        parameters = self._entry(kernel).parameters
        if len(given) != len(parameters):
            raise CudaRefusal(
                INVALID,
                f"{kernel} has {counted(len(parameters), 'parameter')}, and {counted(len(given), 'argument')} "
                f"{'is' if len(given) == 1 else 'are'} given",
            )
        for i, (parameter, argument) in enumerate(zip(parameters, given, strict=True)):
            if len(argument) < parameter.size:
                raise CudaRefusal(
                    INVALID,
                    f"argument {i + 1} of {kernel} has {len(argument)} bytes, and the parameter {parameter.size}: "
                    "wrap numbers in their exact type (numpy.int32, numpy.float32 …)",
                )
        return tuple(bytes(a)[: p.size] for a, p in zip(given, parameters, strict=True))

    def _explain_arguments(self, line: int, kernel: str, given: Sequence[bytes], kinds: Sequence[str]) -> None:
        """Record arguments of a type that their parameters misread. CUDA reports no error for them."""
        parameters, names = self._entry(kernel).parameters, self.gpu.parameters(kernel)
        for i, (parameter, content, kind) in enumerate(zip(parameters, given, kinds, strict=False)):
            misread = mismatch(parameter.element, parameter.size, kind, content)
            if misread is not None:
                name = names[i] if i < len(names) else ""
                finding = host_findings.argument_type(self.executor.records, line, kernel, i + 1, name, misread)
                self.executor.findings.add(finding, i)

    def _check_resident(self, kernel: str, grid: Dim3, block: Dim3, shared_bytes: int) -> None:
        each = self.resident_blocks(kernel, math.prod(block), shared_bytes)
        most, blocks = each * self.model.multiprocessors, math.prod(grid)
        if blocks > most:
            raise CudaRefusal(
                "cudaErrorCooperativeLaunchTooLarge",
                f"{blocks} blocks of {math.prod(block)} threads, which wait for each other; only {most} can be "
                f"resident at once ({self.model.multiprocessors} multiprocessors, {counted(each, 'block')} each): take "
                "a smaller grid, and let each thread do more",
            )

    # -- streams ----------------------------------------------------------------------------------------------------
    def stream_create(self, line: int, device: int, non_blocking: bool, priority: int) -> int:
        self.check_device(device)
        self.mark()
        return self.streams.create(device, blocking=not non_blocking)

    def stream_destroy(self, stream: int) -> None:
        self.streams.destroy(stream)

    def stream_attribute(self, line: int, stream: int, name: str, value: Mapping[str, float]) -> None:
        if name != WINDOW:
            raise CudaRefusal(INVALID, f"the stand-in has no stream attribute {name}")
        most = self.model.attributes["MaxAccessPolicyWindowSize"]
        size, ratio = value.get("bytes", 0), value.get("hit_ratio", 0.0)
        if not 0 <= size <= most:
            raise CudaRefusal(INVALID, f"a window of {size} bytes; at most {most} (MaxAccessPolicyWindowSize)")
        if not 0.0 <= ratio <= 1.0:
            raise CudaRefusal(INVALID, f"a hit ratio of {ratio}: it must be from 0 to 1")
        base, hit = int(value.get("base", 0)), int(value.get("hit", 0))
        if not 0 <= base < ADDRESSES:
            raise CudaRefusal(INVALID, f"a window at {base:#x}, which is not an address")
        self.streams.stream(stream).window = Window(base, int(size), float(ratio), hit, line)
        self.mark()

    # -- events -----------------------------------------------------------------------------------------------------
    def event_create(self, line: int, device: int, timing: bool) -> int:
        self.check_device(device)
        return self.streams.events.add(DeviceEvent(device, timing))

    def event_destroy(self, event: int) -> None:
        self.streams.events.destroy(event)

    def event_record(self, line: int, event: int, stream: int) -> None:
        self.mark(self.streams.record(self.streams.events[event], self.streams.stream(stream), line))

    def stream_wait_event(self, line: int, stream: int, event: int) -> None:
        self.mark(self.streams.wait(self.streams.stream(stream), self.streams.events[event], line))

    def elapsed_ms(self, first: int, last: int) -> float:
        marks = [self._timed(handle) for handle in (first, last)]
        devices = [self.streams.events[handle].device for handle in (first, last)]
        if devices[0] != devices[1]:
            message = f"the events are of devices {devices[0]} and {devices[1]}: each device has its own clock"
            raise CudaRefusal("cudaErrorInvalidResourceHandle", message)
        self.clock.compute()
        start_s, end_s = (mark.end_s for mark in marks)
        if start_s is None or end_s is None:
            raise CudaRefusal("cudaErrorNotReady", "an event is still pending: wait for it first")
        return 1e3 * (end_s - start_s)

    def _timed(self, handle: int) -> StreamOperation:
        event = self.streams.events[handle]
        if not event.timing:
            raise CudaRefusal("cudaErrorInvalidResourceHandle", "the event was made with disable_timing=True")
        if event.mark is None:
            raise CudaRefusal("cudaErrorInvalidResourceHandle", "the event was never recorded")
        if not event.mark.done:
            raise CudaRefusal("cudaErrorNotReady", "an event is still pending: wait for it first")
        return event.mark

    # -- waiting ----------------------------------------------------------------------------------------------------
    def synchronize(self, line: int, what: str, handle: int) -> None:
        self.wait(line, self._awaited(what, handle, f"waiting for the {what}"))

    def query(self, line: int, what: str, handle: int) -> bool:
        wanted = self._awaited(what, handle, f"a query of the {what}")
        pending = frozenset(op.number for op in missing(wanted) if op.task is not None)
        if pending <= self.pending_at_query.get((what, handle), frozenset()):
            self.wait(line, wanted)
            return True
        self.pending_at_query[what, handle] = pending
        self.mark()
        self.check_fault()
        return False

    def _awaited(self, what: str, handle: int, doing: str) -> list[StreamOperation]:
        """The operations to wait for. Raises CudaRefusal for an event or a stream that is being captured."""
        if what == "event":
            event = self.streams.events[handle]
            if event.captured is not None:
                message = "the event was recorded in a capture: the host cannot wait for it"
                raise event.captured[0].break_off("cudaErrorCapturedEvent", message)
            return [] if event.mark is None else [event.mark]
        if what == "device":
            self.check_device(handle)
            self.refuse_while_capturing(doing, self.streams.capturing())
            return self.streams.tails(handle)
        if what != "stream":
            raise CudaRefusal(INVALID, f"a {what} cannot be waited for")
        stream = self.streams.stream(handle)
        self.refuse_while_capturing(doing, [stream])
        # The default stream waits for the blocking streams when something is queued on it, and for this call, too.
        if stream.is_default:
            self.mark(self.streams.issue(None, stream))
        return [] if stream.tail is None else [stream.tail]

    # -- graphs -----------------------------------------------------------------------------------------------------
    def capture_begin(self, line: int, stream: int, mode: int) -> None:
        self.streams.begin(self.streams.stream(stream), line, mode)
        self.mark()

    def capture_end(self, line: int, stream: int) -> int:
        self.mark()
        return self.streams.graphs.add(self.streams.end(self.streams.stream(stream)))

    def is_capturing(self, stream: int) -> bool:
        return self.streams.stream(stream).capture is not None

    def graph_launch(self, line: int, graph: int, stream: int) -> None:
        queue = self.streams.stream(stream)
        if queue.capture is not None:
            message = "the stand-in cannot run a graph in a graph: launch it outside the capture, or grade on a GPU"
            raise queue.capture.break_off("cudaErrorStreamCaptureUnsupported", message)
        launched, tally = self.streams.graphs[graph], self.executor.tally
        ops = self.streams.replay(launched, queue)
        self.issued(ops)
        if not any(isinstance(node.task.work, KernelLaunch) for node in launched.nodes):
            finding = self.executor.records.at(
                "no_kernel_in_graph", line, begun=launched.line, nodes=len(launched.nodes)
            )
            self.executor.findings.add(finding)
        tally.add("launch_calls", 1)
        tally.add("graph_launches", 1)
        for op in ops:
            work = op.task.work if op.task is not None else None
            tally.add("cooperative_launches", isinstance(work, KernelLaunch) and work.cooperative)

    def graph_destroy(self, graph: int) -> None:
        self.streams.graphs.destroy(graph)
