"""The interface of backends: a backend runs a compiled program on given buffers, and returns what happened.

The simulator (`grader.backends.sim`) and the GPU (`grader.backends.gpu`) share it, and so the same cases, guards and
comparison serve both. A session is a child process with one program loaded; it runs many cases. If the program kills
the child, the grader continues.

    with backend.open(program, limits) as session:
        execution = session.run(run)          # one case: launches in order on fresh buffers
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from grader.backends.conditions import USUAL, Conditions
from grader.backends.starting import PRINTF_BYTES
from grader.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.findings.record import Finding
    from grader.launch import DeviceLimits, LaunchPlan
    from grader.verdict import Diagnostic, LaunchRecord, Timeline


@dataclass(frozen=True)
class Limits:
    """Time and other limits of one session; exceeding one is ``timeout`` or ``limit``."""

    launch_s: float = 10.0  # wall clock of one case's launches on a GPU, and of one call of a host file
    total_s: float = 60.0  # wall clock of the whole session
    memory_bytes: int = 4 << 30  # address space of a simulator child
    printf_bytes: int = PRINTF_BYTES
    instructions: int = 4_000_000_000  # of one case on the simulator, at most: see `CaseRun.instructions`
    instructions_per_block: int = (
        100_000_000  # of one block, so that an endless loop is found soon and at the same place
    )


@dataclass(frozen=True, eq=False)
class Buffer:
    """One array of a case. ``data`` is the 1-D content; None: ``count`` elements of poison."""

    name: str
    dtype: str
    count: int
    role: str  # "in" | "out" | "scratch"
    data: npt.NDArray[np.generic] | None = None
    offset: int = 0  # of its first element in an allocation, in elements: not 0 for a slice
    period: int = 0  # elements that it repeats, and has memory for, on the simulator; 0: all


@dataclass(frozen=True, eq=False)
class CaseRun:
    """One case to run. With ``counters=False`` the simulator runs without its counting observers.

    ``instructions`` is the case's budget on the simulator, in plain instructions of a warp. With ``few``, the simulator
    runs only three blocks of each launch.
    """

    plan: LaunchPlan
    buffers: tuple[Buffer, ...]  # inputs, outputs and the plan's scratch arrays
    counters: bool = True
    conditions: Conditions = USUAL
    by_site: bool = False  # asks the simulator for the counters of each instruction
    changed: tuple[tuple[str, int, int], ...] = ()  # kernel, site, how: results that the simulator changes
    instructions: int = Limits.instructions
    few: bool = False


@dataclass(frozen=True)
class SiteCounters:
    """Counters of one instruction in one launch; ``site`` is its number in the kernel."""

    kernel: str
    site: int
    line: int
    counters: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Execution:
    """The result of one case. ``failure`` is None, or the verdict word (``race``, ``timeout``, ``crash`` …)."""

    outputs: Mapping[str, npt.NDArray[np.generic]]  # output name -> its content after the last launch
    launches: tuple[LaunchRecord, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Finding, ...] = ()  # shown after the diagnostics; the grading makes their sentences
    failure: str | None = None
    printed: str = ""
    inputs_changed: tuple[str, ...] = field(default=())  # names of inputs that the kernel overwrote
    elapsed_s: float = 0.0
    timeline: Timeline | None = None  # of a host file's run
    host_counters: Mapping[str, float] = field(default_factory=dict)  # of a host file, on the stand-in
    unordered: tuple[tuple[str, int], ...] = ()  # volatile and atomic accesses and fences: role and line
    has_state: bool = False  # the kernels may have changed module variables
    other_orders: tuple[str, ...] = ()  # orders of warps and blocks that may change the result
    sites: tuple[SiteCounters, ...] = ()  # where `CaseRun.by_site` asked for them
    spent: int = 0  # of `CaseRun.instructions`


class Session(Protocol):
    sandbox: str  # the child's sandbox: "landlock" or "none"

    def run(self, run: CaseRun) -> Execution:
        """Run one case.

        Raises SubmissionError if the session ends (the child died, or exceeded its time), Unsupported, GraderFault.
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Closeable(Protocol):
    def close(self) -> None: ...


class Backend(Protocol):
    """Where submissions run. Constructing a backend starts no process."""

    name: str  # "sim" | "gpu"

    @property
    @abstractmethod
    def device_limits(self) -> DeviceLimits:
        """What a launch may ask of the device."""

    def sized(self, exercise: Exercise) -> Exercise:
        """The exercise with sizes for this backend: with at most as many GPUs as there are."""
        return exercise

    def start(self) -> None:
        """Start the next session's child without waiting for it; call it in the thread that will use the session."""
        return

    @abstractmethod
    def open(self, program: Program, limits: Limits) -> Session:
        """Start a child and load the program there. Raises Unsupported if the backend cannot run it."""

    def close(self) -> None:
        """End a child that was started and not used."""
        return


class StartsEarly:
    """A backend that can start the next session's child early, and keeps it in ``_started``."""

    _started: Closeable | None = None

    def close(self) -> None:
        """End a child that was started and not used."""
        if self._started is not None:
            self._started.close()
            self._started = None
