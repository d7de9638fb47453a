# expect: technique
# Right, but the size of a prefetch is in bytes: a quarter of the pages is moved.

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
        advice, device = cupy.cuda.runtime.cudaMemAdviseSetReadMostly, cupy.cuda.Device().id
        cupy.cuda.runtime.memAdvise(self.address, self.nbytes, advice, device)

    def prefetch(self, stream: cupy.cuda.Stream) -> None:
        """Queue the move of all pages to the GPU."""
        cupy.cuda.runtime.memPrefetchAsync(self.address, self.host.size, cupy.cuda.Device().id, stream.ptr)


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

    # Only the GPU uses the cleaned lines and the result: ordinary GPU memory, and one fast copy into pinned memory at
    # the end. Everything else has two users.
    plan["clean"], plan["result"] = cupy.empty(x.size, cupy.float32), cupy.empty(x.size, cupy.float32)
    cupy.cuda.runtime.hostRegister(out.ctypes.data, out.nbytes, 0)
    plan["lines"], plan["profile"] = Managed(x.size), Managed(WIDTH)
    plan["strip"], plan["strength"] = Managed(STRIP * plan["count"]), Managed(plan["count"])

    # The host writes these once in a run, and the GPU only reads them. With a copy on each side, the host finds its own
    # pages in place in the next run, and nothing goes back over the link only to be overwritten.
    for name in ("lines", "profile", "strength"):
        plan[name].mostly_read()


def run() -> None:
    """Compute `out` from what is in `x` and `profile` now. When this returns, `out` must be complete."""
    x, profile, out = plan["arrays"]
    lines, strip, strength, shape, result = (plan[n] for n in ("lines", "strip", "strength", "profile", "result"))
    despike, subtract = plan["kernels"]
    stream, clean, count = plan["stream"], plan["clean"], np.int32(plan["count"])

    # The host has the first word. Nothing is queued that could still read here.
    lines.host[:] = x
    shape.host[:] = profile

    # Turn 1, the GPU. What it reads and what it writes goes there first, in large pieces and not page by page.
    for data in (lines, shape, strip):
        data.prefetch(stream)
    with stream:
        despike(plan["grid"], (BLOCK,), (np.uint64(lines.address), clean, np.uint64(strip.address), count))

    # Turn 2, the host. Before the wait it must not look at the strip; then it simply reads, and these few pages come.
    stream.synchronize()
    strength.host[:] = strengths(strip.host, shape.host)

    # Turn 3, the GPU. What the host has just written is on the host, however little it is.
    strength.prefetch(stream)
    with stream:
        subtract(plan["grid"], (BLOCK,), (clean, np.uint64(shape.address), np.uint64(strength.address), result, count))
    result.get(out=out, stream=stream, blocking=False)
    stream.synchronize()
