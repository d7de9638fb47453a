"""Launches: what the device is told of them, which arguments there are, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.client.kernels import RawModule
from grader.standin.protocol import CudaRefusal


def kernel(cooperative=False):
    return RawModule._made(cooperative).get_function("smooth")


def test_a_launch_tells_shape_bytes_of_arguments_and_stream(standin):
    a, stream = standin.cupy.empty(4, np.float32), standin.cupy.cuda.Stream()
    with stream:
        kernel()((8,), (32, 2), (a, a.data, np.int32(4)), shared_mem=64)
    pointer = a.data.ptr.to_bytes(8, "little")
    kinds = ["array", "array", "int32"]
    expected = ("smooth", [8, 1, 1], [32, 2, 1], 64, [pointer, pointer, b"\4\0\0\0"], kinds, stream.ptr, False, 0)
    assert standin.device.named("launch") == [expected]


def test_events_and_launches_are_those_of_the_current_device(standin):
    with standin.cupy.cuda.Device(1):
        standin.cupy.cuda.Event(disable_timing=True)
        kernel()((1,), (1,), (np.int32(4),))
    assert standin.device.named("event_create") == [(1, False)]
    assert standin.device.named("launch")[0][-1] == 1


def test_arguments_have_cupys_sizes_and_say_what_they_are(standin):
    kernel()((1,), (1,), (1, 2.5, np.float32(7)))
    content, kinds = standin.device.named("launch")[0][4:6]
    assert content == [(1).to_bytes(8, "little"), np.float64(2.5).tobytes(), np.float32(7).tobytes()]
    assert kinds == ["int", "float", "float32"]


def test_none_is_a_null_pointer_and_an_array_of_one_element_a_number_as_in_cupy(standin):
    kernel()((1,), (1,), (None, np.array([2.5], np.float32)))
    assert standin.device.named("launch")[0][4:6] == ([bytes(8), np.float32(2.5).tobytes()], ["array", "float32"])


@pytest.mark.parametrize(
    ("argument", "told", "advice"),
    [
        ((1, 2), "Unsupported type <class 'tuple'>", "arguments are one flat tuple"),
    ],
)
def test_an_argument_that_cupy_does_not_take_either_comes_with_advice(standin, argument, told, advice):
    with pytest.raises(TypeError, match=told) as caught:
        kernel()((1,), (1,), (argument,))
    assert advice in caught.value.__notes__[0]


def test_a_numpy_array_is_refused_in_cupys_words_and_the_advice_is_the_exercises(standin):
    with pytest.raises(TypeError, match=r"numpy\.ndarray of shape \(4,\) as a kernel parameter") as caught:
        kernel()((1,), (1,), (np.zeros(4),))
    assert not hasattr(caught.value, "__notes__")


def test_pinned_memory_is_given_to_a_kernel_by_its_address(standin):
    mem = standin.cupy.cuda.alloc_pinned_memory(64)
    with pytest.raises(TypeError, match="Unsupported type") as caught:
        kernel()((1,), (1,), (mem,))
    assert "`mem.ptr`" in caught.value.__notes__[0]
    kernel()((1,), (1,), (mem.ptr,))


def test_a_grid_must_be_a_tuple(standin):
    with pytest.raises(TypeError, match="expected tuple, got int"):
        kernel()(4, (1,), ())


@pytest.mark.parametrize("shape", [((1000 / 256,), (256,)), ((4,), (256.0,))])
def test_a_grid_that_was_divided_with_one_slash_is_refused_with_advice(standin, shape):
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer") as caught:
        kernel()(*shape, ())
    assert "`//`" in caught.value.__notes__[0]
    assert standin.device.named("launch") == []


def test_a_module_of_a_cooperative_kernel_launches_cooperatively(standin):
    kernel(cooperative=True)((1,), (1,), ())
    assert standin.device.named("launch")[0][-2] is True


def test_a_cooperative_grid_is_reduced_to_what_can_be_resident_with_a_warning_as_in_cupy(standin):
    limit = 2048 // 256 * standin.cupy.cuda.Device().attributes["MultiProcessorCount"]
    with pytest.warns(UserWarning, match=f"reduced from 100000 to {limit} blocks"):
        kernel(cooperative=True)((100000,), (256,), ())
    assert standin.device.named("launch")[0][1] == [limit, 1, 1]
    with pytest.raises(ValueError, match="exceeds the limit"):
        kernel(cooperative=True)((1000, 100), (256,), ())


def test_a_refused_launch_is_the_drivers_error(standin):
    standin.device.fails["launch"] = CudaRefusal("cudaErrorCooperativeLaunchTooLarge", "864 blocks fit")
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError) as caught:
        kernel()((1,), (1,), ())
    assert str(caught.value) == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: 864 blocks fit"
    assert caught.value.status == 720
    standin.device.fails["launch"] = CudaRefusal("cudaErrorInvalidConfiguration", "2048 threads")
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE: 2048") as caught:
        kernel()((1,), (1,), ())
    assert caught.value.status == 1


def test_a_kernel_that_is_not_there_is_named(standin):
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError, match=r"CUDA_ERROR_NOT_FOUND.*no kernel other"):
        RawModule._made(False).get_function("other")


def test_much_shared_memory_must_be_asked_for(standin):
    smooth = kernel()
    assert smooth.max_dynamic_shared_size_bytes == (48 << 10) - 1024
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError, match="max_dynamic_shared_size_bytes"):
        smooth((1,), (1,), (), shared_mem=96 << 10)
    smooth.max_dynamic_shared_size_bytes = 96 << 10
    smooth((1,), (1,), (), shared_mem=96 << 10)
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError):
        smooth.max_dynamic_shared_size_bytes = 200 << 10


def test_attributes_and_occupancy(standin):
    smooth, driver = kernel(), standin.cupy.cuda.driver
    assert (smooth.num_regs, smooth.shared_size_bytes, smooth.attributes["max_threads_per_block"]) == (20, 1024, 1024)
    assert driver.occupancyMaxActiveBlocksPerMultiprocessor(smooth.kernel.ptr, 256, 0) == 8
    assert driver.occupancyMaxPotentialBlockSize(smooth.kernel.ptr, 0, 0) == (216, 1024)
    driver.funcSetAttribute(smooth.kernel.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024)
    assert smooth.max_dynamic_shared_size_bytes == 1024
    driver.funcSetAttribute(smooth.kernel.ptr, driver.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50)
    assert smooth.attributes["preferred_shared_memory_carveout"] == 50
    assert driver.funcGetAttribute(99, smooth.kernel.ptr) == -1
    with pytest.raises(driver.CUDADriverError, match="cannot be set"):
        driver.funcSetAttribute(smooth.kernel.ptr, driver.CU_FUNC_ATTRIBUTE_NUM_REGS, 8)
