"""What is said of blocks that wait for each other, and of launches that do not let them."""

from __future__ import annotations

import numpy as np

from grader.backends.sim.results import finding
from grader.findings.record import Finding
from tests.simt.kernels import Ran, body, run
from tests.telling import rule_of

HEAD = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
SYNC = HEAD + body("x[i] = t;\ncg::this_grid().sync();\nx[n + i] = x[(i + 64) % n];", "int* x, int n")
X = np.zeros(2048, np.int32)


def found_in(ran: Ran, which: int = 0) -> Finding:
    return finding(ran.events[which], "scan.cu", {"x": 4})


def test_a_deadlock_of_blocks_says_who_waits_where_for_what() -> None:
    source = body(
        "volatile int* f = x;\nif (t == 0) { while (f[1 - blockIdx.x] == 0) ;\nf[blockIdx.x] = 1; }", "int* x"
    )
    found = found_in(run(source, {"x": X}, grid=2))
    assert (found.kind, found.cause, found.line) == ("deadlock", "memory", 5)
    assert (found.array, found.index, found.thread, found.block) == ("x", 1, (0, 0, 0), (0, 0, 0))
    assert rule_of(found) == "faults.who_should_write_it"


def test_a_wait_for_a_block_that_is_not_resident_names_it_and_how_many_can_be() -> None:
    source = body("if (t == 0) { atomicAdd(x, 1); while (((volatile int*)x)[0] < gridDim.x) ; }", "int* x")
    found = found_in(run(source, {"x": X}, grid=220, block=1024))
    assert (found.cause, found.index, found.facts["detail"]) == ("memory", 0, (216, 220, 219))
    assert rule_of(found) == "faults.blocks_that_have_started"


def test_a_grid_sync_that_blocks_never_reach_is_called_by_its_name() -> None:
    source = SYNC.replace("cg::this", "if (blockIdx.x) cg::this")
    found = found_in(run(source, {"x": X}, 256, grid=4, block=64, cooperative=True), -1)
    assert (found.kind, found.cause, found.line) == ("deadlock", "grid_sync", 7)


def test_a_grid_sync_in_an_ordinary_launch_asks_for_a_cooperative_one() -> None:
    found = found_in(run(SYNC, {"x": X}, 256, grid=4, block=64))
    assert found.kind == "not_cooperative"
    assert rule_of(found) == "faults.cooperative_launch_line"


def test_a_missing_grid_sync_is_not_answered_with_a_fence() -> None:
    source = SYNC.replace("x[n + i]", "cg::this_grid().sync(); x[i] = 1; __syncthreads();\nx[n + i]")
    found = found_in(run(source, {"x": X}, 256, grid=4, block=64, cooperative=True))
    assert found.kind == "race"
    assert rule_of(found) == "races.grid_sync_between_blocks"


def test_too_many_blocks_for_a_cooperative_launch_are_refused_with_a_way_out() -> None:
    found = found_in(run(SYNC, {"x": X}, 256, grid=4000, block=64, cooperative=True))
    assert (found.kind, found.cause) == ("launch_limit", "cooperative")
    assert "3456" in found.facts["text"]
    assert rule_of(found) == "faults.fewer_blocks_with_more_work"


def test_a_launch_that_is_too_large_for_the_simulator_says_what_would_be_smaller() -> None:
    found = found_in(run(body("x[t] = 1;", "int* x"), {"x": X}, grid=1 << 24))
    assert (found.kind, found.cause) == ("launch_limit", "simulator")
    assert "16777216" in found.facts["text"]
    assert rule_of(found) == "faults.smaller_launch"
