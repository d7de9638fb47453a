"""Things to try on a real GPU, each a function that returns what to show and raises where it is not as expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.backends.base import Buffer, CaseRun, Execution, Limits
from grader.backends.gpu import GpuBackend
from grader.compile import Program, compile_source
from grader.launch import Launch, LaunchPlan

SEED = 20_240_817
N = 1000
LIMITS = Limits(launch_s=5.0, total_s=60.0)
ITEMS: list[tuple[str, Callable[[GpuBackend], Any]]] = []


def item(function: Callable[[GpuBackend], Any]) -> Callable[[GpuBackend], Any]:
    """Register one thing to try; its name is what is printed."""
    ITEMS.append((function.__name__, function))
    return function


COMPARISONS: set[str] = set()
"""The items that compare ways to do a thing: minutes long, and wanted only while something is chosen."""


def comparison(function: Callable[[GpuBackend], Any]) -> Callable[[GpuBackend], Any]:
    """Register one comparison: an item that runs on demand."""
    COMPARISONS.add(function.__name__)
    return item(function)


def program(body: str, name: str = "k.cu") -> Program:
    return compile_source(body.encode(), name)


def kernel(body: str, before: str = "") -> Program:
    """A kernel ``k(const float* x, float* y, int n)`` with ``i`` as the global index."""
    head = 'extern "C" __global__ void k(float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; '
    return program(before + head + body + "}")


def case(plan: LaunchPlan | None = None, n: int = N, **extra: Buffer) -> CaseRun:
    x = np.arange(n, dtype=np.float32)
    buffers = (Buffer("x", "float32", n, "in", x), Buffer("y", "float32", n, "out"), *extra.values())
    return CaseRun(plan or launch(n=n), buffers)


def launch(n: int = N, threads: int = 256, **more: Any) -> LaunchPlan:
    grid = (-(-n // threads), 1, 1)
    return LaunchPlan((Launch("k", ("x", "y", n), grid, (threads, 1, 1), **more),))


def run(backend: GpuBackend, compiled: Program, one: CaseRun | None = None, limits: Limits = LIMITS) -> Execution:
    with backend.open(compiled, limits) as session:
        return session.run(one or case())


def expect(condition: object, told: Any) -> Any:
    if not condition:
        raise AssertionError(f"not as expected: {told}")
    return told


def failure(backend: GpuBackend, body: str, word: str, before: str = "") -> str:
    """Run a kernel that must fail with ``word``, then see that an honest one is graded as usual."""
    found = run(backend, kernel(body, before))
    expect(found.failure == word, (found.failure, found.diagnostics))
    honest(backend)
    return f"{found.failure}: {found.diagnostics[0].message}"


def honest(backend: GpuBackend) -> None:
    found = run(backend, kernel("if (i < n) y[i] = 2 * x[i];"))
    expect(np.array_equal(found.outputs["y"], 2 * np.arange(N, dtype=np.float32)), found.outputs["y"][:5])


def courses() -> dict[str, Any]:
    """The exercises by name, with the H200's pass lines."""
    from dataclasses import replace

    from grader.catalog.exercises import load_catalog
    from grader.timing.pass_lines import REFERENCE, with_line

    exercises = load_catalog().exercises
    return {one.name: replace(one, exercise=with_line(one.exercise, REFERENCE)) for one in exercises}
