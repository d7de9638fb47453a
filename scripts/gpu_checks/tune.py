"""`grade tune` on a real GPU: a solution that ships, one warm process for all, and what must not end the sweep."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from gpu_checks import LIMITS, SEED, courses, expect, item
from grader.backends.gpu import GpuBackend
from grader.errors import WarpgradeError
from grader.tune.build import Workshop
from grader.tune.settings import combinations, parse_settings, places_of
from grader.tune.sweep import RIGHT, GpuTimer, Sweep, machine_of, sweep

BAD = """\
#define MODE 0
// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256
extern "C" __global__ void vector_add(float* a, float* b, float* c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (MODE == 1 && i == n - 1) return;      // wrong at every size
    if (MODE == 2 && n > 100000 && i == 7) return;  // wrong at the timed size alone
    if (MODE == 3) c[i + (1ll << 40)] = 1;    // ends the context
    if (MODE == 4) while (((volatile float*)a)[0] > -1e30f) {}
    if (i < n) c[i] = a[i] + b[i];
}
"""


def swept(backend: GpuBackend, name: str, file: str, source: str, *sets: str) -> Sweep:
    """The sweep as the command makes it."""
    one = courses()[name]
    settings = parse_settings(sets)
    machine = machine_of(backend.gpu, one.exercise.requires)
    size = one.exercise.timed
    assert size is not None
    workshop = Workshop(one.exercise, size, file, source, places_of(source, file, settings), machine)
    variants = workshop.build_all(combinations(settings), lambda words: None)
    timer = GpuTimer(one, backend, machine, SEED, LIMITS)
    try:
        return sweep(variants, timer)
    finally:
        timer.close()


def told(found: Sweep) -> dict[str, str]:
    """The fastest first, then the others."""
    rows = {}
    for one in (*found.ranked, *(one for one in found.results if one.summary is None)):
        values = " ".join(f"{name}={value}" for name, value in one.choice)
        if one.summary is None:
            rows[values] = f"{one.word}: {one.reason}"
        else:
            low, high = (1e3 * bound for bound in one.summary.interval_s)
            rows[values] = f"{1e3 * one.summary.median_s:.4f} ms, {low:.4f} to {high:.4f}{', final' * one.final}"
    return rows


def solution(name: str) -> tuple[str, str]:
    path = courses()[name].solution
    assert isinstance(path, Path)
    return path.name, path.read_text()


@item
def tune_the_threads_of_reduce_v8(backend: GpuBackend) -> Any:
    start = time.perf_counter()
    found = swept(backend, "reduce_v8", *solution("reduce_v8"), "THREADS=64,128,256,512,1024,2048")
    expect([one.word for one in found.results] == [RIGHT] * 5 + ["invalid"], told(found))
    expect(sum(one.final for one in found.results) == 3, told(found))
    return {"seconds": round(time.perf_counter() - start, 1), "ties": len(found.ties), **told(found)}


@item
def tune_goes_on_behind_variants_that_fail(backend: GpuBackend) -> Any:
    found = swept(backend, "vector_add", "vector_add.cu", BAD, "MODE=0,1,2,3,4,5")
    words = [one.word for one in found.results]
    expect(words == [RIGHT, "wrong", "wrong", "out_of_bounds", "timeout", RIGHT], told(found))
    expect({0, 5} == {one.choice[0][1] for one in found.ranked}, told(found))
    return {"ties of the same program twice": len(found.ties), **told(found)}


@item
def tune_tiles_of_sgemm(backend: GpuBackend) -> Any:
    """The steps of the ladder that are there, with the names that they have."""
    rows: dict[str, Any] = {}
    for name in ("sgemm_v4", "sgemm_v5", "sgemm_v6", "sgemm_v7", "sgemm_v8"):
        one = courses().get(name)
        if one is None or one.solution is None:
            continue
        try:
            start = time.perf_counter()
            rows[name] = told(swept(backend, name, *solution(name), "BM=64,128", "BN=64,128"))
            rows[name]["seconds"] = f"{time.perf_counter() - start:.1f}"
        except WarpgradeError as error:
            rows[name] = error.message
    return rows
