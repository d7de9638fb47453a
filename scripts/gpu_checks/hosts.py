"""Host files: the solution, and those that fail, hang, replay or pry."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from gpu_checks import LIMITS, SEED, courses, expect, item
from grader.backends.base import Limits
from grader.backends.gpu import GpuBackend
from grader.compare import compare
from grader.compile import compile_source
from grader.errors import SubmissionError
from grader.grading.cases import Case, CaseData, case_run
from grader.grading.records import Speed
from grader.inputs import make_inputs
from grader.launch import LaunchPlan
from grader.verdict import Diagnostic


@dataclass(frozen=True)
class Told:
    """What one host file came to: a small case, and the timed runs where that was right."""

    small: str  # "right", "wrong", or the word of what went wrong
    diagnostics: tuple[Diagnostic, ...]
    printed: str
    speed: Speed | None
    baselines_ms: dict[str, float]
    opened_s: float
    spent_s: float
    sandbox: str

    @property
    def word(self) -> str:
        """The small case's word; where it is right, that of `fast`."""
        return self.small if self.small != "right" or self.speed is None else self.speed.word

    def __str__(self) -> str:
        speed = self.speed.detail if self.speed else "not timed"
        found = "; ".join(f"{one.message} ({one.file}:{one.line})" for one in self.diagnostics)
        against = ", ".join(f"{name} {ms:.3f} ms" for name, ms in self.baselines_ms.items())
        return f"{self.word}: {speed} [{against}; opened {self.opened_s:.2f} s, all {self.spent_s:.2f} s] {found}"


def host_case(backend: GpuBackend, host_source: str, limits: Limits = LIMITS, name: str = "zero_copy") -> Told:
    """One small case of the exercise, and its timed runs where that is right."""
    from grader.backends.gpu.hostfile.backend import HostfileBackend
    from grader.catalog.courses import resolve_reference
    from grader.grading.fast_hostfile import HostfileSpeedTest

    one = courses()[name]
    assert one.solution is not None
    compiled = compile_source(one.solution.read_bytes(), f"{name}.cu")
    host = HostfileBackend(backend, one.exercise, host_source.encode(), f"{name}_host.py", course=one.course)
    oracle = resolve_reference(one.exercise.oracle, one.course)
    start = time.perf_counter()
    with host.open(compiled, limits) as session:
        opened = time.perf_counter() - start
        size = host.exercise.small[len(host.exercise.small) // 2]
        inputs = make_inputs(host.exercise, size, SEED, "real")
        data = CaseData(inputs, oracle(inputs, {**host.exercise.scalars, **size}))
        small = session.run(case_run(host.exercise, Case(size, "real"), data, LaunchPlan(())))
        word = small.failure
        if word is None:
            found = compare(host.exercise, size, "real", small.outputs, data.expected, data.inputs)
            word = "wrong" if found else "right"
        speed = (
            HostfileSpeedTest(one.exercise, host, lambda: oracle, SEED, limits)(session) if word == "right" else None
        )
    baselines_ms = {name: 1e3 * median(samples) for name, samples in session.baselines_s.items()}
    spent = time.perf_counter() - start
    return Told(word, small.diagnostics, small.printed, speed, baselines_ms, opened, spent, session.sandbox)


def solution_host(name: str = "zero_copy") -> str:
    one = courses()[name]
    assert one.solution is not None
    return one.solution.with_name(f"{name}_host.py").read_text()


@item
def host_solution(backend: GpuBackend) -> Any:
    told = host_case(backend, solution_host())
    expect(told.word == "pass", told)
    return f"{told}, {told.sandbox}"


@item
def every_host_solution(backend: GpuBackend) -> Any:
    """Solutions of host exercises are right and, where they have a line, fast."""
    from grader.errors import Unsupported

    failed = []
    for name, one in courses().items():
        if not one.exercise.host or one.solution is None:
            continue
        try:
            told: Any = host_case(backend, solution_host(name), name=name)
            fine = told.word in ("pass", "unlined", "right")
        except Unsupported as error:
            told, fine = f"unsupported: {error.message}", one.exercise.gpus > 1
        except Exception as error:
            told, fine = f"{type(error).__name__}: {error}", False
        print(f"    {'ok  ' if fine else 'FAIL'} {name}: {told}", flush=True)
        failed += [] if fine else [name]
    return expect(not failed, failed)


@item
def host_file_that_raises(backend: GpuBackend) -> Any:
    told = host_case(backend, "def setup(m, x, out):\n    pass\ndef run():\n    raise ValueError('no')\n")
    return expect(told.small == "crash", told)


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
    return expect(told.small == "timeout", told)


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
    return expect(told.word == "wrong", told)


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
    attempt("parent's memory", lambda: open(f"/proc/{os.getppid()}/mem", "rb"))
    attempt("grader", lambda: open(__import__("grader").__file__).read())
    attempt("solution", lambda: open("SOLUTION").read())
    attempt("parent", lambda: open(f"/proc/{os.getppid()}/environ").read())
def run(): pass
"""
    one = courses()["zero_copy"]
    told = host_case(backend, source.replace("SOLUTION", str(one.solution)))
    opened = [line for line in told.printed.splitlines() if "open" in line.split()]
    return expect(told.printed and not opened, told.printed).replace("\n", "; ")
