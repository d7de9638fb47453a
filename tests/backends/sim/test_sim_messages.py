"""What the simulator's findings hold: how far an access reaches, how much there is, and by which name."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from grader.backends.base import Buffer, CaseRun, Execution, Limits
from grader.backends.sim.session import SimBackend
from grader.compile import compile_source
from grader.errors import GraderFault, SubmissionError, WarpgradeError
from grader.findings.record import Finding
from grader.launch import Launch, LaunchPlan
from grader.process.child import Child
from tests.telling import all_said, rule_of

pytestmark = pytest.mark.usefixtures("kept_simulators")


def run(parameters: str, statements: str, *arrays: Buffer, shared: int = 0, launches: int = 1) -> Execution:
    """Launch one warp of a kernel on ``arrays``."""
    source = f'extern "C" __global__ void k({parameters}) {{\n{statements}\n}}\n'
    names = tuple(array.name for array in arrays)
    launch = Launch(kernel="k", args=names, grid=(1, 1, 1), block=(32, 1, 1), shared_bytes=shared)
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        return session.run(CaseRun(LaunchPlan((launch,) * launches), arrays))


def found(kind: str, parameters: str, statements: str, *arrays: Buffer, shared: int = 0) -> Finding:
    execution = run(parameters, statements, *arrays, shared=shared)
    return next(one for one in execution.findings if one.kind == kind)


def floats(name: str, count: int) -> Buffer:
    return Buffer(name, "float32", count, "out")


def sizes(one: Finding) -> dict[str, int]:
    return {name: one.facts[name] for name in ("width", "element_bytes", "array_bytes", "offset")}


ONLY_THREAD_0 = "if (threadIdx.x == 0) "


# ----------------------------------------------------------------------------------------------------------- wide ones


def test_vector_of_which_only_the_first_element_exists_is_told_in_bytes() -> None:
    one = found("out_of_bounds", "float2* b", ONLY_THREAD_0 + "b[0] = make_float2(1, 2);", floats("b", 1))
    assert (one.cause, one.index, one.line) == ("too_wide", 0, 2)
    assert sizes(one) == {"width": 8, "element_bytes": 4, "array_bytes": 4, "offset": 0}


def test_vector_beyond_the_last_whole_one_names_its_elements() -> None:
    one = found("out_of_bounds", "float4* x", ONLY_THREAD_0 + "x[255] = make_float4(1, 2, 3, 4);", floats("x", 1022))
    assert (one.cause, one.index, rule_of(one)) == ("too_wide", 1020, "extents.wide_access")
    assert sizes(one) == {"width": 16, "element_bytes": 4, "array_bytes": 4 * 1022, "offset": 4 * 1020}


def test_access_of_one_element_is_told_as_before() -> None:
    one = found("out_of_bounds", "float* x", ONLY_THREAD_0 + "x[5] = 1;", floats("x", 5))
    assert (one.cause, one.array, one.index, one.places[0].role) == ("beyond_end", "x", 5, "write")


# -------------------------------------------------------------------------------------------------------------- slices


def test_vector_at_the_start_of_a_slice_is_misaligned_and_the_hint_says_that_it_is_one() -> None:
    one = found("misaligned", "float4* p", ONLY_THREAD_0 + "p[0] = float4{};", replace(floats("x", 64), offset=3))
    assert (one.index, one.facts["begins"], rule_of(one)) == (0, 12, "faults.slice_of_an_array")


def test_vector_off_its_place_in_an_aligned_array_is_no_matter_of_slices() -> None:
    one = found("misaligned", "float* x", ONLY_THREAD_0 + "*(float4*)(x + 1) = float4{};", floats("x", 64))
    assert "begins" not in one.facts
    assert rule_of(one) == "faults.offset_before_the_cast"


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_aligned_accesses_inside_a_slice_reach_its_elements(offset: int) -> None:
    statements = "int t = threadIdx.x; x[t] = t; __syncwarp(); float* p = x; while ((size_t)p % 16) ++p;\n"
    statements += "if (t < 4) { float4 v = ((float4*)p)[t]; v.x = 100; ((float4*)p)[t] = v; }"
    execution = run("float* x", statements, replace(floats("x", 32), offset=offset))
    assert execution.failure is None
    head = 4 - offset  # the packs begin after it
    expected = [100 if head <= t < head + 16 and (t - head) % 4 == 0 else t for t in range(32)]
    assert execution.outputs["x"].tolist() == expected


def test_what_lies_before_a_slice_does_not_belong_to_it() -> None:
    one = found("out_of_bounds", "float* x", ONLY_THREAD_0 + "x[-1] = 1;", replace(floats("x", 64), offset=3))
    assert (one.cause, one.array, one.index) == ("before_start", "x", -1)


# ------------------------------------------------------------------------------------------------------- shared memory

TILE = "extern __shared__ float tile[]; "


def test_too_little_dynamic_shared_memory_is_told_in_bytes_of_the_launch_line() -> None:
    one = found("out_of_bounds", "float* x", TILE + "tile[threadIdx.x] = 1; x[0] = tile[0];", floats("x", 1), shared=64)
    assert (one.cause, one.space, one.array, one.index) == ("beyond_launch_line", "shared", "tile", 16)
    assert sizes(one) == {"width": 4, "element_bytes": 4, "array_bytes": 64, "offset": 64}
    assert rule_of(one) == "extents.too_little_for_the_block"


def test_launch_line_without_dynamic_shared_memory_is_told_so() -> None:
    one = found("out_of_bounds", "float* x", TILE + "tile[threadIdx.x] = 1; x[0] = tile[0];", floats("x", 1))
    assert (one.cause, one.index, one.facts["array_bytes"]) == ("beyond_launch_line", 0, 0)


def test_array_of_fixed_size_is_not_the_launch_lines_fault() -> None:
    fixed = "__shared__ float tile[16]; tile[threadIdx.x] = 1; x[0] = tile[0];"
    one = found("out_of_bounds", "float* x", fixed, floats("x", 1))
    assert (one.cause, one.index, one.facts["array_bytes"]) == ("beyond_end", 16, 64)
    assert rule_of(one) == "bounds.length_of_the_array"


@pytest.mark.parametrize("shared", ["extern __shared__ float tile[]; ", "__shared__ float tile[32]; "])
def test_index_before_the_array_is_negative(shared: str) -> None:
    statements = shared + "int t = threadIdx.x; tile[t] = 1; __syncwarp(); x[t] = tile[t - 1];"
    one = found("out_of_bounds", "float* x", statements, floats("x", 32), shared=128 if "extern" in shared else 0)
    assert (one.cause, one.index, one.address) == ("before_start", -1, -4)
    assert (one.places[0].role, one.facts["array_bytes"]) == ("read", 128)


# --------------------------------------------------------------------------------------------------------------- names


def test_stray_access_bears_the_parameters_name_and_the_arrays() -> None:
    one = found("out_of_bounds", "float* dst", ONLY_THREAD_0 + "dst[9] = 1;", floats("out", 9))
    assert (one.names, one.array, one.index) == (("dst",), "out", 9)


def test_wide_stray_access_bears_both_names() -> None:
    one = found("out_of_bounds", "float2* dst", ONLY_THREAD_0 + "dst[1] = make_float2(1, 2);", floats("out", 3))
    assert (one.names, one.array, one.index, one.cause) == (("dst",), "out", 2, "too_wide")


def test_race_bears_both_names() -> None:
    one = found("race", "float* __restrict__ dst", "dst[0] = threadIdx.x;", floats("out", 1))
    assert (one.names, one.array, one.index) == (("dst",), "out", 0)


def test_uninitialised_read_bears_both_names() -> None:
    one = found("uninitialised_read", "float *dst, const float *src", "dst[threadIdx.x] = src[threadIdx.x];",
                floats("out", 32), floats("ping", 32))  # fmt: skip
    assert (one.names, one.array, one.index, one.line) == (("src",), "ping", 0, 2)


def test_array_passed_twice_bears_both_parameters() -> None:
    x = floats("x", 9)
    source = "float* a, float* b"
    launch = Launch(kernel="k", args=("x", "x"), grid=(1, 1, 1), block=(1, 1, 1))
    program = compile_source(f'extern "C" __global__ void k({source}) {{ b[9] = a[0]; }}'.encode(), "k.cu")
    with SimBackend(threads=1).open(program, Limits()) as session:
        execution = session.run(CaseRun(LaunchPlan((launch,)), (x,)))
    stray = next(one for one in execution.findings if one.kind == "out_of_bounds")
    assert (stray.names, stray.array, stray.index) == (("a", "b"), "x", 9)


def test_signature_behind_a_macro_leaves_the_arrays_name() -> None:
    source = '#define ARGS float* dst\nextern "C" __global__ void k(ARGS) { dst[9] = 1; }\n'
    launch = Launch(kernel="k", args=("out",), grid=(1, 1, 1), block=(1, 1, 1))
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        execution = session.run(CaseRun(LaunchPlan((launch,)), (floats("out", 9),)))
    (one, *_) = execution.findings
    assert (one.names, one.array, one.index) == ((), "out", 9)


# ------------------------------------------------------------------------------------------------------ print and time


def test_printing_is_limited_for_each_case_and_not_for_all_together() -> None:
    source = 'extern "C" __global__ void k(float* x) { for (int k = 0; k < 60; ++k) printf("%020d\\n", k); x[0] = 1; }'
    launch = Launch(kernel="k", args=("x",), grid=(1, 1, 1), block=(32, 1, 1))
    case = CaseRun(LaunchPlan((launch,)), (floats("x", 1),))
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        cases = [session.run(case) for _ in range(3)]  # 40 kB each
    assert [one.failure for one in cases] == [None] * 3
    assert [len(one.printed) for one in cases] == [32 * 60 * 21] * 3


ONE_STORE = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'


def stopped(limits: Limits) -> WarpgradeError:
    """What ends a case whose child does not answer."""
    launch = Launch(kernel="k", args=("x",), grid=(1, 1, 1), block=(1, 1, 1))
    case = CaseRun(LaunchPlan((launch,)), (floats("x", 1),))
    with SimBackend(threads=1).open(compile_source(ONE_STORE.encode(), "k.cu"), limits) as session:
        os.kill(session._child.pid, signal.SIGSTOP)
        with pytest.raises(WarpgradeError) as ended:
            session.run(case)
    return ended.value


def test_time_limit_says_what_gives_more() -> None:
    error = stopped(Limits(total_s=0.2))
    assert isinstance(error, SubmissionError)
    assert error.verdict == "timeout"
    assert "the time limit of 0.2 s for all cases together on the simulator" in error.message
    assert "its budget of instructions was not used up" in error.message
    assert "`--timeout 1`" in error.hint


def test_a_busy_machine_is_not_the_submissions_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "used_s", lambda self: 0.0)  # a child that is never given a processor
    monkeypatch.setattr(Child, "is_ready", lambda self: True)
    error = stopped(Limits(total_s=0.2))
    assert isinstance(error, GraderFault)
    assert "the machine is too busy to grade anything: 0 s of processor time" in error.message


def test_a_case_has_a_budget_of_its_own() -> None:
    source = 'extern "C" __global__ void k(float* x) { for (int k = 0; k < 999; ++k) ((volatile float*)x)[0] = k; }'
    launch = Launch(kernel="k", args=("x",), grid=(9, 1, 1), block=(1, 1, 1))
    case = CaseRun(LaunchPlan((launch,)), (floats("x", 1),), instructions=100_000)
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        ends = [session.run(one) for one in (case, replace(case, instructions=Limits.instructions))]
    assert [(one.failure, [f.cause for f in one.findings if f.kind == "instruction_budget"]) for one in ends] == [
        ("timeout", ["case"]), (None, []),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------- whose fault it is


def test_shared_memory_with_an_element_for_each_thread_is_not_blamed() -> None:
    statements = TILE + "int t = threadIdx.x; tile[t] = 1; __syncwarp(); x[0] = tile[t + 1];"
    one = found("out_of_bounds", "float* x", statements, floats("x", 1), shared=128)
    assert (one.cause, one.index) == ("beyond_end", 32)
    assert rule_of(one) == "bounds.beyond_what_the_launch_line_gives"


def test_index_of_the_whole_grid_is_not_one_of_shared_memory() -> None:
    source = 'extern "C" __global__ void k(float* x) { extern __shared__ float tile[];\n'
    source += "int i = blockIdx.x * blockDim.x + threadIdx.x; tile[i] = 1; x[i] = tile[i]; }"
    launch = Launch(kernel="k", args=("x",), grid=(2, 1, 1), block=(32, 1, 1), shared_bytes=128)
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        execution = session.run(CaseRun(LaunchPlan((launch,)), (floats("x", 64),)))
    assert rule_of(execution.findings[0]) == "extents.index_in_the_whole_grid"


def test_every_block_storing_at_index_0_is_asked_whether_it_meant_its_own() -> None:
    source = 'extern "C" __global__ void k(float* x) { if (threadIdx.x == 0) x[0] = blockIdx.x; }'
    launch = Launch(kernel="k", args=("x",), grid=(2, 1, 1), block=(32, 1, 1))
    with SimBackend(threads=1).open(compile_source(source.encode(), "k.cu"), Limits()) as session:
        execution = session.run(CaseRun(LaunchPlan((launch,)), (floats("x", 2),)))
    assert all_said(execution, source)[0].rule == "overlaps.one_element_of_all_blocks"


def test_barrier_that_some_threads_never_reach_names_who_waits_and_who_is_gone() -> None:
    one = found("barrier_divergence", "float* x", "if (threadIdx.x < 9) __syncthreads();\nx[0] = 1;", floats("x", 1))
    assert (one.cause, one.line) == ("left", 2)
    assert [(place.role, place.thread) for place in one.places] == [("exit", (9, 0, 0)), ("barrier", (0, 0, 0))]
