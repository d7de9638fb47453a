# expect: sim=pass gpu=slow
# Right, but pinning takes longer than reading, and here it is timed.

"""Host side of zero_copy: let the GPU read the recording where it lies, in host memory."""

import cupy
import numpy as np

BLOCK = 256
BLOCKS_PER_SM = 8

call = {}  # what setup prepares for run


def mapped(array: np.ndarray) -> np.uint64:
    """Pin an array's pages, map them into the GPU's address space, and return their address there."""
    # Pinned: the operating system may no longer move these pages or write them to disk, so the GPU can rely on them.
    cudaHostRegisterMapped = 2
    cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, cudaHostRegisterMapped)
    # Often the GPU's address is the same number as the host's, but not on every machine: ask.
    return np.uint64(cupy.cuda.runtime.pointerGetAttributes(array.ctypes.data).devicePointer)


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled zero_copy.cu. `x` and `out` are float32 arrays in ordinary host memory: `x` holds 1024
    samples for each element of `out`. Before each run `x` gets new samples, in the same place.
    """
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    call["kernel"] = module.get_function("zero_copy")
    call["grid"] = (BLOCKS_PER_SM * multiprocessors,)
    call["x"], call["out"] = x, out


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    x, out = call["x"], call["out"]
    call["kernel"](call["grid"], (BLOCK,), (mapped(x), mapped(out), np.int32(out.size)))
    # A launch only queues the kernel. What it writes to host memory is sure to be there when the GPU has finished.
    cupy.cuda.get_current_stream().synchronize()
    for array in (x, out):
        cupy.cuda.runtime.hostUnregister(array.ctypes.data)
