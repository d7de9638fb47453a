"""The result of grading one submission, as frozen records.

Nothing here computes: stages fill these records, renderers read them. `Verdict.to_dict` is the `--json` form
(schema ``warpgrade/run/1``, see ``grader/render/run.schema.json``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

VERDICTS = (
    "pass", "wrong", "slow", "technique", "race", "out_of_bounds", "compile_error", "invalid", "policy",
    "crash", "timeout", "limit", "cheat", "inconclusive", "unsupported", "error",
)  # fmt: skip
"""Every word that a verdict may be; docs/verdicts.md explains each."""

EXIT_CODES: Mapping[str, int] = {"pass": 0, "inconclusive": 3, "unsupported": 4, "error": 5}
"""Exit codes by verdict; a word that is not listed exits 1 (not passed)."""

BACKENDS = ("auto", "gpu", "sim")
"""What ``--backend`` may say."""

SEED_BITS = 53
"""Of a run's seed: what every reader of JSON keeps exactly."""

MAX_SEED = 2**SEED_BITS - 1

STAGES = ("compiles", "runs", "correct", "technique", "fast")
Status = Literal["passed", "failed", "skipped", "not_graded"]


@dataclass(frozen=True)
class Access:
    """One of the two accesses of a race, or the access that a diagnostic is about."""

    kind: str  # "read" | "write" | "atomic" | "copy" (asynchronous)
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    line: int | None = None


@dataclass(frozen=True)
class Place:
    """Where something happened that a finding is about: a thread's access, or an operation of a host file.

    ``role`` says what stands there: ``read``, ``write``, ``atomic``, ``copy``, ``exit`` or ``barrier`` of a thread; of
    an operation ``accused`` or ``other``, or ``either`` where neither is too early.
    """

    role: str
    line: int | None = None
    file: str | None = None  # its name, without the folder
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    stream: int | None = None  # of an operation: numbered as the host file made them; 0 is the default stream
    device: int = 0
    occurrence: int | None = None  # which operation of its line it is, from 1; None: the only one, or not known
    when: str = ""  # "" in this run | "earlier_run" | "setup"


@dataclass(frozen=True)
class Diagnostic:
    """One thing found: the fact, the place, the evidence, the next step.

    ``kind`` is a verdict word or a finer name: ``race``, ``missing_fence``, ``out_of_bounds``, ``null``,
    ``misaligned``, ``uninitialised_read``, ``barrier_divergence``, ``deadlock``, ``instruction_budget``, ``trap``,
    ``assert``, ``inactive_lane``, ``bad_mask``, ``same_value_write``, ``compile_error``, ``unsupported`` …
    ``thread`` and ``block`` are 3-D indices; ``address`` is an offset in bytes into ``array``, or a full address
    where no array is known; ``index`` is the element index into ``array``.
    """

    kind: str
    message: str
    severity: Literal["error", "warning", "note"] = "error"
    file: str | None = None  # its name, without the folder
    line: int | None = None
    column: int | None = None
    source: str | None = None  # the source line's text, for the caret
    kernel: str | None = None
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    space: str | None = None  # "global" | "shared" | "local" | "const"
    array: str | None = None
    index: int | None = None
    address: int | None = None
    accesses: tuple[Access, ...] = ()
    count: int = 1  # how many times it was seen
    hint: str = ""
    counter: str | None = None  # of a missed expectation: the name in docs/counters.md
    launch: str = ""  # of a kernel that a host file launched: the line there and the arguments, where they are known
    cause: str = ""  # what exactly it is, finer than the kind: a stable word, "" where the kind has no finer ones
    rule: str = ""  # which rule made the hint (`grader.grading.hints`); "" where no rule spoke
    places: tuple[Place, ...] = ()  # where it happened; of a race both accesses, of a host file the operations
    names: tuple[str, ...] = ()  # what the kernel calls the array: a name for each parameter that it is
    axes: tuple[int, int] = (1, 1)  # of the launch's blocks and of its grid: how many numbers name a thread, a block


@dataclass(frozen=True)
class StageResult:
    name: str
    status: Status
    detail: str = ""


@dataclass(frozen=True)
class CaseResult:
    """One size, on one backend. ``size`` is e.g. ``{"n": 1023}``; ``values`` is ``exact`` or ``real``."""

    size: Mapping[str, int]
    status: Status
    detail: str = ""
    backend: str = "sim"
    values: str = "real"


@dataclass(frozen=True)
class LineCounters:
    """Counters of one source line of the student's file (code inlined from a header counts at its call)."""

    line: int
    counters: Mapping[str, float]


