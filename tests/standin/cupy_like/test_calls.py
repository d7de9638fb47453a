"""What the stand-in's CuPy tells the machine of devices, threads and arguments, and what it refuses by itself."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from grader.standin.cupy_like import kernels


def kernel():
    return kernels.RawModule._made(False).get_function("smooth")


def test_events_and_launches_are_those_of_the_current_device(standin):
    with standin.cupy.cuda.Device(1):
        standin.cupy.cuda.Event(disable_timing=True)
        kernel()((1,), (1,), (np.int32(4),))
    assert standin.machine.named("event_create") == [(1, False)]
    assert standin.machine.named("launch")[0][-1] == 1


def test_the_default_stream_of_a_thread_is_one_on_each_device(standin):
    cuda, runtime = standin.cupy.cuda, standin.cupy.cuda.runtime
    for device in (0, 1, 0):
        with cuda.Device(device):
            cuda.Stream(ptds=True).synchronize()
    made = standin.machine.named("stream_create")
    assert made == [(0, False, 0), (1, False, 0)]
    handles = [handle for _, handle in standin.machine.named("synchronize")]
    assert handles[0] == handles[2] != handles[1]
    thread = threading.Thread(target=runtime.streamSynchronize, args=(runtime.streamPerThread,))
    thread.start()
    thread.join()
    assert len(standin.machine.named("stream_create")) == 3


def test_the_mode_of_a_capture_is_told(standin):
    stream = standin.cupy.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    stream.begin_capture(standin.cupy.cuda.runtime.streamCaptureModeGlobal)
    assert [mode for _, mode in standin.machine.named("capture_begin")] == [2, 0]


@pytest.mark.parametrize(
    ("kind", "host_first"), [("memcpyDeviceToHost", False), ("memcpyHostToDevice", True), ("memcpyHostToHost", True)]
)
def test_a_copy_of_the_wrong_kind_is_refused_before_anybody_looks_there(standin, kind, host_first):
    runtime, mine = standin.cupy.cuda.runtime, np.zeros(4, np.float32)
    there = runtime.malloc(16)
    ends = (mine.ctypes.data, there) if host_first else (there, mine.ctypes.data)
    with pytest.raises(runtime.CUDARuntimeError, match=f"cudaErrorInvalidValue: {kind} has a"):
        runtime.memcpyAsync(*ends, 16, getattr(runtime, kind), 0)


def test_a_kind_that_there_is_not_is_refused(standin):
    runtime = standin.cupy.cuda.runtime
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidMemcpyDirection"):
        runtime.memcpy(runtime.malloc(16), runtime.malloc(16), 16, 7)


def test_free_memory_is_what_the_machine_says(standin):
    assert standin.cupy.cuda.Device(1).mem_info == (3 << 20, 4 << 20)
    assert standin.machine.named("memory_info") == [(1,)]


def test_the_name_of_the_gpu_is_that_of_the_one_whose_time_is_modelled(standin):
    assert standin.cupy.cuda.runtime.getDeviceProperties(0)["name"] == b"NVIDIA A100-PCIE-40GB"


@pytest.mark.parametrize(
    ("argument", "advice"), [(np.zeros(4), "a kernel gets arrays of the device"), (None, "for a null pointer pass 0")]
)
def test_an_argument_that_cupy_does_not_take_either_comes_with_advice(standin, argument, advice):
    with pytest.raises(TypeError, match="Unsupported type") as caught:
        kernel()((1,), (1,), (argument,))
    assert advice in caught.value.__notes__[0]


def test_assigning_an_array_of_the_host_comes_with_advice(standin):
    dx = standin.cupy.zeros(4, np.float32)
    with pytest.raises(TypeError, match=r"Unsupported type <class 'numpy\.ndarray'>") as caught:
        dx[1:3] = np.ones(2, np.float32)
    assert "`dx[a:b].set(x[a:b])`" in caught.value.__notes__[0]
