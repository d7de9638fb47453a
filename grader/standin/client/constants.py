"""Numbers that `cupy.cuda.runtime` and `cupy.cuda.driver` have names for, as far as the stand-in has a use for them."""

from __future__ import annotations

from collections.abc import Mapping

RUNTIME: Mapping[str, int] = {
    "cudaCpuDeviceId": -1, "cudaInvalidDeviceId": -2,
    "cudaLimitDevRuntimePendingLaunchCount": 4, "cudaLimitDevRuntimeSyncDepth": 3, "cudaLimitMallocHeapSize": 2,
    "cudaLimitMaxL2FetchGranularity": 5, "cudaLimitPrintfFifoSize": 1, "cudaLimitStackSize": 0,
    "cudaMemAdviseSetAccessedBy": 5, "cudaMemAdviseSetPreferredLocation": 3, "cudaMemAdviseSetReadMostly": 1,
    "cudaMemAdviseUnsetAccessedBy": 6, "cudaMemAdviseUnsetPreferredLocation": 4, "cudaMemAdviseUnsetReadMostly": 2,
    "cudaMemAttachGlobal": 1, "cudaMemAttachHost": 2, "cudaMemAttachSingle": 4,
    "cudaMemoryTypeDevice": 2, "cudaMemoryTypeHost": 1,
    "eventBlockingSync": 1, "eventDefault": 0, "eventDisableTiming": 2, "eventInterprocess": 4,
    "hostAllocDefault": 0, "hostAllocMapped": 2, "hostAllocPortable": 1, "hostAllocWriteCombined": 4,
    "memcpyDefault": 4, "memcpyDeviceToDevice": 3, "memcpyDeviceToHost": 2, "memcpyHostToDevice": 1,
    "memcpyHostToHost": 0,
    "memoryTypeDevice": 2, "memoryTypeHost": 1, "memoryTypeManaged": 3, "memoryTypeUnregistered": 0,
    "streamCaptureModeGlobal": 0, "streamCaptureModeRelaxed": 2, "streamCaptureModeThreadLocal": 1,
    "streamCaptureStatusActive": 1, "streamCaptureStatusInvalidated": 2, "streamCaptureStatusNone": 0,
    "streamDefault": 0, "streamLegacy": 1, "streamNonBlocking": 1, "streamPerThread": 2,
}  # fmt: skip

DEVICE_ATTRIBUTES: Mapping[str, int] = {
    "MaxThreadsPerBlock": 1, "MaxBlockDimX": 2, "MaxBlockDimY": 3, "MaxBlockDimZ": 4, "MaxGridDimX": 5,
    "MaxGridDimY": 6, "MaxGridDimZ": 7, "MaxSharedMemoryPerBlock": 8, "TotalConstantMemory": 9, "WarpSize": 10,
    "MaxPitch": 11, "MaxRegistersPerBlock": 12, "ClockRate": 13, "TextureAlignment": 14, "GpuOverlap": 15,
    "MultiProcessorCount": 16, "KernelExecTimeout": 17, "Integrated": 18, "CanMapHostMemory": 19, "ComputeMode": 20,
    "ConcurrentKernels": 31, "EccEnabled": 32, "PciBusId": 33, "PciDeviceId": 34, "TccDriver": 35,
    "MemoryClockRate": 36, "GlobalMemoryBusWidth": 37, "L2CacheSize": 38, "MaxThreadsPerMultiProcessor": 39,
    "AsyncEngineCount": 40, "UnifiedAddressing": 41, "PciDomainId": 50, "StreamPrioritiesSupported": 78,
    "GlobalL1CacheSupported": 79, "LocalL1CacheSupported": 80, "MaxSharedMemoryPerMultiprocessor": 81,
    "MaxRegistersPerMultiprocessor": 82, "ManagedMemory": 83, "IsMultiGpuBoard": 84, "HostNativeAtomicSupported": 86,
    "SingleToDoublePrecisionPerfRatio": 87, "PageableMemoryAccess": 88, "ConcurrentManagedAccess": 89,
    "ComputePreemptionSupported": 90, "CanUseHostPointerForRegisteredMem": 91, "CooperativeLaunch": 95,
    "MaxSharedMemoryPerBlockOptin": 97, "HostRegisterSupported": 99,
    "PageableMemoryAccessUsesHostPageTables": 100, "DirectManagedMemAccessFromHost": 101,
    "MaxBlocksPerMultiprocessor": 106, "ReservedSharedMemoryPerBlock": 111, "MemoryPoolsSupported": 115,
}  # fmt: skip
"""cudaDeviceAttr by the names of `Device.attributes`; in `cupy.cuda.runtime` they begin with ``cudaDevAttr``."""

UNNAMED_ATTRIBUTES: Mapping[int, str] = {
    75: "ComputeCapabilityMajor", 76: "ComputeCapabilityMinor", 108: "MaxPersistingL2CacheSize",
    109: "MaxAccessPolicyWindowSize",
}  # fmt: skip
"""Attributes of CUDA for which CuPy has no name."""

LIMIT_PERSISTING_L2 = 6
"""cudaLimitPersistingL2CacheSize, for which CuPy has no name."""

DRIVER: Mapping[str, int] = {
    "CUDA_ERROR_INVALID_VALUE": 1,
    "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK": 0, "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES": 1,
    "CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES": 2, "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES": 3,
    "CU_FUNC_ATTRIBUTE_NUM_REGS": 4, "CU_FUNC_ATTRIBUTE_PTX_VERSION": 5, "CU_FUNC_ATTRIBUTE_BINARY_VERSION": 6,
    "CU_FUNC_ATTRIBUTE_CACHE_MODE_CA": 7, "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": 8,
    "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT": 9,
}  # fmt: skip
