"""Memory of one device that comes and goes between launches: in place, freed, and what each launch touched."""

from __future__ import annotations

import gc
import struct
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.compile import compile_source
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.device import Device, Launched
from grader.simt.events import explain
from grader.simt.observers import OBSERVERS
from grader.simt.occupancy import occupancy
from grader.simt.ptx import parse

SOURCE = b"""
extern "C" __global__ void copy(const float* from, float* to, int n, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[offset + i] = from[i];
}
extern "C" __global__ void wide(const float* from, float* to) {
    __shared__ float s[4000]; __shared__ float more[96];
    s[threadIdx.x] = from[threadIdx.x]; more[threadIdx.x] = s[threadIdx.x]; to[threadIdx.x] = more[threadIdx.x];
}
"""
HOST = 0x7000_0000_0000
X = np.arange(256, dtype=np.float32)


def device(threads: int = 1) -> Device:
    program = compile_source(SOURCE, "copy.cu")
    module = parse(program.ptx, "copy.cu")
    return Device(module, cache=CodeCache(program.key), threads=threads, observed=frozenset(OBSERVERS))


def copy(on: Device, source: int, target: int, n: int, offset: int = 0, *, grid: int = 4) -> Launched:
    given = [struct.pack("<Q", source), struct.pack("<Q", target), struct.pack("<i", n), struct.pack("<i", offset)]
    return on.launch("copy", (grid, 1, 1), (64, 1, 1), 0, given, budget_per_block=10**6)


def kinds(on: Device, launched: Launched) -> list[tuple[str, str | None]]:
    return [(e.kind, e.array) for e in explain(on, launched, (4, 1, 1), (64, 1, 1), 0)]


def touched(on: Device) -> dict[str, tuple[Any, Any, int]]:
    return {t.array.name: (t.reads.tolist(), t.writes.tolist(), t.sectors) for t in on.touched()}


def test_kernels_act_on_the_callers_own_buffer_under_its_address() -> None:
    on, mine = device(), np.zeros(256, np.float32)
    source = on.allocate("x", X)
    target = on.allocate("mine", mine, in_place=True, address=HOST + 4096)
    assert target == HOST + 4096
    assert kinds(on, copy(on, source, target, 256)) == []
    assert mine.tolist() == X.tolist()


@pytest.mark.parametrize("start", [HOST - 8, HOST, HOST + 1016])
def test_arrays_may_not_overlap(start: int) -> None:
    on = device()
    on.allocate("first", X, address=HOST)
    with pytest.raises(ValueError, match="overlap"):
        on.allocate("second", X, address=start)


def test_memory_that_cannot_be_written_is_not_used_in_place() -> None:
    fixed = X.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        device().allocate("fixed", fixed, in_place=True)


def test_an_access_to_freed_memory_names_what_was_there() -> None:
    on = device()
    source, target = on.allocate("x", X), on.allocate("y", X)
    on.free(source)
    assert kinds(on, copy(on, source, target, 256))[0] == ("use_after_free", "x")
    with pytest.raises(KeyError):
        on.free(source)


def test_what_was_written_stays_known_when_arrays_come_and_go() -> None:
    on = device()
    source, target = on.allocate("x", X), on.allocate("y", X, initialised=False)
    copy(on, source, target, 64)
    on.allocate("later", np.zeros(1 << 20, np.uint8))
    on.free(source)
    other = on.allocate("z", X)
    assert kinds(on, copy(on, target, other, 64)) == []
    assert kinds(on, copy(on, target, other, 65)) == [("uninitialised_read", "y")]
    assert on.unwritten(target, 1024).tolist() == [[256, 1024]]
    on.mark_written(target + 300, 100)
    assert on.unwritten(target, 1024).tolist() == [[256, 300], [400, 1024]]
    assert on.unwritten(target + 320, 100).tolist() == [[80, 100]]
    assert on.unwritten(other, 1024).tolist() == []


