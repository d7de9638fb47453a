"""Outputs that the host computed by itself, and outputs that it only handed on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.standin.device.rig import Ran, Rig, integer


def doubled(finish: Callable[[Rig, int], None], *, n: int = 1000) -> Ran:
    """x to the GPU and twice of it there, in ``y``; ``finish`` brings `out` about."""
    rig = Rig(n)
    rig.pin("x", "out")
    x, y = rig.device(2)
    rig.fresh()
    with rig.run() as ran:
        rig.m.copy(10, x, rig.at("x"), rig.bytes, 0, False)
        rig.launch(11, "twice", x, y, integer(n))
        finish(rig, y)
        rig.m.synchronize(13, "stream", 0)
    assert ran.kinds == []
    assert np.array_equal(rig.view("out"), 2 * rig.view("x"))
    return ran


def by_copy(rig: Rig, y: int) -> None:
    rig.m.copy(12, rig.at("out"), y, rig.bytes, 0, False)


def by_fetch(rig: Rig, y: int) -> None:
    rig.view("out")[:] = np.frombuffer(rig.m.fetch(12, y, rig.bytes, 0), np.float32)


def by_staging(rig: Rig, y: int) -> None:
    staging = rig.m.host_alloc(4, rig.bytes, 0)
    rig.m.copy(12, staging, y, rig.bytes, 0, False)
    rig.m.synchronize(12, "stream", 0)
    rig.view("out")[:] = rig.floats(staging, rig.n)


def by_managed_memory(rig: Rig, y: int) -> None:
    managed = rig.m.malloc(4, 0, rig.bytes, True)
    rig.launch(12, "twice", rig.at("x"), managed, integer(rig.n))
    rig.m.synchronize(12, "stream", 0)
    rig.view("out")[:] = rig.floats(managed, rig.n)


def in_place(rig: Rig, y: int) -> None:
    rig.launch(12, "twice", rig.at("x"), rig.at("out"), integer(rig.n))


@pytest.mark.parametrize("finish", [by_copy, by_fetch, by_staging, by_managed_memory, in_place])
def test_what_the_gpu_computed_may_reach_the_outputs_by_any_way(finish: Callable[[Rig, int], None]) -> None:
    assert doubled(finish).counted["host_written_bytes"] == 0


def to_an_array_of_pythons(rig: Rig, y: int) -> None:
    rig.m.fetch(12, y, rig.bytes, 0)


def to_pinned_memory(rig: Rig, y: int) -> None:
    rig.m.copy(12, rig.m.host_alloc(4, rig.bytes, 0), y, rig.bytes, 0, False)


def brought(finish: Callable[[Rig, int], None]) -> Ran:
    """A graded run in which a kernel computes ``y`` on the GPU."""
    rig = Rig(1000)
    rig.pin("x", "out")
    (y,) = rig.device()
    rig.fresh()
    with rig.run() as ran:
        rig.launch(11, "twice", rig.at("x"), y, integer(rig.n))
        finish(rig, y)
        rig.m.synchronize(13, "stream", 0)
    return ran


@pytest.mark.parametrize("finish", [to_an_array_of_pythons, to_pinned_memory])
def test_a_result_that_went_to_another_array_is_told_with_its_line(finish: Callable[[Rig, int], None]) -> None:
    (note,) = (found for found in brought(finish).report.findings if found.kind == "brought_elsewhere")
    assert (note.kind, note.severity, note.line) == ("brought_elsewhere", "note", 12)
    assert (note.array, note.facts["bytes"]) == ("out", 4000)


@pytest.mark.parametrize("finish", [by_copy, by_fetch, by_staging, lambda rig, y: None])
def test_nothing_is_told_of_a_result_that_came_or_was_not_sent(finish: Callable[[Rig, int], None]) -> None:
    assert brought(finish).of("brought_elsewhere") == []


def test_what_numpy_computes_beside_a_kernel_is_counted() -> None:
    def by_numpy(rig: Rig, y: int) -> None:
        rig.view("out")[:] = 2 * rig.view("x")
        rig.view("out")[0] += 0  # the result is right

    assert doubled(by_numpy).counted["host_written_bytes"] == 4000


def through(rig: Rig, give: Callable[[Rig], int], back: Callable[[Rig, int], None]) -> float:
    """``give`` brings values to the GPU, ``back`` brings them into `out`: how many of its bytes are the host's."""
    rig.pin("x", "out")
    rig.fresh()
    rig.view("x")[:] = np.random.default_rng(1).random(rig.n)
    with rig.run() as ran:
        back(rig, give(rig))
        rig.m.synchronize(13, "stream", 0)
    assert np.array_equal(rig.view("out"), 2 * rig.view("x"))
    return ran.counted["host_written_bytes"]


