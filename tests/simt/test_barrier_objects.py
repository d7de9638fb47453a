"""Barrier objects (`mbarrier`) and what is built on them: `cuda::barrier`, `cuda::pipeline`, `cuda::memcpy_async`."""

from __future__ import annotations

import numpy as np
import pytest

from grader.backends.sim.results import describe
from grader.findings.record import Finding, from_json
from tests.simt.kernels import NAME, Array, Ran, body, run

X = np.arange(1, 2049, dtype=np.float32)
PARAMETERS = "const float* x, float* y, int n"
HEAD = """#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ bool ended(void* bar, unsigned parity) {
  unsigned yes;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
               : "=r"(yes) : "r"((unsigned)__cvta_generic_to_shared(bar)), "r"(parity) : "memory");
  return yes;
}
"""
SHARED = "__shared__ alignas(16) float s[1024]; auto block = cg::this_thread_block();\n"
INIT = "__shared__ Barrier bar; if (t == 0) init(&bar, blockDim.x); __syncthreads();\n"
FIRST_LINE = HEAD.count("\n") + 5
"""Where the statements of `ran` begin."""


def ran(statements: str, *, block: int = 64, grid: int = 1, n: int = 0, threads: int = 1) -> Ran:
    source = body(SHARED + statements, PARAMETERS, HEAD)
    return run(source, {"x": X, "y": np.zeros(2048, np.float32)}, n, block=block, grid=grid, threads=threads)


def reversed_tiles(count: int, tile: int = 64) -> list[float]:
    return X[: count * tile].reshape(count, tile)[:, ::-1].reshape(-1).tolist()


def output(found: Ran, count: int, tile: int = 64) -> list[float]:
    assert found.kinds == [], found.events
    got: Array = found.arrays["y"]
    return got[: count * tile].tolist()


# -- arriving and waiting ----------------------------------------------------------------------------------------------
def test_what_came_before_an_arrival_is_seen_after_the_wait() -> None:
    found = ran(INIT + "s[t] = x[t]; bar.arrive_and_wait(); y[t] = s[63 - t];")
    assert output(found, 1) == reversed_tiles(1)


def test_arriving_without_waiting_orders_nothing() -> None:
    found = ran(INIT + "s[t] = x[t]; auto token = bar.arrive();\ny[t] = s[63 - t]; bar.wait(std::move(token));")
    races = [e for e in found.events if e.kind == "race"]
    assert {(a.kind, a.line) for e in races for a in e.accesses} == {
        ("write", FIRST_LINE + 1),
        ("read", FIRST_LINE + 2),
    }


def test_waiting_for_the_phase_before_orders_nothing_of_this_one() -> None:
    start = """__shared__ __mbarrier_t bar; if (t == 0) __mbarrier_init(&bar, blockDim.x); __syncthreads();
(void)__mbarrier_arrive(&bar); while (!ended(&bar, 0));
s[t] = x[t]; (void)__mbarrier_arrive(&bar);
"""
    assert ran(start + "while (!ended(&bar, 1)); y[t] = s[63 - t];").kinds == []
    assert "race" in ran(start + "while (!ended(&bar, 0)); y[t] = s[63 - t];").kinds


def test_work_between_arrival_and_wait_is_not_ordered() -> None:
    between = "auto token = bar.arrive(); s[t] = x[t];\nbar.wait(std::move(token)); y[t] = s[63 - t];"
    assert "race" in ran(INIT + between).kinds


def test_phases_follow_each_other() -> None:
    rounds = (
        "for (int k = 0; k < n; ++k) { s[t] = x[64 * k + t]; bar.arrive_and_wait(); y[64 * k + t] = s[63 - t];{end} }"
    )
    assert output(ran(INIT + rounds.replace("{end}", " bar.arrive_and_wait();"), n=7), 7) == reversed_tiles(7)
    assert "race" in ran(INIT + rounds.replace("{end}", ""), n=7).kinds


