# expect: race
# The copy out waits for the event of the copy in, not for that of the kernel.

"""Host side of streams_events: copy in, compute, copy out, each on a stream of its own, with three buffers each way."""

import cupy
import numpy as np

DELAY = 4096  # as in streams_events.cu
CHUNKS = 32
RING = 3  # chunk i uses buffer i % RING: one is filled, one is computed from, one still holds the samples before
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

    # One stream for each role: what has the same role takes turns anyway, on the same copy engine or multiprocessors.
    for role in ("upload", "compute", "download"):
        work[role] = cupy.cuda.Stream(non_blocking=True)

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
        before = inputs[(i - 1) % RING][length - DELAY :] if i > 0 else silence
        work["chunks"].append((x[part], inputs[i % RING][:n], before, outputs[i % RING][:n], out[part]))


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    upload, compute, download = work["upload"], work["compute"], work["download"]
    uploaded, computed, downloaded = work["uploaded"], work["computed"], work["downloaded"]
    for i, (samples, x_device, before, out_device, results) in enumerate(work["chunks"]):
        slot = i % RING

        # Is the buffer free? It held chunk i - RING, whose end was needed by the kernel after it: i - RING + 1.
        upload.wait_event(computed[(i + 1) % RING])
        x_device.set(samples, stream=upload)
        uploaded[slot].record(upload)

        # Are the samples there, and has the last result left its buffer? The chunk before needs no event: the kernel
        # before has waited for it, and comes first on this stream.
        compute.wait_event(uploaded[slot])
        compute.wait_event(downloaded[slot])
        with compute:
            grid = (-(-samples.size // BLOCK),)
            work["kernel"](grid, (BLOCK,), (x_device, before, out_device, np.int32(samples.size)))
        computed[slot].record(compute)

        # Is the result there?
        download.wait_event(uploaded[slot])
        out_device.get(stream=download, out=results, blocking=False)
        downloaded[slot].record(download)

    # The last copy out has waited for everything else. The waits of the first chunks are for events of an earlier run:
    # they are long done. (An event that was never recorded holds nobody up.)
    download.synchronize()
