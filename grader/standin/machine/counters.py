"""What is counted of one run of a host file (docs/counters.md). Pure."""

from __future__ import annotations

from grader.standin.machine.operations import Copy, Operation
from grader.standin.machine.records import HOST_COUNTERS

OVER_THE_LINK = ("to_device", "to_host")


class Tally:
    """The counters of one run. A wait counts once the host goes on and issues something more."""

    def __init__(self) -> None:
        self.counted: dict[str, float] = dict.fromkeys(HOST_COUNTERS, 0)
        self._streams: set[tuple[int, int]] = set()
        self._waits = 0

    def add(self, name: str, value: float) -> None:
        self.counted[name] += value

    def most(self, name: str, value: float) -> None:
        self.counted[name] = max(self.counted[name], value)

    def issued(self, op: Operation) -> None:
        """The host queued an operation."""
        assert op.task is not None
        self._streams.add((op.task.device, op.stream))
        self.counted["streams"] = len(self._streams)
        self.counted["host_waits"] = self._waits
        work = op.task.work
        if isinstance(work, Copy) and op.task.kind in OVER_THE_LINK:
            self.add("copies", 1)
            self.add("copied_bytes", work.size)
            self.add("pageable_bytes", work.size * work.pageable)

    def waited(self) -> None:
        """A call waited for something."""
        self._waits += 1
