"""The results of `grade bench` and `grade device` as frozen records, and the Markdown of docs/results. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from grader.frozen import dataclass
from grader.render.json import dumps, plain
from grader.timing.roofline import TOO_FAST
from grader.verdict import Measurement, Roof

if TYPE_CHECKING:
    from grader.gpus.detect import Gpu

_COLUMNS = (
    "exercise", "size", "median", "95 % interval", "reached", "of peak", "of ceiling", "to reach", "line", "`fast`",
)  # fmt: skip


@dataclass(frozen=True)
class LibraryTime:
    """A library call on the same arrays: its name in kernels_ref/baselines, seconds, and fraction of the same peak.

    Or another answer, by its name in `grader.exercise.Exercise.compared`. ``date`` is an ISO date, if it is not that of
    the row.
    """

    name: str
    seconds: float
    fraction: float | None
    date: str = ""


@dataclass(frozen=True)
class BenchRow:
    """One solution. ``word`` is the result of `fast`; a row with a ``problem`` has no figures.

    ``reach`` is the fraction of ``of`` (peak or ceiling) that the solution must reach; 0 if there is no requirement.
    ``date`` is an ISO date, if it is not the report's.
    """

    exercise: str
    size: str
    word: str = ""
    measured: Measurement | None = None
    ceiling_name: str = ""
    of: str = "peak"
    reach: float = 0.0
    libraries: tuple[LibraryTime, ...] = ()
    problem: str = ""
    date: str = ""

    @property
    def fraction(self) -> float | None:
        """The fraction of ``of`` (peak or ceiling) that the solution reached."""
        if self.measured is None:
            return None
        return self.measured.fraction_of_peak if self.of == "peak" else self.measured.fraction_of_ceiling

    @property
    def good(self) -> bool:
        """Whether it passes its line, if it has one, reaches ``reach``, and is not above its ceiling."""
        has_line = self.measured is not None and bool(self.measured.line_fraction)
        reached = (self.word == "pass" or not has_line) and (self.fraction or 0.0) >= self.reach
        return reached and not self.above_ceiling and not self.problem

    @property
    def above_ceiling(self) -> bool:
        """Whether it is faster than the kernel with which its ceiling was measured, so that this is not a ceiling.

        The plain loop with which launches are compared is a reference, not a ceiling.
        """
        measured = self.measured
        return measured is not None and measured.unit != "launch" and (measured.fraction_of_ceiling or 0.0) > TOO_FAST


@dataclass(frozen=True)
class BenchReport:
    """All rows, and the machine. ``date`` is an ISO date; ``left`` is the number of exercises not measured yet."""

    gpu: Gpu
    versions: tuple[tuple[str, str], ...]
    date: str
    rows: tuple[BenchRow, ...]
    left: int = 0


@dataclass(frozen=True)
class CeilingRow:
    """One measured ceiling: ``rate`` in ``unit`` per second, and as a fraction of the peak that bounds it."""

    name: str
    what: str
    unit: str
    rate: float
    fraction: float | None


def with_older_rows(report: BenchReport, older: BenchReport, names: Sequence[str]) -> BenchReport:
    """The report with the rows of ``older`` for exercises that it has not measured, in the order of ``names``.

    Both are of one GPU model and the same versions. Rows of exercises that ``names`` does not have are left out.
    """
    measured = {row.exercise for row in report.rows}
    kept = [
        replace(row, date=row.date if row.date else older.date) for row in older.rows if row.exercise not in measured
    ]
    rows = [row for name in names for row in (*kept, *report.rows) if row.exercise == name]
    return replace(report, rows=tuple(replace(row, date="" if row.date == report.date else row.date) for row in rows))


def to_json(report: BenchReport) -> str:
    """The report as ``warpgrade/bench/1``, from which pages are generated."""
    return dumps({"schema": "warpgrade/bench/1", **plain(asdict(report))}) + "\n"


def rows_from_json(data: Sequence[dict[str, Any]]) -> tuple[BenchRow, ...]:
    """The rows from their fields as JSON values."""

    def row(fields: dict[str, Any]) -> BenchRow:
        measured = fields["measured"]
        if measured is not None:
            roof = Roof(**measured["roof"]) if measured["roof"] else None
            measured = Measurement(**(measured | {"interval_s": tuple(measured["interval_s"]), "roof": roof}))
        libraries = tuple(LibraryTime(**library) for library in fields["libraries"])
        return BenchRow(**(fields | {"measured": measured, "libraries": libraries}))

    return tuple(map(row, data))


def report_from_json(text: str) -> BenchReport:
    """The report from its document."""
    from grader.gpus.detect import Gpu
    from grader.launch import DeviceLimits

    data = json.loads(text)
    limits: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data["gpu"].pop("limits").items()
    }
    major, minor = data["gpu"].pop("compute_capability")
    gpu = Gpu(**data["gpu"], compute_capability=(major, minor), limits=DeviceLimits(**limits))
    versions = tuple((name, version) for name, version in data["versions"])
    return BenchReport(gpu, versions, data["date"], rows_from_json(data["rows"]), data.get("left", 0))


def to_markdown(report: BenchReport) -> str:
    """The report as docs/results/<gpu>.md."""
    gpu = report.gpu
    heading = [
        f"# {gpu.name}",
        "",
        f"{report.date}. {gpu.sm_count} SMs, {gpu.clock_hz / 1e6:.0f} MHz, {gpu.bus_width_bits}-bit bus, "
        f"{gpu.l2_bytes >> 20} MiB L2. " + ", ".join(f"{name} {text}" for name, text in report.versions) + ".",
        "",
        "Written by `grade bench`: medians between CUDA events, the L2 emptied before each sample (for a warm size "
        "before its inputs are made), every timed output verified. The interval is the 95 % bootstrap interval of the "
        "median. Fractions are of the peak that the exercise names. *To reach* is what the solution has to reach, of "
        "the peak or of the ceiling (c). Exercises with a host file are timed by the clock, from fresh inputs to "
        "complete outputs in the host's memory.",
        "",
        *_other_dates(report.rows),
        *table(_COLUMNS, map(_cells, report.rows)),
        "",
        *_libraries(report.rows),
    ]
    return "\n".join(heading)


def _other_dates(rows: Sequence[BenchRow]) -> list[str]:
    """A paragraph for each day, other than the report's, on which rows of it were measured."""
    dates = sorted({row.date for row in rows if row.date}, reverse=True)
    return [
        line
        for date in dates
        for line in (f"Measured on {date}: {', '.join(dict.fromkeys(r.exercise for r in rows if r.date == date))}.", "")
    ]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return head + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]


