"""The stand-in's CuPy does what CuPy does, and asks the machine for what CuPy asks CUDA for."""

from __future__ import annotations

import ctypes
import threading
from operator import attrgetter

import numpy as np
import pytest

from grader.standin.cupy_like import arguments, caller, errors, kernels
from grader.standin.cupy_like.hostmemory import HOST
from grader.standin.protocol import HOST_BASE, CudaError

# --------------------------------------------------------------------------------------------------------- streams


def test_the_current_stream_follows_with_and_use(standin):
    cuda = standin.cupy.cuda
    first, second = cuda.Stream(non_blocking=True), cuda.Stream()
    with first:
        assert cuda.get_current_stream() == first
        with second:
            assert cuda.get_current_stream() == second
        assert cuda.get_current_stream() == first
    assert cuda.get_current_stream() == cuda.Stream.null
    second.use()
    assert cuda.get_current_stream() == second


def test_each_thread_has_a_current_stream_of_its_own(standin):
    standin.cupy.cuda.Stream().use()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(standin.cupy.cuda.get_current_stream().ptr))
    thread.start()
    thread.join()
    assert seen == [0]


def test_the_default_stream_is_the_current_devices(standin):
    with standin.cupy.cuda.Device(1):
        standin.cupy.cuda.Stream.null.synchronize()
    assert standin.machine.named("synchronize") == [("stream", -1)]


def test_a_stream_of_another_device_cannot_be_current(standin):
    stream = standin.cupy.cuda.Stream()
    with standin.cupy.cuda.Device(1), pytest.raises(RuntimeError, match="of device 0, and the current device is 1"):
        stream.use()


def test_what_is_dropped_is_destroyed_with_the_next_call(standin):
    stream, event = standin.cupy.cuda.Stream(), standin.cupy.cuda.Event()
    handles = stream.ptr, event.ptr
    del stream, event
    assert standin.machine.named("stream_destroy") == []
    standin.cupy.cuda.runtime.getDeviceCount()
    assert (standin.machine.named("stream_destroy"), standin.machine.named("event_destroy")) == (
        [(handles[0],)], [(handles[1],)],
    )  # fmt: skip


def test_a_record_and_a_wait_name_their_streams_and_the_line(standin):
    first, second = standin.cupy.cuda.Stream(), standin.cupy.cuda.Stream()
    event = first.record(standin.cupy.cuda.Event(disable_timing=True))
    second.wait_event(event)
    here = second.wait_event.__code__.co_firstlineno  # of the stand-in; never told
    wait = standin.machine.calls[-1]
    assert wait[0] == "stream_wait_event"
    assert wait[2:] == (second.ptr, event.ptr)
    assert wait[1] == test_a_record_and_a_wait_name_their_streams_and_the_line.__code__.co_firstlineno + 3 != here


def test_elapsed_time_and_done_come_from_the_machine(standin):
    cuda = standin.cupy.cuda
    start, end = cuda.Event(), cuda.Event()
    start.record()
    end.record(cuda.Stream.null)
    assert cuda.get_elapsed_time(start, end) == 1.5
    assert not end.done
    assert not cuda.Stream.null.done


def test_a_graph_is_captured_and_launched(standin):
    stream = standin.cupy.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    assert stream.is_capturing()
    graph = stream.end_capture()
    graph.upload(stream)
    graph.launch(stream)
    with stream:
        graph.launch()
    assert standin.machine.named("graph_launch") == [(graph.graphExec, stream.ptr)] * 2


def test_arrays_refuse_to_copy_while_their_stream_is_captured_as_in_cupy(standin):
    there, here = standin.cupy.empty(4, np.float32), np.zeros(4, np.float32)
    stream = standin.cupy.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    with stream, pytest.raises(RuntimeError, match="capturing, so H2D transfers are disallowed"):
        there.set(here)
    with pytest.raises(RuntimeError, match="capturing, so D2H transfers are disallowed"):
        there.get(stream=stream, out=here, blocking=False)
    standin.cupy.cuda.runtime.memcpyAsync(there.data.ptr, here.ctypes.data, 16, 4, stream.ptr)
    stream.end_capture()
    there.set(here)


