"""What the stages hand to one another, as frozen records.

Request ──compile──▶ CompiledSubmission ──run on each backend──▶ Report ──judge──▶ StageOutcome ──▶ Verdict
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from grader.backends.base import Limits
from grader.errors import WarpgradeError
from grader.verdict import CaseResult, Diagnostic, LaunchRecord, Measurement, Status, Timeline

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Backend
    from grader.compile import Program
    from grader.exercise import Exercise, Size
    from grader.inputs import Kind
    from grader.launch import LaunchScript

    Arrays = Mapping[str, npt.NDArray[np.generic]]
    Oracle = Callable[[Arrays, Mapping[str, float]], Mapping[str, npt.NDArray[np.float64]]]


@dataclass(frozen=True)
class SourceTexts:
    """The graded files as they were when grading began, by path.

    A file may be saved while it is graded. One reading serves all that is compiled, run and shown: a report never
    accuses a line that was written later. A file that is not in ``contents`` is read when its text is needed.
    """

    contents: Mapping[Path, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, *paths: Path | None) -> Self:
        """Read the files; one that cannot be read is left out, so that the error is raised where it is needed."""
        from grader.compile import read_submission

        contents: dict[Path, bytes] = {}
        for path in filter(None, paths):
            with suppress(WarpgradeError):
                contents[path] = read_submission(path)
        return cls(contents)

    def read(self, path: Path) -> bytes:
        """The content. Raises what `grader.compile.read_submission` raises."""
        from grader.compile import read_submission

        return self.contents[path] if path in self.contents else read_submission(path)

    def shown(self, path: Path) -> str:
        """The text for an excerpt; "" where it cannot be read, which the verdict says."""
        try:
            return self.read(path).decode("utf-8", "replace")
        except WarpgradeError:
            return ""


@dataclass(frozen=True)
class Submission:
    """What is graded. ``texts`` has the files as they were when grading began, whatever is saved meanwhile.

    ``stub`` is the exercise's own stub and ``hints`` its hints file, both for the advice at the end.
    """

    exercise: Exercise
    path: Path
    stub: Path | None = None
    hints: Path | None = None
    host_file: Path | None = None  # of a host exercise: the graded Python file, where it is there
    host_stub: Path | None = None
    texts: SourceTexts = field(default_factory=SourceTexts)


@dataclass(frozen=True)
class Services:
    """What grades it. ``oracle`` is called once, late, because it imports NumPy; a backend may be None.

    ``why_no_gpu`` says why ``gpu`` is None, in words for the report; ``target`` is the architecture to compile for.
    """

    oracle: Callable[[], Oracle]
    simulator: Backend | None
    gpu: Backend | None = None
    timer: Callable[..., Speed | None] | None = None  # takes the GPU session
    why_no_gpu: str = "no GPU was used"
    target: str = "sm_80"
    device: str | None = None  # the record's name of what graded it
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Request:
    """One submission to grade, the services that do it, and how the person asked for it.

    ``wanted`` is what ``--backend`` said; ``watched`` says that a save is graded by itself; ``next_exercise`` is asked
    after a pass alone; ``tell`` hears how far the grading is, from any thread.
    """

    submission: Submission
    services: Services
    seed: int
    wanted: str = "auto"
    watched: bool = False
    next_exercise: Callable[[], str] = lambda: ""
    tell: Callable[[str], None] = lambda words: None

    @property
    def backend(self) -> str:
        """The record's word: ``sim``, ``gpu`` or ``sim+gpu``; where neither serves, what was asked for."""
        pair = (self.services.simulator, self.services.gpu)
        used = "+".join(backend.name for backend in pair if backend is not None)
        return used or ("sim" if self.wanted == "sim" else "gpu")

    @property
    def exercise(self) -> Exercise:
        return self.submission.exercise


@dataclass(frozen=True)
class CompiledSubmission:
    """A compiled file with its launch lines understood."""

    program: Program
    script: LaunchScript


@dataclass(frozen=True)
class Case:
    """One size with one kind of values. ``counters`` asks the simulator to count; small cases run in other orders.

    ``offsets`` are the arrays that are slices: their first element's number in an aligned allocation. A large case
    has a ``period``, as in `grader.exercise.Large`.
    """

    size: Size
    values: Kind
    counters: bool = False
    small: bool = False
    offsets: Mapping[str, int] = field(default_factory=dict)
    period: Size = field(default_factory=dict)


@dataclass(frozen=True)
class CaseOutcome:
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
    has_state: bool = False  # a next launch may find what it left in module variables

    @property
    def failed(self) -> bool:
        return self.word is not None or self.wrong is not None

    @property
    def result(self) -> CaseResult:
        detail = next((found.message for found in (*self.errors, self.wrong) if found is not None), "")
        status: Status = "failed" if self.failed else "passed"
        case, shown = self.case, detail if self.failed else ""
        return CaseResult(case.size, status, shown, self.backend, case.values, case.offsets)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity == "error")


@dataclass(frozen=True)
class Speed:
    """What timing came to: the word of ``fast`` (one of `grader.grading.judge.TIMING_WORDS`) and the figures."""

    word: str
    detail: str
    measured: Measurement | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    timeline: Timeline | None = None  # of one run more, on a host exercise


@dataclass(frozen=True)
class BackendReport:
    """Everything that one backend found. ``stop`` is what ended its session early, if anything did."""

    backend: str
    outcomes: tuple[CaseOutcome, ...] = ()
    stop: WarpgradeError | None = None
    speed: Speed | None = None
    sandbox: str = "landlock"  # what closed the files to its child: "landlock" or "none"


@dataclass(frozen=True)
class StageOutcome:
    """What one stage came to by itself, before the stages before it are looked at."""

    name: str
    status: Status
    word: str = "pass"
    detail: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
