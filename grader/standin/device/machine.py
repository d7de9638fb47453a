"""The machine: one method for each call of the protocol."""

from __future__ import annotations

from grader.standin.device.calls_graphs import GraphCalls
from grader.standin.device.calls_kernels import KernelCalls
from grader.standin.device.calls_memory import MemoryCalls
from grader.standin.device.calls_streams import StreamCalls


class SimMachine(MemoryCalls, KernelCalls, StreamCalls, GraphCalls):
    """Implements `grader.standin.protocol.Machine` over the simulator. `messages` has checked what a call brings."""
