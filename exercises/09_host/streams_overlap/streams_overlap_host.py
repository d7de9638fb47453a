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

    # YOUR CODE: pin both arrays, make the streams, allocate memory on the GPU, cut the recording into chunks


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    # YOUR CODE: for each chunk, on its stream: copy in, launch, copy out. Wait for all streams at the end
