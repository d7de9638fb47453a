"""Counters of the launch itself: threads, shared memory, occupancy and how the grid grows."""

from __future__ import annotations

import pytest

from grader.compile import compile_source
from grader.counters import IN_CODE
from grader.exercise import Array, Exercise, Expect
from grader.grading.records import CompiledSubmission
from grader.grading.technique import Shaped, in_code, launches_in_code, question_of, total, with_shape
from grader.launch import DeviceLimits, parse_launches
from grader.verdict import LaunchRecord

KERNEL = """// launch k(x, out, n): {launch}
extern "C" __global__ void k(const float* x, float* out, int n)
{{
    __shared__ float tile[{words}];
    tile[threadIdx.x % {words}] = x[0];
    __syncthreads();
    out[0] = tile[0];
}}
"""


def shaped(
    launch: str, record: LaunchRecord, *counters: str, n: int = 4096, words: int = 32, timed: int = 0
) -> LaunchRecord:
    """One launch with its own counters, for an exercise that asks for ``counters``."""
    program = compile_source(KERNEL.format(launch=launch, words=words).encode(), "k.cu")
    exercise = Exercise(
        name="k", order=101, idea="a test", oracle="a:b", small=({"n": 1},), simulated={"n": n},
        arrays=(Array("x", "float32", "n"), Array("out", "float32", "n", role="out")),
        timed={"n": timed} if timed else None,
        technique=tuple(Expect(counter, at_most=1.0) for counter in counters),
    )  # fmt: skip
    submission = CompiledSubmission(program, parse_launches(program.source, file="k.cu"))
    (one,) = with_shape(Shaped(exercise, submission, {"n": n}, DeviceLimits()), [record])
    return one


def record(grid: int, block: int, dynamic: int = 0) -> LaunchRecord:
    return LaunchRecord("k", (grid, 1, 1), (block, 1, 1), dynamic, {"instructions": 7.0})


def test_threads_are_grid_times_block_and_the_other_counters_stay():
    counters = shaped("grid=cdiv(n, 256) block=256", record(16, 256)).counters
    assert (counters["threads"], counters["instructions"]) == (4096.0, 7.0)


CODE = """// launch k(x, n): grid=1 block=128
// launch twice(x, n): grid=1 block=128
__device__ void copy(unsigned to, const void* map, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {0, 0}], [%2];" ::"r"(to), "l"(map), "r"(barrier));
}
__device__ void store(unsigned from, const void* map)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {0, 0}], [%1];"
                 ::"l"(map), "r"(from));
}
__device__ __noinline__ void called(float* x) { copy(x[1], x, x[2]); }
extern "C" __global__ void k(float* x, int n)
{
    if (sizeof(float) == 8)  // known to the compiler
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    x[n] = 1;  // "wgmma.mma_async" in a comment
    asm volatile("// wgmma.mma_async.sync" ::);
    store(x[0], x);
}
extern "C" __global__ void twice(float* x, int n)
{
    called(x);
    if (n == 12345)
        copy(x[3], x, x[4]);
}
extern "C" __global__ void other(float* x) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }
"""


def test_instructions_in_the_code_are_those_that_a_launched_kernel_reaches():
    program = compile_source(CODE.encode(), "k.cu", target="sm_90a")
    exercise = Exercise(
        name="k", order=101, idea="a test", oracle="a:b", small=({"n": 1},), simulated={"n": 64},
        arrays=(Array("x", "float32", "n", role="out"),), requires="sm_90a",
    )  # fmt: skip
    submission = CompiledSubmission(program, parse_launches(program.source, file="k.cu"))
    launches = launches_in_code(Shaped(exercise, submission, {"n": 64}, DeviceLimits()))
    assert [(one.kernel, one.counters) for one in launches] == [("k", {}), ("twice", {"tma_loads_in_code": 2.0})]
    assert [total(name, launches) for name in IN_CODE] == [2.0, 0.0, 0.0, 0.0]
    assert in_code(program.ptx)["other"] == {"setmaxnreg_in_code": 1.0}


def test_a_submission_that_cannot_be_launched_has_no_instructions_in_its_code():
    program = compile_source(CODE.encode(), "k.cu", target="sm_90a")
    submission = CompiledSubmission(program, parse_launches(program.source.replace("k(x, n)", "k(x, m)"), file="k.cu"))
    exercise = Exercise(
        name="k", order=101, idea="a test", oracle="a:b", small=({"n": 1},), simulated={"n": 64},
        arrays=(Array("x", "float32", "n", role="out"),), requires="sm_90a",
    )  # fmt: skip
    assert launches_in_code(Shaped(exercise, submission, {"n": 64}, DeviceLimits())) == ()


