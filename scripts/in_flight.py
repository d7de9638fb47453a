"""Bandwidth and latency of a GPU's memory against the bytes in flight: the curve that the course's pages refer to.

python scripts/in_flight.py [--milliseconds 4] [--samples 5] [--out FILE.md]

One launch measures both: one block follows a chain of pointers, which gives the latency of a load, while the others
stream with a set number of loads in flight (scripts/bench_kernels/in_flight.cu). It runs on a GPU with CuPy, and writes
docs/results/<gpu>-in-flight.md.

Bytes in flight are those that the threads ask for: blocks of an SM, times threads, times loads, times 16. By Little's
law the memory carries bandwidth times latency. Where the first is larger than the second, loads wait before they
count; past saturation more bytes in flight make latency longer, and nothing faster.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

SOURCE = ROOT / "scripts" / "bench_kernels" / "in_flight.cu"
ARRAY_BYTES = 1 << 32  # streamed: many times the L2
CHAIN_BYTES = 1 << 30
FLUSH_BYTES = 1 << 28
LINE_BYTES = 128  # a place of the chain
PIECE_BYTES = 16


@dataclass(frozen=True)
class Shape:
    """One launch: blocks for each SM, their threads, and the loads of each thread; no blocks: the chain alone."""

    per_sm: int
    threads: int
    loads: int

    @property
    def bytes_of_sm(self) -> int:
        return self.per_sm * self.threads * self.loads * PIECE_BYTES


SHAPES = (
    Shape(0, 32, 1),
    *(Shape(per_sm, 128, 1) for per_sm in (1, 2, 4, 6, 8, 10, 12, 14, 16)),
    *(Shape(per_sm, 128, 2) for per_sm in (4, 6, 8, 10, 12, 14, 16)),
    *(Shape(per_sm, 256, 4) for per_sm in (1, 2, 3, 4, 6)),
    *(Shape(per_sm, 256, 8) for per_sm in (1, 2, 3, 4)),
    *(Shape(per_sm, 64, 8) for per_sm in (2, 3, 4, 6, 8)),
)


@dataclass(frozen=True)
class Sample:
    """What one launch showed: bytes each second, and seconds for one step of the chain."""

    shape: Shape
    bandwidth: float
    latency_s: float


def measured(shapes: Sequence[Shape], milliseconds: float, samples: int) -> list[Sample]:
    """The median of ``samples`` launches for each shape, after one that is not counted."""
    import cupy as cp

    from grader.backends.gpu.hostfile.baseline_child import load_module
    from grader.compile import assemble, compile_source
    from grader.gpus.detect import detect

    gpu = detect(0)
    program = compile_source(SOURCE.read_bytes(), SOURCE.name, target=gpu.arch)
    module = load_module(assemble(program, gpu.arch), f"in_flight_{shapes[0].loads}")
    most = max(shape.threads * shape.loads for shape in shapes)
    x = cp.zeros(ARRAY_BYTES // 4 + 4 * most, cp.uint32)
    chain = cp.asarray(a_chain(CHAIN_BYTES // LINE_BYTES, np.random.default_rng(1)))
    flush = cp.zeros(FLUSH_BYTES, cp.uint8)
    clocks = int(milliseconds * 1e-3 * gpu.clock_hz)
    found = []
    for shape in shapes:
        kernel = module.get_function(f"in_flight_{shape.loads}")
        blocks = 1 + shape.per_sm * gpu.sm_count
        taken = []
        for _ in range(samples + 1):
            flush.fill(0)  # the chain begins at the same place each time: L2 must not have it
            done = cp.zeros(blocks + 1, cp.uint64)
            arguments = (x, np.int64(ARRAY_BYTES // PIECE_BYTES), chain, np.int64(clocks), done)
            kernel((blocks,), (shape.threads,), arguments)
            counts = done.get().astype(float)
            seconds = counts[-1] * 1e-9
            loaded = counts[1:-1].sum() * shape.threads * shape.loads * PIECE_BYTES
            taken.append((loaded / seconds, seconds / counts[0]))
        found.append(Sample(shape, *(median(part) for part in zip(*taken[1:], strict=True))))
        print(row_of(found[-1], gpu.sm_count), flush=True)
    return found


def a_chain(places: int, random: np.random.Generator) -> npt.NDArray[np.uint32]:
    """For each place, at the first word of its line, the next: one circle through all, in a random order."""
    order = random.permutation(places).astype(np.uint32)
    chain = np.zeros((places, LINE_BYTES // 4), np.uint32)
    chain[order, 0] = np.roll(order, -1)
    return chain


def row_of(sample: Sample, sms: int) -> str:
    shape, carried = sample.shape, sample.bandwidth * sample.latency_s / sms
    launch = f"{shape.per_sm} × {shape.threads} | {shape.loads}" if shape.per_sm else "– | –"
    return (
        f"| {launch} | {shape.bytes_of_sm / 1024:.0f} KiB | {sample.bandwidth / 1e12:.2f} TB/s "
        f"| {sample.latency_s * 1e9:.0f} ns | {carried / 1024:.1f} KiB |"
    )


def to_markdown(samples: Sequence[Sample], gpu: str, software: str, sms: int, date: str) -> str:
    """The page of docs/results."""
    ordered = sorted(samples, key=lambda sample: (sample.shape.bytes_of_sm, sample.shape.threads))
    head = [
        f"# {gpu}: bytes in flight, bandwidth and latency",
        "",
        f"{date}. {sms} SMs. {software}.",
        "",
        "Written by `scripts/in_flight.py`. One block follows a chain of pointers through "
        f"{CHAIN_BYTES >> 30} GiB, one load after the other: the time of a step is the **latency**. Meanwhile the "
        f"other blocks read {ARRAY_BYTES >> 30} GiB in order; each thread waits for all of its loads of {PIECE_BYTES} "
        "bytes before it issues the next. *Asked for* is what the threads of one SM have in flight at most; *carried* "
        "is bandwidth × latency for each SM, by Little's law. The first row has no other blocks.",
        "",
        "| blocks of an SM × threads | loads of a thread | asked for | bandwidth | latency | carried |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(row_of(sample, sms) for sample in ordered), ""])


def main() -> int:
    arguments = argparse.ArgumentParser(description="Bandwidth and latency against the bytes in flight, on a GPU.")
    arguments.add_argument("--milliseconds", type=float, default=4.0, help="of each launch")
    arguments.add_argument("--samples", type=int, default=5, help="of each shape")
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()

    from stability import machine, results_file

    from grader.gpus.detect import detect

    gpu, software = machine()
    samples = measured(SHAPES, given.milliseconds, given.samples)
    out = given.out or results_file(gpu, "in-flight")
    out.write_text(to_markdown(samples, gpu, software, detect(0).sm_count, datetime.date.today().isoformat()))
    print(f"written to {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
