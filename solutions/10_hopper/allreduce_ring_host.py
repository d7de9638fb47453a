"""Host side of allreduce_ring: GPUs in a ring, each of which reads from its left neighbour only."""

from collections.abc import Callable

import cupy
import numpy as np

BLOCK = 256
BLOCKS_PER_SM = 8

call = {}  # what setup prepares for run
gpus = []  # the ring: a Gpu for each


class Gpu:
    """What one GPU of the ring has: a stream, its own data, the parameters, and its place between two neighbours."""

    def __init__(self, number: int, ring: int, n: int) -> None:
        self.number, self.left, self.right = number, (number - 1) % ring, (number + 1) % ring
        self.own = slice(n * number, n * (number + 1))  # its part of x and out
        self.steps = 0
        with cupy.cuda.Device(number) as device:
            self.grid = (BLOCKS_PER_SM * device.attributes["MultiProcessorCount"],)
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.x = cupy.empty(n, np.float32)
            self.p = cupy.empty(n, np.float32)
            self.gradient = cupy.empty(n, np.float32)
            # They take turns: while a neighbour still waits for one step, the next one may be marked.
            self.done = [cupy.cuda.Event(disable_timing=True) for _ in range(2)]

    def mark(self) -> None:
        """All that this GPU has been told so far is a step, for which neighbours can wait."""
        self.steps += 1
        self.done[self.steps % 2].record(self.stream)

    def wait_for(self, neighbour: int) -> None:
        """What this GPU is told next waits until a neighbour has done as many steps as this GPU has marked."""
        self.stream.wait_event(gpus[neighbour].done[self.steps % 2])


def setup(module: cupy.RawModule, x: np.ndarray, weight: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled allreduce_ring.cu; its kernels run on every GPU. There are as many GPUs as elements in
    `weight`, and as many rounds as elements in `rate`. `x` and `out` hold n elements for each GPU, one GPU's after the
    other's. Before each run there are new values in `x`, `weight` and `rate`, in the same place.
    """
    ring = weight.size
    n = x.size // ring
    gpus[:] = [Gpu(number, ring, n) for number in range(ring)]
    for gpu in gpus:
        allow(gpu.number, gpu.left)
    for array in (x, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 1)  # 1: pinned for every GPU
    # Chunk c is elements ends[c] to ends[c + 1]: as many chunks as GPUs. Of a short array some are empty.
    ends = [n * chunk // ring for chunk in range(ring + 1)]
    chunks = [slice(ends[chunk], ends[chunk + 1]) for chunk in range(ring)]
    call.update(train=module.get_function("train"), add=module.get_function("add"), chunks=chunks)
    call.update(x=x, weight=weight, rate=rate, out=out)


def allow(device: int, peer: int) -> None:
    """Let kernels on `device` reach the memory of `peer`, and copies take the way between the two."""
    with cupy.cuda.Device(device):
        try:
            cupy.cuda.runtime.deviceEnablePeerAccess(peer)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            if "PeerAccessAlreadyEnabled" not in str(error):  # an earlier setup has allowed it
                raise


def run() -> None:
    """Compute `out` from what is in the inputs now. Timed: when this returns, `out` must be complete."""
    every_gpu(upload)
    every_gpu(train, 0.0)  # parameters and sum are 0: this makes the first gradients
    for rate in call["rate"]:
        all_reduce()
        every_gpu(train, rate)
    every_gpu(download)
    for gpu in gpus:
        gpu.stream.synchronize()


def every_gpu(act: Callable[..., None], *args: float) -> None:
    """One step of the ring: every GPU is told what to do. Nobody waits here; that is for the GPUs' streams."""
    for gpu in gpus:
        with cupy.cuda.Device(gpu.number), gpu.stream:
            act(gpu, *args)
            gpu.mark()


def upload(gpu: Gpu) -> None:
    """Its own data; parameters and gradient begin at 0."""
    gpu.x.set(call["x"][gpu.own])
    gpu.p.data.memset_async(0, gpu.p.nbytes)
    gpu.gradient.data.memset_async(0, gpu.gradient.nbytes)


def train(gpu: Gpu, rate: float) -> None:
    """The local part of a round: from the sum of all gradients to this GPU's next gradient, in the same place."""
    # The right neighbour may still be reading the sum that is overwritten here.
    gpu.wait_for(gpu.right)
    weight = call["weight"][gpu.number]
    arguments = (gpu.p, gpu.gradient, gpu.x, weight, np.float32(rate), np.int32(gpu.p.size))
    call["train"](gpu.grid, (BLOCK,), arguments)


def all_reduce() -> None:
    """Make every GPU's gradient the sum of all gradients."""
    # Scatter the sums: a chunk goes once round the ring, and every GPU adds its own part. At the end, GPU g has the
    # whole sum of chunk g + 1.
    for step in range(len(gpus) - 1):
        every_gpu(add_chunk, step)
    # Gather them: the whole sums go round once more, and every GPU keeps a copy.
    for step in range(len(gpus) - 1):
        every_gpu(copy_chunk, step)


def add_chunk(gpu: Gpu, step: int) -> None:
    """A kernel here reads the left neighbour's memory, and adds what it reads to this GPU's own."""
    mine, theirs = parts(gpu, (gpu.number - 1 - step) % len(gpus))
    gpu.wait_for(gpu.left)
    if mine.size:
        call["add"](gpu.grid, (BLOCK,), (mine, theirs, np.int32(mine.size)))


def copy_chunk(gpu: Gpu, step: int) -> None:
    """A copy engine brings what the left neighbour has."""
    mine, theirs = parts(gpu, (gpu.number - step) % len(gpus))
    gpu.wait_for(gpu.left)
    if mine.size:
        ends = (mine.data.ptr, gpu.number, theirs.data.ptr, gpu.left)
        cupy.cuda.runtime.memcpyPeerAsync(*ends, mine.nbytes, gpu.stream.ptr)


def parts(gpu: Gpu, chunk: int) -> tuple[cupy.ndarray, cupy.ndarray]:
    """A chunk of this GPU's gradient, and the same chunk of its left neighbour's."""
    part = call["chunks"][chunk]
    return gpu.gradient[part], gpus[gpu.left].gradient[part]


def download(gpu: Gpu) -> None:
    """Its copy of the parameters, which is the same on all GPUs."""
    gpu.p.get(out=call["out"][gpu.own], blocking=False)
