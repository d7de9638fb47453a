"""Library calls of GPUs that train one model together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


class _Gpu:
    """One GPU: a stream, its part of the inputs and outputs, and its arrays."""

    def __init__(self, number: int, n: int) -> None:
        import cupy

        self.device, self.own = cupy.cuda.Device(number), slice(n * number, n * (number + 1))
        with self.device:
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.x, self.p, self.gradient = (cupy.empty(n, cupy.float32) for _ in range(3))


def descent(arrays: Arrays, numbers: Numbers) -> Run:
    """NCCL's all-reduce in every round, one CuPy kernel for the rest of it, and copies from and to the host."""
    import cupy
    from cupy.cuda.nccl import NCCL_FLOAT32, NCCL_SUM, NcclCommunicator, groupEnd, groupStart

    train = cupy.ElementwiseKernel(
        "float32 x, float32 weight, float32 rate",
        "float32 p, float32 gradient",
        "p += rate / 16.0f * gradient; gradient = weight * (x - p)",
        "train",
    )
    count, n = int(numbers["gpus"]), int(numbers["n"])
    gpus = [_Gpu(number, n) for number in range(count)]
    communicators = NcclCommunicator.initAll(list(range(count)))

    def step(rate: float) -> None:
        for number, gpu in enumerate(gpus):
            with gpu.device, gpu.stream:
                train(gpu.x, arrays["weight"][number], cupy.float32(rate), gpu.p, gpu.gradient)

    def run() -> None:
        for gpu in gpus:
            with gpu.device, gpu.stream:
                gpu.x.set(arrays["x"][gpu.own])
                for array in (gpu.p, gpu.gradient):
                    array.data.memset_async(0, array.nbytes)
        step(0.0)
        for rate in arrays["rate"]:
            groupStart()
            for gpu, communicator in zip(gpus, communicators, strict=True):
                own = gpu.gradient.data.ptr
                communicator.allReduce(own, own, n, NCCL_FLOAT32, NCCL_SUM, gpu.stream.ptr)
            groupEnd()
            step(rate)
        for gpu in gpus:
            with gpu.device, gpu.stream:
                gpu.p.get(out=arrays["out"][gpu.own], blocking=False)
        for gpu in gpus:
            gpu.stream.synchronize()

    return run
