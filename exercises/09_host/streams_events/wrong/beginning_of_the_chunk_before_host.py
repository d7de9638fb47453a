# expect: wrong
# The echo of a chunk is at the end of the chunk before, not at its beginning: the same only if a chunk is 4096 long.

"""Host side of streams_events: copies in, kernels and copies out on streams of their own, through rings of buffers."""

import cupy
import numpy as np

DELAY = 4096  # as in streams_events.cu
CHUNKS = 64
RING = 4  # chunk i uses buffer i % RING: one is filled, two are computed from, one still holds the samples before
KERNELS = 2  # streams for kernels
BLOCK = 256

work = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled streams_events.cu. `x` and `out` are float32 arrays in ordinary host memory, equally long.
    Before each run `x` gets new samples, in the same place.
    """
    work["kernel"] = module.get_function("streams_events")
    for array in (x, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)

    # One stream for each way: what goes the same way takes turns anyway, on the same copy engine. Kernels have two: the
    # first blocks of one take the places that the last blocks of the one before leave.
    work["upload"], work["download"] = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    work["kernels"] = [cupy.cuda.Stream(non_blocking=True) for _ in range(KERNELS)]

    # An event says "everything up to here is done", of the stream on which it was recorded last.
    for done in ("uploaded", "computed", "downloaded"):
        work[done] = [cupy.cuda.Event(disable_timing=True) for _ in range(RING)]

    # Before the recording there is silence. It is written on the default stream, which our streams do not wait for.
    silence = cupy.zeros(DELAY, x.dtype)
    cupy.cuda.get_current_stream().synchronize()

    # A chunk is at least as long as the echo is late: then the echo comes from the chunk before, and from no other.
    length = max(-(-x.size // CHUNKS), DELAY)
    inputs = [cupy.empty(length, x.dtype) for _ in range(RING)]
    outputs = [cupy.empty(length, x.dtype) for _ in range(RING)]
    work["chunks"] = []
    for i, start in enumerate(range(0, x.size, length)):
        part = slice(start, min(start + length, x.size))
        n = part.stop - part.start
        before = inputs[(i - 1) % RING][:DELAY] if i > 0 else silence
        work["chunks"].append((x[part], inputs[i % RING][:n], before, outputs[i % RING][:n], out[part]))


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    upload, download = work["upload"], work["download"]
    uploaded, computed, downloaded = work["uploaded"], work["computed"], work["downloaded"]
    for i, (samples, x_device, before, out_device, results) in enumerate(work["chunks"]):
        slot, compute = i % RING, work["kernels"][i % KERNELS]

        # Is the buffer free? It held chunk i - RING, and two kernels on two streams have read it: that chunk's own, and
        # the next one, whose echo is at its end.
        upload.wait_event(computed[slot])
        upload.wait_event(computed[(i + 1) % RING])
        x_device.set(samples, stream=upload)
        uploaded[slot].record(upload)

        # Are the samples there, and has the last result left its buffer? The chunk before needs no event: its samples
        # came on the same stream, and so before these.
        compute.wait_event(uploaded[slot])
        compute.wait_event(downloaded[slot])
        with compute:
            grid = (-(-samples.size // BLOCK),)
            work["kernel"](grid, (BLOCK,), (x_device, before, out_device, np.int32(samples.size)))
        computed[slot].record(compute)

        # Is the result there?
        download.wait_event(computed[slot])
        out_device.get(stream=download, out=results, blocking=False)
        downloaded[slot].record(download)

    # The last copy out comes after all others, and each has waited for its kernel. The waits of the first chunks are
    # for events of an earlier run: they are long done. (An event that was never recorded holds nobody up.)
    download.synchronize()
