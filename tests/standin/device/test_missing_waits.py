"""Operations that nothing orders: wrong data every time, and a finding that names both."""

from __future__ import annotations

import numpy as np

from tests.standin.device.rig import FILE, Ran, Rig, integer


def chain(rig: Rig, *, wait: bool) -> tuple[list[int], Ran]:
    """x to the device on stream 1, the kernel and the copy back on stream 2."""
    rig.pin("x", "out")
    first, second = streams = rig.streams(2)
    x, y = rig.device(2)
    for seed in (1, 2):
        rig.fresh(seed)
        with rig.run() as ran:
            rig.m.copy(38, x, rig.at("x"), rig.bytes, first, False)
            if wait:
                rig.behind(39, first, second)
            rig.launch(41, "twice", x, y, integer(rig.n), stream=second)
            rig.m.copy(42, rig.at("out"), y, rig.bytes, second, False)
            rig.m.synchronize(43, "stream", second)
            seen = rig.view("out").copy()
        assert np.array_equal(rig.view("out"), seen, equal_nan=True)
    return streams, ran


def test_an_event_orders_two_streams() -> None:
    rig = Rig()
    _, ran = chain(rig, wait=True)
    assert ran.kinds == []
    assert np.array_equal(rig.view("out"), 2 * rig.view("x"))


def test_without_the_event_the_kernel_has_the_last_runs_data_and_is_named() -> None:
    rig = Rig()
    _, ran = chain(rig, wait=False)
    assert not np.array_equal(rig.view("out"), 2 * rig.view("x"))
    found = ran.report.findings[0]
    assert (found.kind, found.line, found.array, found.file) == ("missing_wait", 41, "x", FILE)
    assert (found.cause, found.facts["memory"]) == ("read_before_written", "the device copy of x")
    assert [(place.role, place.line, place.stream) for place in found.places] == [("accused", 41, 2), ("other", 38, 1)]


def test_the_host_may_order_two_streams_too() -> None:
    rig = Rig()
    rig.pin("x")
    first, second = rig.streams(2)
    x, y = rig.device(2)
    rig.fresh()
    with rig.run() as ran:
        rig.m.copy(1, x, rig.at("x"), rig.bytes, first, False)
        rig.m.synchronize(2, "stream", first)
        rig.launch(3, "twice", x, y, integer(rig.n), stream=second)
        got = rig.m.fetch(4, y, rig.bytes, second)
    assert ran.kinds == []
    assert np.array_equal(np.frombuffer(got, np.float32), 2 * rig.view("x"))
    assert ran.counted["host_waits"] == 1  # the last one is nobody's loss


