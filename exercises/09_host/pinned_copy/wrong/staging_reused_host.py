# expect: race
# The pinned piece is filled again while the copy that reads it is still under way.

"""Host side of pinned_copy: bring the recording to the GPU as fast as the link can, and the answer back."""

import cupy
import cupyx
import numpy as np

BLOCK = 256
WARPS_PER_BLOCK = BLOCK // 32  # a warp takes a frame

plan = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled pinned_copy.cu. `x` and `out` are float32 arrays in ordinary host memory: `x` holds 1024
    samples for each element of `out`. Before each run `x` gets new samples, in the same place.
    """
    # Pinned: the operating system may no longer move these pages, so the copy engine may read them by itself. It takes
    # about 10 ms for 256 MiB, as long as two copies: once, and here.
    plan["staged"] = cupyx.empty_pinned(x.size // 4 + 1, np.float32)
    cupy.cuda.runtime.hostRegister(out.ctypes.data, out.nbytes, 0)

    plan["kernel"] = module.get_function("pinned_copy")
    plan["grid"] = ((out.size + WARPS_PER_BLOCK - 1) // WARPS_PER_BLOCK,)
    plan["x"], plan["out"] = x, out
    plan["samples"] = cupy.empty(x.size, cupy.float32)  # where the recording goes in GPU memory
    plan["largest"] = cupy.empty(out.size, cupy.float32)
    plan["stream"] = cupy.cuda.Stream(non_blocking=True)


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    samples, largest, stream = plan["samples"], plan["largest"], plan["stream"]

    staged = plan["staged"]
    for start in range(0, samples.size, staged.size):
        piece = plan["x"][start : start + staged.size]
        staged[: piece.size] = piece
        samples[start : start + piece.size].set(staged[: piece.size], stream=stream)
    with stream:
        plan["kernel"](plan["grid"], (BLOCK,), (samples, largest, np.int32(largest.size)))
    largest.get(out=plan["out"], stream=stream, blocking=False)

    # All three calls have only queued their work. `out` is complete when the stream has done it.
    stream.synchronize()
