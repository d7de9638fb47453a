"""Host side of streams_events: copies in, kernels and copies out on streams of their own, through rings of buffers."""

import cupy
import numpy as np

DELAY = 4096  # as in streams_events.cu
BLOCK = 256

work = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled streams_events.cu. `x` and `out` are float32 arrays in ordinary host memory, equally long.
    Before each run `x` gets new samples, in the same place.
    """
    work["kernel"] = module.get_function("streams_events")
    # YOUR CODE: pin both arrays, make streams, events, a few buffers each way and the silence before the first chunk


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    # YOUR CODE: for each chunk: copy in, launch, copy out, each on its stream, with the events that hold them together
