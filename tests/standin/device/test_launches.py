"""Launches: what CUDA refuses, what a fault does, several devices, and what a report says."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.protocol import CudaRefusal, answer, pack, relayed, unpack
from tests.standin.device.rig import FILE, Ran, Rig, integer, pointer


@pytest.mark.parametrize(
    ("grid", "block", "shared", "name", "why"),
    [
        ([1], [2048], 0, "cudaErrorInvalidConfiguration", "x must be from 1 to 1024"),
        ([1], [64, 32], 0, "cudaErrorInvalidConfiguration", "is 2048 threads; a block has at most 1024"),
        ([0], [32], 0, "cudaErrorInvalidConfiguration", "x must be from 1 to 2147483647"),
        ([1, 70_000], [32], 0, "cudaErrorInvalidConfiguration", "y must be from 1 to 65535"),
        ([1], [1, 1, 65], 0, "cudaErrorInvalidConfiguration", "z must be from 1 to 64"),
        ([1], [32], 200_000, "cudaErrorInvalidValue", "200000 bytes of shared memory"),
    ],
)
def test_a_shape_that_no_device_has_is_refused(
    grid: list[int], block: list[int], shared: int, name: str, why: str
) -> None:
    rig = Rig()
    (x,) = rig.device()
    with pytest.raises(CudaRefusal, match=why) as raised:
        rig.m.launch(5, "add_one", grid, block, shared, [pointer(x), integer(1)], [], 0, False, 0)
    assert raised.value.name == name


def test_arguments_must_fit_the_parameters() -> None:
    rig = Rig()
    (x,) = rig.device()
    with pytest.raises(CudaRefusal, match="add_one has 2 parameters, and 1 argument is given"):
        rig.launch(5, "add_one", x)
    with pytest.raises(CudaRefusal, match="argument 1 of add_one has 4 bytes, and the parameter 8"):
        rig.launch(5, "add_one", integer(1), integer(1))
    with pytest.raises(CudaRefusal, match="no kernel add_two; it has twice, add_one"):
        rig.launch(5, "add_two", x)


def test_a_cooperative_launch_must_be_resident_at_once() -> None:
    rig = Rig()
    (x,) = rig.device()
    assert rig.m.resident_blocks("add_one", 256, 0) == 8
    with rig.run() as ran:
        rig.m.launch(5, "add_one", [108 * 8], [256], 0, [pointer(x), integer(0)], [], 0, True, 0)
        with pytest.raises(CudaRefusal, match=r"865 blocks of 256 threads.*only 864 can be resident") as raised:
            rig.m.launch(6, "add_one", [865], [256], 0, [pointer(x), integer(0)], [], 0, True, 0)
        rig.m.synchronize(7, "stream", 0)
    assert raised.value.name == "cudaErrorCooperativeLaunchTooLarge"
    assert ran.counted["cooperative_launches"] == 1


def test_a_block_is_no_larger_than_launch_bounds_and_registers_allow() -> None:
    rig = Rig(registers={"add_one": 72, "twice": 72}, max_threads={"add_one": 128})
    (x,) = rig.device()
    for kernel, threads, name, why in (
        ("add_one", 129, "cudaErrorInvalidValue", "for blocks of at most 128: see its __launch_bounds__"),
        ("twice", 897, "cudaErrorLaunchOutOfResources", "72 registers for each, which allows blocks of at most 896"),
    ):
        assert rig.m.kernel_attributes(kernel)["max_threads"] == (128 if kernel == "add_one" else 896)
        with pytest.raises(CudaRefusal, match=why) as raised:
            rig.m.launch(5, kernel, [1], [threads], 0, [pointer(x), pointer(x), integer(0)], [], 0, False, 0)
        assert raised.value.name == name
    with rig.run():
        rig.m.launch(5, "add_one", [1], [128], 0, [pointer(x), integer(0)], [], 0, False, 0)
        rig.m.synchronize(7, "stream", 0)


def test_a_kernel_is_described() -> None:
    described = Rig().m.kernel_attributes("twice")
    assert [size for _, size in described["parameters"]] == [8, 8, 4]
    assert described["max_threads"] == 1024


def test_after_a_fault_nothing_is_done_and_every_wait_says_so() -> None:
    rig = Rig()
    x, y = rig.device(2)
    with rig.run() as ran:
        rig.launch(5, "twice", 0, y, integer(1))
        rig.m.fill(6, x, 0, rig.bytes, 0, False)
        for line in (7, 8):
            with pytest.raises(CudaRefusal) as raised:
                rig.m.synchronize(line, "device", 0)
            assert raised.value.name == "cudaErrorIllegalAddress"
    assert [e.kind for e in ran.report.outcome.events] == ["null"]
    assert not ran.report.complete
    with rig.run() as ran:
        rig.m.synchronize(9, "device", 0)
    assert ran.report.complete


def test_launches_are_reported_as_of_any_kernel() -> None:
    rig = Rig()
    rig.pin("x", "out")
    rig.fresh()
    x, y = rig.device(2)
    with rig.run() as ran:
        rig.m.copy(4, x, rig.at("x"), rig.bytes, 0, True)
        rig.launch(5, "twice", x, y, integer(rig.n))
        rig.m.copy(6, rig.at("out"), y, rig.bytes, 0, True)
    (call,) = ran.report.outcome.calls
    assert (call.kernel, call.grid, call.arguments) == ("twice", (4, 1, 1), ("x", "out", integer(rig.n)))
    assert ran.report.outcome.counters[0].total["global_load_bytes"] == rig.bytes
    assert ran.report.outcome.complete


def test_a_finding_in_a_kernel_comes_with_its_launch_and_what_that_passed() -> None:
    rig = Rig()
    rig.pin("x")
    rig.fresh()
    (x,) = rig.device()
    small = rig.m.malloc(3, 0, 64, False)
    with rig.run() as ran:
        rig.m.copy(4, x, rig.at("x"), rig.bytes, 0, True)
        for _ in range(2):
            rig.launch(5, "twice", x + 400, small, integer(-1))
        rig.launch(6, "strided", x, small, integer(17), integer(2))
        with pytest.raises(CudaRefusal):
            rig.m.synchronize(7, "device", 0)
    assert [event.launch for event in ran.report.outcome.events] == [
        f"{FILE}:6 with argument 1 = the device copy of x (1000 elements), argument 2 = memory allocated at line 3 "
        "(64 B), argument 3 = 17, argument 4 = 2"
    ]


def test_reading_fresh_memory_is_told_and_what_a_copy_filled_is_not_fresh() -> None:
    rig = Rig()
    rig.pin("x")
    x, y = rig.device(2)
    rig.fresh()
    for filled in (False, True):
        with rig.run() as ran:
            if filled:
                rig.m.copy(4, x, rig.at("x"), rig.bytes, 0, True)
            rig.launch(5, "twice", x, y, integer(rig.n))
            rig.m.synchronize(6, "device", 0)
        assert [e.kind for e in ran.report.outcome.events] == ["uninitialised_read"] * (not filled)


def test_a_copy_of_fresh_memory_is_fresh() -> None:
    rig = Rig()
    rig.pin("x")
    x, y, z = rig.device(3)
    rig.fresh()
    half = rig.bytes // 2
    with rig.run() as ran:
        rig.m.copy(4, x, rig.at("x"), half, 0, True)
        rig.m.copy(5, y, x, rig.bytes, 0, False)
        for n in (rig.n // 2, rig.n):
            rig.launch(6, "twice", y, z, integer(n))
            rig.m.synchronize(7, "device", 0)
            assert bool(rig.m.executor.launches.events) is (n == rig.n)
    assert [e.kind for e in ran.report.outcome.events] == ["uninitialised_read"]


def test_streams_are_numbered_anew_in_each_setup() -> None:
    rig = Rig()
    (x,) = rig.device()
    rig.streams(1)  # when the host file was read
    numbers = []
    for _ in range(2):
        rig.m.begin_setup(rig.arrays)
        (stream,) = rig.streams(1)
        with rig.run() as ran:
            rig.m.fill(5, x, 0, rig.bytes, stream, False)
            rig.m.synchronize(6, "stream", stream)
        numbers += [bar.stream for bar in ran.bars]
    assert numbers == [2, 2]


# -- several devices --------------------------------------------------------------------------------------------------
def test_a_kernel_may_use_a_peers_memory_once_it_was_let_in() -> None:
    rig = Rig(1024, devices=2)
    rig.pin("x")
    rig.fresh()
    (x,), (y,) = rig.device(device=0), rig.device(device=1)
    with rig.run() as ran:
        rig.m.copy(4, x, rig.at("x"), rig.bytes, 0, True)
        rig.launch(5, "twice", x, y, integer(rig.n), stream=-1)
        with pytest.raises(CudaRefusal):
            rig.m.synchronize(6, "device", 1)
    assert (ran.first.kind, ran.first.cause, ran.first.line) == ("cuda_error", "other_device", 5)
    assert (ran.first.facts["memory"], ran.first.facts["owner"]) == ("the copy of x on device 0", 0)
    assert (ran.first.places[0].stream, ran.first.places[0].device) == (0, 1)
    rig.m.enable_peer(7, 1, 0)
    with rig.run(graded=False) as ran:
        rig.launch(8, "twice", x, y, integer(rig.n), stream=-1)
        rig.m.copy(9, x, y, rig.bytes, -1, False)
        got = np.frombuffer(rig.m.fetch(10, x, rig.bytes, -1), np.float32)
    assert ran.kinds == []
    assert np.array_equal(got, 2 * rig.view("x"))
    assert ran.counted["peer_bytes"] == 2 * rig.bytes
    assert [bar.kind for bar in ran.bars] == ["kernel", "peer", "to_host"]


def ring(ways: tuple[int, ...], *, allowed: bool = True) -> Ran:
    """Three devices, each of which fetches an array from its left neighbour (1), its right one (-1), or both."""
    rig = Rig(1024, devices=3)
    from_there = [rig.device(device=d)[0] for d in range(3)]
    here = {way: [rig.device(device=d)[0] for d in range(3)] for way in ways}
    for device in range(3):
        if allowed:
            rig.m.enable_peer(3, device, (device + 1) % 3)
        rig.m.fill(4, from_there[device], 0, rig.bytes, -device, False)
        rig.m.synchronize(5, "device", device)
    with rig.run() as ran:
        for way in ways:
            for device in range(3):
                rig.m.copy(6, here[way][device], from_there[(device - way) % 3], rig.bytes, -device, False)
        for device in range(3):
            rig.m.synchronize(7, "device", device)
    assert ran.kinds == []
    return ran


def test_bytes_between_devices_are_told_apart_by_their_direction() -> None:
    one, both = ring((1,)), ring((1, -1))
    assert (one.counted["peer_bytes"], one.counted["two_way_peer_bytes"]) == (3 * 4096, 0)
    assert (both.counted["peer_bytes"], both.counted["two_way_peer_bytes"]) == (6 * 4096, 6 * 4096)


def test_what_a_kernel_writes_to_a_peer_goes_the_other_way_than_what_it_reads_there() -> None:
    rig = Rig(1024, devices=2)
    (x,), (y,) = rig.device(device=0), rig.device(device=1)
    rig.m.fill(3, x, 0, rig.bytes, 0, False)
    rig.m.fill(3, y, 0, rig.bytes, -1, False)
    rig.m.enable_peer(3, 1, 0)
    for device in (0, 1):
        rig.m.synchronize(4, "device", device)
    with rig.run() as ran:
        rig.launch(5, "twice", x, y, integer(rig.n), stream=-1)
        rig.launch(6, "twice", y, x, integer(rig.n), stream=-1)
        rig.m.synchronize(7, "device", 1)
    assert (ran.counted["peer_bytes"], ran.counted["two_way_peer_bytes"]) == (2 * rig.bytes, 2 * rig.bytes)
    assert ran.counted["modelled_peer_overlap"] == 1


def test_a_copy_between_devices_that_may_not_access_each_other_goes_through_the_host() -> None:
    direct, staged = ring((1,)), ring((1,), allowed=False)
    assert staged.counted["peer_bytes"] == 0
    took = [ran.bars[0].end_s - ran.bars[0].start_s for ran in (direct, staged)]
    assert took[1] > took[0]


def test_devices_wait_for_each_other_only_by_events() -> None:
    rig = Rig(devices=2)
    (x,), (y,) = rig.device(device=0), rig.device(device=1)
    for wait in (True, False):
        with rig.run() as ran:
            rig.m.fill(4, x, 0, rig.bytes, 0, False)
            if wait:
                rig.behind(5, 0, -1)
            rig.m.copy(6, y, x, rig.bytes, -1, False)
            for device in (0, 1):
                rig.m.synchronize(7, "device", device)
        assert ran.kinds == ["missing_wait"] * (not wait)
    (found,) = ran.report.findings
    assert {place.device for place in found.places} == {0, 1}


def test_there_are_no_other_devices() -> None:
    rig = Rig()
    for call in (lambda: rig.m.malloc(1, 1, 4, False), lambda: rig.m.enable_peer(1, 0, 1), lambda: rig.m.attributes(2)):
        with pytest.raises(CudaRefusal) as raised:
            call()
        assert raised.value.name == "cudaErrorInvalidDevice"


# -- hostile calls ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("begin_run", [{}, True]), ("copy", [0, 5, b"ab", -1, 0, False]),
        ("launch", [0, "twice", [1], ["x"], 0, [], [], 0, False, 0]), ("stream_create", [0, 99, True, 0]),
        ("synchronize", [0, "stream", 12345]), ("synchronize", [0, "world", 0]), ("free", [0, 17]),
        ("graph_launch", [0, 3, 0]), ("host_register", [0, 0, 1 << 60, 0]), ("stream_destroy", [0]),
        ("fetch", [0, 0x5000_0000_0000, 1 << 40, 0]), ("prefetch", [0, 0x5000_0000_0000, -5, 0, 0]),
        ("malloc", ["a", 0, 1, False]), ("launch", [0, "twice", [1.5], [1], 0, [], [], 0, False, 0]),
        ("host_alloc", [0, 1 << 62, 0]), ("stream_attribute", [0, 0, "access_policy_window", {"bytes": "x"}]),
    ],
)  # fmt: skip
def test_a_call_that_is_none_is_an_error_of_cuda(name: str, arguments: list[object]) -> None:
    answered = answer(Rig().m, unpack(relayed(pack(name, arguments))))
    assert str(answered["error"]).startswith("cudaError")


# -- variables of the module ------------------------------------------------------------------------------------------
COUNTING = """
__device__ int seen;
extern "C" __global__ void note(int n)
{
    if (threadIdx.x == 0) seen = n;
}
"""


def test_two_kernels_on_one_variable_of_the_module_need_an_order_too() -> None:
    rig = Rig(32, source=COUNTING)
    with rig.run() as ran:
        for stream in rig.streams(2):
            rig.launch(5, "note", integer(1), stream=stream)
        rig.m.synchronize(6, "device", 0)
    assert ran.kinds == ["missing_wait"]
    assert (ran.first.cause, ran.first.facts["memory"]) == ("both_write", "seen")


PRINTING = """
#include <stdio.h>
extern "C" __global__ void tell(int n)
{
    printf("%d hello hello hello hello hello\\n", n);
}
"""


def test_too_much_print_is_told_once_and_cut() -> None:
    rig = Rig(32, source=PRINTING)
    with rig.run() as ran:
        for _ in range(70):
            rig.m.launch(5, "tell", [1], [32], 0, [integer(7)], [], 0, False, 0)
        rig.m.synchronize(6, "device", 0)
    assert ran.report.outcome.printed.startswith("7 hello hello")
    assert len(ran.report.outcome.printed) == 64 << 10
    assert [e.kind for e in ran.report.outcome.events] == ["print_limit"]