def test_producers_and_consumers_wait_for_each_other() -> None:
    found = ran(
        """__shared__ Barrier full, empty;
if (t == 0) { init(&full, blockDim.x); init(&empty, blockDim.x); } __syncthreads();
if (t < 32) for (int k = 0; k < n; ++k) {
  empty.arrive_and_wait(); for (int j = t; j < 64; j += 32) s[j] = x[64 * k + j]; (void)full.arrive();
} else { (void)empty.arrive(); for (int k = 0; k < n; ++k) {
  full.arrive_and_wait(); for (int j = t - 32; j < 64; j += 64) y[64 * k + j] = s[63 - j]; (void)empty.arrive();
} }""",
        block=96,
        n=9,
    )
    assert output(found, 9) == reversed_tiles(9)


def test_a_thread_that_drops_out_is_expected_no_more() -> None:
    found = ran(
        INIT + "if (t >= 32) { bar.arrive_and_drop(); return; }\nfor (int k = 0; k < n; ++k) "
        "{ s[t] = x[32 * k + t]; bar.arrive_and_wait(); y[32 * k + t] = s[31 - t]; bar.arrive_and_wait(); }",
        n=5,
    )
    assert output(found, 5, 32) == reversed_tiles(5, 32)


def test_one_thread_may_arrive_for_several() -> None:
    found = ran(
        INIT + "s[t] = x[t]; __syncwarp(); if (t % 32 == 0) (void)bar.arrive(32);\n"
        "while (!ended(&bar, 0)); y[t] = s[63 - t];"
    )
    assert output(found, 1) == reversed_tiles(1)


def test_a_token_tells_how_many_arrivals_were_missing() -> None:
    found = ran(
        "__shared__ __mbarrier_t bar; if (t == 0) __mbarrier_init(&bar, blockDim.x); __syncthreads();\n"
        "auto token = __mbarrier_arrive(&bar); y[t] = __mbarrier_token_pending_count(token);\n"
        "while (!__mbarrier_test_wait(&bar, token)); __syncthreads(); if (t == 0) __mbarrier_inval(&bar);"
    )
    assert output(found, 1) == [64.0 - t for t in range(64)]


def test_an_object_that_is_used_before_it_must_be_there_is_a_race() -> None:
    found = ran("__shared__ Barrier bar; if (t == 0) init(&bar, blockDim.x);\nbar.arrive_and_wait(); y[t] = 1;")
    assert found.kinds[0] == "race"
    assert found.events[0].array == "bar"


# -- deadlocks ---------------------------------------------------------------------------------------------------------
def deadlock(statements: str) -> Finding:
    """What is told first."""
    (told, *_) = describe(ran(statements).outcome, NAME, {})["findings"]
    assert told["kind"] == "deadlock"
    return from_json(told)


def test_a_phase_that_never_ends_is_a_deadlock_that_says_how_many_came() -> None:
    statements = INIT.replace("blockDim.x", "blockDim.x + 1") + "bar.arrive_and_wait(); y[t] = 1;"
    found = deadlock(statements)
    assert (found.cause, found.line, found.array) == ("object", FIRST_LINE + 1, "bar")
    assert found.facts["detail"] == (64, 65)


def test_an_object_that_nothing_initialised_is_told() -> None:
    assert deadlock("__shared__ Barrier bar; bar.arrive_and_wait();").cause == "unset_object"


# -- copies that an object tracks --------------------------------------------------------------------------------------
TRACKED = "cuda::memcpy_async(s + t, x + t, sizeof(float), bar);\n"


def test_an_object_waits_for_the_copies_of_those_who_arrive() -> None:
    assert output(ran(INIT + TRACKED + "bar.arrive_and_wait(); y[t] = s[63 - t];"), 1) == reversed_tiles(1)


@pytest.mark.parametrize("read", ["s[t]", "s[63 - t]"])
def test_a_tracked_copy_that_nobody_waits_for_is_found(read: str) -> None:
    assert {"missing_async_wait", "race"} & set(ran(INIT + TRACKED + f"y[t] = {read};").kinds)


