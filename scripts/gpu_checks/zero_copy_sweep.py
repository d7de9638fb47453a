"""Time every way of variants/zero_copy.cu to read 256 MiB of mapped host memory, between events, in one process.

python scripts/gpu_checks/zero_copy_sweep.py [--samples N]

Prints the best combinations, the best of each setting, the copy over the same link, and what a launch costs. The
memory is registered as the grader's is; the best combinations are tried on `cudaHostAlloc`'s, and with their output on
the device, too.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from grader.backends.gpu.cuda import Cuda
from grader.backends.mappings import SharedFile
from grader.compile import assemble, compile_source
from grader.gpus.detect import detect

SOURCE = Path(__file__).with_name("variants") / "zero_copy.cu"
FRAMES = 65536
BYTES = 4096 * FRAMES
MAPPED = 2  # cudaHostRegisterMapped
KERNELS = tuple(f"{order}_{flight}" for order in ("round", "chunk") for flight in (4, 8, 16, 32))
BLOCKS_PER_SM = (1, 2, 4, 8, 16, 32)
BLOCKS = (128, 256, 512)


@dataclass(frozen=True)
class Way:
    """One combination: the kernel, its launch, and where its arrays lie."""

    kernel: str
    per_sm: int
    block: int
    memory: str = "registered"
    out: str = "mapped"

    def __str__(self) -> str:
        return f"{self.kernel:9} {self.per_sm:2} blocks/SM of {self.block:3}, x {self.memory}, out {self.out}"


SHIPPED = Way("round_8", 8, 256)


class Bench:
    """The arrays, the kernels, and a stopwatch."""

    def __init__(self, samples: int) -> None:
        gpu = detect(0)
        cubin = assemble(compile_source(SOURCE.read_bytes(), SOURCE.name), gpu.arch)
        self.samples, self.sm_count = samples, gpu.sm_count
        self.cuda = Cuda(0)
        self.module = self.cuda.load(cubin)
        x = np.random.default_rng(1).random(BYTES // 4, dtype=np.float32)
        self.expected = np.square(x.reshape(FRAMES, -1)).sum(axis=1, dtype=np.float64)
        self.file = SharedFile(BYTES + (1 << 20))
        self.x = {"registered": self._registered(x), "hostAlloc": self._allocated(x)}
        self.out_host = self.file.array(self.file.reserve(4 * FRAMES), "float32")
        self.out = {"mapped": self._map(self.out_host), "device": self.cuda.allocate(4 * FRAMES)}
        self.device_copy = self.cuda.allocate(BYTES)

    def _registered(self, x: Any) -> int:
        array = self.file.array(self.file.reserve(BYTES), "float32")
        array[:] = x
        return self._map(array)

    def _map(self, array: Any) -> int:
        from cupy.cuda import runtime

        runtime.hostRegister(array.ctypes.data, -(-array.nbytes // 4096) * 4096, MAPPED)
        return int(runtime.pointerGetAttributes(array.ctypes.data).devicePointer)

    def _allocated(self, x: Any) -> int:
        import ctypes

        address = self.cuda.allocate_host(BYTES)
        ctypes.memmove(address, x.ctypes.data, BYTES)
        return address

    def launch(self, way: Way) -> Callable[[], None]:
        function = self.cuda.function(self.module, way.kernel)
        grid, block = (way.per_sm * self.sm_count, 1, 1), (way.block, 1, 1)
        args = [np.uint64(self.x[way.memory]), np.uint64(self.out[way.out]), np.int32(FRAMES)]
        return lambda: self.cuda.launch(function, grid, block, args)

    def between_events_ms(self, action: Callable[[], None]) -> float:
        """The median time between two events around ``action``, after two warm-ups."""
        start, stop, taken = self.cuda.event(), self.cuda.event(), []
        for _ in range(self.samples + 2):
            self.cuda.record(start)
            action()
            self.cuda.record(stop)
            self.cuda.synchronise()
            taken.append(self.cuda.elapsed_s(start, stop) * 1e3)
        return median(taken[2:])

    def by_the_clock_ms(self, action: Callable[[], None]) -> float:
        """The median time of ``action`` and the wait for its end, by this process's clock."""
        taken = []
        for _ in range(self.samples + 2):
            start = time.perf_counter()
            action()
            self.cuda.synchronise()
            taken.append((time.perf_counter() - start) * 1e3)
        return median(taken[2:])

    def time(self, way: Way) -> float:
        self.out_host[:] = np.nan
        taken = self.between_events_ms(self.launch(way))
        got = self.out_host
        if way.out == "device":
            got = self.cuda.download(self.out["device"], 4 * FRAMES).view(np.float32)
        if not np.allclose(got, self.expected, rtol=1e-4):
            print(f"WRONG: {way}: {int((~np.isclose(got, self.expected, rtol=1e-4)).sum())} frames")
        return taken

    def copy(self, memory: str) -> Callable[[], None]:
        return lambda: self.cuda.copy_any(self.device_copy, self.x[memory], BYTES)


