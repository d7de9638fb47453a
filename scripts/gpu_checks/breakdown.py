"""Where the time of `zero_copy` goes: the protocol, the launch, the kernel, the link, each by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from gpu_checks import LIMITS, SEED, comparison, courses
from gpu_checks.hosts import solution_host
from grader.backends.gpu import GpuBackend
from grader.compile import compile_source

VARIANTS = Path(__file__).with_name("variants") / "zero_copy.cu"

EMPTY = "def setup(module, x, out): pass\ndef run(): pass\n"
LAUNCH_ONLY = """
import cupy
held = []
def setup(module, x, out):
    held.append(module.get_function("nothing"))
def run():
    held[0]((1,), (32,), (cupy.uint64(0), cupy.uint64(0), cupy.int32(0)))
    cupy.cuda.get_current_stream().synchronize()
"""
BETWEEN_EVENTS = """
marks = []
def run():
    if not marks:
        marks.extend((cupy.cuda.Event(), cupy.cuda.Event()))
    marks[0].record()
    call["kernel"](call["grid"], (BLOCK,), call["args"])
    marks[1].record()
    marks[1].synchronize()
    print(cupy.cuda.get_elapsed_time(*marks))
"""


def parts() -> Iterator[tuple[str, str, bool]]:
    """A name, the host file, and whether it goes with variants/zero_copy.cu rather than the solution's kernel."""
    solution = solution_host()
    yield "an empty run(): the protocol", EMPTY, False
    yield "an empty kernel and its wait", LAUNCH_ONLY, True
    yield "the solution", solution, False
    yield "the solution, with events around its kernel", solution + BETWEEN_EVENTS, False
    for blocks in (1, 2, 4, 8, 16):
        for block in (128, 256, 512):
            changed = set_to(set_to(solution, "BLOCKS_PER_SM", blocks), "BLOCK", block)
            yield f"the solution with {blocks} blocks per SM of {block}", changed, False


def set_to(source: str, name: str, value: int) -> str:
    """The host file with one of its constants changed."""
    import re

    changed, count = re.subn(rf"(?m)^{name} = \d+", f"{name} = {value}", source)
    if count != 1:
        raise AssertionError(f"{name} = … is not in the host file")
    return changed


@comparison
def zero_copy_breakdown(backend: GpuBackend) -> Any:
    from grader.backends.gpu.hostfile.backend import HostfileBackend
    from grader.backends.gpu.hostfile.timed_runs import WARM_UPS, Recording, take_runs

    one = courses()["zero_copy"]
    assert one.solution is not None
    assert one.exercise.timed is not None
    kernels = [compile_source(path.read_bytes(), path.name) for path in (one.solution, VARIANTS)]
    recording = Recording(one.exercise, one.exercise.timed, SEED)
    told = {}
    for name, source, other in parts():
        host = HostfileBackend(backend, one.exercise, source.encode(), "zero_copy_host.py")
        with host.open(kernels[other], LIMITS) as session:
            seconds = take_runs(session, one.exercise, one.exercise.timed, recording).seconds[WARM_UPS:]
            printed = session.call({"do": "printed"}, 5.0)["printed"].split()
        told[name] = milliseconds(seconds)
        inside = f"; between events {median(map(float, printed[WARM_UPS:])):.3f}" if printed else ""
        link = median(session.baselines_s["link_to_device"])
        figures = f"{told[name]['median']:7.3f} ms, least {told[name]['least']:7.3f}, most {told[name]['most']:7.3f}"
        print(
            f"    {figures}, {link / median(seconds):6.3f} of the link ({link * 1e3:.3f} ms){inside}  {name}",
            flush=True,
        )
    return told


def milliseconds(seconds: tuple[float, ...]) -> dict[str, float]:
    return {"median": median(seconds) * 1e3, "least": min(seconds) * 1e3, "most": max(seconds) * 1e3}


@comparison
def zero_copy_sweep(_: GpuBackend) -> Any:
    """In a process of its own, which needs a context."""
    script = Path(__file__).with_name("zero_copy_sweep.py")
    finished = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    print("    " + (finished.stdout + finished.stderr).replace("\n", "\n    "), flush=True)
    if finished.returncode:
        raise AssertionError(f"it ended with {finished.returncode}")
    return finished.stdout.splitlines()
