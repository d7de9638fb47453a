"""Cooperative launches: `grid.sync()` orders the whole grid, and says so where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simt.kernels import Ran, run

HEAD = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
SHIFT = (
    'extern "C" __global__ void k(int* a, int* b, int n) {\n'
    "cg::grid_group grid = cg::this_grid();\n"
    "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "a[i] = i;\n"
    "grid.sync();\n"
    "b[i] = a[(i + 77) % n];\n"
    "grid.sync();\n"
    "a[i] = b[(i + 99) % n];\n}\n"
)


def shifted(source: str, blocks: int, threads: int = 1, *, cooperative: bool = True) -> Ran:
    n = 64 * blocks
    zeros = np.zeros(n, np.int32)
    return run(
        HEAD + source, {"a": zeros, "b": zeros}, n, grid=blocks, block=64, threads=threads, cooperative=cooperative
    )


@pytest.mark.parametrize("blocks", [1, 2, 7, 300])
def test_grid_sync_orders_all_blocks(blocks: int) -> None:
    ran = shifted(SHIFT, blocks)
    n = 64 * blocks
    assert ran.kinds == []
    assert ran.arrays["a"].tolist() == ((np.arange(n) + 77 + 99) % n).tolist()


@pytest.mark.parametrize("line", [5, 7])
@pytest.mark.parametrize("instead", ["", "__syncthreads();", "__threadfence();"])
def test_a_missing_grid_sync_is_a_race_every_time(line: int, instead: str) -> None:
    lines = SHIFT.split("\n")
    assert lines[line - 1] == "grid.sync();"
    lines[line - 1] = instead
    races = [shifted("\n".join(lines), 7, threads).events for threads in (1, 3)]
    assert races[0] == races[1]
    assert "race" in [e.kind for e in races[0]]
    assert all(e.kind == "race" and e.text == "grid.sync()" for e in races[0])


def test_it_is_the_same_with_any_number_of_threads() -> None:
    one, three = shifted(SHIFT, 30, 1), shifted(SHIFT, 30, 3)
    assert one.outcome.counters == three.outcome.counters
    assert one.arrays["a"].tobytes() == three.arrays["a"].tobytes()


def test_without_a_cooperative_launch_the_grid_is_not_valid_and_cannot_wait() -> None:
    ran = shifted(SHIFT, 2, cooperative=False)
    assert [(e.kind, e.line) for e in ran.events] == [("not_cooperative", 5 + 2)]
    assert not ran.outcome.complete
    asks = 'extern "C" __global__ void k(int* a, int* b, int n) { a[0] = cg::this_grid().is_valid(); }\n'
    assert [shifted(asks, 1, cooperative=yes).arrays["a"][0] for yes in (False, True)] == [0, 1]


@pytest.mark.parametrize("rest", ["", "__syncthreads();"])
def test_one_block_that_misses_grid_sync_leaves_the_others_waiting_there(rest: str) -> None:
    lines = SHIFT.split("\n")
    lines[4], lines[6] = f"if (blockIdx.x != 2) grid.sync(); {rest}", ""
    ran = shifted("\n".join(lines), 4)
    found = ran.events[-1]
    assert (found.kind, found.line, found.text, found.thread) == ("block_deadlock", 5 + 2, "grid.sync()", (0, 0, 0))
    assert found.block[0] != 2


def test_one_thread_that_misses_grid_sync_is_named() -> None:
    source = SHIFT.replace("a[i] = i;\ngrid.sync();", "a[i] = i;\nif (threadIdx.x != 5) grid.sync();")
    ran = shifted(source, 2)
    assert ran.events[0].kind == "barrier_divergence"
    assert {(a.thread[0], a.line) for a in ran.events[0].accesses} == {(0, 5 + 2), (5, 7 + 2)}


@pytest.mark.parametrize("leaves", ["i >= n - 5", "i >= n - 32", "threadIdx.x == 0"])
def test_a_thread_that_ends_before_grid_sync_is_named(leaves: str) -> None:
    ran = shifted(SHIFT.replace("a[i] = i;\ngrid.sync();", f"if ({leaves}) return;\ngrid.sync();"), 4)
    found = next(e for e in ran.events if e.kind == "left_grid")
    assert found.line == 5 + 2
    gone, waits = found.accesses
    assert (gone.kind, waits.kind, waits.line) == ("exit", "barrier", 5 + 2)
    assert gone.block == waits.block == found.block


def test_a_thread_may_end_after_its_last_grid_sync_and_before_a_barrier_of_its_block() -> None:
    lines = SHIFT.split("\n")
    lines[6:8] = "if (i >= n - 5) return; __syncthreads();", ""
    assert shifted("\n".join(lines), 4).kinds == []


def test_more_blocks_than_can_be_resident_are_refused_with_both_numbers() -> None:
    ran = shifted(SHIFT, 108 * 32 + 1)
    assert [e.kind for e in ran.events] == ["launch_limit"]
    assert "3457 blocks" in ran.events[0].text
    assert "3456 can be resident" in ran.events[0].text


def test_shared_memory_limits_how_many_can_be_resident() -> None:
    source = 'extern "C" __global__ void k(int* a) { extern __shared__ int s[]; s[threadIdx.x] = 1; a[0] = 1; }\n'
    ran = run(source, {"a": np.zeros(1, np.int32)}, grid=109, shared=100 << 10, cooperative=True)
    assert [e.kind for e in ran.events] == ["launch_limit"]
    assert "only 108 can be resident" in ran.events[0].text


def test_a_grid_may_wait_many_times() -> None:
    source = (
        'extern "C" __global__ void k(int* a, int* b, int n) {\n'
        "cg::grid_group grid = cg::this_grid();\n"
        "int i = grid.thread_rank(); int* from = a; int* to = b; a[i] = i;\n"
        "for (int k = 0; k < 50; ++k) { grid.sync(); to[i] = from[(i + 1) % n];\n"
        "int* old = from; from = to; to = old; }\n}\n"
    )
    ran = shifted(source, 9)
    assert ran.kinds == []
    assert ran.arrays["a"].tolist() == ((np.arange(576) + 50) % 576).tolist()