def told(name: object, milliseconds: float) -> None:
    print(f"  {milliseconds:7.3f} ms  {BYTES / milliseconds / 1e6:6.2f} GB/s  {name}", flush=True)


def best_of_each(times: dict[Way, float]) -> Iterator[tuple[str, float]]:
    """For every value of every setting the best time that any combination with it reached."""
    settings: dict[str, Callable[[Way], Any]] = {
        "order": lambda way: way.kernel.split("_")[0],
        "float4 in flight": lambda way: int(way.kernel.split("_")[1]),
        "blocks per SM": lambda way: way.per_sm,
        "block": lambda way: way.block,
    }
    for name, value_of in settings.items():
        for value in sorted({value_of(way) for way in times}, key=str):
            best = min((taken, str(way)) for way, taken in times.items() if value_of(way) == value)
            yield f"{name} = {value}: {best[1]}", best[0]


def about_the_machine() -> None:
    for path in (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "/sys/devices/system/node/online",
    ):
        file = Path(path)
        print(f"  {path}: {file.read_text().strip() if file.exists() else 'not told'}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--samples", type=int, default=5)
    bench = Bench(arguments.parse_args().samples)
    about_the_machine()
    print("the copy, between events and by the clock")
    for memory in bench.x:
        told(f"cudaMemcpyAsync from {memory} memory, events", bench.between_events_ms(bench.copy(memory)))
        told(f"cudaMemcpyAsync from {memory} memory, clock", bench.by_the_clock_ms(bench.copy(memory)))
    nothing = bench.launch(Way("nothing", 1, 32))
    events, clock = bench.between_events_ms(nothing), bench.by_the_clock_ms(nothing)
    print(f"an empty kernel: {events * 1e3:.1f} us between events, {clock * 1e3:.1f} us by the clock")
    ways = [Way(*each) for each in itertools.product(KERNELS, BLOCKS_PER_SM, BLOCKS)]
    times = {way: bench.time(way) for way in ways}
    ranked = sorted(times, key=times.__getitem__)
    print("the best")
    for way in ranked[:12]:
        told(way, times[way])
    print("the worst")
    for way in ranked[-3:]:
        told(way, times[way])
    print("the best of each setting")
    for name, taken in best_of_each(times):
        told(name, taken)
    print("what is shipped, the plain orders, and the best, with other memory")
    for way in dict.fromkeys((SHIPPED, Way("round_8", 2, 256), Way("chunk_8", 2, 256), *ranked[:3])):
        for other in (way, replace(way, out="device"), replace(way, memory="hostAlloc")):
            told(other, bench.time(other))
    told(f"{SHIPPED}, by the clock", bench.by_the_clock_ms(bench.launch(SHIPPED)))


if __name__ == "__main__":
    main()
