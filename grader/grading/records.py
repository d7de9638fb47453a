"""What the stages hand to one another, as frozen records.

Request ──compile──▶ Submission ──run on each backend──▶ Report ──judge──▶ Judgement ──▶ Verdict
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader.backends.base import Limits
from grader.grading.texts import Texts
from grader.verdict import CaseResult, Diagnostic, LaunchRecord, Measurement, Status, Timeline

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Backend
    from grader.compile import Program
    from grader.errors import WarpgradeError
    from grader.exercise import Exercise, Size
    from grader.launch import LaunchScript

    Arrays = Mapping[str, npt.NDArray[np.generic]]
    Oracle = Callable[[Arrays, Mapping[str, float]], Mapping[str, npt.NDArray[np.float64]]]


def _nobody_listens(words: str) -> None:
    pass


def _no_next() -> str:
    return ""


@dataclass(frozen=True)
class Request:
    """One submission to grade. ``oracle`` is called once, late, because it imports NumPy; a backend may be None.

    ``why_no_gpu`` says why ``gpu`` is None, in words for the report; ``stub`` is the exercise's own stub and ``hints``
    its hints file, both for the advice at the end; ``next_exercise`` is asked after a pass alone, and ``watched`` says
    that a save is graded by itself. ``texts`` has the files as they are graded, whatever is saved meanwhile. ``tell``
    hears how far it is, from any thread.
    """

    exercise: Exercise
    path: Path
    seed: int
    oracle: Callable[[], Oracle]
    simulator: Backend | None
    gpu: Backend | None = None
    timer: Callable[..., Speed | None] | None = None  # takes the GPU session
    why_no_gpu: str = "no GPU was used"
    wanted: str = "auto"
    target: str = "sm_80"
    device: str | None = None
    limits: Limits = field(default_factory=Limits)
    stub: Path | None = None
    hints: Path | None = None
    host_file: Path | None = None  # of a host exercise: the graded Python file, where it is there
    host_stub: Path | None = None
    next_exercise: Callable[[], str] = _no_next
    watched: bool = False
    texts: Texts = field(default_factory=Texts)
    tell: Callable[[str], None] = _nobody_listens

    @property
    def backend(self) -> str:
        """The record's word: ``sim``, ``gpu`` or ``sim+gpu``; where neither serves, what was asked for."""
        used = "+".join(backend.name for backend in (self.simulator, self.gpu) if backend is not None)
        return used or ("sim" if self.wanted == "sim" else "gpu")


@dataclass(frozen=True)
class Submission:
    """A compiled file with its launch lines understood."""

    program: Program
    script: LaunchScript


@dataclass(frozen=True)
class Case:
    """One size with one kind of values (``exact`` or ``real``); ``counters`` asks the simulator to count."""

    size: Size
    values: Literal["exact", "real"]
    counters: bool = False


@dataclass(frozen=True)
class Outcome:
    """What one case came to: ``word`` is None where it ran without an error; ``wrong`` tells of a wrong output."""

    case: Case
    backend: str
    word: str | None = None
    wrong: Diagnostic | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    launches: tuple[LaunchRecord, ...] = ()
    printed: str = ""
    timeline: Timeline | None = None
    host_counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def result(self) -> CaseResult:
        failed = self.word is not None or self.wrong is not None
        detail = next((found.message for found in (*self.errors, self.wrong) if found is not None), "")
        status: Status = "failed" if failed else "passed"
        return CaseResult(self.case.size, status, detail if failed else "", self.backend, self.case.values)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity == "error")


@dataclass(frozen=True)
class Speed:
    """What timing came to: the word of ``fast`` (one of `grader.grading.words.TIMING_WORDS`) and the figures."""

    word: str
    detail: str
    measured: Measurement | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    timeline: Timeline | None = None  # of one run more, on a host exercise


@dataclass(frozen=True)
class Report:
    """Everything that one backend found. ``stop`` is what ended its session early, if anything did."""

    backend: str
    outcomes: tuple[Outcome, ...] = ()
    stop: WarpgradeError | None = None
    speed: Speed | None = None
    sandbox: str = "landlock"  # what closed the files to its child: "landlock" or "none"


@dataclass(frozen=True)
class Finding:
    """What one stage came to by itself, before the stages before it are looked at."""

    name: str
    status: Status
    word: str = "pass"
    detail: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
