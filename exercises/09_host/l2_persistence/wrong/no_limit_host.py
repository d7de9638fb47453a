# expect: sim=technique gpu=slow
# Right, but nothing was set aside: a window alone has no place to keep anything.

"""Host side of l2_persistence: keep the index in the L2 cache while a scan passes, so that each step is short."""

import cupy
import numpy as np
from cuda.bindings import runtime as cudart

BRANCHES = 8  # as in l2_persistence.cu
NODES_PER_SEARCH = 384  # 2048 searches in an index of 24 MiB
ENTRIES_PER_SEARCH = 12288  # and a log of 96 MiB
WALK_BLOCK, SCAN_BLOCK = 64, 256
SCAN_BLOCKS_PER_SM = 8

plan = {}  # what setup prepares for run


def checked(result: tuple) -> tuple:
    """What a call of cuda.bindings returned, without its error code. The library raises nothing by itself."""
    error, *values = result
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA refused: {error.name}")
    return tuple(values)


def persist(table: cupy.ndarray, stream: cupy.cuda.Stream) -> None:
    """Set a part of L2 aside, and let the stream's kernels keep the table in it."""
    most = cudart.cudaDeviceAttr.cudaDevAttrMaxPersistingL2CacheSize
    # All that can be had: a line has few places to go, so that a part of just the table's size does not hold it all.
    (aside,) = checked(cudart.cudaDeviceGetAttribute(most, cupy.cuda.Device().id))

    value = cudart.cudaStreamAttrValue()
    value.accessPolicyWindow.base_ptr = table.data.ptr
    value.accessPolicyWindow.num_bytes = table.nbytes
    # Were the table larger than what is set aside, only such a part of its lines may ask to stay: all of them would
    # drive each other out.
    value.accessPolicyWindow.hitRatio = min(1.0, aside / table.nbytes)
    value.accessPolicyWindow.hitProp = cudart.cudaAccessProperty.cudaAccessPropertyPersisting
    value.accessPolicyWindow.missProp = cudart.cudaAccessProperty.cudaAccessPropertyNormal
    attribute = cudart.cudaStreamAttrID.cudaLaunchAttributeAccessPolicyWindow
    checked(cudart.cudaStreamSetAttribute(stream.ptr, attribute, value))


def setup(module: cupy.RawModule, keys: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled l2_persistence.cu. `keys` holds one uint32 for each search, `out` has room for where each
    search stands after each round: uint32, in ordinary host memory. Before each run `keys` gets new values.
    """
    for array in (keys, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)
    plan["arrays"] = keys, out
    plan["searches"], plan["rounds"] = keys.size, out.size // keys.size
    plan["nodes"] = nodes = NODES_PER_SEARCH * keys.size
    plan["walk"], plan["scan"] = module.get_function("walk"), module.get_function("scan")
    plan["walk grid"] = ((keys.size + WALK_BLOCK - 1) // WALK_BLOCK,)
    plan["scan grid"] = (SCAN_BLOCKS_PER_SM * cupy.cuda.Device().attributes["MultiProcessorCount"],)
    plan["stream"] = stream = cupy.cuda.Stream(non_blocking=True)
    plan["keys"] = cupy.empty(keys.size, cupy.uint32)
    plan["found"] = cupy.empty(plan["rounds"], cupy.uint32)
    plan["places"] = cupy.empty(out.size, cupy.uint32)

    # Index and log are in GPU memory, and stay as they are.
    plan["index"] = index = cupy.empty(BRANCHES * nodes, cupy.uint32)
    plan["log"] = log = cupy.empty(ENTRIES_PER_SEARCH * keys.size, cupy.uint32)
    with stream:
        module.get_function("build")(((index.size + 255) // 256,), (256,), (index, np.uint32(nodes)))
        module.get_function("record")(((log.size + 255) // 256,), (256,), (log, np.uint32(log.size)))
    stream.synchronize()

    # The attribute holds for what is launched on this stream from now on.
    persist(index, stream)


def run() -> None:
    """Compute `out` from what is in `keys` now. Timed: when this returns, `out` must be complete."""
    host_keys, out = plan["arrays"]
    keys, index, log, found, places, stream = (
        plan[name] for name in ("keys", "index", "log", "found", "places", "stream")
    )
    nodes, searches, quads = np.uint32(plan["nodes"]), np.uint32(plan["searches"]), np.uint32(log.size // 4)
    keys.set(host_keys, stream=stream)
    found.data.memset_async(0, found.nbytes, stream)
    with stream:
        for number in range(plan["rounds"]):
            now = np.uint32(number)
            plan["walk"](plan["walk grid"], (WALK_BLOCK,), (index, keys, found, places, nodes, searches, now))
            plan["scan"](plan["scan grid"], (SCAN_BLOCK,), (log, places, found, quads, searches, now))
    places.get(out=out, stream=stream, blocking=False)
    stream.synchronize()
