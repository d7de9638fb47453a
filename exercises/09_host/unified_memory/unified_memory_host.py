"""Host side of unified_memory: data that GPU and host touch in turns, at one address, moved before it is needed."""

import ctypes

import cupy
import numpy as np

WIDTH, STRIP = 2048, 64  # as in unified_memory.cu
BLOCK = 256

plan = {}  # what setup prepares for run


class Managed:
    """Floats in managed memory: `address` is theirs for the GPU and for the host, `host` a NumPy array of them."""

    def __init__(self, count: int) -> None:
        self.nbytes = 4 * count
        self.memory = cupy.cuda.malloc_managed(self.nbytes)  # given back when nobody holds it any more
        self.address = self.memory.ptr
        self.host = np.ctypeslib.as_array((ctypes.c_float * count).from_address(self.address))

    def mostly_read(self) -> None:
        """Tell the driver that each side may keep a copy of its own."""
        # YOUR CODE

    def prefetch(self, stream: cupy.cuda.Stream) -> None:
        """Queue the move of all pages to the GPU."""
        # YOUR CODE


def strengths(strip: np.ndarray, profile: np.ndarray) -> np.ndarray:
    """How much background each line has. The host's turn: given, and nothing to change here."""
    return strip.reshape(-1, STRIP) @ profile[:STRIP]


def setup(module: cupy.RawModule, x: np.ndarray, profile: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run.

    `module` is your compiled unified_memory.cu. `x` and `out` hold 2048 samples for each line, `profile` 2048 samples
    for all of them: float32 arrays in ordinary host memory. Before each run `x` and `profile` get new values.
    """
    plan["count"] = x.size // WIDTH
    plan["arrays"] = x, profile, out
    plan["kernels"] = module.get_function("despike"), module.get_function("subtract")
    plan["grid"] = ((x.size + BLOCK - 1) // BLOCK,)
    plan["stream"] = cupy.cuda.Stream(non_blocking=True)

    # YOUR CODE: what has two users goes into managed memory, what has one need not. Who only reads, and who writes?


def run() -> None:
    """Compute `out` from what is in `x` and `profile` now. When this returns, `out` must be complete."""
    # YOUR CODE: x and profile into managed memory, then three turns:
    # YOUR CODE:   the GPU: despike(lines, clean, strip, count)
    # YOUR CODE:   the host: strength = strengths(strip, profile)
    # YOUR CODE:   the GPU: subtract(clean, profile, strength, result, count)
    # YOUR CODE: and the result into out. What a kernel uses goes to the GPU first; the host waits before it reads.
