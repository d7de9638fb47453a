"""Host files: the solution, and those that fail, hang, replay or pry."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_checks import LIMITS, SEED, courses, expect, item
from grader.backends.base import Buffer, CaseRun, Limits
from grader.backends.gpu import GpuBackend
from grader.compile import compile_source
from grader.errors import SubmissionError
from grader.launch import LaunchPlan


def host_case(backend: GpuBackend, host_source: str, cu: str | None = None, limits: Limits = LIMITS) -> Any:
    from grader.backends.gpu.host import HostBackend
    from grader.backends.gpu.host_speed import HostSpeedTest
    from grader.references import resolve_reference

    one = courses()["zero_copy"]
    assert one.solution is not None
    compiled = compile_source((cu or one.solution.read_text()).encode(), "zero_copy.cu")
    host = HostBackend(backend, one.exercise, host_source.encode(), "zero_copy_host.py")
    oracle = resolve_reference(one.exercise.oracle, one.course)
    start = time.perf_counter()
    with host.open(compiled, limits) as session:
        opened = time.perf_counter() - start
        x = np.random.default_rng(1).random(1024 * 33, dtype=np.float32)
        buffers = (Buffer("x", "float32", x.size, "in", x), Buffer("out", "float32", 33, "out"))
        small = session.run(CaseRun(LaunchPlan(()), buffers))
        expected = oracle({"x": x}, {"frames": 33})["out"]
        right = small.failure is None and np.allclose(small.outputs["out"], expected, rtol=1e-5)
        speed = HostSpeedTest(one.exercise, host, lambda: oracle, SEED, limits)(session) if right else None
        link = session.link_s
    spent = time.perf_counter() - start
    return {
        "small": small.failure or ("right" if right else "wrong"),
        "diagnostics": small.diagnostics,
        "printed": small.printed,
        "speed": speed and (speed.word, speed.detail, speed.measured),
        "link_s": link,
        "opened_s": opened,
        "spent_s": spent,
        "sandbox": session.sandbox,
    }


def solution_host() -> Any:
    one = courses()["zero_copy"]
    assert one.solution is not None
    return one.solution.with_name("zero_copy_host.py").read_text()


@item
def host_solution(backend: GpuBackend) -> Any:
    told = host_case(backend, solution_host())
    expect(told["speed"] and told["speed"][0] == "pass", told)
    return f"{told['speed'][:2]}, opened {told['opened_s']:.2f} s, all {told['spent_s']:.2f} s, {told['sandbox']}"


@item
def host_file_that_raises(backend: GpuBackend) -> Any:
    told = host_case(backend, "def setup(m, x, out):\n    pass\ndef run():\n    raise ValueError('no')\n")
    return expect(told["small"] == "crash", told)


@item
def host_file_without_run(backend: GpuBackend) -> Any:
    try:
        host_case(backend, "def setup(m, x, out): pass\n")
    except SubmissionError as error:
        return f"{expect(error.verdict == 'invalid' and error.verdict, error)}: {error.message}"
    raise AssertionError("it was accepted")


@item
def host_file_that_hangs(backend: GpuBackend) -> Any:
    source = "def setup(m, x, out): pass\ndef run():\n    while True: pass\n"
    told = host_case(backend, source, limits=replace(LIMITS, launch_s=1.0))
    return expect(told["small"] == "timeout", told)


@item
def host_file_that_replays(backend: GpuBackend) -> Any:
    replay = """
_run, seen = run, []
def run():
    if len(seen) < 5:
        _run()
    seen.append(1)
"""
    source = solution_host() + replay
    told = host_case(backend, source)
    return expect(told["speed"] and told["speed"][0] == "wrong", told)


@item
def host_file_that_pries(backend: GpuBackend) -> Any:
    """Files outside, other processes and the network are closed; only these words come back."""
    source = """
import os, socket, subprocess
def attempt(what, action):
    try:
        action(); print(what, "open")
    except Exception as error:
        print(what, "closed", type(error).__name__)
def setup(m, x, out):
    attempt("home", lambda: os.listdir(os.path.expanduser("~root")))
    attempt("passwd", lambda: open("/etc/passwd").read())
    attempt("write", lambda: open("/var/tmp/warpgrade-test", "w"))
    attempt("shell", lambda: subprocess.run(["/bin/true"]))
    attempt("fork", lambda: os.fork() or os._exit(0))
    attempt("socket", lambda: socket.socket())
    attempt("parent", lambda: open(f"/proc/{os.getppid()}/environ").read())
def run(): pass
"""
    told = host_case(backend, source)
    opened = [line for line in told["printed"].splitlines() if "open" in line.split()]
    return expect(told["printed"] and not opened, told["printed"]).replace("\n", "; ")
