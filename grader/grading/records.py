"""The frozen records that stages pass on.

Request ──compile──▶ CompiledSubmission ──run on each backend──▶ Report ──judge──▶ StageOutcome ──▶ Verdict
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from grader.backends.base import Limits
from grader.errors import WarpgradeError
from grader.frozen import dataclass
from grader.verdict import CaseResult, Diagnostic, LaunchRecord, Measurement, Status, Timeline

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Backend, Execution
    from grader.compile import Program
    from grader.exercise import Exercise, Size
    from grader.grading.cases import CaseBook
    from grader.grading.needed import Unneeded
    from grader.inputs import Kind
    from grader.launch import LaunchScript

    Arrays = Mapping[str, npt.NDArray[np.generic]]
    Oracle = Callable[[Arrays, Mapping[str, float]], Mapping[str, npt.NDArray[np.float64]]]


@dataclass(frozen=True)
class SourceTexts:
    """The graded files as they were when grading began, by path.

    A file may be saved while it is graded. It is read once for compiling, running and the report, so that a report
    never shows a line that was written later. A file that is not in ``contents`` is read when its text is needed.
    """

    contents: Mapping[Path, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, *paths: Path | None) -> Self:
        """Read the files; a file that cannot be read is left out, and `read` raises the error later."""
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
        """The text for an excerpt; "" if it cannot be read: then the verdict says so."""
        try:
            return self.read(path).decode("utf-8", "replace")
        except WarpgradeError:
            return ""


@dataclass(frozen=True)
class Submission:
    """The graded files. ``texts`` has their content when grading began.

    ``stub`` is the exercise's stub and ``hints`` its hints file, both for the next step.
    """

    exercise: Exercise
    path: Path
    stub: Path | None = None
    hints: Path | None = None
    host_file: Path | None = None  # of a host exercise: the graded Python file, if it exists
    host_stub: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)  # the course's headers that it may include, by name
    texts: SourceTexts = field(default_factory=SourceTexts)


@dataclass(frozen=True)
class Services:
    """Backends, oracle and timer. ``oracle`` is called once, late, because it imports NumPy; a backend may be None.

    ``book`` returns the cases' data, new ones for each submission unless several share them.
    ``why_no_gpu`` is the reason why ``gpu`` is None, for the report; ``target`` is the architecture to compile for.
    """

    oracle: Callable[[], Oracle]
    simulator: Backend | None
    gpu: Backend | None = None
    timer: Callable[..., Speed | None] | None = None  # called with the GPU session
    why_no_gpu: str = "no GPU was used"
    target: str = "sm_80"
    device: str | None = None  # the device's name in the verdict
    limits: Limits = field(default_factory=Limits)
    book: Callable[[Exercise, Oracle, int], CaseBook] | None = None


NextExercise = Callable[[], tuple[str, str]]
"""After a pass: the name of the exercise that comes next, and of the path that this pass finishes; "" for none."""


@dataclass(frozen=True)
class Request:
    """One submission to grade, the services for it, and options of the command.

    ``wanted`` is the value of ``--backend``; ``watched``: every save is graded; ``next_exercise`` is called only after
    a pass; ``tell`` is called with the progress, from any thread.
    """

    submission: Submission
    services: Services
    seed: int
    wanted: str = "auto"
    watched: bool = False
    next_exercise: NextExercise = lambda: ("", "")
    tell: Callable[[str], None] = lambda words: None

    @property
    def backend(self) -> str:
        """The verdict's ``backend``: ``sim``, ``gpu`` or ``sim+gpu``; without a backend, the requested one."""
        pair = (self.services.simulator, self.services.gpu)
        used = "+".join(backend.name for backend in pair if backend is not None)
        return used or ("sim" if self.wanted == "sim" else "gpu")

    @property
    def exercise(self) -> Exercise:
        return self.submission.exercise


@dataclass(frozen=True)
class CompiledSubmission:
    """A compiled file with its parsed launch lines."""

    program: Program
    script: LaunchScript
    changed: CompiledSubmission | None = None  # the stub with the change that a forecast is about


@dataclass(frozen=True)
class Case:
    """One size with one kind of values. ``counters``: with the simulator's counters; small cases run in other orders.

    ``confirms``: a size whose counters must confirm those of the simulated size: a small one all that is expected of
    them, a secret one as far as its tails allow.
    ``offsets`` are the arrays that are slices: their first element's number in an aligned allocation. A large case
    has a ``period``, as in `grader.exercise.Large`. With ``repeats`` the inputs repeat those of this size, in the same
    memory on the simulator. ``many_blocks``: for little work, so that their threads cost instructions by themselves.
    """

    size: Size
    values: Kind
    counters: bool = False
    confirms: bool = False
    small: bool = False
    offsets: Mapping[str, int] = field(default_factory=dict)
    period: Size = field(default_factory=dict)
    repeats: Size = field(default_factory=dict)
    many_blocks: bool = False


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one case: ``word`` is None if it ran without an error; ``wrong`` is on a wrong output."""

    case: Case
    backend: str
    word: str | None = None
    wrong: Diagnostic | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    launches: tuple[LaunchRecord, ...] = ()
    printed: str = ""
    timeline: Timeline | None = None
    host_counters: Mapping[str, float] = field(default_factory=dict)
    has_state: bool = False  # it may have changed module variables, which a next launch would find
    execution: Execution | None = field(default=None, repr=False, compare=False)  # where instructions were counted
    part: str = ""  # what ran of it, if it ran in part

    @property
    def failed(self) -> bool:
        return self.word is not None or self.wrong is not None

    @property
    def result(self) -> CaseResult:
        detail = next((found.message for found in (*self.errors, self.wrong) if found is not None), "")
        status: Status = "failed" if self.failed else "passed"
        case, shown = self.case, detail if self.failed else self.part
        return CaseResult(case.size, status, shown, self.backend, case.values, case.offsets)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity == "error")


@dataclass(frozen=True)
class Speed:
    """The result of timing: the word of ``fast`` (one of `grader.grading.judge.TIMING_WORDS`) and the figures."""

    word: str
    detail: str
    measured: Measurement | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    timeline: Timeline | None = None  # of a further run of a host exercise


@dataclass(frozen=True)
class BackendReport:
    """All outcomes of one backend. ``stop`` is the error that ended its session early, if any."""

    backend: str
    outcomes: tuple[CaseOutcome, ...] = ()
    stop: WarpgradeError | None = None
    speed: Speed | None = None
    sandbox: str = "landlock"  # the child's sandbox: "landlock" or "none"
    unneeded: tuple[Unneeded, ...] = ()  # expectations that only padding meets
    changed: tuple[LaunchRecord, ...] = ()  # of the counted size with the changed kernel


@dataclass(frozen=True)
class StageOutcome:
    """The outcome of one stage alone, without regard to the stages before it."""

    name: str
    status: Status
    word: str = "pass"
    detail: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
