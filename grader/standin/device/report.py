"""What a run of a host file comes back as: launches, findings, counters, and a timeline by the modelled clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from grader.counters import HOST_COUNTERS
from grader.findings.record import Finding
from grader.simt.simulate import Outcome
from grader.standin.device.operations import Copy, StreamOperation
from grader.verdict import Timeline


@dataclass(frozen=True, eq=False)
class RunReport:
    """One run. ``outcome`` has its launches in the order of execution, and what its kernels did wrong and printed."""

    outcome: Outcome  # without memory
    findings: tuple[Finding, ...]  # of the host file; the first is the cause
    host_counters: Mapping[str, float]
    timeline: Timeline
    complete: bool  # False where a kernel ended early, so that later ones did not run


OVER_THE_LINK = ("to_device", "to_host")
"""Kinds of copies between host and device."""


class Tally:
    """The counters of one run. A wait counts once the host goes on and issues something more."""

    def __init__(self) -> None:
        self.counted: dict[str, float] = dict.fromkeys(HOST_COUNTERS, 0)
        self._streams: set[tuple[int, int]] = set()
        self.wait_lines: Counter[int] = Counter()  # of the waits that count
        self._waits: list[int] = []

    def add(self, name: str, value: float) -> None:
        self.counted[name] += value

    def most(self, name: str, value: float) -> None:
        self.counted[name] = max(self.counted[name], value)

    def issued(self, op: StreamOperation) -> None:
        """The host queued an operation."""
        assert op.task is not None
        self._streams.add((op.task.device, op.stream))
        self.counted["streams"] = len(self._streams)
        self.wait_lines.update(self._waits)
        self._waits.clear()
        self.counted["host_waits"] = self.wait_lines.total()
        work = op.task.work
        if isinstance(work, Copy) and op.task.kind in OVER_THE_LINK:
            self.add("copies", 1)
            self.add("copied_bytes", work.size)
            self.add("pageable_bytes", work.size * work.pageable)

    def waited(self, line: int) -> None:
        """A call on this line of the host file waited for something."""
        self._waits.append(line)