@dataclass(frozen=True)
class WorstRequest:
    """The request of a source line that touched the most sectors or took the most wavefronts: what a picture shows.

    ``offsets`` has a byte offset into ``array`` for each of the 32 lanes, None for one that takes no part; ``base`` is
    where that array starts in the block's shared memory (0 in global memory, where arrays start at a cache line).
    """

    kernel: str
    line: int
    space: str  # "global" | "shared"
    kind: str  # "load" | "store" | "atomic"
    array: str | None
    base: int
    block: tuple[int, int, int]
    warp: int
    bytes_per_lane: int
    offsets: tuple[int | None, ...]
    taken: int  # sectors (global) or wavefronts (shared)
    least: int  # as few as would do for these bytes; wavefronts: one for each group of lanes


@dataclass(frozen=True)
class LaunchRecord:
    """One kernel launch with what was counted. Counter names: docs/counters.md."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    counters: Mapping[str, float]
    lines: tuple[LineCounters, ...] = ()
    backend: str = "sim"
    worst: tuple[WorstRequest, ...] = ()  # one for each line, space and kind; those first that waste most


@dataclass(frozen=True)
class Operation:
    """What one stream did at one time: a bar of a timeline. Seconds from the beginning of the run."""

    kind: str  # "kernel" | "to_device" | "to_host" | "on_device" | "on_host" | "peer" | "fill" | "prefetch"
    name: str  # the kernel's, or the array's where it is known
    stream: int  # numbered as the host file made them; 0 is the default stream
    start_s: float
    end_s: float
    bytes: int = 0  # of copies and fills
    line: int | None = None  # of the host file
    device: int = 0
    turn: int = 0  # which operation of its line it is, from 1; 0 where nobody counted


@dataclass(frozen=True)
class Timeline:
    """Copies and kernels of one run of a host file. It is drawn; `fast` is never graded by it."""

    operations: tuple[Operation, ...]
    elapsed_s: float
    modelled: bool  # by the stand-in's clock, with the link and bandwidth of ``device``; else measured by events
    device: str
    scale: float = 1.0  # the times are those of so many times the work that the operations did


@dataclass(frozen=True)
class Roof:
    """Where a timed run stands on the device's roofline: a point, and the slope and the flat roof above it."""

    intensity: float  # operations for each byte that the task must move
    achieved: float  # operations per second
    bandwidth: float  # peak, bytes per second
    compute: float  # peak of the unit that computes, operations per second
    unit: str = "FLOP"  # "FLOP" | "OP": operations on integers


@dataclass(frozen=True)
class Measurement:
    """A timed run. ``achieved``, ``peak`` and ``ceiling`` are in ``unit`` per second (bytes, operations, launches)."""

    median_s: float
    interval_s: tuple[float, float]  # 95 % bootstrap interval of the median
    samples: int
    unit: str  # "B" | "FLOP" | "OP" (operations on integers) | "launch"
    achieved: float
    peak: float | None
    fraction_of_peak: float | None
    ceiling: float | None
    fraction_of_ceiling: float | None
    line: str  # the pass line in words, e.g. "0.70 of peak"
    line_fraction: float | None
    provisional: bool
    roof: Roof | None = None  # None where the task computes nothing, or a peak is not known


@dataclass(frozen=True)
class Verdict:
    exercise: str
    backend: str  # "sim" | "gpu" | "sim+gpu"
    verdict: str
    score: int
    max_score: int
    seed: int | None
    stages: tuple[StageResult, ...]
    cases: tuple[CaseResult, ...] = ()
    launches: tuple[LaunchRecord, ...] = ()
    measured: Measurement | None = None
    device: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    printed: str = ""  # what the kernel wrote with printf in `printed_case`
    printed_case: CaseResult | None = None  # the failing case, or the smallest
    file: str | None = None  # the path that was graded
    sandbox: str = "landlock"  # "landlock" | "none"
    next_step: str = ""
    elapsed_s: float = 0.0
    notes: tuple[str, ...] = field(default=())
    timeline: Timeline | None = None  # of a host exercise: the simulated size's run, or a timed size's on a GPU
    host_counters: Mapping[str, float] = field(default_factory=dict)  # what the host file did, on the stand-in
    failing: CaseResult | None = None  # the case that the first finding is about: the one whose own first finding it is

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def failing_case(self) -> CaseResult | None:
        """The case that the first finding is about, or else the first that failed."""
        return self.failing or next((case for case in self.cases if case.status == "failed"), None)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES.get(self.verdict, 1)

    def stage(self, name: str) -> StageResult:
        return next(stage for stage in self.stages if stage.name == name)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: plain dicts and lists, in the order of the fields, with ``passed`` beside ``verdict``."""
        return asdict(self) | {"passed": self.passed}