def test_freed_cells_are_as_new_for_the_next_array() -> None:
    on = device()
    source, target = on.allocate("x", X), on.allocate("y", X, initialised=False)
    copy(on, source, target, 256)
    on.free(target)
    again = on.allocate("again", X[:100], initialised=False)
    assert on.unwritten(again, 400).tolist() == [[0, 400]]
    assert ("uninitialised_read", "again") in kinds(on, copy(on, again, source, 10))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_launch_tells_which_bytes_it_read_and_wrote(threads: int) -> None:
    on = device(threads)
    source, target = on.allocate("x", X), on.allocate("y", np.zeros(512, np.float32))
    on.allocate("unused", X)
    copy(on, source, target, 256)
    copy(on, source, target, 100, 300)
    assert touched(on) == {"x": ([[0, 400]], [], 13), "y": ([], [[1200, 1600]], 16)}


def test_a_launch_on_fewer_threads_than_the_one_before_tells_it_too() -> None:
    on = device(threads=2)
    source, target = on.allocate("x", X), on.allocate("y", np.zeros(512, np.float32))
    copy(on, source, target, 256)
    later = on.allocate("later", np.zeros(1 << 16, np.float32))
    copy(on, source, later, 64, grid=1)
    assert touched(on) == {"x": ([[0, 256]], [], 8), "later": ([], [[0, 256]], 8)}


def test_only_the_last_launch_counts() -> None:
    on = device()
    source, target, third = on.allocate("x", X), on.allocate("y", X), on.allocate("z", X)
    copy(on, source, target, 256)
    copy(on, target, third, 8)
    assert sorted(touched(on)) == ["y", "z"]


def test_resident_blocks_are_those_of_the_occupancy_calculator() -> None:
    on = device()
    for name, static in (("copy", 0), ("wide", 4096 * 4)):
        for threads in (32, 96, 256, 1000, 1024):
            for dynamic in (0, 1000, 20_000, 60_000):
                shared = static + dynamic
                want = 108 * occupancy("sm_80", threads=threads, registers=32, shared_bytes=shared).blocks
                assert on.resident(name, (threads, 1, 1), dynamic) == want


def test_views_of_other_types_are_taken_in_place_as_bytes() -> None:
    on = device()
    mine: npt.NDArray[np.float64] = np.zeros((4, 32))
    on.allocate("mine", mine, in_place=True)
    on.array("mine").data[:8] = np.frombuffer(struct.pack("<d", 2.5), np.uint8)
    assert mine[0, 0] == 2.5


VARIABLES = b"""
__device__ int unused = 7, base = 5;
__device__ int* table[2] = {&base, &base};
extern "C" __global__ void read(int* to, int i) { to[0] = *table[i]; }
"""


def test_only_variables_that_a_kernel_uses_take_part_until_somebody_asks_for_another() -> None:
    program = compile_source(VARIABLES, "variables.cu")
    module = parse(program.ptx, "variables.cu")
    on = Device(module, cache=CodeCache(program.key), observed=frozenset(OBSERVERS))
    assert [a.name for a in on.arrays] == ["base", "table"]
    target = on.allocate("to", np.zeros(1, np.int32))
    on.launch(
        "read", (1, 1, 1), (1, 1, 1), 0, [struct.pack("<Q", target), struct.pack("<i", 1)], budget_per_block=10**6
    )
    assert on.array("to").data.view(np.int32)[0] == 5
    assert on.variable("unused").data.view(np.int32)[0] == 7
    with pytest.raises(KeyError):
        on.variable("unheard_of")


class Counted(int):
    """An address that counts how often it is compared with another."""

    comparisons = 0

    def __lt__(self, other: int) -> bool:
        Counted.comparisons += 1
        return int(self) < int(other)


def test_a_new_array_is_compared_with_its_neighbours_alone() -> None:
    on = device()
    for i in range(1000):
        on.allocate(f"x{i}", X[:1], address=Counted(HOST + 4096 * (i * 7 % 1000)))
    assert [a.address for a in on.arrays] == sorted(a.address for a in on.arrays)
    assert Counted.comparisons < 1000 * 16


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_device_held_is_free_as_soon_as_nobody_has_it(threads: int) -> None:
    gc.disable()
    try:
        on = device(threads)
        copy(on, on.allocate("x", X), on.allocate("y", X), 256)
        here = weakref.ref(on)
        del on
        assert here() is None
    finally:
        gc.enable()
