# expect: wrong
# The last samples of each chunk get no block, where its length is no multiple of the block.

"""Host side of streams_overlap: the recording in chunks, each with its two copies and its kernel on one stream."""

import cupy
import numpy as np

CHUNKS = 32  # the first copy in and the last copy out have nothing beside them: let them be small
STREAMS = 4  # three things can go on at once: a copy in, a kernel, a copy out
BLOCK = 256

work = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled streams_overlap.cu. `x` and `out` are float32 arrays in ordinary host memory, equally
    long. Before each run `x` gets new samples, in the same place.
    """
    work["kernel"] = module.get_function("streams_overlap")

    # Only from and to pinned memory does a copy go on by itself, while the host issues what comes next.
    for array in (x, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)

    # Streams of the usual kind would wait for whatever is put on the default stream, and it for them.
    work["streams"] = [cupy.cuda.Stream(non_blocking=True) for _ in range(STREAMS)]

    # Every chunk has its own place on the GPU: no chunk has to wait until another has left.
    x_device, out_device = cupy.empty(x.size, x.dtype), cupy.empty(x.size, x.dtype)
    length = -(-x.size // CHUNKS)
    parts = [slice(start, min(start + length, x.size)) for start in range(0, x.size, length)]
    work["chunks"] = [(x[part], x_device[part], out_device[part], out[part]) for part in parts]


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    streams = work["streams"]
    for number, (samples, x_device, out_device, results) in enumerate(work["chunks"]):
        # On one stream things happen one after another: the kernel waits for its samples, the copy out for the kernel.
        # The host waits for nothing. It is at the next chunk while this one's first copy is still on its way.
        with streams[number % STREAMS]:
            x_device.set(samples)
            grid = (max(1, samples.size // BLOCK),)
            work["kernel"](grid, (BLOCK,), (x_device, out_device, np.int32(samples.size)))
            out_device.get(out=results, blocking=False)

    # Each stream has a last chunk of its own.
    for stream in streams:
        stream.synchronize()
