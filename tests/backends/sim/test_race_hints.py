"""What a race's hint proposes: a barrier for one block, other memory or another launch for several, a grid's sync."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.backends.sim.results import finding
from grader.simt.events import Event, Place
from tests.telling import rule_of

HERE, THERE = (0, 0, 0), (1, 0, 0)
READ, WRITE = Place("read", (1, 0, 0), HERE, 8), Place("write", (0, 0, 0), HERE, 10)
RACE = Event(
    "race", "step", 10, (0, 0, 0), HERE, "st.f32", "global", "x", 400, 4, accesses=(READ, WRITE)
)  # fmt: skip
BETWEEN = replace(RACE, accesses=(READ, replace(WRITE, block=THERE)))


def rule(event: Event, *names: str) -> str:
    return rule_of(finding(event, "k.cu", {"x": 4}, names))


def test_in_shared_memory_a_barrier_of_the_block_is_enough() -> None:
    assert rule(replace(RACE, space="shared")) == "races.barrier_of_the_block"


def test_in_global_memory_a_second_array_or_a_second_launch_is_proposed() -> None:
    assert (rule(RACE), rule(BETWEEN)) == ("races.within_one_launch", "races.read_and_write_of_blocks")


@pytest.mark.parametrize("event", [RACE, BETWEEN], ids=["one block", "two blocks"])
def test_in_a_cooperative_launch_all_blocks_wait_for_each_other(event: Event) -> None:
    assert rule(replace(event, cooperative=True)) == "races.all_blocks_wait"


@pytest.mark.parametrize("event", [RACE, BETWEEN], ids=["one block", "two blocks"])
def test_two_parameters_that_are_one_array_are_the_cause_also_where_the_grid_waits(event: Event) -> None:
    for found in (event, replace(event, cooperative=True), replace(event, cooperative=True, text="grid.sync()")):
        assert rule(found, "now", "then") == "races.one_array_for_two_parameters"


def test_an_own_barrier_in_a_cooperative_launch_is_told_of_the_grids_and_of_its_counter() -> None:
    fence = replace(BETWEEN, kind="missing_fence")
    assert rule(fence) == "races.fence_before_the_signal"
    assert rule(replace(fence, cooperative=True)) == "races.barrier_of_ones_own"


def test_one_line_that_reads_and_writes_global_memory_is_no_case_for_a_barrier() -> None:
    assert rule(replace(RACE, accesses=(replace(READ, line=10), WRITE))) == "races.one_line"


def test_a_null_pointer_of_a_host_file_names_the_launch_in_it() -> None:
    null = replace(RACE, kind="null", accesses=(READ,))
    assert rule(null) == "faults.pointer_of_the_launch_line"
    launched = replace(null, launched_at="zero_copy_host.py:35")
    assert rule(launched) == "faults.pointer_of_the_host_file"
    assert finding(launched, "k.cu", {}).facts["launched_at"] == "zero_copy_host.py:35"
