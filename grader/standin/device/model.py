"""Figures of the GPU whose time is modelled: for the timeline, and for `modelled_overlap`, which a step may ask for.

`fast` is never graded by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Model:
    """Rates and latencies of one GPU, its link, and the host that drives it.

    ``scale`` is how much larger the modelled work is than the simulated one: the simulator runs a small size, at which
    latencies would hide every overlap. With ``scale`` = timed work ÷ simulated work, each copy takes the time of
    ``scale`` times its bytes, and each kernel that of ``scale`` times its work, so that the bars have the proportions
    of the timed size. Latencies and the host's own time are not scaled, for the number of calls stays the same. (A host
    file whose chunks have a fixed number of bytes makes more of them at the timed size, and not longer ones.)
    """

    name: str
    multiprocessors: int
    clock_hz: float
    bandwidth: float  # of device memory, bytes per second
    l2_bandwidth: float
    link_bytes_per_s: float  # each way, pinned
    pageable_bytes_per_s: float
    peer_bytes_per_s: float
    fault_bytes_per_s: float  # of managed memory that comes page by page, when a kernel touches it
    link_latency_s: float  # of one copy
    launch_s: float  # what the device takes to begin a kernel of a stream
    graph_node_s: float  # the same for a kernel of a graph
    call_s: float  # what one call costs the host, from Python
    wait_s: float  # what the host takes to notice that something has ended
    memory_bytes: int  # what `malloc` may give, of one device
    scale: float = 1.0
    attributes: Mapping[str, int] = field(default_factory=dict)

    @property
    def warp_instructions_per_s(self) -> float:
        """Of one multiprocessor: four schedulers, an instruction each in a clock."""
        return 4 * self.clock_hz


A100 = Model(
    name="A100 (PCIe 4)",
    # NVIDIA A100 Tensor Core GPU Architecture (whitepaper), tables 4 and 5, and "A100 L2 cache": 5120 bytes per clock.
    multiprocessors=108,
    clock_hz=1.41e9,
    bandwidth=1.555e12,
    l2_bandwidth=5120 * 1.41e9,
    # PCIe 4.0 x16 moves 31.5 GB/s of raw data; packet headers leave about four fifths.
    link_bytes_per_s=25e9,
    # An ordinary copy has the host move every byte to a pinned buffer first: one core's memcpy. An assumption.
    pageable_bytes_per_s=6e9,
    # NVLink of the third generation, whitepaper: 12 links of 25 GB/s each way; the same four fifths.
    peer_bytes_per_s=240e9,
    # Pages that come one fault at a time keep the link far from busy. An assumption.
    fault_bytes_per_s=5e9,
    # Typical orders of magnitude from here on.
    link_latency_s=2e-6,
    launch_s=1.5e-6,
    graph_node_s=0.7e-6,
    call_s=4e-6,
    wait_s=5e-6,
    # Little, for the simulator's own notes take four times as much again.
    memory_bytes=512 << 20,
    # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (8.0); cudaDeviceProp.
    attributes={
        "MultiProcessorCount": 108, "WarpSize": 32, "MaxThreadsPerBlock": 1024, "MaxThreadsPerMultiProcessor": 2048,
        "MaxBlocksPerMultiprocessor": 32, "MaxBlockDimX": 1024, "MaxBlockDimY": 1024, "MaxBlockDimZ": 64,
        "MaxGridDimX": 2**31 - 1, "MaxGridDimY": 65535, "MaxGridDimZ": 65535,
        "MaxSharedMemoryPerBlock": 48 << 10, "MaxSharedMemoryPerBlockOptin": 163 << 10,
        "MaxSharedMemoryPerMultiprocessor": 164 << 10, "ReservedSharedMemoryPerBlock": 1 << 10,
        "MaxRegistersPerBlock": 65536, "MaxRegistersPerMultiprocessor": 65536, "TotalConstantMemory": 65536,
        "L2CacheSize": 40 << 20, "MaxPersistingL2CacheSize": 30 << 20, "MaxAccessPolicyWindowSize": 134213632,
        "ClockRate": 1410000, "MemoryClockRate": 1215000, "GlobalMemoryBusWidth": 5120,
        "ComputeCapabilityMajor": 8, "ComputeCapabilityMinor": 0, "AsyncEngineCount": 3, "ConcurrentKernels": 1,
        "CooperativeLaunch": 1, "CooperativeMultiDeviceLaunch": 1, "ManagedMemory": 1, "ConcurrentManagedAccess": 1,
        "PageableMemoryAccess": 0, "UnifiedAddressing": 1, "CanMapHostMemory": 1, "HostRegisterSupported": 1,
        "CanUseHostPointerForRegisteredMem": 1, "StreamPrioritiesSupported": 1, "ComputePreemptionSupported": 1,
        "MemoryPoolsSupported": 1, "GlobalL1CacheSupported": 1, "LocalL1CacheSupported": 1, "EccEnabled": 1,
        "Integrated": 0, "MultiGpuBoard": 0, "TccDriver": 0, "KernelExecTimeout": 0, "ComputeMode": 0,
    },
)  # fmt: skip
