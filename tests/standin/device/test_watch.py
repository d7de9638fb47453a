"""Memory of the host that changes while an operation on it is queued."""

from __future__ import annotations

import numpy as np
import pytest

from tests.standin.device.rig import Rig, integer


def test_pinned_memory_that_changes_before_its_copy_is_found() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    staging = rig.m.host_alloc(4, rig.bytes, 0)
    with rig.run() as ran:
        rig.floats(staging, rig.n)[:] = 1
        rig.m.copy(10, x, staging, rig.bytes, stream, False)
        rig.floats(staging, rig.n)[:] = 2
        got = np.frombuffer(rig.m.fetch(12, x, rig.bytes, stream), np.float32)
    assert ran.kinds == ["host_conflict"]
    assert (ran.first.cause, ran.first.line) == ("changed_before_read", 10)
    assert ran.first.facts["memory"] == "pinned memory allocated at line 4"
    assert (got == 2).all()


@pytest.mark.parametrize("managed", [True, False])
def test_host_memory_that_changes_under_a_queued_kernel_is_found(managed: bool) -> None:
    rig = Rig()
    give = (lambda: rig.m.malloc(4, 0, rig.bytes, True)) if managed else (lambda: rig.m.host_alloc(4, rig.bytes, 0))
    x, y = give(), give()
    for touched in (False, True):
        rig.floats(x, rig.n)[:] = 1
        with rig.run() as ran:
            rig.launch(10, "twice", x, y, integer(rig.n // 2))
            rig.floats(x, rig.n)[0 if touched else rig.n // 2] = 7  # the kernel reads the first half
            rig.m.synchronize(12, "device", 0)
        errors = [f for f in ran.report.findings if f.severity == "error"]
        assert [(f.kind, f.line) for f in errors] == [("host_conflict", 10)] * touched


def test_a_kernel_may_read_what_an_earlier_one_wrote_to_host_memory() -> None:
    rig = Rig()
    x, y = (rig.m.host_alloc(4, rig.bytes, 0) for _ in range(2))
    with rig.run() as ran:
        rig.launch(10, "twice", x, y, integer(rig.n))
        rig.launch(11, "add_one", y, integer(rig.n))
        rig.m.synchronize(12, "device", 0)
    assert ran.kinds == []


def test_pinned_memory_that_another_copy_filled_in_order_is_no_conflict() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    x, y = rig.device(2)
    staging = rig.m.host_alloc(4, rig.bytes, 0)
    with rig.run() as ran:
        rig.m.fill(9, x, 0, rig.bytes, stream, False)
        rig.m.copy(10, staging, x, rig.bytes, stream, False)
        rig.m.copy(11, y, staging, rig.bytes, stream, False)
        rig.m.synchronize(12, "stream", stream)
    assert ran.kinds == []


def test_pageable_memory_is_read_at_the_call() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    before = rig.fresh()
    with rig.run() as ran:
        rig.m.copy(10, x, rig.at("x"), rig.bytes, stream, False)
        rig.view("x")[:] = 0
        got = np.frombuffer(rig.m.fetch(12, x, rig.bytes, stream), np.float32)
    assert ran.kinds == []
    assert np.array_equal(got, before)
    assert ran.counted["pageable_bytes"] == 2 * rig.bytes


@pytest.mark.parametrize("early", [True, False])
def test_pinned_memory_that_the_host_writes_before_a_copy_has_filled_it_is_found(early: bool) -> None:
    rig = Rig()
    rig.pin("out")
    (stream,) = rig.streams(1)
    (y,) = rig.device()
    rig.fresh()
    with rig.run() as ran:
        rig.m.fill(10, y, 0, rig.bytes, stream, False)
        rig.view("out")[:] = 3  # before the copy is queued: nothing wrong with it
        rig.m.copy(11, rig.at("out"), y, rig.bytes, stream, False)
        if early:
            rig.view("out")[:] = 4
        rig.m.synchronize(12, "stream", stream)
    found = [(found.cause, found.array, found.line) for found in ran.report.findings]
    assert found == early * [("changed_before_written", "out", 11)]


@pytest.mark.parametrize("managed", [True, False])
def test_host_memory_that_changes_before_a_queued_kernel_has_written_it_is_found(managed: bool) -> None:
    rig = Rig()
    (x,) = rig.device()
    y = rig.m.malloc(4, 0, rig.bytes, True) if managed else rig.m.host_alloc(4, rig.bytes, 0)
    rig.m.fill(5, x, 0, rig.bytes, 0, False)
    for touched in (False, True):
        with rig.run() as ran:
            rig.launch(10, "twice", x, y, integer(rig.n // 2))
            rig.floats(y, rig.n)[0 if touched else rig.n // 2] = 7 + touched  # the kernel writes the first half
            rig.m.synchronize(12, "device", 0)
        assert ran.kinds == ["host_conflict"] * touched
    assert next(f for f in ran.report.findings if f.severity == "error").cause == "changed_before_written"


def test_a_fill_of_pinned_memory_is_not_covered_by_what_the_host_writes_meanwhile() -> None:
    rig = Rig()
    rig.pin("out")
    (stream,) = rig.streams(1)
    rig.fresh()
    with rig.run() as ran:
        rig.m.fill(10, rig.at("out"), 0, rig.bytes, stream, False)
        rig.view("out")[0] = 1
        rig.m.synchronize(12, "stream", stream)
    assert ran.kinds == ["host_conflict"]
