"""What `grade bench` and `grade device` measured, as frozen records, and the Markdown of docs/results. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.device import Gpu
    from grader.verdict import Measurement

_COLUMNS = (
    "exercise", "size", "median", "95 % interval", "reached", "of peak", "of ceiling", "line", "`fast`",
    "library", "of peak",
)  # fmt: skip


@dataclass(frozen=True)
class BenchRow:
    """One solution. ``word`` is what `fast` says; a row with a ``problem`` has no figures."""

    exercise: str
    size: str
    word: str = ""
    measured: Measurement | None = None
    ceiling_name: str = ""
    library_s: float | None = None
    library_fraction: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class BenchReport:
    """All rows, and the machine that they were measured on. ``date`` is an ISO date."""

    gpu: Gpu
    versions: tuple[tuple[str, str], ...]
    date: str
    rows: tuple[BenchRow, ...]


@dataclass(frozen=True)
class CeilingRow:
    """One measured ceiling: ``rate`` in ``unit`` per second, and as a fraction of the peak that bounds it."""

    name: str
    what: str
    unit: str
    rate: float
    fraction: float | None


def to_markdown(report: BenchReport) -> str:
    """The report as docs/results/<gpu>.md."""
    gpu = report.gpu
    heading = [
        f"# {gpu.name}",
        "",
        f"{report.date}. {gpu.sm_count} SMs, {gpu.clock_hz / 1e6:.0f} MHz, {gpu.bus_width_bits}-bit bus, "
        f"{gpu.l2_bytes >> 20} MiB L2. " + ", ".join(f"{name} {text}" for name, text in report.versions) + ".",
        "",
        "Written by `grade bench`: medians between CUDA events, the L2 emptied before each sample, every timed output "
        "verified. The interval is the 95 % bootstrap interval of the median. The library is timed in the same run, on "
        "the same arrays; fractions are of the peak that the exercise names, or of the ceiling where there is none.",
        "",
        "| " + " | ".join(_COLUMNS) + " |",
        "|" + "---|" * len(_COLUMNS),
    ]
    return "\n".join([*heading, *(_line(row) for row in report.rows), ""])


def _line(row: BenchRow) -> str:
    found = row.measured
    if found is None:
        return f"| {row.exercise} | {row.size} | {row.problem} | | | | | | {row.word} | | |"
    low, high = found.interval_s
    ceiling = f"{_fraction(found.fraction_of_ceiling)} {row.ceiling_name}" if found.fraction_of_ceiling else "–"
    cells = [
        row.exercise, row.size, _time(found.median_s), f"{_time(low)} to {_time(high)}",
        f"{_rate(found.achieved, found.unit)}", _fraction(found.fraction_of_peak), ceiling, found.line, row.word,
        _time(row.library_s) if row.library_s else "–", _fraction(row.library_fraction),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def _rate(rate: float, unit: str) -> str:
    return f"{rate / 1e9:.0f} GB/s" if unit == "B" else f"{rate / 1e12:.1f} TFLOP/s"


def _fraction(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