@pytest.mark.parametrize("read", ["s[t]", "s[63 - t]"])
def test_arriving_and_a_barrier_of_the_block_are_no_wait_for_a_tracked_copy(read: str) -> None:
    found = ran(INIT + TRACKED + f"(void)bar.arrive(); __syncthreads();\ny[t] = {read};")
    assert found.kinds == ["missing_async_wait"]
    (event,) = found.events
    assert [(a.kind, a.line) for a in event.accesses] == [("copy", FIRST_LINE + 1), ("read", FIRST_LINE + 3)]


def test_one_warp_may_wait_for_the_block() -> None:
    waits = "auto token = bar.arrive(); if (t < 32) bar.wait(std::move(token)); __syncthreads(); y[t] = s[63 - t];"
    assert output(ran(INIT + TRACKED + waits), 1) == reversed_tiles(1)


TWO_OBJECTS = """__shared__ Barrier one, two; if (t == 0) { init(&one, 64); init(&two, 64); } __syncthreads();
if (t < 32) {
  cuda::memcpy_async(s + t, x + t, 4, one); (void)one.arrive();
  cuda::memcpy_async(s + 32 + t, x + 32 + t, 4, two); (void)two.arrive(); }
"""


def test_copies_of_two_objects_are_waited_for_apart_whoever_comes_first() -> None:
    late = (
        "if (t >= 64) { for (int i = 0; i < 50; ++i) y[1000 + t] += 1; one.arrive_and_wait(); y[t - 64] = s[95 - t]; }"
    )
    early = "else if (t >= 32) { two.arrive_and_wait(); y[t] = s[95 - t]; }"
    assert output(ran(TWO_OBJECTS + late + early, block=96), 2, 32) == reversed_tiles(2, 32)


def test_an_object_that_tracks_a_copy_waits_for_the_older_ones_too() -> None:
    reads = "else { two.arrive_and_wait(); y[t - 32] = s[63 - t]; y[t] = s[95 - t]; }"
    assert output(ran(TWO_OBJECTS + reads), 2, 32) == reversed_tiles(2, 32)


def test_a_group_copies_together() -> None:
    found = ran(
        INIT
        + "cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(256), bar);\n"
        + "bar.arrive_and_wait(); y[t] = s[63 - t];"
    )
    assert output(found, 1) == reversed_tiles(1)
    assert found.total["async_copy_bytes"] == 256


def test_two_stages_with_an_object_each() -> None:
    found = ran(
        """__shared__ Barrier bars[2]; if (t < 2) init(&bars[t], blockDim.x); __syncthreads();
cuda::memcpy_async(&s[t], x + t, 4, bars[0]);
for (int k = 0; k < n; ++k) {
if (k + 1 < n) cuda::memcpy_async(&s[(k + 1) % 2 * 64 + t], x + 64 * (k + 1) + t, 4, bars[(k + 1) % 2]);
bars[k % 2].arrive_and_wait();
y[64 * k + t] = s[k % 2 * 64 + 63 - t];
__syncthreads(); }""",
        n=7,
    )
    assert output(found, 7) == reversed_tiles(7)


def test_a_copy_may_be_one_of_the_expected_arrivals() -> None:
    """`.noinc`: an object for 64 copies, on which no thread arrives itself."""
    found = ran(
        """__shared__ __mbarrier_t bar; if (t == 0) __mbarrier_init(&bar, blockDim.x); __syncthreads();
unsigned where = (unsigned)__cvta_generic_to_shared(&bar);
__pipeline_memcpy_async(&s[t], x + t, 4);
asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(where) : "memory");
while (!ended(&bar, 0)); y[t] = s[63 - t];"""
    )
    assert output(found, 1) == reversed_tiles(1)


