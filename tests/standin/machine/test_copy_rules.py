"""What CUDA leaves undefined or refuses of copies: overlap, ranges that are pinned in part, and unpinning too early."""

from __future__ import annotations

import pytest

from grader.standin.protocol import CudaError
from tests.standin.machine.rig import FILE, PAGE, Rig


def test_a_copy_onto_a_part_of_itself_is_refused():
    rig = Rig()
    (x,) = rig.device()
    with pytest.raises(CudaError, match="overlap by 96 bytes"):
        rig.m.copy(5, x + 4, x, 100, 0, False)
    rig.m.copy(6, x + 100, x, 100, 0, False)


def test_a_range_that_is_pinned_in_part_is_refused_with_how_much_is():
    rig = Rig(4 * PAGE // 4)
    (x,) = rig.device()
    rig.m.host_register(4, rig.at("x"), 2 * PAGE, 0)
    with pytest.raises(
        CudaError, match=f"only {2 * PAGE} of the {4 * PAGE} bytes of x that are copied are pinned"
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
    assert found.message == (
        f"the copy on the default stream ({FILE}:5) uses x, which was unpinned on line 6 before the copy was done"
    )


def test_unpinning_behind_a_wait_is_fine():
    rig = Rig()
    rig.pin("x")
    (x,) = rig.device()
    with rig.run() as ran:
        rig.m.copy(5, x, rig.at("x"), rig.bytes, 0, False)
        rig.m.synchronize(6, "device", 0)
        rig.m.host_unregister(7, rig.at("x"))
    assert ran.kinds == []