def test_a_buffer_that_is_filled_again_before_it_was_read_is_found() -> None:
    rig = Rig()
    rig.pin("x", "out")
    first, second = rig.streams(2)
    x, y = rig.device(2)
    rig.fresh()
    half = rig.bytes // 2
    with rig.run() as ran:
        rig.m.copy(10, x, rig.at("x"), half, first, False)
        rig.behind(11, first, second)
        rig.launch(12, "twice", x, y, integer(rig.n // 2), stream=second)
        rig.m.copy(13, rig.at("out"), y, half, second, False)
        rig.m.copy(14, x, rig.at("x") + half, half, first, False)  # the kernel may not have read the first half yet
        rig.m.synchronize(15, "device", 0)
    assert ran.kinds == ["missing_wait"]
    found = ran.report.findings[0]
    assert found.line == 14
    assert (found.cause, found.facts["first"]["name"]) == ("overwritten_before_read", "twice")
    assert np.array_equal(rig.view("out")[: rig.n // 2], 2 * rig.view("x")[rig.n // 2 :])


def test_a_stream_that_does_not_block_does_not_wait_for_the_default_stream() -> None:
    rig = Rig()
    rig.pin("x")
    x, y = rig.device(2)
    for non_blocking in (False, True):
        (stream,) = rig.streams(1, non_blocking=non_blocking)
        rig.fresh(non_blocking)
        with rig.run() as ran:
            rig.m.copy(10, x, rig.at("x"), rig.bytes, 0, False)
            rig.launch(11, "twice", x, y, integer(rig.n), stream=stream)
            rig.m.synchronize(12, "device", 0)
        assert ran.kinds == ["missing_wait"] * non_blocking
    assert 0 in {place.stream for place in ran.first.places}


def test_two_kernels_that_only_add_atomically_need_no_order() -> None:
    rig = Rig()
    rig.pin("x")
    first, second = rig.streams(2)
    x, total = rig.device(2)
    rig.fresh()
    with rig.run() as ran:
        rig.m.copy(1, x, rig.at("x"), rig.bytes, 0, True)
        rig.m.fill(2, total, 0, 4, 0, False)
        rig.m.synchronize(3, "device", 0)
        for stream in (first, second):
            rig.launch(4, "sum", x, total, integer(rig.n), stream=stream)
        rig.m.synchronize(5, "device", 0)
        got = np.frombuffer(rig.m.fetch(6, total, 4, 0), np.float32)
    assert ran.kinds == []
    assert got[0] == 2 * rig.view("x").sum()


def test_two_writers_without_an_order_are_named() -> None:
    rig = Rig()
    first, second = rig.streams(2)
    (x,) = rig.device()
    with rig.run() as ran:
        rig.m.fill(7, x, 0, rig.bytes, first, False)
        rig.m.fill(8, x, 1, rig.bytes, second, False)
        rig.m.synchronize(9, "device", 0)
    assert (ran.first.cause, ran.first.facts["memory"]) == ("both_write", "memory allocated at line 3")
    assert [(place.role, place.stream) for place in ran.first.places] == [("either", 2), ("either", 1)]


def test_one_pair_of_lines_is_told_once_with_its_number() -> None:
    rig = Rig()
    streams = rig.streams(4)
    (x,) = rig.device()
    with rig.run() as ran:
        for stream in streams:
            rig.m.fill(8, x, 1, rig.bytes, stream, False)
        rig.m.synchronize(9, "device", 0)
    assert [(f.kind, f.line, f.count) for f in ran.report.findings] == [("missing_wait", 8, 6)]


def test_what_was_found_in_a_decoy_run_is_told_with_the_graded_one() -> None:
    rig = Rig()
    first, second = rig.streams(2)
    (x,) = rig.device()
    rig.m.fill(5, x, 0, rig.bytes, first, False)  # in setup
    with rig.run(graded=False):
        rig.m.fill(8, x, 1, rig.bytes, second, False)
        rig.m.synchronize(9, "device", 0)
    with rig.run() as ran:
        rig.m.fill(8, x, 1, rig.bytes, second, False)
        rig.m.synchronize(9, "device", 0)
    assert [(f.kind, f.line, f.count) for f in ran.report.findings] == [("missing_wait", 8, 1)]


def test_what_clashes_with_an_earlier_run_is_told_after_the_cause() -> None:
    rig = Rig()
    rig.pin("x", "out")
    first, second = rig.streams(2)
    x, y = rig.device(2)
    for _ in range(2):
        with rig.run() as ran:
            rig.m.copy(10, x, rig.at("x"), rig.bytes, first, False)
            rig.behind(11, first, second)
            rig.launch(12, "twice", x, y, integer(rig.n), stream=second)
            rig.m.copy(13, rig.at("out"), y, rig.bytes, second, False)
            rig.m.synchronize(14, "stream", first)
    assert ran.kinds == ["unfinished", "missing_wait"]
    other = ran.report.findings[1].places[1]
    assert (other.line, other.stream, other.when) == (12, 2, "earlier_run")


# -- run() that returns too early -------------------------------------------------------------------------------------
def test_a_run_that_does_not_wait_for_its_last_copy_has_no_result() -> None:
    rig = Rig()
    rig.pin("out")
    (stream,) = rig.streams(1)
    (y,) = rig.device()
    rig.fresh()
    with rig.run() as ran:
        rig.m.fill(5, y, 0, rig.bytes, stream, False)
        rig.m.copy(6, rig.at("out"), y, rig.bytes, stream, False)
    assert np.isnan(rig.view("out")).all()
    found = ran.report.findings[0]
    assert (found.kind, found.line, found.count) == ("unfinished", 6, 1)
    assert (found.cause, found.facts["operation"]["name"], found.facts["others"]) == ("writes", "out", 0)


def test_what_else_was_not_waited_for_is_counted_at_the_end_of_the_sentence() -> None:
    rig = Rig()
    rig.pin("out")
    (stream,) = rig.streams(1)
    (y,) = rig.device()
    rig.fresh()
    with rig.run() as ran:
        rig.m.fill(5, y, 0, rig.bytes, stream, False)
        rig.m.copy(6, rig.at("out"), y, rig.bytes, stream, False)
        rig.m.copy(7, rig.at("out"), y, rig.bytes, stream, False)
    found = ran.report.findings[0]
    assert (found.cause, found.facts["others"]) == ("writes", 1)


def test_a_kernel_that_writes_mapped_memory_has_to_be_waited_for() -> None:
    rig = Rig()
    rig.pin("x", "out")
    for wait in (True, False):
        rig.fresh(wait)
        with rig.run() as ran:
            rig.launch(9, "twice", rig.at("x"), rig.at("out"), integer(rig.n))
            if wait:
                rig.m.synchronize(10, "stream", 0)
        assert ran.kinds == ["unfinished"] * (not wait)
        assert bool(np.isnan(rig.view("out")).all()) is not wait


def test_work_on_device_memory_alone_may_stay_queued() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    with rig.run() as ran:
        rig.m.fill(6, x, 0, rig.bytes, stream, False)
    assert ran.kinds == []
    with rig.run() as ran:
        assert rig.m.fetch(7, x, 4, stream) == bytes(4)
    assert ran.kinds == []


# -- what setup leaves behind ------------------------------------------------------------------------------------------
def test_a_copy_that_setup_leaves_queued_is_told_as_setups() -> None:
    rig = Rig()
    rig.pin("x")
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    rig.m.begin_setup(rig.arrays)
    rig.fresh(1)
    rig.m.copy(12, x, rig.at("x"), rig.bytes, stream, False)
    rig.fresh(2)  # the grader's new inputs
    with rig.run() as ran:
        rig.m.synchronize(20, "stream", stream)
    assert (ran.first.kind, ran.first.cause, ran.first.line) == ("host_conflict", "left_by_setup", 12)


def test_zeros_that_setup_leaves_on_the_default_stream_are_told_as_setups() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    x, y = rig.device(2)
    rig.m.begin_setup(rig.arrays)
    rig.m.fill(12, x, 0, rig.bytes, 0, False)
    with rig.run() as ran:
        rig.launch(20, "twice", x, y, integer(rig.n), stream=stream)
        rig.m.synchronize(21, "stream", stream)
    found = ran.report.findings[0]
    assert [(place.line, place.when) for place in found.places] == [(found.line, ""), (12, "setup")]


def test_an_earlier_case_has_no_part_in_what_is_found_in_this_one() -> None:
    rig = Rig()
    (x,) = rig.device()
    for case in (1, 2):
        rig.m.begin_setup(rig.arrays)
        (stream,) = rig.streams(1)
        with rig.run(graded=False):
            pass
        with rig.run() as ran:
            if case == 1:
                other = rig.streams(1)[0]
                rig.m.fill(7, x, 0, rig.bytes, other, False)
            rig.m.fill(8, x, 1, rig.bytes, stream, False)
        assert ran.kinds == ["missing_wait"] * (case == 1)