def test_the_legacy_stream_cannot_be_captured(standin):
    with pytest.raises(RuntimeError, match="cannot be captured"):
        standin.cupy.cuda.Stream.null.begin_capture()


# ------------------------------------------------------------------------------------------------- arrays and copies


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


def test_assigning_an_array_of_the_host_is_refused_as_by_cupy(standin):
    with pytest.raises(TypeError, match="Unsupported type"):
        standin.cupy.zeros(2, np.int32)[:] = np.zeros(2, np.int32)


def test_an_allocator_of_managed_memory_makes_arrays_that_the_host_may_touch(standin):
    cuda = standin.cupy.cuda
    before = cuda.get_allocator()
    cuda.set_allocator(cuda.MemoryPool(cuda.malloc_managed).malloc)
    try:
        a = standin.cupy.zeros(4, np.float32)
    finally:
        cuda.set_allocator(before)
    assert HOST.holds(a.data.ptr)
    assert standin.machine.named("malloc")[-1] == (0, 16, True)
    with cuda.using_allocator(None):
        b = standin.cupy.zeros(4, np.float32)
    address = b.data.ptr
    del b
    standin.cupy.cuda.runtime.getDevice(), standin.cupy.cuda.runtime.getDeviceCount()
    assert (address,) in standin.machine.named("free")


def test_the_pool_gives_back_what_nobody_uses(standin):
    pool = standin.cupy.get_default_memory_pool()
    a = standin.cupy.zeros(100, np.uint8)
    address, used = a.data.ptr, pool.used_bytes()
    del a
    assert pool.used_bytes() == used - 100
    pool.free_all_blocks()
    standin.cupy.cuda.runtime.getDeviceCount()
    assert (address,) in standin.machine.named("free")


def test_slices_with_gaps_are_outside(standin):
    with pytest.raises(AttributeError, match="needs a GPU"):
        standin.cupy.zeros(16, np.int32)[::2]


def test_set_is_asynchronous_on_the_current_stream_and_get_waits(standin):
    a = standin.cupy.empty(4, np.float32)
    stream = standin.cupy.cuda.Stream()
    with stream:
        a.set(np.ones(4, np.float32))
        a.get()
    copied, fetched = standin.machine.named("copy")[-1], standin.machine.named("fetch")[-1]
    assert (copied[3], copied[4]) == (stream.ptr, False)
    assert fetched[2] == stream.ptr
    assert standin.machine.named("synchronize") == [("stream", stream.ptr)]


def test_the_exercises_arrays_travel_by_address_and_other_memory_as_bytes(standin):
    a = standin.cupy.empty(4, np.float32)
    a.set(standin.array(4))
    a.set(np.ones(4, np.float32))
    first, second = standin.machine.named("copy")
    assert first[1] == HOST_BASE
    assert second[1] == np.ones(4, np.float32).tobytes()


def test_get_into_pinned_memory_does_not_wait_unless_it_blocks(standin):
    a, out = standin.cupy.zeros(4, np.float32), standin.cupyx.empty_pinned(4, np.float32)
    stream = standin.cupy.cuda.Stream()
    a.get(out=out, stream=stream, blocking=False)
    assert standin.machine.named("copy")[-1][0] == out.ctypes.data - HOST.base + HOST_BASE
    assert standin.machine.named("synchronize") == []
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


def test_an_array_of_the_device_is_no_numpy_array(standin):
    with pytest.raises(TypeError, match="becomes no NumPy array"):
        np.asarray(standin.cupy.zeros(4))


@pytest.mark.parametrize(
    "compute", [lambda a: a + 1, lambda a: 2 * a, lambda a: -a, lambda a: a == a, lambda a: a.sum()]
)
def test_arithmetic_is_outside(standin, compute):
    with pytest.raises(AttributeError, match=r"cupy.ndarray.\w+ needs a GPU"):
        compute(standin.cupy.zeros(4))


def test_fill_takes_values_of_one_repeated_byte(standin):
    a = standin.cupy.empty(4, np.float32)
    a.fill(0)
    assert a.get().tolist() == [0, 0, 0, 0]
    with pytest.raises(AttributeError, match="not one byte repeated"):
        a.fill(1.5)


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
    assert standin.machine.named("free") == []


