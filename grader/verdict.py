"""The result of grading one submission, as frozen records.

Stages fill these records, renderers read them. `Verdict.to_dict` is the `--json` form (schema ``warpgrade/run/1``, see
``grader/render/run.schema.json``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, Literal

from grader.frozen import dataclass

VERDICTS = (
    "pass", "wrong", "slow", "technique", "race", "out_of_bounds", "compile_error", "invalid", "policy",
    "crash", "timeout", "limit", "cheat", "inconclusive", "unsupported", "error",
)  # fmt: skip
"""All verdicts; docs/verdicts.md explains each."""

COUNTED = ("pass", "technique", "slow")
"""Verdicts on right results: their reports have counters."""

EXIT_CODES: Mapping[str, int] = {"pass": 0, "inconclusive": 3, "unsupported": 4, "error": 5}
"""Exit codes by verdict; the exit code of all others is 1 (not passed)."""

BACKENDS = ("auto", "gpu", "sim")
"""The values of ``--backend``."""

SEED_BITS = 53
"""Bits of a run's seed: every JSON reader keeps such an integer exactly."""

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
    """A place that a finding is about: a thread's access, or an operation of a host file.

    ``role`` is ``read``, ``write``, ``atomic``, ``copy``, ``exit`` or ``barrier`` for a thread; for an operation
    ``accused`` or ``other``, or ``either`` if neither of two operations is too early.
    """

    role: str
    line: int | None = None
    file: str | None = None  # its name, without the folder
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    stream: int | None = None  # of an operation: in the host file's order of creation; 0 is the default stream
    device: int = 0
    occurrence: int | None = None  # its number among the operations of its line, from 1; None: the only one, or unknown
    when: str = ""  # "" in this run | "earlier_run" | "setup"


@dataclass(frozen=True)
class Diagnostic:
    """One finding: the fact, the place, the evidence, the next step.

    ``kind`` is a verdict or a finer name: ``race``, ``missing_fence``, ``out_of_bounds``, ``null``,
    ``misaligned``, ``uninitialised_read``, ``barrier_divergence``, ``deadlock``, ``instruction_budget``, ``trap``,
    ``assert``, ``inactive_lane``, ``bad_mask``, ``same_value_write``, ``compile_error``, ``unsupported`` …
    ``thread`` and ``block`` are 3-D indices; ``address`` is an offset in bytes into ``array``, or an address if the
    array is not known; ``index`` is the element index into ``array``.
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
    indices: tuple[int, ...] = ()  # of the same element in each dimension of a shared array's declaration, if several
    address: int | None = None
    accesses: tuple[Access, ...] = ()
    count: int = 1  # number of occurrences
    hint: str = ""
    counter: str | None = None  # of a missed expectation: the name in docs/counters.md
    launch: str = ""  # of a kernel that a host file launched: the line there, and the arguments if they are known
    cause: str = ""  # a stable word, finer than the kind; "" if the kind has no causes
    rule: str = ""  # the rule of the hint (`grader.grading.hints`); "" if there is none
    places: tuple[Place, ...] = ()  # where it happened; of a race both accesses, of a host file the operations
    names: tuple[str, ...] = ()  # the names of the kernel's parameters that are this array
    axes: tuple[int, int] = (1, 1)  # of the launch's blocks and of its grid: how many numbers name a thread, a block


@dataclass(frozen=True)
class StageResult:
    name: str
    status: Status
    detail: str = ""


@dataclass(frozen=True)
class CaseResult:
    """One size, on one backend. ``size`` is e.g. ``{"n": 1023}``; ``values`` is ``exact`` or ``real``. ``detail`` is
    what failed, or what ran of a case that passed in part.

    ``offsets`` are the arrays that are slices: their first element's number in an aligned allocation.
    """

    size: Mapping[str, int]
    status: Status
    detail: str = ""
    backend: str = "sim"
    values: str = "real"
    offsets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LineCounters:
    """Counters of one source line of the student's file (code inlined from a header counts at its call)."""

    line: int
    counters: Mapping[str, float]