def _cell(text: str) -> str:
    """``text`` on one line, with ``|`` escaped: a problem may quote the compiler."""
    return " ".join(text.split()).replace("|", "\\|")


def _cells(row: BenchRow) -> list[str]:
    measured = row.measured
    if measured is None:
        return [row.exercise, row.size, row.problem, "", "", "", "", "", "", row.word]
    low, high = measured.interval_s
    ceiling = (
        f"{fraction_in_words(measured.fraction_of_ceiling)} {row.ceiling_name}" if measured.fraction_of_ceiling else "–"
    )
    if row.above_ceiling:
        ceiling = f"above {row.ceiling_name}, which is not a ceiling for it"
    reach = f"{'c' * (row.of == 'ceiling')}{row.reach:g}" if row.reach else "–"
    return [
        row.exercise, row.size, time_in_words(measured.median_s), f"{time_in_words(low)} to {time_in_words(high)}",
        f"{rate_in_words(measured.achieved, measured.unit)}", fraction_in_words(measured.fraction_of_peak), ceiling,
        reach,
        measured.line if measured.line_fraction else "–", row.word if measured.line_fraction else "–",
    ]  # fmt: skip


def _libraries(rows: Iterable[BenchRow]) -> list[str]:
    """The table of libraries, each compared with the solution."""
    measured = [
        (row, library, row.measured.median_s) for row in rows if row.measured is not None for library in row.libraries
    ]
    if not measured:
        return []
    cells = [
        [row.exercise, row.size, f"{library.name}, {library.date}".rstrip(", "), time_in_words(library.seconds),
         fraction_in_words(library.fraction), f"× {library.seconds / median_s:.2f}"]
        for row, library, median_s in measured
    ]  # fmt: skip
    return [
        "## Libraries and other answers, in the same run",
        "",
        "On the same arrays, timed in the same way; fractions as above, or of the ceiling where there is no peak. The "
        "last column is their time over the solution's: above 1 the solution is faster.",
        "",
        *table(("exercise", "size", "library or answer", "median", "of peak", "time"), cells),
        "",
    ]


def time_in_words(seconds: float) -> str:
    """e.g. ``4.912 ms``, ``818.4 µs``."""
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def rate_in_words(rate: float, unit: str) -> str:
    scale, form, per_second = _RATES.get(unit, (1e12, ".1f", f"T{unit}/s"))
    return f"{rate / scale:{form}} {per_second}"


_RATES = {"B": (1e9, ".0f", "GB/s"), "launch": (1e6, ".2f", "M launches/s")}


def fraction_in_words(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
