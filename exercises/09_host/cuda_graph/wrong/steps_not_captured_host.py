# expect: wrong
# The steps are launched on the default stream: they are done in setup, and the graph holds the copies alone.

"""Host side of cuda_graph: all steps are captured once, and launched by one call in each run."""

import cupy
import numpy as np

BLOCK = 256

work = {}  # what setup prepares for run


def copy(target: int, source: int, size: int, stream: cupy.cuda.Stream) -> None:
    """Queue a copy between two addresses. While a stream is captured, CuPy's own `set` and `get` refuse to copy."""
    cupy.cuda.runtime.memcpyAsync(target, source, size, cupy.cuda.runtime.memcpyDefault, stream.ptr)


def setup(module: cupy.RawModule, x: np.ndarray, heat: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled cuda_graph.cu. The arrays are float32, in ordinary host memory: the rod `x`, one element
    of `heat` for each step, and the rod `out` after all steps. Before each run `x` and `heat` get new values, in the
    same place.
    """
    kernel = module.get_function("cuda_graph")
    for array in (x, heat, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)

    # The graph keeps addresses, not arrays: these stay in `work` for as long as it is launched.
    rods = cupy.empty(x.size, x.dtype), cupy.empty(x.size, x.dtype)
    heat_device = cupy.empty(heat.size, heat.dtype)
    stream = cupy.cuda.Stream(non_blocking=True)
    grid = (-(-x.size // BLOCK),)

    # From here to the end of the capture nothing is done: every call is written down as a node of the graph. The copies
    # belong to it, too: they will read what is in x and heat when the graph is launched.
    stream.begin_capture()
    copy(rods[0].data.ptr, x.ctypes.data, x.nbytes, stream)
    copy(heat_device.data.ptr, heat.ctypes.data, heat.nbytes, stream)
    for step in range(heat.size):
        now, then = rods[step % 2], rods[(step + 1) % 2]
        kernel(grid, (BLOCK,), (now, then, heat_device, np.int32(step), np.int32(x.size)))
    copy(out.ctypes.data, rods[heat.size % 2].data.ptr, out.nbytes, stream)
    graph = stream.end_capture()
    cupy.cuda.Device().synchronize()
    graph.upload(stream)  # so that the first launch need not bring it to the GPU
    work.update(graph=graph, stream=stream, arrays=(*rods, heat_device))


def run() -> None:
    """Compute `out` from what is in `x` and `heat` now. Timed: when this returns, `out` must be complete."""
    work["graph"].launch(work["stream"])
    work["stream"].synchronize()
