"""`cuda.bindings.runtime`: errors are returned, and a slip is no silent one."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.protocol import CudaRefusal


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
    assert standin.device.named("stream_attribute") == [(stream.ptr, "access_policy_window", told)]
    assert cudart.cudaDeviceGetAttribute(cudart.cudaDeviceAttr.cudaDevAttrMaxPersistingL2CacheSize, 0) == (0, 30 << 20)


def test_an_error_of_cuda_bindings_is_returned(standin):
    standin.device.fails["set_limit"] = CudaRefusal("cudaErrorInvalidValue", "no")
    error, *_ = standin.cudart.cudaDeviceSetLimit(6, 1 << 40)
    assert error == standin.cudart.cudaError_t.cudaErrorInvalidValue
    # Nobody need look at it, so the report tells it.
    assert standin.device.named("refused") == [("cudaDeviceSetLimit", "cudaErrorInvalidValue: no")]


def test_a_slip_in_a_window_of_the_l2_is_no_silent_one(standin):
    value = standin.cudart.cudaStreamAttrValue()
    with pytest.raises(AttributeError, match="hit_ratio"):
        value.accessPolicyWindow.hit_ratio = 1.0
    with pytest.raises(TypeError):
        standin.cudart.cudaAccessPolicyWindow(4096, 16)
