# expect: wrong
# The pieces are equally long: what is left of the division is never copied.

"""Host side of pinned_copy: bring the recording to the GPU as fast as the link can, and the answer back."""

import cupy
import numpy as np

BLOCK = 256
PIECE = 1 << 18  # samples of a piece: 1 MiB
WARPS_PER_BLOCK = BLOCK // 32  # a warp takes a frame

plan = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled pinned_copy.cu. `x` and `out` are float32 arrays in ordinary host memory: `x` holds 1024
    samples for each element of `out`. Before each run `x` gets new samples, in the same place.
    """
    # Pinned: the operating system may no longer move these pages, so the copy engine may read them by itself. It takes
    # about 10 ms for 256 MiB, as long as two copies: once, and here.
    for array in (x, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)

    plan["kernel"] = module.get_function("pinned_copy")
    plan["grid"] = ((out.size + WARPS_PER_BLOCK - 1) // WARPS_PER_BLOCK,)
    plan["x"], plan["out"] = x, out
    plan["samples"] = cupy.empty(x.size, cupy.float32)  # where the recording goes in GPU memory
    length = min(x.size, PIECE)
    plan["pieces"] = [slice(i * length, (i + 1) * length) for i in range(x.size // length)]
    plan["largest"] = cupy.empty(out.size, cupy.float32)
    plan["stream"] = cupy.cuda.Stream(non_blocking=True)


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    samples, largest, stream = plan["samples"], plan["largest"], plan["stream"]

    # One stream keeps the order: copies, kernel, copy.
    for piece in plan["pieces"]:
        samples[piece].set(plan["x"][piece], stream=stream)
    with stream:
        plan["kernel"](plan["grid"], (BLOCK,), (samples, largest, np.int32(largest.size)))
    largest.get(out=plan["out"], stream=stream, blocking=False)

    # All calls have only queued their work. `out` is complete when the stream has done it.
    stream.synchronize()
