"""Ceilings and the bench table."""

from __future__ import annotations

from typing import Any

from gpu_checks import SEED, courses, item
from grader.backends.gpu import GpuBackend


@item
def ceilings(backend: GpuBackend) -> Any:
    from grader.bench.solutions import measured_ceilings
    from grader.catalog.courses import built_in_course

    rows = measured_ceilings(built_in_course(), backend)
    lines = [
        f"{r.name:16} {r.rate / 1e9:12.1f} G{r.unit}/s  {'' if r.fraction is None else format(r.fraction, '.3f')}"
        for r in rows
    ]
    print("    " + "\n    ".join(lines))
    return lines


@item
def bench_table(backend: GpuBackend) -> str:
    from grader.bench.report import to_markdown
    from grader.bench.solutions import bench

    text = to_markdown(bench(courses().values(), backend, SEED))
    print(text)
    return text
