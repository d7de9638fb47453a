"""What is said of blocks that wait for each other, and of launches that do not let them."""

from __future__ import annotations

import numpy as np

from grader.verdict import Diagnostic
from tests import telling
from tests.simt.kernels import Ran, body, run

HEAD = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
SYNC = HEAD + body("x[i] = t;\ncg::this_grid().sync();\nx[n + i] = x[(i + 64) % n];", "int* x, int n")
X = np.zeros(2048, np.int32)


def said(ran: Ran, which: int = 0) -> Diagnostic:
    return telling.said(ran.events[which], "scan.cu", {"x": 4})


def test_a_deadlock_of_blocks_says_who_waits_where_for_what() -> None:
    source = body(
        "volatile int* f = x;\nif (t == 0) { while (f[1 - blockIdx.x] == 0) ;\nf[blockIdx.x] = 1; }", "int* x"
    )
    found = said(run(source, {"x": X}, grid=2))
    assert found.kind == "deadlock"
    assert found.message == (
        "deadlock: thread 0 of block 0 waits at scan.cu:5 for a change of x[1]; nobody who could write it is running"
    )


def test_a_wait_for_a_block_that_is_not_resident_names_it_and_how_many_can_be() -> None:
    source = body("if (t == 0) { atomicAdd(x, 1); while (((volatile int*)x)[0] < gridDim.x) ; }", "int* x")
    found = said(run(source, {"x": X}, grid=220, block=1024))
    assert found.message.endswith(
        "for a change of x[0], which depends on block 219; but only 216 of the launch's 220 blocks can be resident at once"
    )
    assert "blocks that have started before" in found.hint


def test_a_grid_sync_that_blocks_never_reach_is_called_by_its_name() -> None:
    source = SYNC.replace("cg::this", "if (blockIdx.x) cg::this")
    found = said(run(source, {"x": X}, 256, grid=4, block=64, cooperative=True), -1)
    assert "waits in grid.sync() at scan.cu:7 for blocks that never come to it" in found.message


def test_a_grid_sync_in_an_ordinary_launch_asks_for_a_cooperative_one() -> None:
    found = said(run(SYNC, {"x": X}, 256, grid=4, block=64))
    assert found.kind == "not_cooperative"
    assert found.message.startswith("grid.sync() needs a cooperative launch")
    assert "cooperative at the end of the launch line" in found.hint


def test_a_missing_grid_sync_is_not_answered_with_a_fence() -> None:
    source = SYNC.replace("x[n + i]", "cg::this_grid().sync(); x[i] = 1; __syncthreads();\nx[n + i]")
    found = said(run(source, {"x": X}, 256, grid=4, block=64, cooperative=True))
    assert found.kind == "race"
    assert (
        found.hint == "put a grid.sync() between the two accesses: it orders all blocks, __syncthreads() only its own"
    )


def test_too_many_blocks_for_a_cooperative_launch_are_refused_with_a_way_out() -> None:
    found = said(run(SYNC, {"x": X}, 256, grid=4000, block=64, cooperative=True))
    assert found.message == (
        "a cooperative launch of 4000 blocks, of which only 3456 can be resident at once (108 multiprocessors × "
        "32 blocks of 64 threads): k cannot start"
    )
    assert "sm_count" in found.hint


def test_a_launch_that_is_too_large_for_the_simulator_says_what_would_be_smaller() -> None:
    found = said(run(body("x[t] = 1;", "int* x"), {"x": X}, grid=1 << 24))
    assert found.message.startswith("the simulator does not run this launch of k: a grid of 16777216 blocks")
    assert found.hint == "look at its grid and block: launch fewer blocks or threads, or let each use less memory"
