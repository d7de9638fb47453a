"""Host side of allreduce_ring: two rings of GPUs, one each way round, in which every chunk travels in pieces."""

from collections.abc import Callable
from itertools import pairwise

import cupy
import numpy as np

BLOCK = 256
BLOCKS_PER_SM = 8
WAYS = (1, -1)  # to the right: from GPU g to g + 1; to the left. Each way takes one half of the gradient.

call = {}  # what setup prepares for run
gpus = []  # the ring: a Gpu for each


class Way:
    """What one GPU has for one way round the ring. Each piece of a chunk has a place in the inbox and two events."""

    def __init__(self, chunks: list[list[cupy.ndarray]]) -> None:
        self.chunks = chunks  # chunks[c][p]: piece p of chunk c of this GPU's gradient
        self.stream = cupy.cuda.Stream(non_blocking=True)  # for copies
        longest = max(piece.size for chunk in chunks for piece in chunk)
        self.inbox = [cupy.empty(longest, np.float32) for _ in chunks[0]]
        self.arrived = [cupy.cuda.Event(disable_timing=True) for _ in chunks[0]]  # the piece is in the inbox
        self.ready = [cupy.cuda.Event(disable_timing=True) for _ in chunks[0]]  # a neighbour may read the piece


class Gpu:
    """What one GPU of the ring has: its own data, the parameters, a stream for kernels, and both ways."""

    def __init__(self, number: int, ring: int, n: int) -> None:
        self.number = number
        self.own = slice(n * number, n * (number + 1))  # its part of x and out
        self.device = cupy.cuda.Device(number)
        with self.device:
            self.most_blocks = BLOCKS_PER_SM * self.device.attributes["MultiProcessorCount"]
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.x, self.p, self.gradient = (cupy.empty(n, np.float32) for _ in range(3))
            self.ways = dict(zip(WAYS, map(Way, cut(self.gradient, ring)), strict=True))

    def neighbour(self, way: int) -> "Gpu":
        """The next GPU that way. `-way` is where this GPU's data of that way comes from."""
        return gpus[(self.number + way) % len(gpus)]

    def launch(self, kernel: cupy.RawKernel, elements: int, arguments: tuple) -> None:
        blocks = min(-(-elements // BLOCK), self.most_blocks)
        if blocks:
            with self.stream:
                kernel((blocks,), (BLOCK,), (*arguments, np.int32(elements)))


def cut(gradient: cupy.ndarray, ring: int) -> list[list[list[cupy.ndarray]]]:
    """The gradient's pieces by way, chunk and place in the chunk: as many chunks as GPUs. Some pieces may be empty."""
    # The host needs time for each piece, in each step, on each GPU. It must not take longer than the copies.
    pieces = 2 if ring < 4 else 1
    count = len(WAYS) * ring * pieces
    ends = [gradient.size * i // count for i in range(count + 1)]
    parts = iter([gradient[start:stop] for start, stop in pairwise(ends)])
    return [[[next(parts) for _ in range(pieces)] for _ in range(ring)] for _ in WAYS]


def setup(module: cupy.RawModule, x: np.ndarray, weight: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled allreduce_ring.cu; its kernels run on every GPU. There are as many GPUs as elements in
    `weight`, and as many rounds as elements in `rate`. `x` and `out` hold n elements for each GPU, one GPU's after the
    other's. Before each run there are new values in `x`, `weight` and `rate`, in the same place.
    """
    ring = weight.size
    gpus[:] = [Gpu(number, ring, x.size // ring) for number in range(ring)]
    for gpu in gpus:
        for way in WAYS:
            allow(gpu, gpu.neighbour(way))
    for array in (x, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 1)  # 1: pinned for every GPU
    call.update(train=module.get_function("train"), add=module.get_function("add"))
    call.update(x=x, weight=weight, rate=rate, out=out)


def allow(gpu: Gpu, peer: Gpu) -> None:
    """Let copies to `gpu` take the direct way from `peer`, and kernels on `gpu` reach the memory of `peer`."""
    with gpu.device:
        try:
            cupy.cuda.runtime.deviceEnablePeerAccess(peer.number)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            if "PeerAccessAlreadyEnabled" not in str(error):  # earlier, or for the other way: of two GPUs
                raise


def run() -> None:
    """Compute `out` from what is in the inputs now. Timed: when this returns, `out` must be complete."""
    every_gpu(upload)
    every_gpu(train, 0.0)  # parameters and sum are 0: this makes the first gradients
    for rate in call["rate"]:
        all_reduce()
        every_gpu(wait_for_all_copies)
        every_gpu(train, rate)
    every_gpu(download)
    for gpu in gpus:
        gpu.stream.synchronize()


def every_gpu(act: Callable[..., None], *args: float) -> None:
    """Every GPU is told what to do. The host waits for nothing; that is for the GPUs' streams."""
    for gpu in gpus:
        with gpu.device:
            act(gpu, *args)


def both_ways(act: Callable[..., None], step: int, piece: int) -> None:
    """Every GPU is told what to do, for both ways."""
    for gpu in gpus:
        with gpu.device:
            for way in WAYS:
                act(gpu, way, step, piece)


def upload(gpu: Gpu) -> None:
    """Its own data; parameters and gradient begin at 0."""
    gpu.x.set(call["x"][gpu.own], stream=gpu.stream)
    for array in (gpu.p, gpu.gradient):
        array.data.memset_async(0, array.nbytes, stream=gpu.stream)


def train(gpu: Gpu, rate: float) -> None:
    """The local part of a round: from the sum of all gradients to this GPU's next gradient, in the same place."""
    weight = call["weight"][gpu.number]
    gpu.launch(call["train"], gpu.p.size, (gpu.p, gpu.gradient, gpu.x, weight, np.float32(rate)))
    for way in gpu.ways.values():
        for ready in way.ready:
            ready.record(gpu.stream)


def all_reduce() -> None:
    """Make every GPU's gradient the sum of all gradients."""
    # Scatter the sums: a chunk goes once round the ring, and every GPU adds its own part. At the end, GPU g has the
    # whole sum of chunk g + way. While a piece is added, the next one is on its way.
    for step in range(len(gpus) - 1):
        for piece in range(pieces()):
            both_ways(fetch, step, piece)
            both_ways(add, step, piece)
    # Gather them: the whole sums go round once more, and every GPU keeps a copy. First all GPUs wait, then all copy: a
    # GPU that was told to wait later would wait for the copy of this step, which its neighbour marks as ready, too.
    for step in range(len(gpus) - 1):
        for piece in range(pieces()):
            both_ways(wait_for_sum, step, piece)
            both_ways(keep, step, piece)


def pieces() -> int:
    """The number of pieces of a chunk."""
    return len(gpus[0].ways[1].inbox)


def fetch(gpu: Gpu, way: int, step: int, piece: int) -> None:
    """Scatter: copy a piece of a neighbour's gradient to the inbox."""
    mine, theirs = gpu.ways[way], gpu.neighbour(-way).ways[way]
    mine.stream.wait_event(theirs.ready[piece])  # the neighbour has added what it got in the step before
    mine.stream.wait_event(mine.ready[piece])  # and this GPU has added what is in its inbox
    chunk = (gpu.number - way * (step + 1)) % len(gpus)
    copy(mine.inbox[piece], theirs.chunks[chunk][piece], gpu, gpu.neighbour(-way), mine.stream)
    mine.arrived[piece].record(mine.stream)


def add(gpu: Gpu, way: int, step: int, piece: int) -> None:
    """Scatter: add what is in the inbox to this GPU's own piece."""
    mine = gpu.ways[way]
    own = mine.chunks[(gpu.number - way * (step + 1)) % len(gpus)][piece]
    gpu.stream.wait_event(mine.arrived[piece])
    gpu.launch(call["add"], own.size, (own, mine.inbox[piece]))
    mine.ready[piece].record(gpu.stream)


def wait_for_sum(gpu: Gpu, way: int, step: int, piece: int) -> None:
    """Gather: the neighbour has the whole sum of the piece. In the first step it has added it, later copied it."""
    gpu.ways[way].stream.wait_event(gpu.neighbour(-way).ways[way].ready[piece])


def keep(gpu: Gpu, way: int, step: int, piece: int) -> None:
    """Gather: copy the whole sum of a piece to its place in this GPU's gradient."""
    mine, theirs = gpu.ways[way], gpu.neighbour(-way).ways[way]
    chunk = (gpu.number - way * step) % len(gpus)
    copy(mine.chunks[chunk][piece], theirs.chunks[chunk][piece], gpu, gpu.neighbour(-way), mine.stream)
    mine.ready[piece].record(mine.stream)


def copy(to: cupy.ndarray, source: cupy.ndarray, here: Gpu, there: Gpu, stream: cupy.cuda.Stream) -> None:
    """A copy engine brings a piece from another GPU to this one."""
    if source.size:
        ends = (to.data.ptr, here.number, source.data.ptr, there.number)
        cupy.cuda.runtime.memcpyPeerAsync(*ends, source.nbytes, stream.ptr)


def wait_for_all_copies(gpu: Gpu) -> None:
    """What is launched next on this GPU may read the whole sum, and overwrite it."""
    for way in WAYS:
        # The last piece is ready when all are: the copies of one way are in one stream.
        gpu.stream.wait_event(gpu.ways[way].ready[-1])  # the sum has come
        gpu.stream.wait_event(gpu.neighbour(way).ways[way].ready[-1])  # and the neighbour has its copy


def download(gpu: Gpu) -> None:
    """Its copy of the parameters, which is the same on all GPUs."""
    gpu.p.get(stream=gpu.stream, out=call["out"][gpu.own], blocking=False)
