"""What a run of a host file comes back as: launches, findings, counters, and a timeline by the modelled clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.simt.simulate import Outcome
from grader.verdict import Diagnostic, Timeline


@dataclass(frozen=True)
class HostArray:
    """One array of the exercise in the shared file. ``role`` is ``in`` or ``out``."""

    name: str
    offset: int
    size: int  # bytes
    dtype: str
    role: str


@dataclass(frozen=True, eq=False)
class RunReport:
    """One run. ``outcome`` has its launches in the order of execution, and what its kernels did wrong and printed."""

    outcome: Outcome  # without memory
    findings: tuple[Diagnostic, ...]  # of the host file; the first is the cause
    host_counters: Mapping[str, float]
    timeline: Timeline
    complete: bool  # False where a kernel ended early, so that later ones did not run