def in_pinned_memory(rig: Rig) -> int:
    """The host's answer, to the GPU."""
    pinned, y = rig.m.host_alloc(4, rig.bytes, 0), *rig.device()
    rig.floats(pinned, rig.n)[:] = 2 * rig.view("x")
    rig.m.copy(5, y, pinned, rig.bytes, 0, False)
    return y


def half_of_it(rig: Rig) -> int:
    """The inputs, by way of pinned memory, for a kernel that computes the answer."""
    pinned, x, y = rig.m.host_alloc(4, rig.bytes, 0), *rig.device(2)
    rig.floats(pinned, rig.n)[:] = rig.view("x")
    rig.m.copy(5, x, pinned, rig.bytes, 0, False)
    rig.launch(6, "twice", x, y, integer(rig.n))
    return y


def there_and_back(rig: Rig) -> int:
    """What a kernel has computed, to the host and to the GPU again."""
    y, staging = half_of_it(rig), rig.m.host_alloc(4, rig.bytes, 0)
    rig.m.copy(7, staging, y, rig.bytes, 0, False)
    rig.m.copy(8, y, staging, rig.bytes, 0, False)
    return y


@pytest.mark.parametrize("back", [by_copy, by_fetch])
def test_an_answer_of_numpy_that_goes_through_the_gpu_is_the_hosts(back: Callable[[Rig, int], None]) -> None:
    assert through(Rig(1000), in_pinned_memory, back) == 4000


@pytest.mark.parametrize("give", [half_of_it, there_and_back])
def test_an_answer_of_a_kernel_is_the_gpus_whatever_way_its_inputs_and_the_answer_go(
    give: Callable[[Rig], int],
) -> None:
    assert through(Rig(1000), give, by_copy) == 0


def test_what_numpy_writes_over_a_part_of_the_result_is_counted_in_whole_elements() -> None:
    rig = Rig()
    rig.pin("out")
    (y,) = rig.device()
    rig.fresh()
    with rig.run() as ran:
        rig.m.fill(5, y, 0, rig.bytes, 0, False)
        rig.m.copy(6, rig.at("out"), y, rig.bytes, 0, True)
        rig.view("out")[10:20] = 3.5
    assert ran.counted["host_written_bytes"] == 40


def test_a_strided_kernel_wrote_what_it_wrote_and_no_more() -> None:
    rig = Rig(1024)
    rig.pin("x", "out")
    rig.fresh()
    with rig.run() as ran:
        rig.launch(9, "strided", rig.at("x"), rig.at("out"), integer(512), integer(2))
        rig.m.synchronize(10, "stream", 0)
        rig.view("out")[512:] = -1.5
    assert ran.counted["host_written_bytes"] == 2048


def test_a_result_that_came_too_late_counts_for_nobody() -> None:
    rig = Rig()
    rig.pin("out")
    (y,) = rig.device()
    rig.fresh()
    with rig.run() as ran:
        rig.m.copy(6, rig.at("out"), y, rig.bytes, 0, False)
    assert ran.kinds == ["unfinished"]
    assert ran.counted["host_written_bytes"] == 0
