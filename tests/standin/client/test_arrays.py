"""Arrays are made, copied and sliced as CuPy does it; what would need a kernel of CuPy's is outside."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.client.connection import HOST
from grader.standin.protocol import HOST_BASE, CudaRefusal


def test_an_array_goes_to_the_device_and_back(standin):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    there = standin.cupy.asarray(values)
    assert (there.shape, there.dtype, there.nbytes, there.size, len(there)) == ((3, 4), np.float32, 48, 12, 3)
    np.testing.assert_array_equal(there.get(), values)
    np.testing.assert_array_equal(standin.cupy.asnumpy(there[1]), values[1])


def test_slices_without_gaps_are_views(standin):
    a = standin.cupy.zeros(16, np.int32)
    a[4:8].set(np.arange(4, dtype=np.int32))
    a[8:10].set(np.array([7, 8], np.int32))
    a[10:] = 0
    a[:2] = a[8:10]
    a[:2] = 0
    assert a.get().tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 7, 8, 0, 0, 0, 0, 0, 0]
    assert a[4:8].data.ptr == a.data.ptr + 16
    assert a.reshape(4, -1)[2].get().tolist() == [7, 8, 0, 0]
    assert a[:2].view(np.int64).shape == (1,)


def test_slices_with_gaps_are_outside(standin):
    with pytest.raises(AttributeError, match="needs a GPU"):
        standin.cupy.zeros(16, np.int32)[::2]


@pytest.mark.parametrize("key", [(slice(None), [1]), [0], np.array([True, False, True, False])])
def test_what_a_list_or_a_mask_picks_is_outside(standin, key):
    with pytest.raises(AttributeError, match="needs a GPU"):
        standin.cupy.zeros((4, 4), np.int32)[key]


def test_an_empty_slice_is_an_array_without_elements(standin):
    assert standin.cupy.zeros(4, np.int32)[2:2].shape == (0,)


@pytest.mark.parametrize(
    "make",
    [
        lambda cupy: cupy.empty((2, 3), order="F"),
        lambda cupy: cupy.asarray(np.zeros((2, 3), order="F")),
        lambda cupy: cupy.zeros_like(np.zeros((2, 3), order="F")),
        lambda cupy: cupy.zeros((2, 3)).ravel("F"),
        lambda cupy: cupy.zeros((2, 3)).get(out=np.zeros((2, 3), order="F")),
    ],
)
def test_what_lies_by_columns_is_outside(standin, make):
    with pytest.raises(AttributeError, match=r"order 'F'.* needs a GPU"):
        make(standin.cupy)


def test_one_axis_lies_the_same_in_either_order(standin):
    assert standin.cupy.asarray(np.arange(3.0), order="F").ravel("F").get(order="F").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("shape", "error"), [(-1, ValueError), ((2, -1), ValueError), (2.5, TypeError), ((2.5,), TypeError)]
)
def test_a_shape_that_is_none_is_refused_as_by_cupy(standin, shape, error):
    with pytest.raises(error):
        standin.cupy.empty(shape)


def test_what_may_not_be_copied_and_has_to_be_is_refused(standin):
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        standin.cupy.asarray(np.zeros(4), copy=False)
    there = standin.cupy.zeros(4)
    assert standin.cupy.asarray(there) is standin.cupy.asarray(there, copy=False) is there
    assert standin.cupy.array(there) is not there


def test_set_is_asynchronous_on_the_current_stream_and_get_waits(standin):
    a = standin.cupy.empty(4, np.float32)
    stream = standin.cupy.cuda.Stream()
    with stream:
        a.set(np.ones(4, np.float32))
        a.get()
    copied, fetched = standin.device.named("copy")[-1], standin.device.named("fetch")[-1]
    assert (copied[3], copied[4]) == (stream.ptr, False)
    assert fetched[2] == stream.ptr
    assert standin.device.named("synchronize") == [("stream", stream.ptr)]


def test_the_exercises_arrays_travel_by_address_and_other_memory_as_bytes(standin):
    a = standin.cupy.empty(4, np.float32)
    a.set(standin.array(4))
    a.set(np.ones(4, np.float32))
    first, second = standin.device.named("copy")
    assert first[1] == HOST_BASE
    assert second[1] == np.ones(4, np.float32).tobytes()


def test_get_into_pinned_memory_does_not_wait_unless_it_blocks(standin):
    a, out = standin.cupy.zeros(4, np.float32), standin.cupyx.empty_pinned(4, np.float32)
    stream = standin.cupy.cuda.Stream()
    a.get(out=out, stream=stream, blocking=False)
    assert standin.device.named("copy")[-1][0] == out.ctypes.data - HOST.base + HOST_BASE
    assert standin.device.named("synchronize") == []
    assert out.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (np.ones(4), TypeError, "float64 cannot be set to one of float32"),
        (np.ones(5, np.float32), ValueError, r"shape \(5,\)"),
        ([1, 2, 3, 4], TypeError, "not <class 'list'>"),
    ],
)
def test_set_refuses_what_cupy_refuses(standin, source, error, words):
    with pytest.raises(error, match=words):
        standin.cupy.empty(4, np.float32).set(source)


def test_assigning_an_array_of_the_host_comes_with_advice(standin):
    dx = standin.cupy.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"non-scalar numpy\.ndarray cannot be used for fill") as caught:
        dx[1:3] = np.ones(2, np.float32)
    assert "`dx[a:b].set(x[a:b])`" in caught.value.__notes__[0]


def test_an_array_of_the_device_is_no_numpy_array(standin):
    with pytest.raises(TypeError, match="does not convert to a NumPy array"):
        np.asarray(standin.cupy.zeros(4))


@pytest.mark.parametrize(
    "compute", [lambda a: a + 1, lambda a: 2 * a, lambda a: -a, lambda a: a == a, lambda a: a.sum()]
)
def test_arithmetic_is_outside(standin, compute):
    with pytest.raises(AttributeError, match=r"cupy.ndarray.\w+ needs a GPU"):
        compute(standin.cupy.zeros(4))


def test_an_array_of_the_device_has_no_hash(standin):
    with pytest.raises(TypeError, match="unhashable"):
        hash(standin.cupy.zeros(4))


def test_fill_takes_values_of_one_repeated_byte(standin):
    a = standin.cupy.empty(4, np.float32)
    a.fill(0)
    assert a.get().tolist() == [0, 0, 0, 0]
    with pytest.raises(AttributeError, match="whose bytes differ"):
        a.fill(1.5)


def test_an_array_has_exactly_the_bytes_that_it_needs(standin):
    standin.cupy.empty(33, np.float32)
    assert standin.device.named("malloc") == [(0, 132, False)]


def test_too_large_an_array_is_cupys_memory_error(standin):
    standin.device.fails["malloc"] = CudaRefusal("cudaErrorMemoryAllocation", "there are 1 GiB")
    with pytest.raises(MemoryError, match="Out of memory allocating 400 bytes"):
        standin.cupy.empty(100, np.float32)
