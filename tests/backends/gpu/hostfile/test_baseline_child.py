"""The baselines in the child, over a runtime made of the host's memory: what is copied, launched, and given back."""

from __future__ import annotations

import ctypes
import sys
from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from host_files import EXERCISE, GPU, TWICE

from grader.backends.gpu.hostfile import baseline_child
from grader.backends.gpu.hostfile.baseline_child import make
from grader.backends.gpu.hostfile.baselines import BaselineSetup, baselines
from grader.catalog.courses import Course
from grader.exercise import Target, Work


class Runtime:
    """Allocations, copies and peers; ``log`` holds what was done in order."""

    memcpyHostToDevice, memcpyDeviceToHost, hostAllocMapped = 1, 2, 2  # CuPy's names

    def __init__(self):
        self.log, self.memory, self.device, self.peers = [], {}, 0, set()

    def malloc(self, size):
        buffer = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(buffer)] = buffer
        return ctypes.addressof(buffer)

    def hostAlloc(self, size, flags):
        return self.malloc(size)

    def free(self, address):
        del self.memory[address]

    freeHost = free

    def memset(self, address, value, size):
        ctypes.memset(address, value, size)

    def memcpy(self, to, source, size, kind):
        ctypes.memmove(to, source, size)

    def memcpyAsync(self, to, source, size, kind, stream):
        assert {to, source} <= self.memory.keys()
        self.log.append(("copy", size, kind, stream))

    def memcpyPeerAsync(self, to, peer, source, device, size, stream):
        self.log.append(("peer", device, peer, size))

    def getDevice(self):
        return self.device

    def setDevice(self, device):
        self.device = device

    def deviceCanAccessPeer(self, device, peer):
        return True

    def deviceEnablePeerAccess(self, peer):
        self.peers.add(peer)

    def deviceDisablePeerAccess(self, peer):
        self.peers.remove(peer)

    def deviceSynchronize(self):
        pass


@pytest.fixture
def runtime(monkeypatch):
    """The fake runtime, with streams and devices around it, in place of CuPy."""
    fake = Runtime()

    class Stream:
        count = 0

        def __init__(self, non_blocking):
            Stream.count += 1
            self.ptr = Stream.count

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def synchronize(self):
            fake.log.append(("wait", self.ptr))

    cuda = ModuleType("cupy.cuda")
    cuda.Stream, cuda.runtime, cuda.Device = Stream, fake, lambda device: nullcontext()
    cupy = ModuleType("cupy")
    cupy.cuda = cuda
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return fake


def test_copies_both_ways_are_queued_on_two_streams_before_anything_is_waited_for(runtime):
    one = make({"into": 100, "out_of": 7})
    one.run()
    assert runtime.log == [("copy", 100, 1, 1), ("copy", 7, 2, 2), ("wait", 1), ("wait", 2)]
    one.free()
    assert runtime.memory == {}


def test_one_way_is_one_copy(runtime):
    make({"into": 100}).run()
    assert runtime.log == [("copy", 100, 1, 1), ("wait", 1)]


def test_every_gpu_sends_to_the_next_one_piece_by_piece(runtime, monkeypatch):
    monkeypatch.setattr(baseline_child, "PIECE", 40)
    one = make({"each": 100, "devices": 3})
    one.run()
    sent = [entry[1:] for entry in runtime.log if entry[0] == "peer"]
    assert sent == [(d, (d + 1) % 3, size) for d in range(3) for size in (40, 40, 20)]
    assert runtime.device == 0
    one.free()
    assert (runtime.memory, runtime.peers) == ({}, set())


@pytest.fixture
def launched(runtime, monkeypatch, tmp_path):
    """A function that makes the baseline of a target whose trusted kernel is `twice`; its launches."""
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "twice.cu").write_text(TWICE)
    course = Course(tmp_path, tmp_path, tmp_path)

    def load(cubin, name, *, cooperative=False):
        def launch(grid, block, args, shared_mem):
            runtime.log.append((name, grid, block, args, shared_mem, cooperative))

        return SimpleNamespace(get_function=lambda asked: launch)

    monkeypatch.setattr(baseline_child, "load_module", load)

    def start(unit, **more):
        exercise = replace(EXERCISE, target=Target(unit=unit, of="ceiling", ceiling="twice"), **more)
        return make(baselines(exercise, BaselineSetup(GPU, 1, course))[-1].request)

    return start


def test_computing_is_the_trusted_kernel_once_without_copies(runtime, launched):
    one = launched("overlap")
    one.run()
    ((name, grid, block, args, shared_bytes, cooperative), wait) = runtime.log
    assert (name, grid, block, shared_bytes, cooperative) == ("twice", (1, 1, 1), (256, 1, 1), 0, False)
    x, out, rows = args
    assert {int(x), int(out)} <= runtime.memory.keys()
    assert (rows, rows.itemsize) == (200, 4)
    assert wait[0] == "wait"
    one.free()
    assert runtime.memory == {}


def test_a_plain_loop_copies_in_launches_and_copies_out(runtime, launched):
    launched("launches", work=Work(launches="rows // 40")).run()
    kinds = [entry[0] if entry[0] != "copy" else entry[:3] for entry in runtime.log]
    assert kinds == [("copy", 51200, 1), *["twice"] * 5, ("copy", 800, 2), "wait"]


def test_what_a_trusted_kernel_reads_is_of_the_exercises_range():
    values = np.zeros(10, dtype=np.float32)
    baseline_child._fill(values, [2.0, 3.0, 0, 0])
    assert ((values >= 2) & (values < 3)).all()
    keys = np.zeros(3 * baseline_child.PATTERN + 5, dtype=np.int32)
    baseline_child._fill(keys, [0, 0, -2, 2])
    assert set(np.unique(keys)) == {-2, -1, 0, 1, 2}
