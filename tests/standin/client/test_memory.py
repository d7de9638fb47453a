"""Memory of devices and of the host: pools, allocators, pinned and managed memory."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from grader.standin.client.connection import HOST
from grader.standin.protocol import HOST_BASE


def test_an_allocator_of_managed_memory_makes_arrays_that_the_host_may_touch(standin):
    cuda = standin.cupy.cuda
    before = cuda.get_allocator()
    cuda.set_allocator(cuda.MemoryPool(cuda.malloc_managed).malloc)
    try:
        a = standin.cupy.zeros(4, np.float32)
    finally:
        cuda.set_allocator(before)
    assert HOST.holds(a.data.ptr)
    assert standin.device.named("malloc")[-1] == (0, 16, True)
    with cuda.using_allocator(None):
        b = standin.cupy.zeros(4, np.float32)
    address = b.data.ptr
    del b
    standin.cupy.cuda.runtime.getDevice(), standin.cupy.cuda.runtime.getDeviceCount()
    assert (address,) in standin.device.named("free")


def test_the_allocator_cannot_be_changed_where_another_is_in_use(standin):
    cuda = standin.cupy.cuda
    with cuda.using_allocator(None), pytest.raises(ValueError, match="cannot be changed"):
        cuda.set_allocator(None)


def test_the_pool_gives_back_what_nobody_uses(standin):
    pool = standin.cupy.get_default_memory_pool()
    a = standin.cupy.zeros(100, np.uint8)
    address, used = a.data.ptr, pool.used_bytes()
    del a
    assert pool.used_bytes() == used - 100
    pool.free_all_blocks()
    standin.cupy.cuda.runtime.getDeviceCount()
    assert (address,) in standin.device.named("free")


def test_dropped_memory_is_given_out_again_on_the_same_stream_only(standin):
    stream = standin.cupy.cuda.Stream()
    first = standin.cupy.empty(100, np.uint8)
    address = first.data.ptr
    del first
    with stream:
        other = standin.cupy.empty(100, np.uint8)
    again = standin.cupy.empty(100, np.uint8)
    assert other.data.ptr != address
    assert again.data.ptr == address
    assert standin.device.named("free") == []


def test_pinned_memory_has_the_buffer_protocol(standin):
    mem = standin.cupy.cuda.alloc_pinned_memory(64)
    array = np.frombuffer(mem, np.float32, 16)
    array[:] = 3
    assert array.ctypes.data == mem.ptr
    assert np.frombuffer(mem + 4, np.float32, 2).tolist() == [3, 3]
    assert mem.size() == 512
    assert standin.cupyx.zeros_pinned((2, 3), np.int32).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_pinned_memory_is_given_out_again_at_once(standin):
    first = standin.cupyx.empty_pinned(16, np.float32)
    address = first.ctypes.data
    del first
    assert standin.cupyx.empty_pinned(16, np.float32).ctypes.data == address


def test_managed_memory_is_shared_with_the_host(standin):
    mem = standin.cupy.cuda.malloc_managed(64)
    view = np.ctypeslib.as_array(ctypes.cast(mem.ptr, ctypes.POINTER(ctypes.c_float)), (16,))
    view[:] = 2
    a = standin.cupy.ndarray(16, np.float32, memptr=mem)
    assert a.get().tolist() == [2] * 16
    standin.cupy.cuda.runtime.memPrefetchAsync(mem.ptr, 64, 0, 0)
    assert standin.device.named("prefetch") == [(HOST.to_device(mem.ptr), 64, 0, 0)]


def test_advice_is_for_a_device(standin):
    mem = standin.cupy.cuda.malloc_managed(64).mem
    with pytest.raises(TypeError, match=r"takes a cupy\.cuda\.Device"):
        mem.advise(3, 0)
    mem.advise(3, standin.cupy.cuda.Device(0))
    assert standin.device.named("advise")[0][2:] == (3, 0)


def test_the_exercises_arrays_are_registered_by_their_address(standin):
    runtime, x = standin.cupy.cuda.runtime, standin.array(1024)
    runtime.hostRegister(x.ctypes.data, x.nbytes, 2)
    assert standin.device.named("host_register") == [(HOST_BASE, 4096, 2)]
    assert runtime.pointerGetAttributes(x.ctypes.data).devicePointer == x.ctypes.data


def test_memory_of_ones_own_cannot_be_registered(standin):
    mine = np.ones(1024)
    with pytest.raises(AttributeError, match="outside the exercise's arrays"):
        standin.cupy.cuda.runtime.hostRegister(mine.ctypes.data, mine.nbytes, 0)
