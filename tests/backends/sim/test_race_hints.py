"""What a race's hint proposes: a barrier for one block, other memory or another launch for several, a grid's sync."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.backends.sim.results import finding
from grader.grading.hints import hint as hint_of
from grader.grading.hints.rules import Seen
from grader.simt.events import Event, Place

HERE, THERE = (0, 0, 0), (1, 0, 0)
READ, WRITE = Place("read", (1, 0, 0), HERE, 8), Place("write", (0, 0, 0), HERE, 10)
RACE = Event(
    "race", "step", 10, (0, 0, 0), HERE, "st.f32", "global", "x", 400, 4, accesses=(READ, WRITE)
)  # fmt: skip
BETWEEN = replace(RACE, accesses=(READ, replace(WRITE, block=THERE)))


def hint(event: Event, *names: str) -> str:
    return hint_of(finding(event, "k.cu", {"x": 4}, names), Seen())[0]


def test_in_shared_memory_a_barrier_of_the_block_is_enough() -> None:
    assert hint(replace(RACE, space="shared")) == "put a __syncthreads() between the two accesses"


@pytest.mark.parametrize("event", [RACE, BETWEEN], ids=["one block", "two blocks"])
def test_in_global_memory_a_second_array_or_a_second_launch_is_proposed(event: Event) -> None:
    assert "write to another array than the one that is read, or use a second launch" in hint(event)


@pytest.mark.parametrize("event", [RACE, BETWEEN], ids=["one block", "two blocks"])
def test_in_a_cooperative_launch_all_blocks_wait_for_each_other(event: Event) -> None:
    said = hint(replace(event, cooperative=True))
    assert "cooperative_groups::this_grid().sync()" in said
    assert "second launch" not in said


@pytest.mark.parametrize("event", [RACE, BETWEEN], ids=["one block", "two blocks"])
def test_two_parameters_that_are_one_array_are_the_cause_also_where_the_grid_waits(event: Event) -> None:
    for found in (event, replace(event, cooperative=True), replace(event, cooperative=True, text="grid.sync()")):
        assert hint(found, "now", "then") == (
            "the kernel's now and then are the same memory here: pass two arrays that take turns"
        )


def test_an_own_barrier_in_a_cooperative_launch_is_told_of_the_grids_and_of_its_counter() -> None:
    fence = replace(BETWEEN, kind="missing_fence")
    assert "put a __threadfence() before that atomic" in hint(fence)
    own = hint(replace(fence, cooperative=True))
    assert "this_grid().sync()" in own
    assert "a counter that begins anew in each launch" in own


def test_one_line_that_reads_and_writes_global_memory_is_no_case_for_a_barrier() -> None:
    said = hint(replace(RACE, accesses=(replace(READ, line=10), WRITE)))
    assert "__syncthreads" not in said
    assert "atomicAdd" in said
    assert "another array" in said


def test_a_null_pointer_of_a_host_file_names_the_launch_in_it() -> None:
    null = replace(RACE, kind="null", accesses=(READ,))
    assert hint(null) == "check which pointer the launch line passes here"
    told = hint(replace(null, text="zero_copy_host.py:35"))
    assert told.startswith("check which pointer the launch at zero_copy_host.py:35 passes here")
    assert "not registered" in told