def test_an_array_has_exactly_the_bytes_that_it_needs(standin):
    standin.cupy.empty(33, np.float32)
    assert standin.machine.named("malloc") == [(0, 132, False)]


def test_too_large_an_array_is_cupys_memory_error(standin):
    standin.machine.fails["malloc"] = CudaError("cudaErrorMemoryAllocation", "there are 1 GiB")
    with pytest.raises(MemoryError, match="Out of memory allocating 400 bytes"):
        standin.cupy.empty(100, np.float32)


# ----------------------------------------------------------------------------------------------------- host memory


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


def test_the_exercises_arrays_are_registered_by_their_address(standin):
    runtime, x = standin.cupy.cuda.runtime, standin.array(1024)
    runtime.hostRegister(x.ctypes.data, x.nbytes, 2)
    assert standin.machine.named("host_register") == [(HOST_BASE, 4096, 2)]
    assert runtime.pointerGetAttributes(x.ctypes.data).devicePointer == x.ctypes.data


def test_memory_of_ones_own_cannot_be_registered(standin):
    mine = np.ones(1024)
    with pytest.raises(AttributeError, match="none of the exercise's arrays"):
        standin.cupy.cuda.runtime.hostRegister(mine.ctypes.data, mine.nbytes, 0)


def test_managed_memory_is_shared_with_the_host(standin):
    mem = standin.cupy.cuda.malloc_managed(64)
    view = np.ctypeslib.as_array(ctypes.cast(mem.ptr, ctypes.POINTER(ctypes.c_float)), (16,))
    view[:] = 2
    a = standin.cupy.ndarray(16, np.float32, memptr=mem)
    assert a.get().tolist() == [2] * 16
    standin.cupy.cuda.runtime.memPrefetchAsync(mem.ptr, 64, 0, 0)
    assert standin.machine.named("prefetch") == [(HOST.to_machine(mem.ptr), 64, 0, 0)]


@pytest.mark.parametrize("kind", ["memcpyHostToDevice", "memcpyDefault"])
def test_memcpy_tells_foreign_memory_from_the_devices(standin, kind):
    runtime, mine = standin.cupy.cuda.runtime, np.arange(4, dtype=np.float32)
    there, back = runtime.malloc(16), np.zeros(4, np.float32)
    runtime.memcpy(there, mine.ctypes.data, 16, getattr(runtime, kind))
    runtime.memcpyAsync(back.ctypes.data, there, 16, runtime.memcpyDeviceToHost if "Host" in kind else 4, 0)
    assert back.tolist() == [0, 1, 2, 3]


def test_addresses_are_translated_where_the_file_lies_elsewhere(standin, monkeypatch):
    monkeypatch.setattr(HOST, "base", 0x1234_0000)
    assert HOST.to_machine(0x1234_0010) == HOST_BASE + 16
    assert HOST.from_machine(HOST_BASE + 16) == 0x1234_0010
    assert arguments.argument_bytes(np.uint64(0x1234_0010)) == (HOST_BASE + 16).to_bytes(8, "little")
    assert HOST.to_machine(7) == 7


# ------------------------------------------------------------------------------------------------------------ kernels


def kernel(standin, cooperative=False):
    return kernels.RawModule._made(cooperative).get_function("smooth")


def test_a_launch_tells_shape_bytes_of_arguments_and_stream(standin):
    a, stream = standin.cupy.empty(4, np.float32), standin.cupy.cuda.Stream()
    with stream:
        kernel(standin)((8,), (32, 2), (a, a.data, np.int32(4)), shared_mem=64)
    pointer = a.data.ptr.to_bytes(8, "little")
    kinds = ["array", "array", "int32"]
    expected = ("smooth", [8, 1, 1], [32, 2, 1], 64, [pointer, pointer, b"\4\0\0\0"], kinds, stream.ptr, False, 0)
    assert standin.machine.named("launch") == [expected]


def test_arguments_have_cupys_sizes_and_say_what_they_are(standin):
    kernel(standin)((1,), (1,), (1, 2.5, np.float32(7)))
    content, kinds = standin.machine.named("launch")[0][4:6]
    assert content == [(1).to_bytes(8, "little"), np.float64(2.5).tobytes(), np.float32(7).tobytes()]
    assert kinds == ["int", "float", "float32"]