@dataclass(frozen=True)
class WorstRequest:
    """The request of a source line with the most sectors or wavefronts, for a picture.

    ``offsets`` has a byte offset into ``array`` for each of the 32 lanes, None for an inactive lane; ``base`` is the
    array's offset in the block's shared memory (0 in global memory, where arrays start at a cache line).
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
    least: int  # the minimum for these bytes; wavefronts: one for each group of lanes


@dataclass(frozen=True)
class LaunchRecord:
    """One kernel launch with its counters. Counter names: docs/counters.md."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    counters: Mapping[str, float]
    lines: tuple[LineCounters, ...] = ()
    backend: str = "sim"
    worst: tuple[WorstRequest, ...] = ()  # one for each line, space and kind; the most wasteful first


@dataclass(frozen=True)
class Operation:
    """One operation of a stream: a bar of a timeline. Times are in seconds from the beginning of the run."""

    kind: str  # "kernel" | "to_device" | "to_host" | "on_device" | "on_host" | "peer" | "fill" | "prefetch"
    name: str  # of the kernel, or of the array if it is known
    stream: int  # in the host file's order of creation; 0 is the default stream
    start_s: float
    end_s: float
    bytes: int = 0  # of copies and fills
    line: int | None = None  # of the host file
    device: int = 0
    turn: int = 0  # its number among the operations of its line, from 1; 0 if it was not counted


@dataclass(frozen=True)
class Timeline:
    """Copies and kernels of one run of a host file, for the drawing; `fast` is never graded by it."""

    operations: tuple[Operation, ...]
    elapsed_s: float
    modelled: bool  # by the stand-in's clock, with the link and bandwidth of ``device``; else measured by events
    device: str
    scale: float = 1.0  # the times are for this multiple of the operations' work


@dataclass(frozen=True)
class Roof:
    """A timed run on the device's roofline: its point, and the two roofs (bandwidth and compute)."""

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
    roof: Roof | None = None  # None if the task has no operations, or a peak is not known


CLOSE = 0.05
"""What a prediction that is close differs by at most, as a part of the count."""


@dataclass(frozen=True)
class Prediction:
    """A counter's value as somebody predicted it, and as it was counted at the simulated size. It decides nothing."""

    counter: str
    per: str  # an expression over the sizes: the counter divided by its value; "" for the counter itself
    predicted: float
    counted: float | None = None
    right: bool = False
    why_not: str = ""  # why nothing was counted
    rounding: float = 0.0  # half a unit of the last digit typed: 0.005 for 0.18; 0 without a decimal point

    @property
    def close(self) -> bool:
        return self.counted is not None and math.isclose(self.predicted, self.counted, rel_tol=CLOSE)


@dataclass(frozen=True)
class AnswerResult:
    """A comment that was graded: ``given`` is its number or word, in this ``line`` of the file. What cannot be read is
    its text, at most 40 characters. ``counted`` is the count itself, of a right prediction.
    """

    key: str  # "bug" | "bound" | "predict"
    given: str
    line: int
    right: bool
    counted: float | None = None


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
    printed: str = ""  # printf output of the kernel in `printed_case`
    printed_case: CaseResult | None = None  # the failing case, or the smallest
    file: str | None = None  # the graded path
    sandbox: str = "landlock"  # "landlock" | "none"
    next_step: str = ""
    elapsed_s: float = 0.0
    notes: tuple[str, ...] = field(default=())
    timeline: Timeline | None = None  # of a host exercise: the simulated size's run, or a timed size's on a GPU
    host_counters: Mapping[str, float] = field(default_factory=dict)  # counters of the host file, from the stand-in
    failing: CaseResult | None = None  # the case of the first finding
    predictions: tuple[Prediction, ...] = ()
    answers: tuple[AnswerResult, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def failing_case(self) -> CaseResult | None:
        """The case of the first finding, or else the first failed case."""
        return self.failing or next((case for case in self.cases if case.status == "failed"), None)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES.get(self.verdict, 1)

    def stage(self, name: str) -> StageResult:
        return next(stage for stage in self.stages if stage.name == name)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: plain dicts and lists, in the order of the fields, and ``passed``."""
        return asdict(self) | {"passed": self.passed}
