"""Mapped, pinned and managed memory."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.protocol import HOST_BASE, CudaRefusal
from tests.standin.device.rig import PAGE, SHARED_BYTES, Ran, Rig, integer, pointer

PAGE_BYTES = 64 << 10


# -- mapped -----------------------------------------------------------------------------------------------------------
def mapped(n: int, kernel: str, *more: bytes, length: int | None = None) -> tuple[Rig, Ran]:
    rig = Rig(n)
    rig.pin("x", "out")
    rig.fresh()
    with rig.run() as ran:
        rig.launch(9, kernel, rig.at("x"), rig.at("out"), integer(length or n), *more)
        rig.m.synchronize(10, "stream", 0)
    assert ran.kinds == []
    return rig, ran


def test_a_kernel_works_in_place_on_pinned_memory_and_each_byte_crosses_once() -> None:
    rig, ran = mapped(1024, "twice")
    assert np.array_equal(rig.view("out"), 2 * rig.view("x"))
    assert ran.counted["mapped_bytes"] == 2 * rig.bytes
    assert ran.counted["copies"] == 0


def test_what_is_read_twice_crosses_twice() -> None:
    rig, ran = mapped(1024, "read_twice")
    assert ran.counted["mapped_bytes"] == 3 * rig.bytes


def test_uncoalesced_reads_move_whole_sectors() -> None:
    _, ran = mapped(8192, "strided", integer(8), length=1024)
    assert ran.counted["mapped_bytes"] == 1024 * 32 + 4096


def test_memory_that_is_not_pinned_cannot_be_reached_by_a_kernel() -> None:
    rig = Rig()
    rig.pin("out")
    with rig.run() as ran:
        rig.launch(9, "twice", rig.at("x"), rig.at("out"), integer(rig.n))
        with pytest.raises(CudaRefusal) as raised:
            rig.m.synchronize(10, "stream", 0)
    assert raised.value.name == "cudaErrorIllegalAddress"
    found = ran.report.findings[0]
    assert (found.kind, found.cause, found.kernel, found.line) == ("cuda_error", "ordinary_memory", "twice", 9)


def test_a_stray_access_behind_a_pinned_array_is_the_kernels_and_has_the_arrays_name() -> None:
    rig = Rig()
    rig.pin("x", "out")
    with rig.run() as ran:
        rig.launch(9, "twice", rig.at("x"), rig.at("out"), integer(rig.n + 1))
        with pytest.raises(CudaRefusal):
            rig.m.synchronize(10, "stream", 0)
    assert [(e.kind, e.array) for e in ran.report.outcome.events] == [("out_of_bounds", "x"), ("out_of_bounds", "out")]
    assert ran.kinds == []


# -- pinned -----------------------------------------------------------------------------------------------------------
def test_pages_are_pinned_once() -> None:
    rig = Rig(100)
    rig.pin("x")
    with pytest.raises(CudaRefusal) as raised:
        rig.m.host_register(5, rig.at("x") + 2048, 64, 0)
    assert raised.value.name == "cudaErrorHostMemoryAlreadyRegistered"
    rig.m.host_unregister(6, rig.at("x"))
    with pytest.raises(CudaRefusal) as raised:
        rig.m.host_unregister(7, rig.at("x"))
    assert raised.value.name == "cudaErrorHostMemoryNotRegistered"
    rig.pin("x")


def test_a_copy_from_pinned_memory_is_not_pageable_and_one_from_unpinned_memory_is_again() -> None:
    rig = Rig()
    (x,) = rig.device()
    rig.pin("x")
    for pageable in (0, rig.bytes):
        with rig.run() as ran:
            rig.m.copy(8, x, rig.at("x"), rig.bytes, 0, True)
        assert (ran.counted["pageable_bytes"], ran.counted["copied_bytes"], ran.kinds) == (pageable, rig.bytes, [])
        if not pageable:
            rig.m.host_unregister(9, rig.at("x"))


@pytest.mark.parametrize("pinned", [True, False])
def test_a_blocking_copy_from_ordinary_memory_does_not_say_that_its_bytes_have_arrived(pinned: bool) -> None:
    rig = Rig()
    x, y = rig.device(2)
    (stream,) = rig.streams(1)
    rig.pin(*["x"] * pinned)
    rig.fresh()
    with rig.run() as ran:
        rig.m.copy(10, x, rig.at("x"), rig.bytes, 0, True)
        rig.launch(11, "twice", x, y, integer(rig.n), stream=stream)
        rig.m.synchronize(12, "stream", stream)
    assert ran.kinds == ["missing_wait"] * (not pinned)
    errors = [found for found in ran.report.findings if found.severity == "error"]
    assert all(found.facts["pageable"] for found in errors)


def test_a_blocking_copy_from_ordinary_memory_waits_for_what_its_stream_holds() -> None:
    rig = Rig()
    rig.pin("out")
    (y,) = rig.device()
    rig.fresh()
    with rig.run() as ran:
        rig.m.fill(9, y, 0, rig.bytes, 0, False)
        rig.m.copy(10, rig.at("out"), y, rig.bytes, 0, False)
        rig.m.copy(11, y, rig.at("x"), rig.bytes, 0, True)
        assert not rig.view("out").any()
    assert ran.kinds == []
    assert ran.counted["host_waits"] == 1


def test_pinned_memory_is_given_out_by_pages_until_none_is_left() -> None:
    rig = Rig()
    a, b = (rig.m.host_alloc(1, 5000, 0) for _ in range(2))
    assert b - a == 2 * PAGE
    assert a >= HOST_BASE + 2 * PAGE
    with pytest.raises(CudaRefusal) as raised:
        rig.m.host_alloc(2, SHARED_BYTES, 0)
    assert raised.value.name == "cudaErrorMemoryAllocation"
    rig.m.free_host(3, a)
    assert rig.m.host_alloc(4, 8000, 0) == a


def test_memory_goes_back_the_way_it_came() -> None:
    rig = Rig()
    (x,) = rig.device()
    pinned = rig.m.host_alloc(4, rig.bytes, 0)
    rig.pin("x")
    wrong = ((rig.m.free, pinned), (rig.m.free, x + 4), (rig.m.free_host, x), (rig.m.free_host, rig.at("x")))
    for give_back, address in wrong:
        with pytest.raises(CudaRefusal, match=r"cannot be freed this way: free\(\) is for memory of malloc\(\)"):
            give_back(5, address)
    rig.m.free(6, x)
    with pytest.raises(CudaRefusal, match="first address, once"):
        rig.m.free(7, x)


def test_pointers_tell_what_they_are() -> None:
    rig = Rig()
    (x,) = rig.device()
    shared = rig.m.malloc(3, 0, 100, True)
    assert rig.m.pointer(rig.at("x"))["type"] == 0
    rig.pin("x")
    assert [rig.m.pointer(a)["type"] for a in (rig.at("x"), x, shared)] == [1, 2, 3]
    assert rig.m.pointer(rig.at("x"))["device_pointer"] == rig.at("x")
    assert rig.m.pointer(x)["host_pointer"] == 0


# -- managed ----------------------------------------------------------------------------------------------------------
def managed(rig: Rig, x: int, y: int, *, prefetch: bool, value: float) -> Ran:
    """The host writes x, a kernel reads it, the host has y."""
    with rig.run() as ran:
        rig.floats(x, rig.n)[:] = value
        if prefetch:
            rig.m.prefetch(11, x, rig.bytes, 0, 0)
        rig.launch(12, "twice", x, y, integer(rig.n))
        rig.m.synchronize(13, "stream", 0)
        assert (rig.floats(y, rig.n) == 2 * value).all()
    assert ran.kinds == []
    return ran


def test_pages_that_the_host_wrote_come_by_faults_unless_they_are_prefetched() -> None:
    rig = Rig(40_000)
    x, y = (rig.m.malloc(5, 0, rig.bytes, True) for _ in range(2))
    pages = -(-rig.bytes // PAGE_BYTES) * PAGE_BYTES
    ran = managed(rig, x, y, prefetch=False, value=1)
    assert (ran.counted["faulted_bytes"], ran.counted["prefetched_bytes"]) == (pages, 0)
    ran = managed(rig, x, y, prefetch=True, value=2)
    assert (ran.counted["faulted_bytes"], ran.counted["prefetched_bytes"]) == (0, rig.bytes)
    ran = managed(rig, x, y, prefetch=False, value=2)  # nothing was written: the pages are still there
    assert ran.counted["faulted_bytes"] == 0


def test_a_page_that_is_mostly_read_stays_on_the_host_too() -> None:
    rig = Rig(PAGE_BYTES // 4)
    x, y = (rig.m.malloc(5, 0, rig.bytes, True) for _ in range(2))
    rig.m.advise(6, x, rig.bytes, 1, 0)
    assert managed(rig, x, y, prefetch=False, value=1).counted["faulted_bytes"] == PAGE_BYTES
    assert managed(rig, x, y, prefetch=False, value=1).counted["faulted_bytes"] == 0
    assert managed(rig, x, y, prefetch=False, value=3).counted["faulted_bytes"] == PAGE_BYTES


READ_MOSTLY, PREFERRED, ACCESSED_BY = 1, 3, 5


@pytest.mark.parametrize(
    ("advice", "in_place"),
    [
        ([(ACCESSED_BY, 0)], True),
        ([(PREFERRED, -1), (ACCESSED_BY, 0)], True),
        ([(PREFERRED, -1)], False),
        ([(ACCESSED_BY, -1)], False),
        ([(ACCESSED_BY, 0), (READ_MOSTLY, 0)], False),
    ],
)
def test_pages_that_a_device_is_known_to_access_are_used_over_the_link(
    advice: list[tuple[int, int]], in_place: bool
) -> None:
    rig = Rig(1000)
    x, y = (rig.m.malloc(5, 0, rig.bytes, True) for _ in range(2))
    for what, device in advice:
        rig.m.advise(6, x, rig.bytes, what, device)
    ran = managed(rig, x, y, prefetch=False, value=1)
    moved = ran.counted["faulted_bytes"], ran.counted["mapped_bytes"]
    assert moved == ((0, rig.bytes) if in_place else (PAGE_BYTES, 0))


def test_a_prefetch_before_the_host_writes_is_in_vain_and_the_note_says_so() -> None:
    rig = Rig(PAGE_BYTES // 2)
    x, y = (rig.m.malloc(5, 0, rig.bytes, True) for _ in range(2))
    for early in (False, True):
        with rig.run() as ran:
            if early:
                rig.m.prefetch(11, x, rig.bytes, 0, 0)
            rig.floats(x, rig.n)[:] = 3 + early
            if not early:
                rig.m.prefetch(11, x, rig.bytes, 0, 0)
            rig.launch(12, "twice", x, y, integer(rig.n))
            rig.m.synchronize(13, "stream", 0)
        assert ran.counted["faulted_bytes"] == (rig.bytes if early else 0)
        assert ran.counted["prefetched_bytes"] == (0 if early else rig.bytes)
    (found,) = ran.of("page_faults")
    assert (found.cause, found.line, found.facts["why"]["line"]) == ("host_wrote", 12, 11)
    assert (found.facts["bytes"], found.facts["allocated_at"]) == (128 << 10, 5)


def test_a_prefetch_that_the_host_spoils_just_before_it_waits_is_in_vain_too() -> None:
    rig = Rig(PAGE_BYTES // 2)
    x = rig.m.malloc(5, 0, rig.bytes, True)
    with rig.run() as ran:
        rig.m.prefetch(11, x, rig.bytes, 0, 0)
        rig.floats(x, rig.n)[0] = 1  # one of two pages
        rig.m.synchronize(13, "stream", 0)
    assert ran.counted["prefetched_bytes"] == PAGE_BYTES


def test_a_prefetch_to_the_host_is_none_to_the_gpu() -> None:
    rig = Rig(PAGE_BYTES // 4)
    x, y = (rig.m.malloc(5, 0, rig.bytes, True) for _ in range(2))
    with rig.run() as ran:
        rig.floats(x, rig.n)[:] = 1
        rig.m.prefetch(11, x, rig.bytes, -1, 0)
        rig.launch(12, "twice", x, y, integer(rig.n))
        rig.m.synchronize(13, "stream", 0)
    assert (ran.counted["prefetched_bytes"], ran.counted["faulted_bytes"]) == (0, PAGE_BYTES)
    (found,) = ran.of("page_faults")
    assert (found.cause, found.facts["why"]["line"]) == ("sent_back", 11)


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_a_prefetch_that_covers_a_part_is_noted_with_how_much(parts: int) -> None:
    rig = Rig(4 * PAGE_BYTES // 4)
    x, y = (rig.m.malloc(5, 0, rig.bytes, True) for _ in range(2))
    with rig.run() as ran:
        rig.floats(x, rig.n)[:] = 1
        for part in range(parts):
            rig.m.prefetch(11, x + part * PAGE_BYTES, PAGE_BYTES, 0, 0)
        rig.launch(12, "twice", x, y, integer(rig.n))
        rig.m.synchronize(13, "stream", 0)
    (found,) = [one for one in ran.report.findings if one.kind == "page_faults"] or [None]
    if parts == 4:
        assert found is None
        return
    assert (found.cause, found.facts["bytes"]) == ("in_part", 256 << 10)
    assert found.facts["why"] == {"line": 11, "more": parts - 1, "covered": parts * (64 << 10)}


@pytest.mark.parametrize("early", [True, False])
def test_what_the_host_writes_while_a_kernel_is_queued_that_writes_for_it_is_noted(early: bool) -> None:
    rig = Rig()
    x, y, z = (rig.m.malloc(line, 0, rig.bytes, True) for line in (5, 6, 7))
    with rig.run() as ran:
        rig.floats(x, rig.n)[:] = 1
        rig.launch(12, "twice", x, y, integer(rig.n))
        if not early:
            rig.m.synchronize(13, "stream", 0)
        with np.errstate(invalid="ignore"):
            rig.floats(z, rig.n)[:] = rig.floats(y, rig.n) + 5
        rig.launch(15, "add_one", z, integer(rig.n))
        rig.m.synchronize(16, "stream", 0)
    assert ran.kinds == []
    found = [(found.line, found.facts["memory"], found.facts["result"]) for found in ran.of("read_too_early")]
    assert found == early * [(12, "managed memory allocated at line 7", "managed memory allocated at line 6")]


def test_advice_and_prefetches_are_for_managed_memory() -> None:
    rig = Rig()
    (x,) = rig.device()
    for call in (lambda: rig.m.advise(1, x, 4, 1, 0), lambda: rig.m.prefetch(1, x, 4, 0, 0)):
        with pytest.raises(CudaRefusal, match="is for managed memory"):
            call()


def test_memory_that_is_not_there_is_refused_with_its_reason() -> None:
    rig = Rig()
    (x,) = rig.device()
    rig.m.free(7, x)
    for address, why in ((x, "freed on line 7"), (1 << 40, "not an address of memory")):
        with pytest.raises(CudaRefusal, match=why):
            rig.m.fill(8, address, 0, 4, 0, False)
    (y,) = rig.device()
    with pytest.raises(CudaRefusal, match="only 4 bytes are left there"):
        rig.m.fill(8, y + rig.bytes - 4, 0, 8, 0, False)


def test_a_device_has_so_much_memory() -> None:
    rig = Rig()
    with pytest.raises(CudaRefusal, match="out of memory: 2147483648 bytes are requested"):
        rig.m.malloc(3, 0, 2 << 30, False)
    with rig.run() as ran:
        for _ in range(3):
            rig.m.free(5, rig.m.malloc(4, 0, 1000, False))
    assert ran.counted["device_bytes"] == 1000
    assert rig.m.pointer(int.from_bytes(pointer(5), "little"))["type"] == 0


@pytest.mark.parametrize("written", ["nothing", "half", "all"])
def test_managed_memory_that_nobody_wrote_may_be_anything(written: str) -> None:
    rig = Rig()
    x, y = (rig.m.malloc(line, 0, rig.bytes, True) for line in (5, 6))
    with rig.run() as ran:
        rig.floats(x, {"nothing": 0, "half": rig.n // 2, "all": rig.n}[written])[:] = 3
        rig.launch(12, "twice", x, y, integer(rig.n))
        rig.m.synchronize(13, "stream", 0)
    early = [(event.kind, event.address) for event in ran.report.outcome.events]
    first = {"nothing": x, "half": x + rig.bytes // 2}
    assert early == ([("uninitialised_read", first[written])] if written in first else [])
    assert np.isnan(rig.floats(y, rig.n)).sum() == {"nothing": rig.n, "half": rig.n // 2, "all": 0}[written]


def test_managed_memory_that_was_filled_or_copied_to_is_written() -> None:
    rig = Rig()
    rig.pin("x")
    rig.fresh()
    x, y = (rig.m.malloc(line, 0, rig.bytes, True) for line in (5, 6))
    with rig.run() as ran:
        rig.m.fill(9, x, 0, 4, 0, False)
        rig.m.copy(10, x + 4, rig.at("x") + 4, rig.bytes - 4, 0, False)
        rig.launch(12, "twice", x, y, integer(rig.n))
        rig.m.synchronize(13, "stream", 0)
    assert ran.report.outcome.events == ()


def test_memory_that_nobody_has_cannot_be_pinned_and_so_is_not_handed_out_twice() -> None:
    rig = Rig()
    freed = rig.m.host_alloc(1, PAGE, 0)
    rig.m.free_host(2, freed)
    with pytest.raises(CudaRefusal) as raised:
        rig.m.host_register(3, freed, PAGE, 0)
    assert raised.value.name == "cudaErrorInvalidValue"
    assert rig.m.host_alloc(4, PAGE, 0) == freed
    rig.m.free_host(5, freed)
