"""What a backend is: it runs one compiled program on given buffers and says what happened.

The simulator (`grader.backends.sim`) and the GPU (`grader.backends.gpu`) are of the same kind, so the same
cases, guards and comparison serve both. A session is one child process that has loaded one program; it runs many
cases, and dies alone if the program kills it.

    with backend.open(program, limits) as session:
        execution = session.run(run)          # one case: launches in order on fresh buffers
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from grader.backends.starting import PRINTF_BYTES

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
    """Deadlines and limits of one session; what passes them is ``timeout`` or ``limit``."""

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
    """One array of a case. ``data`` is a 1-D array that is copied in; None: ``count`` elements of poison."""

    name: str
    dtype: str
    count: int
    role: str  # "in" | "out" | "scratch"
    data: npt.NDArray[np.generic] | None = None
    offset: int = 0  # of its first element in an allocation, in elements: not 0 for a slice


@dataclass(frozen=True)
class Conditions:
    """What CUDA leaves open: a kernel must be right whatever it is, so cases run again under other conditions."""

    order: str = "usual"  # of warps, blocks and stores; or one of `Execution.other_orders`
    undefined: int = 0xFF  # a byte: what the simulator gives for memory never written, and for a lane that is not there
    keeps_state: bool = False  # module variables hold what the run before left there

    @property
    def poison_word(self) -> int:
        """What outputs and scratch arrays hold at the start, on the simulator: 32 bits."""
        from grader.inputs import POISON_WORD

        return POISON_WORD if self.undefined == Conditions.undefined else self.undefined * 0x01010101


USUAL = Conditions()


@dataclass(frozen=True, eq=False)
class CaseRun:
    """Everything that one case needs. ``counters=False`` lets the simulator leave the counting observers out.

    ``instructions`` is the simulator's budget for it, in units of one plain instruction of a warp.
    """

    plan: LaunchPlan
    buffers: tuple[Buffer, ...]  # inputs, outputs and the plan's scratch arrays
    counters: bool = True
    conditions: Conditions = USUAL
    instructions: int = Limits.instructions


@dataclass(frozen=True, eq=False)
class Execution:
    """What one case did. ``failure`` is None, or the verdict word that ends it (``race``, ``timeout``, ``crash`` …)."""

    outputs: Mapping[str, npt.NDArray[np.generic]]  # output name -> its content after the last launch
    launches: tuple[LaunchRecord, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Finding, ...] = ()  # told after the diagnostics, and put into words by who runs the case
    failure: str | None = None
    printed: str = ""
    inputs_changed: tuple[str, ...] = field(default=())  # names of inputs that the kernel overwrote
    elapsed_s: float = 0.0
    timeline: Timeline | None = None  # of a host file's run
    host_counters: Mapping[str, float] = field(default_factory=dict)  # what a host file did, on the stand-in
    unordered: tuple[tuple[str, int], ...] = ()  # accesses that are no race in any order, and fences: role and line
    has_state: bool = False  # it may have changed module variables
    other_orders: tuple[str, ...] = ()  # in which the case can be run again, where that may change its result


class Session(Protocol):
    sandbox: str  # what closed the files to its child: "landlock" or "none"

    def run(self, run: CaseRun) -> Execution:
        """Run one case.

        Raises SubmissionError for what ends the session (a dead child, its deadline), Unsupported, GraderFault.
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Closeable(Protocol):
    def close(self) -> None: ...


class Backend(Protocol):
    """Where submissions run. Making one starts nothing."""

    name: str  # "sim" | "gpu"

    @property
    @abstractmethod
    def device_limits(self) -> DeviceLimits:
        """What a launch may ask of the device."""

    def sized(self, exercise: Exercise) -> Exercise:
        """The exercise as it runs here: with no more GPUs in its sizes than there are."""
        return exercise

    def start(self) -> None:
        """Start the next session's child early, without waiting for it, in the thread that will use it."""
        return

    @abstractmethod
    def open(self, program: Program, limits: Limits) -> Session:
        """Start a child and load the program there. Raises Unsupported where the backend cannot run it."""

    def close(self) -> None:
        """End a child that was started and not used."""
        return


class StartsEarly:
    """A backend whose next session's child may be started before the session is opened: it is in ``_started``."""

    _started: Closeable | None = None

    def close(self) -> None:
        """End a child that was started and not used."""
        if self._started is not None:
            self._started.close()
            self._started = None
