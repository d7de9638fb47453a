"""The device, its start, guards, crashes and hangs."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from gpu_checks import LIMITS, N, case, expect, failure, honest, item, kernel, launch, run
from grader.backends.gpu import GpuBackend
from grader.errors import SubmissionError


@item
def device(backend: GpuBackend) -> Any:
    from grader.timing import roofline

    known = roofline.peaks(backend.gpu)
    return {"gpu": asdict(backend.gpu), "peaks": asdict(known), "formula": asdict(roofline.formula_peaks(backend.gpu))}


@item
def start_up(backend: GpuBackend) -> Any:
    start = time.perf_counter()
    backend.start()
    started = time.perf_counter() - start
    with backend.open(kernel("y[0] = 1;"), LIMITS) as session:
        opened = time.perf_counter() - start
        session.run(case())
        first = time.perf_counter() - start
        for _ in range(20):
            session.run(case())
        each = (time.perf_counter() - start - first) / 20
        sandbox = session.sandbox
    closed = time.perf_counter() - start
    begun = f"spawn {started:.3f} s, ready {opened:.3f}, first case {first:.3f}"
    return f"{begun}, a case {each * 1e3:.1f} ms, gone {closed:.3f}; {sandbox}"


@item
def honest_kernel(backend: GpuBackend) -> Any:
    honest(backend)
    return "right"


@item
def unwritten_output_is_poison(backend: GpuBackend) -> Any:
    from grader.inputs import is_poison

    found = run(backend, kernel("if (i < n / 2) y[i] = 1;"))
    poisoned = is_poison(found.outputs["y"])
    return expect(not poisoned[: N // 2].any() and poisoned[N // 2 :].all(), int(poisoned.sum()))


@item
def one_past_the_end(backend: GpuBackend) -> Any:
    found = run(backend, kernel("if (i <= n) y[i] = 1;"))
    (first,) = found.diagnostics
    expect((found.failure, first.array, first.index) == ("out_of_bounds", "y", N), found.diagnostics)
    return first.message


@item
def before_the_start(backend: GpuBackend) -> Any:
    found = run(backend, kernel("if (i < n) y[i - 1] = 1;"))
    (first,) = found.diagnostics
    expect((found.failure, first.array, first.index) == ("out_of_bounds", "y", -1), found.diagnostics)
    return first.message


@item
def overwritten_input(backend: GpuBackend) -> Any:
    found = run(backend, kernel("if (i < n) { y[i] = x[i]; x[i] = -1; }"))
    return expect(found.inputs_changed == ("x",), found.inputs_changed)


@item
def far_away(backend: GpuBackend) -> Any:
    return failure(backend, "if (i == 0) y[1ll << 40] = 1;", "out_of_bounds")


@item
def null_pointer(backend: GpuBackend) -> Any:
    return failure(backend, "if (i == 0) *(volatile float*)nullptr = 1;", "out_of_bounds")


@item
def misaligned(backend: GpuBackend) -> Any:
    return failure(backend, "if (i == 0) *(float4*)(y + 1) = make_float4(1, 2, 3, 4);", "crash")


@item
def trap(backend: GpuBackend) -> Any:
    return failure(backend, "if (i == 0) __trap();", "crash")


@item
def failed_assert(backend: GpuBackend) -> Any:
    told = failure(backend, "assert(i < 5);", "crash", "#include <assert.h>\n")
    with backend.open(kernel("assert(i >= 0);", "#include <assert.h>\n"), LIMITS) as session:
        return f"{told}; {session.restored_by}"


@item
def stack_overflow(backend: GpuBackend) -> Any:
    deep = (
        "__device__ __noinline__ int f(int n) { volatile int a[64]; a[n % 64] = n; return n ? f(n + 1) + a[3] : 0; }\n"
    )
    found = run(backend, kernel("y[0] = f(n);", deep))
    expect(found.failure in ("crash", "out_of_bounds"), (found.failure, found.diagnostics))
    honest(backend)
    return f"{found.failure}: {found.diagnostics[0].message}"


@item
def too_many_registers(backend: GpuBackend) -> Any:
    with backend.open(kernel("if (i < n) y[i] = x[i];"), LIMITS) as session:
        found = session.run(case(launch(threads=2048)))
        expect(found.failure == "invalid", (found.failure, found.diagnostics))
        again = session.run(case())  # a refused launch does not end the session
        expect(again.failure is None, again.diagnostics)
    return found.diagnostics[0].message


@item
def too_much_shared_memory(backend: GpuBackend) -> Any:
    found = run(backend, kernel("if (i < n) y[i] = x[i];"), case(launch(shared_bytes=300 << 10)))
    expect(found.failure == "invalid", (found.failure, found.diagnostics))
    return found.diagnostics[0].message


@item
def endless_loop(backend: GpuBackend) -> Any:
    limits = replace(LIMITS, launch_s=1.0)
    start = time.perf_counter()
    try:
        found: Any = run(backend, kernel("while (((volatile float*)x)[0] == 0) {} y[0] = 1;"), limits=limits)
    except SubmissionError as error:
        expect(error.verdict == "timeout", error.verdict)
        ended = time.perf_counter() - start
        honest(backend)
        return f"{error.message}; ended after {ended:.2f} s, the next honest one right"
    raise AssertionError(f"it ended: {found.failure} {found.diagnostics}")
