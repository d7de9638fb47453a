"""A ladder's steps and the libraries beside them, as `grade bench` timed them and the simulator counted them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

from grader.backends.gpu.faults import size_in_words
from grader.catalog.courses import CourseExercise
from grader.dev.ladders import Launches
from grader.exercise import Size
from grader.expressions import evaluate
from grader.grading.technique import total
from grader.inputs import element_count
from grader.timing.roofline import TOO_FAST, counts, is_rate_of_bytes
from grader.verdict import LaunchRecord

Report = Mapping[str, Any]
"""The document `warpgrade/bench/1`."""

LIBRARIES = {
    "gemm:sgemm": "cuBLAS, fp32",
    "gemm:sgemm_tf32": "cuBLAS, TF32 on tensor cores",
    "gemm:matmul": "cuBLAS, fp16 on tensor cores",
    "gemm:igemm": "cuBLAS, int8 on tensor cores",
    "gemm:matvec": "cuBLAS",
    "execution:one_island_at_a_time": "one island at a time",
    "execution:one_island_and_all_warps": "one island at a time, 64 warps an SM",
    "execution:one_tile_at_a_time": "one stage, through registers",
    "softmax:in_two_kernels": "two kernels without clusters",
    "pytorch:attention_flash": "PyTorch, FlashAttention-2",
    "pytorch:attention_cudnn": "PyTorch, cuDNN",
    "pytorch:attention_efficient": "PyTorch, memory-efficient",
}
"""A baseline's name -> what it is on a page; others are shown by their name."""


@dataclass(frozen=True)
class Timed:
    """One time: seconds, the rate in bytes or operations per second, and its fraction of the peak."""

    median_s: float
    rate: float
    fraction: float | None


@dataclass(frozen=True)
class Ceiling:
    """The rate that a kernel of nothing but accesses, or nothing but arithmetic, reached beside the solutions."""

    name: str
    rate: float


@dataclass(frozen=True)
class Row:
    """What the bench has of a solution at one size; ``timed`` is None where it was not measured.

    Its point on the roofline is there if its work has operations: ``intensity`` in operations for each byte that has
    to move, and the peak of ``compute`` beside that of ``bandwidth``.
    """

    timed: Timed | None = None
    date: str = ""  # on which it was measured
    peak: float | None = None
    libraries: tuple[tuple[str, Timed], ...] = ()
    ceiling: Ceiling | None = None
    bandwidth: float = nan
    compute: float | None = None
    intensity: float | None = None


@dataclass(frozen=True)
class Step:
    """One step: its times, and what its solution did at the simulated size (no launches: it could not be counted)."""

    entry: CourseExercise
    row: Row
    further: tuple[Row, ...] = ()
    launches: Sequence[LaunchRecord] = ()

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def timed(self) -> Timed | None:
        return self.row.timed

    @property
    def unit(self) -> str:
        """The unit of the target's peak; that of memory where there is no target."""
        return self.entry.exercise.target.unit if self.entry.exercise.target else "bandwidth"

    @property
    def of_bytes(self) -> bool:
        return is_rate_of_bytes(self.unit)

    @property
    def counts(self) -> str:
        """What its rate counts: B, FLOP or OP."""
        return counts(self.unit)

    @property
    def operation(self) -> str:
        """What the roofline counts: FLOP or OP; a task without arithmetic moves its elements."""
        if self.row.intensity is None:
            return "element"
        return "FLOP" if self.of_bytes else self.counts

    @property
    def intensity(self) -> float:
        """Operations, or elements, for each byte that has to move: each array once."""
        if self.row.intensity is not None:
            return self.row.intensity
        exercise, size = self.entry.exercise, self.entry.exercise.timed or {}
        elements = max(element_count(array, size) for array in exercise.inputs)
        return elements / float(evaluate(exercise.work.bytes, size))

    @property
    def operations_per_s(self) -> float:
        """The rate on the roofline."""
        if self.timed is None:
            return nan
        return self.timed.rate * self.intensity if self.of_bytes else self.timed.rate

    @cached_property
    def amount(self) -> float:
        """What its counters are divided by: elements of the largest input, or multiply-adds, at the simulated size."""
        exercise = self.entry.exercise
        if self.of_bytes:
            return max(element_count(array, exercise.simulated) for array in exercise.inputs)
        return float(evaluate(exercise.work.flops, exercise.simulated)) / 2

    def counter(self, name: str, per: int) -> float:
        """A counter for ``per`` elements or multiply-adds (0: of the whole); NaN where nothing was counted."""
        if not self.launches:
            return nan
        found = total(name, self.launches)
        return found * per / self.amount if per else found


def step_of(entry: CourseExercise, report: Report, launches: Launches) -> Step:
    """The step with what is known of it."""
    exercise = entry.exercise
    further = tuple(row_of(entry, also.size, report) for also in exercise.also_timed)
    return Step(entry, row_of(entry, exercise.timed or {}, report), further, launches.get(entry.name, ()))


def row_of(entry: CourseExercise, size: Size, report: Report) -> Row:
    """What the bench has of an exercise at a size; an empty row where it has nothing."""
    words = size_in_words(size)
    for row in report["rows"]:
        measured = row["measured"]
        if measured and (row["exercise"], row["size"]) == (entry.name, words) and measured["fraction_of_peak"]:
            return _row(row, measured, row.get("date") or report["date"])
    return Row()


def _row(row: Mapping[str, Any], measured: Mapping[str, Any], date: str) -> Row:
    seconds, rate = measured["median_s"], measured["achieved"]
    libraries = tuple(
        (entry["name"], Timed(entry["seconds"], rate * seconds / entry["seconds"], entry["fraction"]))
        for entry in row["libraries"]
    )
    roof = measured.get("roof") or {}
    return Row(
        Timed(seconds, rate, measured["fraction_of_peak"]), date, measured["peak"], libraries, _ceiling(row),
        roof.get("bandwidth", measured["peak"]), roof.get("compute"), roof.get("intensity"),
    )  # fmt: skip


def _ceiling(row: Mapping[str, Any]) -> Ceiling | None:
    found = (row["measured"] or {}).get("ceiling")
    return Ceiling(row["ceiling_name"], found) if found else None


def ceilings(report: Report, counted: str, peak: float | None = None) -> dict[str, Ceiling]:
    """The ceilings of one kind of work, or only those below one peak, by name: the highest one of each name."""
    found: dict[str, Ceiling] = {}
    for row in report["rows"]:
        measured, one = row["measured"], _ceiling(row)
        if one is None or measured["unit"] != counted or peak not in (None, measured["peak"]):
            continue
        if one.name not in found or found[one.name].rate < one.rate:
            found[one.name] = one
    return found


def libraries(steps: Sequence[Step]) -> dict[str, list[Timed | None]]:
    """Each library by what it is: at the timed size, then at each further one. The last step's times count."""
    found: dict[str, list[Timed | None]] = {}
    sizes = 1 + max(len(step.further) for step in steps)
    for step in steps:
        for at, row in enumerate((step.row, *step.further)):
            for name, timed in row.libraries:
                found.setdefault(LIBRARIES.get(name, f"`{name}`"), [None] * sizes)[at] = timed
    return found


def comparable(timed: Timed | None) -> bool:
    """Whether a library's time is a fraction of the same peak: tensor cores beside fp32 are not."""
    return timed is not None and timed.fraction is not None and timed.fraction <= TOO_FAST
