"""Calls on kernels: attributes, occupancy, launches and what CUDA would refuse."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from grader.occupancy import occupancy
from grader.render.text import counted
from grader.simt.engine.codegen import Kernel as Code
from grader.simt.engine.residency import blocks_per_sm, static_shared_bytes
from grader.simt.ptx import Function
from grader.standin.device import words as say
from grader.standin.device.arguments import mistaken
from grader.standin.device.core import Core
from grader.standin.device.operations import Dim3, Kernel, Task
from grader.standin.device.persisting import Policy
from grader.standin.device.streams import Stream
from grader.standin.device.words import stream_name
from grader.standin.protocol import CudaError

INVALID, SHAPE = "cudaErrorInvalidValue", "cudaErrorInvalidConfiguration"
ARCHITECTURE = "sm_80"
ASSUMED_REGISTERS = 32
"""What `kernel_attributes` says of a kernel that nobody assembled."""
AXES = "xyz"


class KernelCalls(Core):
    # -- what a kernel is -------------------------------------------------------------------------------------------
    def _entry(self, kernel: str) -> Function:
        found = self.module.functions.get(kernel)
        if found is None or not found.is_entry:
            there = ", ".join(name for name, f in self.module.functions.items() if f.is_entry)
            raise CudaError("cudaErrorSymbolNotFound", f"the module has no kernel {kernel}; it has {there}")
        return found

    def _code(self, kernel: str) -> Code:
        self._entry(kernel)
        return self.cache.get(self.module, kernel, self.options.observed).kernel

    def kernel_attributes(self, kernel: str) -> Mapping[str, Any]:
        entry, code = self._entry(kernel), self._code(kernel)
        return {
            "parameters": [[p.element, p.size] for p in entry.parameters], "shared_bytes": static_shared_bytes(code),
            "max_threads": self.model.attributes["MaxThreadsPerBlock"],
            "registers": self.registers.get(kernel, ASSUMED_REGISTERS), "local_bytes": code.local_bytes,
        }  # fmt: skip

    def resident_blocks(self, kernel: str, block_threads: int, shared_bytes: int) -> int:
        code = self._code(kernel)
        if not 1 <= block_threads <= self.model.attributes["MaxThreadsPerBlock"] or shared_bytes < 0:
            raise CudaError(INVALID, f"blocks of {block_threads} threads with {shared_bytes} bytes of shared memory")
        static = static_shared_bytes(code)
        if static + shared_bytes > self.model.attributes["MaxSharedMemoryPerBlockOptin"]:
            return 0
        blocks = blocks_per_sm(code, block_threads, shared_bytes)
        if kernel not in self.registers:  # nobody assembled it
            return blocks
        registers = self.registers[kernel]
        has = occupancy(ARCHITECTURE, threads=block_threads, registers=registers, shared_bytes=static + shared_bytes)
        return min(blocks, has.blocks)

    # -- launches ---------------------------------------------------------------------------------------------------
    def launch(
        self, where: int, kernel: str, grid: Sequence[int], block: Sequence[int], shared_bytes: int,
        arguments: Sequence[bytes], kinds: Sequence[str], stream: int, cooperative: bool, device: int,
    ) -> None:  # fmt: skip
        queue = self.streams.stream(stream)
        if queue.device != device:
            raise CudaError(
                "cudaErrorInvalidResourceHandle",
                f"{kernel} is launched on a stream of device {queue.device} while device {device} is current: launch "
                f"it inside `with cupy.cuda.Device({queue.device}):`",
            )
        shape = self._shape("grid", grid), self._shape("block", block)
        self._check_shape(*shape, shared_bytes, kernel)
        given = self._arguments(kernel, arguments)
        self._explain_arguments(where, kernel, arguments, kinds)
        if cooperative:
            self._check_resident(kernel, *shape, shared_bytes)
        work = Kernel(kernel, *shape, shared_bytes, given, cooperative, self._policy(queue))
        op = self.issue(Task("kernel", work, queue.device, where, kernel), queue)
        self.executor.tally.add("launch_calls", 1)  # a captured one, too: it takes the host as long
        if op is not None:
            self.executor.tally.add("cooperative_launches", cooperative)

    def _shape(self, what: str, given: Sequence[int]) -> Dim3:
        """Three extents; those left out are 1. Raises CudaError."""
        if not 1 <= len(given) <= len(AXES):
            raise CudaError(INVALID, f"{what}={tuple(given)}: one to three extents")
        extents = (*(int(x) for x in given), 1, 1)[:3]
        limits = [self.model.attributes[f"Max{what.capitalize()}Dim{axis.upper()}"] for axis in AXES]
        for axis, extent, limit in zip(AXES, extents, limits, strict=True):
            if not 1 <= extent <= limit:
                raise CudaError(SHAPE, f"{what}={tuple(given)}: {axis} must be from 1 to {limit}")
        return extents[0], extents[1], extents[2]

    def _check_shape(self, grid: Dim3, block: Dim3, shared_bytes: int, kernel: str) -> None:
        threads, most = math.prod(block), self.model.attributes["MaxThreadsPerBlock"]
        if threads > most:
            raise CudaError(SHAPE, f"block={block} is {threads} threads; a block has {most} at most")
        static, limit = static_shared_bytes(self._code(kernel)), self.model.attributes["MaxSharedMemoryPerBlockOptin"]
        if shared_bytes < 0 or static + shared_bytes > limit:
            raise CudaError(
                INVALID, f"{static + shared_bytes} bytes of shared memory in each block of {kernel}; {limit} at most"
            )

    def _arguments(self, kernel: str, given: Sequence[bytes]) -> tuple[bytes, ...]:
        """The bytes of each parameter. CUDA takes as many as the kernel declares, from wider ones too."""
        wanted = self._entry(kernel).parameters
        if len(given) != len(wanted):
            there = f"{kernel} has {counted(len(wanted), 'parameter')}, and {counted(len(given), 'argument')}"
            raise CudaError(INVALID, f"{there} {'is' if len(given) == 1 else 'are'} given")
        for i, (parameter, argument) in enumerate(zip(wanted, given, strict=True)):
            if len(argument) < parameter.size:
                raise CudaError(
                    INVALID,
                    f"argument {i + 1} of {kernel} has {len(argument)} bytes, and the parameter {parameter.size}: "
                    "wrap numbers in their exact type (numpy.int32, numpy.float32 …)",
                )
        return tuple(bytes(a)[: p.size] for a, p in zip(given, wanted, strict=True))

    def _explain_arguments(self, where: int, kernel: str, given: Sequence[bytes], kinds: Sequence[str]) -> None:
        """Arguments that their parameters misread are no error for CUDA: they are told beside what comes of them."""
        wanted, names = self._entry(kernel).parameters, self.gpu.parameters(kernel)
        for i, (parameter, content, kind) in enumerate(zip(wanted, given, kinds, strict=False)):
            found = mistaken(parameter.element, parameter.size, kind, content)
            if found is not None:
                name = names[i] if i < len(names) else ""
                told = say.argument_type(self.executor.words, where, kernel, i + 1, name, found)
                self.executor.findings.add(told, i)

    def _check_resident(self, kernel: str, grid: Dim3, block: Dim3, shared_bytes: int) -> None:
        each = self.resident_blocks(kernel, math.prod(block), shared_bytes)
        most, blocks = each * self.model.multiprocessors, math.prod(grid)
        if blocks > most:
            raise CudaError(
                "cudaErrorCooperativeLaunchTooLarge",
                f"{blocks} blocks of {math.prod(block)} threads, which wait for each other; only {most} can be "
                f"resident at once ({self.model.multiprocessors} multiprocessors, {counted(each, 'block')} each): take "
                "a smaller grid, and let each thread do more",
            )

    def _policy(self, stream: Stream) -> Policy | None:
        """The stream's access-policy window, where it has one, and what of the L2 cache is set aside now."""
        window = stream.window
        if window is None or not window.size:
            return None
        return Policy(window, stream_name(stream.number, stream.device), self.set_aside)