def test_shared_memory_is_static_and_dynamic_together():
    found = shaped("grid=1 block=64 shared=512", record(1, 64, 512))
    assert found.counters["shared_memory_bytes"] == 128 + 512


@pytest.mark.parametrize(
    ("grid", "growth"),
    [("cdiv(n, 256)", 4.0), ("sm_count*4", 1.0), ("min(cdiv(n, 256), 20)", 4.0), ("cdiv(n, 4096)", 4.0)],
)
def test_growth_compares_the_grids_of_sizes_that_differ_by_a_factor_of_four(grid, growth):
    found = shaped(f"grid={grid} block=256", record(1, 256), "grid_growth")
    assert found.counters["grid_growth"] == pytest.approx(growth)


def test_growth_is_that_at_the_timed_size_where_a_cap_has_set_in():
    found = shaped("grid=min(cdiv(n, 4096), sm_count*8) block=256", record(1, 256), "grid_growth", timed=2**28)
    assert found.counters["grid_growth"] == 1.0


@pytest.mark.parametrize(("cap", "growth"), [(2**20, 4.0), (2**22, 4.0), (2**19, 2.0), (2**18, 1.0)])
def test_a_cap_at_the_timed_size_or_beyond_it_leaves_a_grid_that_grows(cap, growth):
    found = shaped(f"grid=min(cdiv(n, 256), {cap}) block=256", record(1, 256), "grid_growth", timed=2**28)
    assert found.counters["grid_growth"] == growth


@pytest.mark.parametrize(
    ("grid", "timed", "growth"),
    [("(1, cdiv(n, 1))", 60000, 4.0), ("sm_count*4", 2**30, 1.0), ("cdiv(n, 256)", 2**30, 4.0)],
)
def test_where_four_times_the_size_cannot_be_launched_the_growth_up_to_it_counts(grid, timed, growth):
    found = shaped(f"grid={grid} block=32", record(1, 32), "grid_growth", timed=timed)
    assert found.counters["grid_growth"] == growth


def test_a_size_that_cannot_be_launched_at_all_has_no_growth():
    found = shaped("grid=cdiv(n, 256) block=32", record(1, 32), "grid_growth", timed=2**40)
    assert "grid_growth" not in found.counters


def test_what_costs_something_is_counted_only_where_it_is_asked_for():
    counters = shaped("grid=1 block=64", record(1, 64)).counters
    assert not {"grid_growth", "occupancy", "registers", "spill_bytes"} & set(counters)


def test_beside_the_occupancy_stand_the_registers_that_it_was_made_of():
    counters = shaped("grid=1 block=1024", record(1, 1024), "occupancy").counters
    assert 4 <= counters["registers"] <= 32, "a kernel that small"
    assert counters["occupancy"] == 1.0, "two blocks of 1024 threads fit with 32 registers or fewer"
    assert "spill_bytes" not in counters, "what is zero is left out"


def test_occupancy_is_that_of_the_assembled_kernel():
    few = shaped("grid=1 block=256", record(1, 256), "occupancy").counters["occupancy"]
    held = shaped("grid=1 block=256", record(1, 256), "occupancy", words=12000).counters["occupancy"]
    assert (few, held) == (1.0, 3 * 8 / 64)  # 48000 bytes a block: three blocks of eight warps


def test_the_least_occupied_launch_counts():
    launches = [LaunchRecord("k", (1, 1, 1), (32, 1, 1), 0, {"occupancy": value}) for value in (0.5, 0.25, 1.0)]
    assert total("occupancy", launches) == 0.25


def test_the_question_is_about_the_least_occupied_launch():
    first = LaunchRecord("k", (1, 1, 1), (32, 1, 1), 0, {"occupancy": 1.0, "registers": 16.0})
    second = LaunchRecord(
        "k", (1, 1, 1), (64, 2, 1), 0, {"occupancy": 0.5, "registers": 44.0, "shared_memory_bytes": 8.0}
    )
    assert question_of([first, second]) == "`grade device --arch sm_80 --block 128 --registers 44 --shared 8`"