# -- pipelines ---------------------------------------------------------------------------------------------------------
THREADS_PIPELINE = """auto pipe = cuda::make_pipeline(); int fetched = 0;
for (int k = 0; k < n; ++k) {
for (; fetched < n && fetched < k + 2; ++fetched) {
pipe.producer_acquire();
cuda::memcpy_async(&s[fetched % 2 * 64 + t], x + 64 * fetched + t, 4, pipe); pipe.producer_commit(); }
pipe.consumer_wait(); __syncthreads();
y[64 * k + t] = s[k % 2 * 64 + 63 - t];
pipe.consumer_release(); {end} }"""
BLOCKS_PIPELINE = """__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
auto pipe = cuda::make_pipeline(block, &state); int fetched = 0;
for (int k = 0; k < n; ++k) {
for (; fetched < n && fetched < k + 2; ++fetched) {
pipe.producer_acquire();
cuda::memcpy_async(block, s + fetched % 2 * 64, x + 64 * fetched, 256, pipe); pipe.producer_commit(); }
{wait}
y[64 * k + t] = s[k % 2 * 64 + 63 - t];
pipe.consumer_release(); }"""


def test_a_pipeline_of_each_thread_needs_the_blocks_barriers() -> None:
    assert output(ran(THREADS_PIPELINE.replace("{end}", "__syncthreads();"), n=6), 6) == reversed_tiles(6)
    assert set(ran(THREADS_PIPELINE.replace("{end}", ""), n=6).kinds) == {"race"}


def test_a_pipeline_of_the_block_needs_no_other_barrier() -> None:
    assert output(ran(BLOCKS_PIPELINE.replace("{wait}", "pipe.consumer_wait();"), n=6), 6) == reversed_tiles(6)


def test_a_pipeline_of_the_block_that_is_not_waited_for_is_found() -> None:
    assert {"missing_async_wait", "race"} & set(ran(BLOCKS_PIPELINE.replace("{wait}", ""), n=6).kinds)
    assert "missing_async_wait" in ran(BLOCKS_PIPELINE.replace("{wait}", "__syncthreads();"), n=1).kinds


def test_a_pipeline_with_producers_and_consumers() -> None:
    found = ran(
        """__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
auto pipe = cuda::make_pipeline(block, &state, t < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
if (t < 32) for (int k = 0; k < n; ++k) { pipe.producer_acquire();
  for (int j = t; j < 64; j += 32) cuda::memcpy_async(&s[k % 2 * 64 + j], x + 64 * k + j, 4, pipe);
  pipe.producer_commit();
} else for (int k = 0; k < n; ++k) { pipe.consumer_wait();
  for (int j = t - 32; j < 64; j += 64) y[64 * k + j] = s[k % 2 * 64 + 63 - j];
  pipe.consumer_release(); }""",
        block=96,
        n=7,
    )
    assert output(found, 7) == reversed_tiles(7)


def test_cooperative_groups_copy_and_wait() -> None:
    start = "cg::memcpy_async(block, s, x, 256); cg::memcpy_async(block, s + 64, x + 64, 256);\n"
    read = "y[t] = s[63 - t]; cg::wait(block); y[64 + t] = s[127 - t];"
    assert output(ran(start + "cg::wait_prior<1>(block); " + read), 2) == reversed_tiles(2)
    assert "missing_async_wait" in ran(start + "cg::wait_prior<2>(block); " + read).kinds


@pytest.mark.parametrize(
    "statements", [BLOCKS_PIPELINE.replace("{wait}", "pipe.consumer_wait();"), BLOCKS_PIPELINE.replace("{wait}", "")]
)
def test_one_and_three_threads_agree(statements: str) -> None:
    statements = statements.replace("x + ", "x + 64 * blockIdx.x + ").replace("y[", "y[256 * blockIdx.x + ")
    one, three = (ran(statements, n=4, grid=6, threads=k) for k in (1, 3))
    assert one.events == three.events
    assert one.outcome.counters == three.outcome.counters
    assert one.arrays["y"].tobytes() == three.arrays["y"].tobytes()
