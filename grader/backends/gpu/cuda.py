"""The device operations of the grader, with CuPy; what CuPy's runtime lacks comes from cuda-bindings.

Other modules use only plain integers (addresses, bytes), so that tests can replace `Cuda` by a fake. All work goes to
one stream, in order. CuPy is imported when a `Cuda` is constructed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.backends.gpu.wire import LaunchShape
from grader.launch import Dim3, TensorMap

Function = Any
Module = Any
Event = Any


class CudaError(Exception):
    """Raised when CUDA reports an error; the text begins with CUDA's name for it."""


PRINTF_BYTES = 32 << 20
"""Device memory for `printf`. A call takes about 256 bytes of it, even if its text is short, and old calls are
overwritten: with this size the text of a full buffer exceeds the limit of output."""


class Cuda:
    """GPU number ``index``. All methods raise CudaError if CUDA reports an error."""

    def __init__(self, index: int) -> None:
        from cuda.bindings import driver as bindings
        from cupy.cuda import Stream, driver, runtime

        self._runtime, self._driver, self._bindings = runtime, driver, bindings
        self._errors = (runtime.CUDARuntimeError, driver.CUDADriverError)
        runtime.setDevice(index)
        runtime.deviceSetLimit(runtime.cudaLimitPrintfFifoSize, PRINTF_BYTES)  # also creates the context
        self.stream = Stream(non_blocking=True)
        attribute = bindings.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE
        self._encode: int | None = None  # the address of the driver's cuTensorMapEncodeTiled, once it is needed
        self._persists = int(self._bind("cuDeviceGetAttribute", attribute, index)[0]) > 0

    def allocate(self, size: int) -> int:
        return int(self._do(self._runtime.malloc, size))

    def free(self, address: int) -> None:
        self._do(self._runtime.free, address)

    def fill8(self, address: int, value: int, size: int) -> None:
        if size:
            self._do(self._runtime.memsetAsync, address, value, size, self.stream.ptr)

    def fill16(self, address: int, value: int, count: int) -> None:
        if count:
            self._bind("cuMemsetD16Async", address, value, count, self.stream.ptr)

    def upload(self, address: int, data: npt.NDArray[np.generic]) -> None:
        """Copy a host array to ``address``. Waits, so that ``data`` may change afterwards."""
        if data.nbytes:
            kind = self._runtime.memcpyHostToDevice
            self._do(self._runtime.memcpyAsync, address, data.ctypes.data, data.nbytes, kind, self.stream.ptr)
            self.synchronise()

    def download(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        data = np.empty(size, dtype=np.uint8)
        if size:
            kind = self._runtime.memcpyDeviceToHost
            self._do(self._runtime.memcpyAsync, data.ctypes.data, address, size, kind, self.stream.ptr)
        self.synchronise()
        return data

    def copy(self, to: int, source: int, size: int) -> None:
        if size:
            kind = self._runtime.memcpyDeviceToDevice
            self._do(self._runtime.memcpyAsync, to, source, size, kind, self.stream.ptr)

    def load(self, cubin: bytes) -> Module:
        from cupy.cuda.function import Module as CupyModule

        module = CupyModule()
        self._do(module.load, cubin)
        return module

    def function(self, module: Module, name: str) -> Function:
        return self._do(module.get_function, name)

    def allow_shared(self, function: Function, size: int) -> None:
        """Raise the function's limit of dynamic shared memory to ``size`` bytes; its default is 48 KiB."""
        attribute = self._driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._do(self._driver.funcSetAttribute, function.ptr, attribute, size)

    def variable(self, module: Module, name: str) -> tuple[int, int]:
        """Address and size of a `__device__` or `__constant__` variable."""
        address, size = self._bind("cuModuleGetGlobal", module.ptr, name.encode())
        return int(address), int(size)

    def launch(
        self,
        function: Function,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Any],
        shared_bytes: int = 0,
        *,
        cooperative: bool = False,
        cluster: Dim3 = (1, 1, 1),
    ) -> None:
        """Queue one launch. ``args`` are NumPy scalars of the parameters' types: addresses are ``uint64``, tensor maps
        ``void``.

        CuPy's launch supports neither clusters nor structures as arguments, and makes a cooperative grid smaller where
        it is too large; for these it is the driver's ``cuLaunchKernelEx``.
        """
        if cluster == (1, 1, 1) and not cooperative and not any(isinstance(arg, np.void) for arg in args):
            self._do(function, grid, block, tuple(args), shared_bytes, stream=self.stream)
            return
        bindings, attributes = self._bindings, []
        if cluster != (1, 1, 1):
            attribute = bindings.CUlaunchAttribute()
            attribute.id = bindings.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            shape = attribute.value.clusterDim
            shape.x, shape.y, shape.z = cluster
            attributes.append(attribute)
        if cooperative:
            attribute = bindings.CUlaunchAttribute()
            attribute.id = bindings.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            attributes.append(attribute)
        config = bindings.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes, config.hStream = shared_bytes, self.stream.ptr
        config.numAttrs, config.attrs = len(attributes), attributes
        held = [np.asarray(value).reshape(1) for value in args]
        pointers = np.array([value.ctypes.data for value in held], dtype=np.uint64)
        self._bind("cuLaunchKernelEx", config, function.ptr, pointers.ctypes.data, 0)

    def tensor_map(self, wanted: TensorMap, address: int) -> bytes:
        """The 128 bytes of a ``CUtensorMap``. Raises CudaError if CUDA refuses it."""
        if self._encode is None:
            self._encode = int(self._bind("cuGetProcAddress", b"cuTensorMapEncodeTiled", TENSOR_MAP_SINCE, 0)[0])
        status, encoded = encode(self._bindings, self._encode, wanted, address)
        if status != self._bindings.CUresult.CUDA_SUCCESS:
            raise CudaError(f"{getattr(status, 'name', status)}: cuTensorMapEncodeTiled")
        return encoded

    def event(self) -> Event:
        from cupy.cuda import Event as CupyEvent

        return CupyEvent()

    def record(self, event: Event) -> None:
        self._do(event.record, self.stream)

    def elapsed_s(self, start: Event, stop: Event) -> float:
        """Seconds between two completed events. CUDA's resolution is about half a microsecond."""
        return float(self._do(self._runtime.eventElapsedTime, start.ptr, stop.ptr)) * 1e-3

    def synchronise(self) -> None:
        self._do(self._runtime.streamSynchronize, self.stream.ptr)

    def reset_persisting_l2(self) -> None:
        """Reset persisting L2 cache lines to normal, if the GPU has such lines."""
        if self._persists:
            self._bind("cuCtxResetPersistingL2Cache")

    # Only for the grader's own measurements:

    def copy_any(self, to: int, source: int, size: int) -> None:
        """Queue a copy; CUDA finds its direction from the addresses."""
        self._do(self._runtime.memcpyAsync, to, source, size, self._runtime.memcpyDefault, self.stream.ptr)

    def allocate_host(self, size: int) -> int:
        """Pinned host memory that the GPU may read in place."""
        return int(self._do(self._runtime.hostAlloc, size, self._runtime.hostAllocMapped))

    def free_host(self, address: int) -> None:
        self._do(self._runtime.freeHost, address)

    def as_cupy(self, address: int, shape: LaunchShape) -> Any:
        """A CuPy array at ``address``, in memory of our own."""
        import cupy
        from cupy.cuda import MemoryPointer, UnownedMemory

        size = shape.count * cupy.dtype(shape.dtype).itemsize
        return cupy.ndarray(shape.count, shape.dtype, MemoryPointer(UnownedMemory(address, size, self), 0))

    def pinned_array(self, shape: LaunchShape) -> npt.NDArray[np.generic]:
        """A NumPy array of ones in pinned memory."""
        from cupyx import empty_pinned

        array: npt.NDArray[np.generic] = empty_pinned(shape.count, shape.dtype)
        array[:] = np.ones(1, shape.dtype)
        return array

    def _do(self, call: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return call(*args, **keywords)
        except self._errors as error:
            raise CudaError(str(error)) from error

    def _bind(self, name: str, *args: Any) -> Any:
        """The results of one function of cuda-bindings, without the status."""
        status, *values = getattr(self._bindings, name)(*args)
        if status != self._bindings.CUresult.CUDA_SUCCESS:
            raise CudaError(f"{getattr(status, 'name', status)}: {name}")
        return values


# -------------------------------------------------------------------------------------------------------- tensor maps

SIZE, ALIGN = 128, 64
TENSOR_MAP_SINCE = 12000  # the first CUDA release that encodes them

_TYPES = {
    "float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64", "bfloat16": "BFLOAT16", "int8": "UINT8",
    "uint8": "UINT8", "int16": "UINT16", "uint16": "UINT16", "int32": "INT32", "uint32": "UINT32", "int64": "INT64",
    "uint64": "UINT64",
}  # fmt: skip
"""CUtensorMapDataType by dtype. For small integers it has only unsigned types, which is enough: TMA only copies."""

_U32, _U64, _POINTER, _ENUM = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int
_ENCODE = ctypes.CFUNCTYPE(
    _ENUM, _POINTER, _ENUM, _U32, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _ENUM, _ENUM, _ENUM, _ENUM
)


def encode(bindings: Any, function: int, wanted: TensorMap, address: int) -> tuple[Any, bytes]:
    """The driver's status, and the 128 bytes; ``function`` is the address of ``cuTensorMapEncodeTiled``.

    The driver requires a map that is aligned to 64 bytes. The object of cuda-bindings is not, so the function is called
    through ctypes, with memory of our own.
    """
    memory = ctypes.create_string_buffer(SIZE + ALIGN)
    at = -(-ctypes.addressof(memory) // ALIGN) * ALIGN
    rank = len(wanted.shape)
    promotion = f"L2_{wanted.promotion}B" if wanted.promotion else "NONE"

    def innermost_first(kind: type[ctypes._SimpleCData[int]], values: Sequence[int]) -> Any:
        return (kind * max(1, len(values)))(*reversed(values))

    def member(enumeration: str, name: str) -> int:
        return int(getattr(getattr(bindings, enumeration), f"CU_TENSOR_MAP_{name}"))

    status = _ENCODE(function)(
        at, member("CUtensorMapDataType", f"DATA_TYPE_{_TYPES[wanted.dtype]}"), rank, address,
        innermost_first(_U64, wanted.shape), innermost_first(_U64, wanted.strides),
        innermost_first(_U32, wanted.box), innermost_first(_U32, (1,) * rank),
        member("CUtensorMapInterleave", "INTERLEAVE_NONE"),
        member("CUtensorMapSwizzle", f"SWIZZLE_{wanted.swizzle}B" if wanted.swizzle else "SWIZZLE_NONE"),
        member("CUtensorMapL2promotion", f"L2_PROMOTION_{promotion}"),
        member("CUtensorMapFloatOOBfill", "FLOAT_OOB_FILL_NONE"),  # elements outside read as zero
    )  # fmt: skip
    return bindings.CUresult(status), ctypes.string_at(at, SIZE)
