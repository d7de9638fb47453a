"""A simulator session: what ends it is told with the documented error, and the next one works as usual."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import llvmlite
import numpy as np
import pytest

from grader.backends import starting
from grader.backends.base import Buffer, CaseRun, Execution, Limits
from grader.backends.sim import session as sim_session
from grader.backends.sim.session import SimBackend, SimSession
from grader.compile import cache, compile_source, ptxas
from grader.compile.toolchain import find_toolchain
from grader.errors import GraderFault, RefusedProgram, SubmissionError, Unsupported
from grader.launch import Launch, LaunchPlan
from grader.process import child

GOOD = "x[threadIdx.x] = threadIdx.x;"
COUNT = 64


def case(block: int = 32, blocks: int = 1) -> CaseRun:
    plan = LaunchPlan(steps=(Launch(kernel="k", args=("x",), grid=(blocks, 1, 1), block=(block, 1, 1)),))
    return CaseRun(plan, (Buffer("x", "f4", COUNT, "out"),))


def session(statements: str, limits: Limits | None = None) -> SimSession:
    source = f'extern "C" __global__ void k(float* x) {{\n{statements}\n}}\n'
    return SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), limits or Limits())


@pytest.fixture(autouse=True, scope="module")
def an_honest_kernel_runs_afterwards() -> Iterator[None]:
    """Whatever the tests did to their sessions, the next submission gets its usual result."""
    yield
    with session(GOOD) as fresh:
        done = fresh.run(case())
    assert done.failure is None
    assert done.outputs["x"][:32].tolist() == list(range(32))


def test_an_llvm_that_miscompiles_is_refused_with_the_command_that_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path(llvmlite.__file__)
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite/__init__.py").write_text(
        f"__path__ = [{str(real.parent)!r}]\nexec(open({str(real)!r}).read())\n"
        "import llvmlite.binding\nllvmlite.binding.llvm_version_info = (22, 1, 0)\n"
    )
    with monkeypatch.context() as patched:
        patched.syspath_prepend(child.PACKAGE.parent)
        patched.setattr(child, "PACKAGE", tmp_path / "grader")  # the folder that a child looks into first
        with pytest.raises(Unsupported, match="miscompiles") as refused:
            session(GOOD)
    assert "`pip install 'llvmlite<0.48'`" in refused.value.hint


def test_many_cases_run_in_one_session_on_fresh_memory() -> None:
    with session("x[threadIdx.x] += 1;") as one:
        runs = [one.run(case()) for _ in range(3)]
    assert {r.outputs["x"].tobytes() for r in runs} == {runs[0].outputs["x"].tobytes()}


@pytest.mark.parametrize(("name", "verdict"), [("SIGSEGV", "crash"), ("SIGABRT", "limit"), ("SIGKILL", "limit")])
def test_a_child_that_dies_of_a_signal_ends_its_session_only(name: str, verdict: str) -> None:
    with session(GOOD) as one:
        os.kill(one._child.pid, signal.Signals[name])
        one._child.wait(5.0)
        for _ in range(2):  # the second time without asking the child
            with pytest.raises(SubmissionError, match=name) as ended:
                one.run(case())
            assert ended.value.verdict == verdict


def test_a_child_that_hangs_is_ended_at_the_deadline() -> None:
    with session(GOOD, Limits(total_s=0.3)) as one:
        os.kill(one._child.pid, signal.SIGSTOP)
        with pytest.raises(SubmissionError, match="time limit") as ended:
            one.run(case())
        assert ended.value.verdict == "timeout"
        assert one._child.returncode is not None


def test_making_machine_code_is_not_the_submissions_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_CACHE", str(tmp_path))
    limit_s, past_s, store = 60.0, [0.0], sim_session.store_code

    def slow_store(codes: Mapping[str, bytes]) -> None:  # as if LLVM alone had taken longer than the limit
        store(codes)
        past_s[0] += 1.5 * limit_s

    monkeypatch.setattr(sim_session, "store_code", slow_store)
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + past_s[0])
    monkeypatch.setattr(sim_session, "time", clock)
    with session(GOOD, Limits(total_s=limit_s)) as one:
        begins = one._ends
        assert one.run(case()).failure is None
        assert one._ends > begins + limit_s
        assert one.run(case()).failure is None


def test_an_endless_loop_is_a_finding_and_the_session_goes_on() -> None:
    with session("while (x[63] != 0.5f) __syncwarp();") as one:
        assert _kinds(one.run(case())) == ("timeout", "instruction_budget")
        assert _kinds(one.run(case())) == ("timeout", "instruction_budget")


def test_a_block_that_needs_too_much_memory_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "ADDRESS_SPACE", 700 << 20)
    big = "float a[120000]; for (int k = 0; k < 120000; k += 999) a[k + threadIdx.x % 999] = k; x[threadIdx.x % 64] = a[threadIdx.x * 9];"
    with session(big) as one, pytest.raises(SubmissionError, match="memory") as ended:
        one.run(case(block=1024))
    assert ended.value.verdict == "limit"


def test_what_the_simulator_cannot_run_is_said_with_its_line() -> None:
    with session("\n" + 'asm volatile("pmevent 1;");') as one, pytest.raises(Unsupported) as ended:
        one.run(case())
    assert "pmevent" in str(ended.value)
    assert ended.value.diagnostics[0].line == 3


NO_INSTRUCTION = 'asm volatile("nanotrap.b32;");'
NO_PTX = 'asm volatile("add.s32 [[[[%0;" :: "r"(1));'
ENDLESS = "for (volatile int i = 0; i >= 0;) ;"
BIG = "__shared__ float big[51200]; big[threadIdx.x] = 1; __syncthreads(); x[threadIdx.x] = big[threadIdx.x ^ 1];"


@pytest.mark.parametrize("statements", [NO_INSTRUCTION, NO_PTX, BIG, f"{NO_INSTRUCTION} {ENDLESS}"])
def test_what_no_gpu_would_load_is_refused_whatever_the_simulator_makes_of_it(statements: str) -> None:
    with pytest.raises(RefusedProgram, match="cannot be assembled for sm_80") as refused, session(statements) as one:
        one.run(case())
    assert refused.value.verdict == "compile_error"


MANY_REGISTERS = """
float a[96];
#pragma unroll
for (int j = 0; j < 96; j++) a[j] = x[j];
__syncthreads();
#pragma unroll
for (int j = 0; j < 96; j++) x[j] = a[j] * a[(j + 31) % 96];
"""


@pytest.mark.parametrize("more", ["", ENDLESS, 'asm volatile("pmevent 1;");', "x[1 << 20] = 1;"])
def test_a_launch_that_cuda_would_not_start_is_invalid_whatever_the_simulator_makes_of_it(more: str) -> None:
    with session(more + MANY_REGISTERS, Limits(instructions_per_block=100_000)) as one:
        refused = one.run(case(1024))
    assert (refused.failure, [(f.kind, f.cause, f.file) for f in refused.findings]) == (
        "invalid", [("launch", "registers", "k.cu")]
    )  # fmt: skip
    with session(MANY_REGISTERS) as one:
        assert one.run(case(32)).failure == "out_of_bounds"


def test_without_an_assembler_a_note_says_so_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxas, "find_toolchain", lambda: replace(find_toolchain(), ptxas=None))
    with session(GOOD) as one:
        done = one.run(case())
    assert (done.failure, [(f.kind, f.severity) for f in done.findings]) == (None, [("unassembled", "note")])
    with pytest.raises(Unsupported, match="this PTX"):
        session(NO_PTX)
    with session(NO_INSTRUCTION) as one, pytest.raises(Unsupported, match=r"nanotrap\.b32"):
        one.run(case())
    monkeypatch.undo()


def test_the_sandbox_is_told() -> None:
    with session(GOOD) as one:
        assert one.sandbox


def test_a_fault_of_the_simulator_is_not_the_submissions(monkeypatch: pytest.MonkeyPatch) -> None:
    with session(GOOD) as one:
        monkeypatch.setattr("grader.backends.sim.session.case_request", lambda run, program: {"do": "run"})
        with pytest.raises(GraderFault, match="simulator failed"):
            one.run(case())


def _kinds(execution: Execution) -> tuple[str | None, str]:
    return execution.failure, execution.findings[0].kind


def test_outputs_that_were_not_written_hold_poison() -> None:
    with session("if (threadIdx.x < 3) x[threadIdx.x] = 1;") as one:
        out = one.run(case()).outputs["x"]
    assert np.isnan(out[3:]).all()


def test_what_the_simulator_cannot_run_names_its_line_and_what_to_write_instead() -> None:
    recursion = (
        "struct F { __device__ __noinline__ static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); } };\n"
    )
    with session(recursion + "x[threadIdx.x] = F::f(threadIdx.x);") as one, pytest.raises(Unsupported) as refused:
        one.run(case())
    assert refused.value.message == "the simulator cannot run recursion: f calls itself (k.cu:2)"
    (found,) = refused.value.diagnostics
    assert (found.line, found.hint) == (2, refused.value.hint)
    assert "as a loop" in found.hint


def test_a_child_that_was_started_early_is_taken_once_and_ended_where_nobody_takes_it() -> None:
    starting.start_early(simulator=True)
    early = starting.simulator_child()
    another = starting.simulator_child()
    assert early.pid != another.pid
    starting.start_early(simulator=True)
    starting.end_early()
    late = starting.simulator_child()
    for each in (early, another, late):
        each.close()


@pytest.mark.parametrize("damage", ["a byte", "cut", "another's"])
def test_damaged_machine_code_is_thrown_away_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("WARPGRADE_CACHE", str(tmp_path))
    with session(GOOD) as one:
        good = one.run(case())
    kept = {path: path.read_bytes() for path in (tmp_path / "sim").iterdir()}
    others = [*kept.values()][1:] + [*kept.values()][:1]
    for (path, content), other in zip(kept.items(), others, strict=True):
        half = len(content) // 2
        flipped = content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]
        path.write_bytes({"a byte": flipped, "cut": content[:-20], "another's": other}[damage])
    with session(GOOD) as one:
        again = one.run(case())
    assert again.failure is None
    assert again.outputs["x"].tobytes() == good.outputs["x"].tobytes()
    assert all(cache.read(path) is not None for path in kept)


@pytest.mark.parametrize(("size", "initial"), [(48 << 20, 0), (8 << 20, 5)])
def test_large_arrays_of_bytes_fit_in_case_after_case_on_any_number_of_threads(size: int, initial: int) -> None:
    source = (
        f"__device__ char buffer[{size}]{f' = {{{initial}}}' if initial else ''};\n"
        'extern "C" __global__ void k(float* x)\n'
        "{ if (blockIdx.x == threadIdx.x) x[threadIdx.x] = buffer[0] + buffer[sizeof buffer - 1]; }\n"
    )
    with SimBackend(threads=16).open(compile_source(source.encode(), "k.cu"), Limits()) as one:
        runs = [one.run(case(blocks=16)) for _ in range(4)]
    assert {(run.failure, run.outputs["x"][0]) for run in runs} == {(None, initial)}
