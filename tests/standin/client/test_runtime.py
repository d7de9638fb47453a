"""`cupy.cuda.runtime` and `Device`: addresses, copies of a kind, devices and their properties."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.client import connection, kernels
from grader.standin.client.connection import HOST
from grader.standin.protocol import HOST_BASE, CudaRefusal


@pytest.mark.parametrize("kind", ["memcpyHostToDevice", "memcpyDefault"])
def test_memcpy_tells_foreign_memory_from_the_devices(standin, kind):
    runtime, mine = standin.cupy.cuda.runtime, np.arange(4, dtype=np.float32)
    there, back = runtime.malloc(16), np.zeros(4, np.float32)
    runtime.memcpy(there, mine.ctypes.data, 16, getattr(runtime, kind))
    runtime.memcpyAsync(back.ctypes.data, there, 16, runtime.memcpyDeviceToHost if "Host" in kind else 4, 0)
    assert back.tolist() == [0, 1, 2, 3]


def test_addresses_are_translated_where_the_file_lies_elsewhere(standin, monkeypatch):
    monkeypatch.setattr(HOST, "base", 0x1234_0000)
    assert HOST.to_device(0x1234_0010) == HOST_BASE + 16
    assert HOST.from_device(HOST_BASE + 16) == 0x1234_0010
    assert kernels.argument_bytes(np.uint64(0x1234_0010)) == (HOST_BASE + 16).to_bytes(8, "little")
    assert HOST.to_device(7) == 7


@pytest.mark.parametrize(
    ("what", "advice"),
    [
        (lambda cupy: cupy.empty(4, np.float32), "`.data.ptr`"),
        (lambda cupy: np.zeros(4, np.float32), "`.ctypes.data`"),
        (lambda cupy: cupy.empty(4, np.float32).data, "`.ptr`"),
        (lambda cupy: np.int64(4096), "`int(address)`"),
    ],
)
def test_an_address_must_be_pythons_own_int_as_in_cupy(standin, what, advice):
    runtime = standin.cupy.cuda.runtime
    with pytest.raises(TypeError, match="an integer is required") as caught:
        runtime.memcpyAsync(what(standin.cupy), 4096, 16, runtime.memcpyDefault, 0)
    assert advice in caught.value.__notes__[0]


def test_a_stream_is_given_to_the_runtime_by_its_number(standin):
    stream = standin.cupy.cuda.Stream()
    with pytest.raises(TypeError, match="an integer is required") as caught:
        standin.cupy.cuda.runtime.streamSynchronize(stream)
    assert "`stream.ptr`" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("kind", "host_first"), [("memcpyDeviceToHost", False), ("memcpyHostToDevice", True), ("memcpyHostToHost", True)]
)
def test_a_copy_of_the_wrong_kind_is_refused_before_anybody_looks_there(standin, kind, host_first):
    runtime, mine = standin.cupy.cuda.runtime, np.zeros(4, np.float32)
    there = runtime.malloc(16)
    ends = (mine.ctypes.data, there) if host_first else (there, mine.ctypes.data)
    with pytest.raises(runtime.CUDARuntimeError, match=f"cudaErrorInvalidValue: {kind} needs a"):
        runtime.memcpyAsync(*ends, 16, getattr(runtime, kind), 0)


def test_a_kind_that_there_is_not_is_refused(standin):
    runtime = standin.cupy.cuda.runtime
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidMemcpyDirection"):
        runtime.memcpy(runtime.malloc(16), runtime.malloc(16), 16, 7)


def test_devices_have_attributes(standin):
    device = standin.cupy.cuda.Device()
    assert (device.id, int(device), device.compute_capability) == (0, 0, "80")
    assert device.attributes["MultiProcessorCount"] == 108
    runtime = standin.cupy.cuda.runtime
    assert runtime.deviceGetAttribute(runtime.cudaDevAttrMultiProcessorCount, 0) == 108
    assert runtime.getDeviceProperties(0)["multiProcessorCount"] == 108
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
        standin.cupy.cuda.Device(7).use()


def test_free_memory_is_what_the_machine_says(standin):
    assert standin.cupy.cuda.Device(1).mem_info == (3 << 20, 4 << 20)
    assert standin.device.named("memory_info") == [(1,)]


def test_the_name_of_the_gpu_is_that_of_the_one_whose_time_is_modelled(standin):
    assert standin.cupy.cuda.runtime.getDeviceProperties(0)["name"] == b"NVIDIA A100-PCIE-40GB"


def test_a_property_of_a_device_that_the_stand_in_lacks_needs_a_gpu(standin):
    properties = standin.cupy.cuda.runtime.getDeviceProperties(0)
    with pytest.raises(AttributeError, match="'maxGridSize' needs a GPU"):
        properties["maxGridSize"]
    with pytest.raises(KeyError):
        properties["maxGirdSize"]
    _, told = standin.cudart.cudaGetDeviceProperties(0)
    with pytest.raises(AttributeError, match=r"cudaDeviceProp\.maxGridSize needs a GPU"):
        _ = told.maxGridSize


def test_an_error_of_cuda_has_cupys_type_status_and_text(standin):
    standin.device.fails["host_register"] = CudaRefusal("cudaErrorHostMemoryAlreadyRegistered", "x is pinned already")
    with pytest.raises(standin.cupy.cuda.runtime.CUDARuntimeError) as caught:
        standin.cupy.cuda.runtime.hostRegister(standin.array(4).ctypes.data, 16, 0)
    assert (caught.value.status, str(caught.value)) == (
        712, "cudaErrorHostMemoryAlreadyRegistered: x is pinned already",
    )  # fmt: skip


def test_a_thread_cannot_call_between_two_runs(standin, monkeypatch):
    monkeypatch.setattr(connection.CONNECTION, "open", False)
    with pytest.raises(RuntimeError, match="after setup"):
        standin.cupy.cuda.runtime.getDeviceCount()
