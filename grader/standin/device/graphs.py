"""Capture of streams into a graph, and what a graph is: tasks with what each comes after. Pure.

A stream joins a capture by waiting for an event that was recorded in it. A graph keeps tasks as they were captured,
addresses included: it does not learn that an array moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.standin.device.operations import StreamOperation, StreamTask
from grader.standin.protocol import CudaRefusal

if TYPE_CHECKING:
    from grader.standin.device.streams import DeviceStream

MOST_NODES = 100_000


@dataclass(frozen=True, eq=False)
class Node:
    """One task; ``after`` are nodes. ``lane`` is the captured stream, 0 the one where the capture began."""

    task: StreamTask
    after: tuple[int, ...]
    lane: int
    stream: int  # that stream, as the host file counts them


@dataclass(eq=False)
class CapturedGraph:
    """What a capture gave. Launches of one graph come one after another, as on a GPU."""

    nodes: tuple[Node, ...]
    lanes: int
    where: int = 0  # the line where the capture began
    chains: list[int] = field(default_factory=list)  # one for each lane, from the first launch on
    last: StreamOperation | None = None  # the end of its last launch

    @property
    def leaves(self) -> list[int]:
        """Nodes that nothing comes after."""
        inner = {i for node in self.nodes for i in node.after}
        return [i for i in range(len(self.nodes)) if i not in inner]


class Capture:
    """Streams that are being captured together, from `begin` on ``origin`` to `finish`."""

    def __init__(self, origin: DeviceStream, where: int, *, relaxed: bool) -> None:
        self.origin = origin
        self.where = where  # the line where it began
        self.relaxed = relaxed  # whether memory may be allocated meanwhile
        self.nodes: list[Node] = []
        self.ends: dict[DeviceStream, tuple[int, ...]] = {origin: ()}
        self.broken = ""  # why it cannot become a graph any more

    def add(self, stream: DeviceStream, task: StreamTask) -> None:
        """A task in one of its streams."""
        if len(self.nodes) >= MOST_NODES:
            raise CudaRefusal("cudaErrorMemoryAllocation", f"a graph of more than {MOST_NODES} operations")
        lane = list(self.ends).index(stream)
        self.nodes.append(Node(task, self.ends[stream], lane, stream.number))
        self.ends[stream] = (len(self.nodes) - 1,)

    def break_off(self, name: str, message: str) -> CudaRefusal:
        """The error of what a capture forbids, to be raised: no graph comes of this one any more."""
        self.broken = self.broken or message
        return CudaRefusal(name, message)

    @property
    def begun(self) -> str:
        """``begin_capture on line 14 was not ended yet``."""
        return f"begin_capture{f' on line {self.where}' if self.where else ''} was not ended yet"

    def join(self, stream: DeviceStream, after: Iterable[int]) -> None:
        """The stream waits for these nodes, and is captured too from now on."""
        self.ends[stream] = tuple(sorted({*self.ends.get(stream, ()), *after}))

    def finish(self) -> CapturedGraph:
        """The graph. Raises CudaRefusal where a stream that joined was never waited for."""
        reached = self._before(self.ends[self.origin])
        for stream, ends in self.ends.items():
            lost = [i for i in ends if i not in reached]
            if lost:
                raise CudaRefusal("cudaErrorStreamCaptureUnjoined", self._unjoined(stream, lost[-1]))
        return CapturedGraph(tuple(self.nodes), len(self.ends), self.where)

    def _unjoined(self, stream: DeviceStream, node: int) -> str:
        line = self.nodes[node].task.where
        place = f" (its last operation is on line {line})" if line else ""
        return (
            f"stream {stream.number} takes part in the capture{place}, and nothing joins it to stream "
            f"{self.origin.number} again: record an event on it and let stream {self.origin.number} wait for the event "
            "before the capture ends"
        )

    def _before(self, ends: Iterable[int]) -> set[int]:
        found = set(ends)
        stack = list(found)
        while stack:
            for i in self.nodes[stack.pop()].after:
                if i not in found:
                    found.add(i)
                    stack.append(i)
        return found
