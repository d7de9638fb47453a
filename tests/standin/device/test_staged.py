"""What the host moves by itself, and what it pins while the clock runs."""

from __future__ import annotations

import pytest

from tests.standin.device.rig import Ran, Rig, integer


def through_a_pinned_array(*, copies_by_host: bool) -> Ran:
    """x to the GPU by way of a pinned allocation, or from where it is; the second run is graded."""
    rig = Rig()
    rig.pin("x", "out")
    buffer = rig.m.host_alloc(4, rig.bytes, 0)
    x, y = rig.device(2)
    for seed in (1, 2):
        rig.fresh(seed)
        rig.view("x")[:] += seed * 1000
        with rig.run(graded=seed == 2) as ran:
            if copies_by_host:
                rig.floats(buffer, rig.n)[:] = rig.view("x")
            rig.m.copy(10, x, buffer if copies_by_host else rig.at("x"), rig.bytes, 0, False)
            rig.launch(11, "twice", x, y, integer(rig.n))
            rig.m.copy(12, buffer if not copies_by_host else rig.at("out"), y, rig.bytes, 0, False)
            rig.m.synchronize(13, "device", 0)
    assert ran.kinds == []
    return ran


def test_what_the_host_copies_to_a_pinned_array_counts() -> None:
    ran = through_a_pinned_array(copies_by_host=True)
    assert ran.counted["staged_bytes"] == 4000
    (note,) = ran.of("staged")
    assert note.facts == {"bytes": 4000}


def test_what_the_gpu_writes_to_a_pinned_array_does_not_count() -> None:
    ran = through_a_pinned_array(copies_by_host=False)
    assert ran.counted["staged_bytes"] == 0
    assert ran.of("staged") == []


def test_outputs_that_the_host_hands_on_count_as_moved_and_not_as_written_by_it() -> None:
    rig = Rig()
    rig.pin("x")
    buffer = rig.m.host_alloc(4, rig.bytes, 0)
    rig.fresh()
    with rig.run() as ran:
        rig.m.copy(10, buffer, rig.at("x"), rig.bytes, 0, False)
        rig.m.synchronize(11, "device", 0)
        rig.view("out")[:] = rig.floats(buffer, rig.n)
    assert (ran.counted["host_written_bytes"], ran.counted["staged_bytes"]) == (0, 4000)


@pytest.mark.parametrize("in_run", [True, False])
def test_memory_that_run_pins_counts(in_run: bool) -> None:
    rig = Rig()
    if not in_run:
        rig.pin("x")
    with rig.run() as ran:
        if in_run:
            rig.pin("x")
            rig.m.host_alloc(4, 100, 0)
    assert ran.counted["pinned_bytes"] == in_run * (rig.bytes + 100)