def test_a_module_of_a_cooperative_kernel_launches_cooperatively(standin):
    kernel(standin, cooperative=True)((1,), (1,), ())
    assert standin.machine.named("launch")[0][-2] is True


def test_a_cooperative_grid_is_reduced_to_what_can_be_resident_with_a_warning_as_in_cupy(standin):
    limit = 2048 // 256 * standin.cupy.cuda.Device().attributes["MultiProcessorCount"]
    with pytest.warns(UserWarning, match=f"reduced from 100000 to {limit} blocks"):
        kernel(standin, cooperative=True)((100000,), (256,), ())
    assert standin.machine.named("launch")[0][1] == [limit, 1, 1]
    with pytest.raises(ValueError, match="exceeds the limit"):
        kernel(standin, cooperative=True)((1000, 100), (256,), ())


def test_a_numpy_array_is_no_argument(standin):
    with pytest.raises(TypeError, match="Unsupported type"):
        kernel(standin)((1,), (1,), (np.zeros(4),))


def test_a_grid_must_be_a_tuple(standin):
    with pytest.raises(TypeError, match="expected tuple, got int"):
        kernel(standin)(4, (1,), ())


def test_a_refused_launch_is_the_drivers_error(standin):
    standin.machine.fails["launch"] = CudaError("cudaErrorCooperativeLaunchTooLarge", "864 blocks fit")
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError) as caught:
        kernel(standin)((1,), (1,), ())
    assert str(caught.value) == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: 864 blocks fit"
    assert caught.value.status == 720


def test_a_kernel_that_is_not_there_is_named(standin):
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError, match=r"CUDA_ERROR_NOT_FOUND.*no kernel other"):
        kernels.RawModule._made(False).get_function("other")


def test_much_shared_memory_must_be_asked_for(standin):
    smooth = kernel(standin)
    assert smooth.max_dynamic_shared_size_bytes == (48 << 10) - 1024
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError, match="max_dynamic_shared_size_bytes"):
        smooth((1,), (1,), (), shared_mem=96 << 10)
    smooth.max_dynamic_shared_size_bytes = 96 << 10
    smooth((1,), (1,), (), shared_mem=96 << 10)
    with pytest.raises(standin.cupy.cuda.driver.CUDADriverError):
        smooth.max_dynamic_shared_size_bytes = 200 << 10


def test_attributes_and_occupancy(standin):
    smooth, driver = kernel(standin), standin.cupy.cuda.driver
    assert (smooth.num_regs, smooth.shared_size_bytes, smooth.attributes["max_threads_per_block"]) == (20, 1024, 1024)
    assert driver.occupancyMaxActiveBlocksPerMultiprocessor(smooth.kernel.ptr, 256, 0) == 8
    assert driver.occupancyMaxPotentialBlockSize(smooth.kernel.ptr, 0, 0) == (216, 1024)
    driver.funcSetAttribute(smooth.kernel.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024)
    assert smooth.max_dynamic_shared_size_bytes == 1024


# ------------------------------------------------------------------------------------- devices, limits, cuda.bindings


def test_devices_have_attributes(standin):
    device = standin.cupy.cuda.Device()
    assert (device.id, int(device), device.compute_capability) == (0, 0, "80")
    assert device.attributes["MultiProcessorCount"] == 108
    runtime = standin.cupy.cuda.runtime
    assert runtime.deviceGetAttribute(runtime.cudaDevAttrMultiProcessorCount, 0) == 108
    assert runtime.getDeviceProperties(0)["multiProcessorCount"] == 108
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
        standin.cupy.cuda.Device(7).use()


