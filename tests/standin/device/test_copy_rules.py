"""What CUDA leaves undefined or refuses of copies: overlap, ranges that are pinned in part, and unpinning too early."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.protocol import CudaRefusal
from tests.standin.device.rig import PAGE, Rig


def test_a_copy_onto_a_part_of_itself_is_refused():
    rig = Rig()
    (x,) = rig.device()
    with pytest.raises(CudaRefusal, match="overlap by 96 bytes"):
        rig.m.copy(5, x + 4, x, 100, 0, False)
    rig.m.copy(6, x + 100, x, 100, 0, False)


def test_a_range_that_is_pinned_in_part_is_refused_with_how_much_is():
    rig = Rig(4 * PAGE // 4)
    (x,) = rig.device()
    rig.m.host_register(4, rig.at("x"), 2 * PAGE, 0)
    with pytest.raises(
        CudaRefusal, match=f"only {2 * PAGE} of the {4 * PAGE} bytes of x that are copied are pinned"
    ) as at:
        rig.m.copy(5, x, rig.at("x"), rig.bytes, 0, False)
    assert at.value.name == "cudaErrorInvalidValue"
    rig.m.copy(6, x, rig.at("x"), 2 * PAGE, 0, False)
    rig.m.copy(7, x, rig.at("x") + 2 * PAGE, 2 * PAGE, 0, False)


def test_a_range_that_two_registrations_pin_is_pinned():
    rig = Rig(4 * PAGE // 4)
    (x,) = rig.device()
    for part in range(2):
        rig.m.host_register(4, rig.at("x") + 2 * part * PAGE, 2 * PAGE, 0)
    with rig.run() as ran:
        rig.m.copy(5, x, rig.at("x"), rig.bytes, 0, False)
        rig.m.synchronize(6, "device", 0)
    assert ran.counted["pageable_bytes"] == 0


def test_a_copy_from_host_to_host_is_done_when_its_call_returns():
    rig = Rig()
    rig.pin("x", "out")
    before = rig.fresh()
    with rig.run() as ran:
        rig.m.copy(5, rig.at("out"), rig.at("x"), rig.bytes, rig.streams(1)[0], False)
        rig.view("x")[:] = 0
        assert np.array_equal(rig.view("out"), before)
    assert ran.kinds == []


def test_the_end_of_a_copy_that_is_freed_is_found_also_right_beside_the_other():
    rig = Rig()
    first, second = (rig.m.malloc(4, 0, PAGE, True) for _ in range(2))
    assert second == first + PAGE
    with rig.run() as ran:
        rig.m.copy(5, second, first, PAGE, 0, False)
        rig.m.free(6, second)
        rig.m.synchronize(7, "device", 0)
    (found,) = ran.report.findings
    assert (found.kind, found.line) == ("use_after_free", 5)
    assert (found.cause, found.facts["gone_at"]) == ("freed", 6)


def test_unpinning_before_the_copy_is_done_is_found():
    rig = Rig()
    rig.pin("x")
    (x,) = rig.device()
    with rig.run() as ran:
        rig.m.copy(5, x, rig.at("x"), rig.bytes, 0, False)
        rig.m.host_unregister(6, rig.at("x"))
        rig.m.synchronize(7, "device", 0)
    (found,) = ran.report.findings
    assert found.kind == "use_after_free"
    assert (found.cause, found.line, found.facts["gone_at"]) == ("unpinned", 5, 6)


def test_unpinning_behind_a_wait_is_fine():
    rig = Rig()
    rig.pin("x")
    (x,) = rig.device()
    with rig.run() as ran:
        rig.m.copy(5, x, rig.at("x"), rig.bytes, 0, False)
        rig.m.synchronize(6, "device", 0)
        rig.m.host_unregister(7, rig.at("x"))
    assert ran.kinds == []


@pytest.mark.parametrize("part", ["nothing", "one element", "all"])
def test_a_copy_of_fresh_memory_to_the_host_is_noted_with_its_allocation(part: str) -> None:
    rig = Rig()
    rig.pin("out")
    (y,) = rig.device()
    with rig.run() as ran:
        if part != "nothing":
            rig.m.fill(8, y, 0, rig.bytes if part == "all" else 4, 0, False)
        rig.m.copy(9, rig.at("out"), y, rig.bytes, 0, False)
        rig.m.synchronize(10, "device", 0)
    assert ran.kinds == []
    found = [(found.line, found.facts["memory"], found.facts["allocated_at"]) for found in ran.of("unwritten_copy")]
    assert found == (part == "nothing") * [(9, "the device copy of out", 3)]
