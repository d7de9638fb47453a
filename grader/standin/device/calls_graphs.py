"""Calls on graphs: capture, launch."""

from __future__ import annotations

from grader.standin.device import notes
from grader.standin.device.core import Core
from grader.standin.device.operations import Kernel


class GraphCalls(Core):
    def capture_begin(self, where: int, stream: int, mode: int) -> None:
        self.streams.begin(self.streams.stream(stream), where, mode)
        self.mark()

    def capture_end(self, where: int, stream: int) -> int:
        self.mark()
        return self.streams.add_graph(self.streams.end(self.streams.stream(stream)))

    def is_capturing(self, stream: int) -> bool:
        return self.streams.stream(stream).capture is not None

    def graph_launch(self, where: int, graph: int, stream: int) -> None:
        queue = self.streams.stream(stream)
        if queue.capture is not None:
            message = "the stand-in knows no graph within a graph: launch it outside of the capture, or grade on a GPU"
            raise queue.capture.break_off("cudaErrorStreamCaptureUnsupported", message)
        launched, tally = self.streams.graph(graph), self.executor.tally
        ops = self.streams.replay(launched, queue)
        self.issued(ops)
        if not any(isinstance(node.task.work, Kernel) for node in launched.nodes):
            self.executor.findings.add(notes.no_kernel_in(self.executor.words, launched, where))
        tally.add("launch_calls", 1)
        tally.add("graph_launches", 1)
        for op in ops:
            work = op.task.work if op.task is not None else None
            tally.add("cooperative_launches", isinstance(work, Kernel) and work.cooperative)

    def graph_destroy(self, graph: int) -> None:
        self.streams.destroy_graph(graph)