def test_a_window_of_persisting_l2_is_set_as_with_cuda_bindings(standin):
    cudart, a = standin.cudart, standin.cupy.empty(1024, np.float32)
    stream = standin.cupy.cuda.Stream()
    assert cudart.cudaDeviceSetLimit(cudart.cudaLimit.cudaLimitPersistingL2CacheSize, 1 << 20) == (0,)
    assert cudart.cudaDeviceGetLimit(cudart.cudaLimit.cudaLimitPersistingL2CacheSize) == (0, 1 << 20)
    value = cudart.cudaStreamAttrValue()
    value.accessPolicyWindow.base_ptr, value.accessPolicyWindow.num_bytes = a.data.ptr, a.nbytes
    value.accessPolicyWindow.hitRatio = 1.0
    value.accessPolicyWindow.hitProp = cudart.cudaAccessProperty.cudaAccessPropertyPersisting
    attribute = cudart.cudaStreamAttrID.cudaLaunchAttributeAccessPolicyWindow
    assert cudart.cudaStreamSetAttribute(stream.ptr, attribute, value) == (0,)
    told = {"base": a.data.ptr, "bytes": 4096, "hit_ratio": 1.0, "hit": 2, "miss": 0}
    assert standin.machine.named("stream_attribute") == [(stream.ptr, "access_policy_window", told)]
    assert cudart.cudaDeviceGetAttribute(cudart.cudaDeviceAttr.cudaDevAttrMaxPersistingL2CacheSize, 0) == (0, 30 << 20)


def test_an_error_of_cuda_bindings_is_returned(standin):
    standin.machine.fails["set_limit"] = CudaError("cudaErrorInvalidValue", "no")
    error, *_ = standin.cudart.cudaDeviceSetLimit(6, 1 << 40)
    assert error == standin.cudart.cudaError_t.cudaErrorInvalidValue
    # Nobody need look at it, so the report tells it.
    assert standin.machine.named("refused") == [("cudaDeviceSetLimit", "cudaErrorInvalidValue: no")]


# ---------------------------------------------------------------------------------------------- errors and the outside


def test_an_error_of_cuda_has_cupys_type_status_and_text(standin):
    standin.machine.fails["host_register"] = CudaError("cudaErrorHostMemoryAlreadyRegistered", "x is pinned already")
    with pytest.raises(standin.cupy.cuda.runtime.CUDARuntimeError) as caught:
        standin.cupy.cuda.runtime.hostRegister(standin.array(4).ctypes.data, 16, 0)
    assert (caught.value.status, str(caught.value)) == (
        712, "cudaErrorHostMemoryAlreadyRegistered: x is pinned already",
    )  # fmt: skip


@pytest.mark.parametrize(("status", "name"), [(1, "INVALID_VALUE"), (2, "OUT_OF_MEMORY"), (700, "ILLEGAL_ADDRESS")])
def test_the_driver_has_names_of_its_own(status, name):
    assert errors.driver_name(status) == f"CUDA_ERROR_{name}"


def test_what_is_outside_says_its_name_and_the_line(standin):
    with pytest.raises(AttributeError) as caught:
        attrgetter("fft")(standin.cupy)
    line = test_what_is_outside_says_its_name_and_the_line.__code__.co_firstlineno + 2
    assert str(caught.value) == (
        "cupy.fft needs a GPU: the stand-in for machines without one has streams, events, memory, kernels and graphs "
        f"({caller.LINE.host_file}:{line})"
    )


@pytest.mark.parametrize("name", ["cuda.cufft", "cuda.runtime.memcpy2D", "cuda.Stream.null.add_callback", "sum"])
def test_everything_else_is_outside(standin, name):
    *owner, last = name.split(".")
    found = standin.cupy
    for part in owner:
        found = getattr(found, part)
    with pytest.raises(AttributeError, match="needs a GPU"):
        getattr(found, last)


def test_hasattr_works_as_with_any_module(standin):
    assert not hasattr(standin.cupy, "fft")
    assert hasattr(standin.cupy, "empty")


def test_a_module_that_the_stand_in_lacks_is_no_missing_package(standin):
    with pytest.raises(ImportError, match=r"cupy\.fft needs a GPU"):
        namespaces_finder().find_spec("cupy.fft")
    assert namespaces_finder().find_spec("json") is None


def namespaces_finder():
    from grader.standin.cupy_like.namespaces import _Finder

    return _Finder()


def test_a_thread_cannot_call_between_two_runs(standin, monkeypatch):
    monkeypatch.setattr(caller.LINE, "open", False)
    with pytest.raises(RuntimeError, match="after setup"):
        standin.cupy.cuda.runtime.getDeviceCount()
