"""``grade device``, ``grade bench`` and ``grade dev check``: what the machine reaches, and whether the course holds."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.cli.course import find, load
from grader.output import print_json, print_line, print_text, screen, write_file

if TYPE_CHECKING:
    from rich.table import Table

    from grader.backends.gpu.bench_report import BenchReport, BenchRow, CeilingRow
    from grader.gpus.detect import Gpu
    from grader.timing.roofline import Peaks

DEVICE_SCHEMA = "warpgrade/device/1"


def show_device(index: int, *, as_json: bool) -> int:
    """Print a GPU's peaks and its measured ceilings. Raises Unsupported where there is no such GPU."""
    from grader.backends.gpu import GpuBackend
    from grader.backends.gpu.bench import measured_ceilings
    from grader.catalog.exercises import built_in_course
    from grader.gpus.detect import detect
    from grader.timing.roofline import peaks

    gpu = detect(index)
    limits = peaks(gpu)
    rows = measured_ceilings(built_in_course(), GpuBackend(gpu))
    if as_json:
        print_json(device_document(gpu, limits, rows))
        return 0
    for line in device_lines(gpu, limits):
        print_line(line)
    print_table(ceiling_table(rows))
    return 0


def device_document(gpu: Gpu, limits: Peaks, rows: Sequence[CeilingRow]) -> dict[str, Any]:
    """Return the document ``warpgrade/device/1``: rates in bytes or operations per second."""
    from grader.render.json import plain

    document = {"device": asdict(gpu), "peaks": asdict(limits), "ceilings": [asdict(row) for row in rows]}
    return {"schema": DEVICE_SCHEMA, **{name: plain(value) for name, value in document.items()}}


def device_lines(gpu: Gpu, limits: Peaks) -> list[str]:
    """Return what the GPU is and its peaks, in words."""
    from grader.render.text import rate

    source = "published" if limits.published else "by formula: this GPU is not in the table of names"
    tensor = rate(limits.fp16_tensor, "FLOP") if limits.fp16_tensor is not None else "none"
    int8 = rate(limits.int8, "OP") if limits.int8 is not None else "not known"
    return [
        f"{gpu.name} (number {gpu.index}), {gpu.arch}, {gpu.sm_count} SMs, "
        f"{gpu.memory_bytes / 2**30:.0f} GiB, L2 {gpu.l2_bytes / 2**20:.0f} MiB",
        f"peaks, {source}: memory {rate(limits.bandwidth, 'B')}, fp32 {rate(limits.fp32, 'FLOP')}, "
        f"fp16 tensor {tensor}, int8 (dp4a, by formula) {int8}",
        "",
    ]


def ceiling_table(rows: Sequence[CeilingRow]) -> Table:
    """Return the measured ceilings: what the simplest kernels reach."""
    from grader.render.text import percent, rate

    table = _table("ceiling", "what", "reached", "of peak")
    for row in rows:
        table.add_row(
            row.name, row.what, rate(row.rate, row.unit), "–" if row.fraction is None else percent(row.fraction)
        )
    return table


# --------------------------------------------------------------------------------------------------------------- bench


def run_bench(names: Sequence[str], courses: Sequence[Path], *, device: int, output: Path | None) -> int:
    """Time the solutions of the named exercises (default: all). Exit 1 where one does not pass its line."""
    from grader.backends.gpu import GpuBackend
    from grader.backends.gpu.bench import bench
    from grader.backends.gpu.bench_report import to_json, to_markdown

    catalog = load(courses)
    exercises = [find(catalog, name) for name in names] or list(catalog.exercises)
    report = bench(exercises, GpuBackend(device), secrets.randbits(53), lambda name: print_line(name, to_stderr=True))
    print_table(bench_table(report))
    if output is not None:
        write_file(output, to_markdown(report))
        write_file(output.with_suffix(".json"), to_json(report))
    return 0 if all(row.good for row in report.rows) else 1


def bench_table(report: BenchReport) -> Table:
    """Return one row per solution: its time and rate, and the library beside it."""
    table = _table("exercise", "size", "median", "of peak", "of ceiling", "line", "fast", "library", "of peak")
    for row in report.rows:
        for cells in _bench_cells(row):
            table.add_row(*cells)
    return table


def _bench_cells(row: BenchRow) -> list[list[str]]:
    """The solution beside the first library, then a line for each further library."""
    from grader.render.text import duration

    found = row.measured
    if found is None:
        return [[row.exercise, row.size, row.problem]]
    beside = [[library.name, duration(library.seconds), _part(library.fraction)] for library in row.libraries]
    line = [found.line, row.word] if found.line_fraction else ["–", "–"]
    first = [
        row.exercise, row.size, duration(found.median_s), _part(found.fraction_of_peak),
        _part(found.fraction_of_ceiling), *line,
    ]  # fmt: skip
    rows = [first + _joined(beside[:1])]
    return rows + [[""] * len(first) + _joined([entry]) for entry in beside[1:]]


def _joined(library: list[list[str]]) -> list[str]:
    return [f"{name} {seconds}" for name, seconds, _ in library] + [part for *_, part in library] or ["–", "–"]


def _part(value: float | None) -> str:
    from grader.render.text import percent

    return "–" if value is None else percent(value)


def _table(*headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def print_table(table: Table) -> None:
    """Write a table of rich, without colours, at least 100 characters wide."""
    from io import StringIO

    from rich.console import Console

    from grader.render.text import to_ascii

    shown = screen()
    file = StringIO()
    Console(file=file, width=max(100, shown.width), no_color=True, markup=False, highlight=False).print(table)
    print_text(file.getvalue() if shown.unicode else to_ascii(file.getvalue()))


# ----------------------------------------------------------------------------------------------------------- dev check


def run_check(names: Sequence[str], courses: Sequence[Path], *, gpu: bool, device: int) -> int:
    """Check the course; the exit code is that of `grader.dev.check.run`."""
    from grader.catalog.exercises import built_in_course
    from grader.dev.check import run

    catalog = load(courses)
    ours = built_in_course().exercises
    chosen = [entry for entry in catalog.exercises if not courses or entry.course.exercises != ours]
    broken = [entry for entry in catalog.broken if not courses or ours not in entry.path.parents]
    if names:
        chosen, broken = [find(catalog, name) for name in names], []
    return run(chosen, broken, gpu=gpu, device=device)
