"""The records in messages between parent and GPU child, by `dataclasses.asdict` and `grader.reading`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from grader.frozen import dataclass
from grader.launch import Dim3, LaunchPlan
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.backends.base import Buffer


@dataclass(frozen=True)
class LaunchShape:
    """A buffer without its content: ``count`` elements of ``dtype``."""

    name: str
    dtype: str
    count: int
    role: str  # "in" | "out" | "scratch"
    offset: int = 0  # as of `Buffer`


@dataclass(frozen=True)
class Trusted:
    """A launch of one of the grader's own kernels; ``module`` names a cubin sent with it.

    ``args`` are pairs of kind and value: a scalar type (``i64``, ``u64``, ``u32``, ``f64``, ``f32``) with a number,
    ``buffer`` with an array's name, ``work``, ``ceiling`` or ``host`` with a byte offset into the trusted work area,
    the ceiling's own memory, or its pinned host memory, ``sample`` (64 bits) with a number that is added to the timed
    launch's own.
    """

    module: str
    kernel: str
    grid: Dim3
    block: Dim3
    args: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Variant:
    """The launches for one kind of values (``exact``, ``special`` …, ``real``) before and after the timed launch.

    ``generate`` makes the inputs. ``check`` checks that inputs are unchanged and compares outputs, with its result in
    the findings; ``explain`` runs only if a check failed.
    """

    kind: str
    generate: tuple[Trusted, ...]
    check: tuple[Trusted, ...]
    explain: tuple[Trusted, ...] = ()

    @property
    def ordinary(self) -> bool:
        """Whether a time with these values counts: with small integers a GPU draws less power, and special values take
        other paths.
        """
        return self.kind == "real"


@dataclass(frozen=True)
class TimedRun:
    """The request to time one submission.

    The work area begins with the findings of the check (24 bytes: bad, first, worst), the explanation (16 bytes: index
    and expected, float64), padding to 64, and one 64-bit count of changed elements for each of ``inputs``; the rest is
    scratch of the checks. All of it is wiped before the submission runs. Sample k uses ``variants[k % len(variants)]``;
    all of them are verified, and of those with ordinary values ``samples`` are timed, or as many as fit the budget.
    The findings' index counts through all outputs, one after another. ``constants`` of the plan are filled from the
    generated inputs, untimed. ``warm``: as of `grader.exercise.Target`.
    """

    plan: LaunchPlan
    shapes: tuple[LaunchShape, ...]
    variants: tuple[Variant, ...]
    inputs: tuple[str, ...]
    work_bytes: int
    ceiling: tuple[Trusted, ...] = ()
    ceiling_bytes: int = 0
    samples: int = 24
    least_samples: int = 5
    ceiling_samples: int = 10
    budget_s: float = 3.0
    warm: bool = False

    def element(self, index: int) -> tuple[LaunchShape, int] | None:
        """The output that an index of the findings belongs to, and the index in it; None if there is none."""
        for shape in self.shapes:
            if shape.role != "out":
                continue
            if 0 <= index < shape.count:
                return shape, index
            index -= shape.count
        return None


@dataclass(frozen=True)
class Mismatch:
    """The failed check of one timed launch: the number of wrong elements, the first one, and changed inputs."""

    sample: int
    kind: str
    bad: int
    first: int
    got: float
    expected: float
    changed: dict[str, int] = field(default_factory=dict)  # input -> number of changed elements


@dataclass(frozen=True)
class RawSamples:
    """The samples of one timed run, in seconds; a ``mismatch`` or ``diagnostics`` ended the run."""

    seconds: tuple[float, ...] = ()
    ceiling_s: tuple[float, ...] = ()
    control_s: tuple[float, ...] = ()
    warm_ups: int = 0
    mismatch: Mismatch | None = None
    diagnostics: tuple[Diagnostic, ...] = ()  # stray writes


def shapes_of(buffers: Sequence[Buffer]) -> tuple[LaunchShape, ...]:
    return tuple(LaunchShape(b.name, b.dtype, b.count, b.role, b.offset) for b in buffers)
