"""Timed launches: the generators, cheats, every solution."""

from __future__ import annotations

import time
import traceback
from dataclasses import replace
from typing import Any

from gpu_checks import LIMITS, SEED, courses, expect, item
from grader.backends.gpu import GpuBackend
from grader.compile import compile_source
from grader.errors import SubmissionError


def timed(backend: GpuBackend, name: str, source: str, seed: int = SEED) -> Any:
    from grader.grading.fast import SpeedTest

    one = courses()[name]
    compiled = compile_source(source.encode(), f"{name}.cu")
    with backend.open(compiled, LIMITS) as session:
        return SpeedTest(one, backend, seed, LIMITS)(session)


ADD = "// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256\n"
ADD_HEAD = (
    'extern "C" __global__ void vector_add(float* a, float* b, float* c, int n) {'
    " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; "
)


def cheat(backend: GpuBackend, body: str, *words: str, before: str = "") -> Any:
    speed = timed(backend, "vector_add", ADD + before + ADD_HEAD + body + "}")
    expect(speed.word in words, (speed.word, speed.detail))
    return f"{speed.word}: {speed.detail}"


@item
def generator_agrees_with_the_host(backend: GpuBackend) -> Any:
    """The timed inputs, made on the device, are what `grader.inputs` makes; seen through a kernel that copies them."""
    from grader.backends.gpu.setup import prepare
    from grader.inputs import derive_seed, make_array

    one = courses()["vector_add"]
    size = {"n": 4099}
    small = replace(one, exercise=replace(one.exercise, timed=size))
    compiled = compile_source((ADD + ADD_HEAD + "c[i] = a[i] + b[i]; }").encode(), "vector_add.cu")
    setup = prepare(small, compiled, backend.gpu, SEED)
    with backend.open(compiled, LIMITS) as session:
        samples = session.time(setup.run, dict(setup.modules), backend.gpu.l2_bytes)
        expect(samples.mismatch is None, samples.mismatch)
        spoiled = replace(setup.run, variants=tuple(replace(v, generate=v.generate[:1]) for v in setup.run.variants))
        bad = session.time(spoiled, dict(setup.modules), backend.gpu.l2_bytes)
        expect(bad.mismatch is not None and "b" in bad.mismatch.changed, bad.mismatch)
    secret = derive_seed(SEED, "timed", one.name)
    array = one.exercise.inputs[0]
    return f"{len(samples.seconds)} samples; first element of sample 1: {make_array(array, 1, secret, 'real', 1)[0]}"


@item
def cheat_skips_the_last_element(backend: GpuBackend) -> Any:
    return cheat(backend, "if (i < n - 1) c[i] = a[i] + b[i];", "wrong")


@item
def cheat_skips_half_when_large(backend: GpuBackend) -> Any:
    return cheat(backend, "if (n < 100000 || i < n / 2) c[i] = a[i] + b[i];", "wrong")


@item
def cheat_knows_the_published_sizes(backend: GpuBackend) -> Any:
    return cheat(backend, "if (n <= 1 << 20 || n == 1 << 28 || i < n - 1) c[i] = a[i] + b[i];", "wrong")


@item
def a_counter_of_calls_never_gets_beyond_one(backend: GpuBackend) -> Any:
    """Thread 0 leaves its element out from the second launch on, so that a counter that is kept would be wrong."""
    body = "if (i == 0 && calls++ > 0) return; c[i] = a[i] + b[i];"
    return cheat(backend, body, "pass", "slow", "inconclusive", before="__device__ int calls;\n")


@item
def cheat_zeroes_inputs_and_output(backend: GpuBackend) -> Any:
    return cheat(backend, "a[i] = b[i] = c[i] = 0;", "wrong")


@item
def cheat_writes_past_the_end_when_large(backend: GpuBackend) -> Any:
    return cheat(backend, "c[i] = a[i] + b[i]; if (i == n - 1 && n > 100000) c[n] = 1;", "out_of_bounds")


@item
def slow_kernel_is_slow(backend: GpuBackend) -> Any:
    body = "float s = 0; for (int k = 0; k < 40; ++k) s += a[(i + k * 97 * 32) % n] * 0.0f; c[i] = a[i] + b[i] + s;"
    return cheat(backend, body, "slow")


@item
def endless_loop_in_a_timed_launch(backend: GpuBackend) -> Any:
    body = "if (n > 100000) while (((volatile float*)a)[0] > -1e30f) {} c[i] = a[i] + b[i];"
    start = time.perf_counter()
    try:
        speed = timed(backend, "vector_add", ADD + ADD_HEAD + body + "}")
    except SubmissionError as error:
        return (
            f"{expect(error.verdict == 'timeout' and error.verdict, error)} after {time.perf_counter() - start:.1f} s"
        )
    raise AssertionError(speed)


@item
def every_solution(backend: GpuBackend) -> dict[str, str]:
    from grader.grading.fast import SpeedTest

    told = {}
    for name, one in courses().items():
        if one.exercise.timed is None or one.exercise.host or one.solution is None:
            continue
        try:
            start = time.perf_counter()
            source, headers = one.solution.read_bytes(), one.header_texts
            compiled = compile_source(source, one.solution.name, headers=headers)
            with backend.open(compiled, LIMITS) as session:
                opened = time.perf_counter() - start
                speed = SpeedTest(one, backend, SEED, LIMITS)(session)
            spent = time.perf_counter() - start
            figures = speed.measured and (speed.measured.median_s, speed.measured.interval_s, speed.measured.samples)
            told[name] = f"{speed.word}: {speed.detail}; {figures}; open {opened:.2f} s, all {spent:.2f} s"
        except Exception:
            told[name] = traceback.format_exc()
        print(f"    {name}: {told[name]}", flush=True)
    return told


@item
def raw_samples_of_vector_add(backend: GpuBackend) -> Any:
    from grader.backends.gpu.setup import prepare
    from grader.timing.samples import drift

    one = courses()["vector_add"]
    assert one.solution is not None
    compiled = compile_source(one.solution.read_bytes(), one.solution.name)
    setup = prepare(one, compiled, backend.gpu, SEED)
    with backend.open(compiled, LIMITS) as session:
        start = time.perf_counter()
        samples = session.time(setup.run, dict(setup.modules), backend.gpu.l2_bytes)
        spent = time.perf_counter() - start
    spread = (max(samples.seconds) - min(samples.seconds)) / min(samples.seconds)
    return {
        "spent_s": spent,
        "warm_ups": samples.warm_ups,
        "us": [round(s * 1e6, 1) for s in samples.seconds],
        "control_us": [round(s * 1e6, 1) for s in samples.control_s],
        "ceiling_us": [round(s * 1e6, 1) for s in samples.ceiling_s],
        "spread": spread,
        "drift": drift(samples.control_s),
    }
