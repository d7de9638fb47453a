"""Compare random kernels on the simulator with a GPU, bit for bit; without one, with another PTX of the same kernel.

python scripts/random_compare.py [--seeds FIRST COUNT] [--simulator-only] [--device N] [--out FILE.md]

Kernels come from scripts/random_kernels.py, many in one module. On a machine with a GPU both run the same PTX with the
same inputs. `--simulator-only` compares each kernel with itself, compiled with all variables in memory. Prints the seed
of every kernel that differs, or in which the simulator finds something, and exits 1 if there is one.
`--show SEED` prints a kernel.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from random_kernels import BLOCKS, THREADS, WORDS, kernel, module

PER_MODULE = 20
NAME = "random.cu"
SIZE = BLOCKS * THREADS * WORDS

Array = Any


@dataclass(frozen=True, eq=False)
class Ran:
    """The outputs of a module's kernels on the simulator, one row each, what was found, and the module's cubin."""

    seeds: range
    outputs: Array
    findings: tuple[str, ...]
    cubin: bytes = b""


def inputs() -> Array:
    """The same words for every kernel: random ones, and in each eighth thread ones near the ends of their range."""
    words = np.random.default_rng(1).integers(0, 1 << 32, SIZE, np.uint32)
    edges = np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x00FF00FF, 0xFFFF8000], np.uint32)
    words.reshape(-1, WORDS)[::8] = edges
    return words


def program_of(seeds: range, *, in_memory: bool = False) -> Any:
    from grader.compile import compile_source

    text = "#define V volatile\n" * in_memory + module(seeds)
    return compile_source(text.encode(), NAME, target="sm_80")


def simulated(seeds: range, in_memory: bool = False, arch: str = "") -> Ran:
    """All kernels of a module in one case; assembled for ``arch``, where that is given."""
    from grader.compile import assemble
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse
    from grader.simt.simulate import Call, Memory, simulate

    program = program_of(seeds, in_memory=in_memory)
    outs = {f"out{seed}": np.zeros(4 * SIZE, np.uint8) for seed in seeds}
    memories = [
        Memory("in", inputs().view(np.uint8), True),
        *(Memory(name, data, False) for name, data in outs.items()),
    ]
    calls = [Call(f"k_{seed}", (BLOCKS, 1, 1), (THREADS, 1, 1), 0, ("in", f"out{seed}")) for seed in seeds]
    ran = simulate(parse(program.ptx, NAME), memories, calls, cache=CodeCache(program.key))
    found = tuple(f"{event.kernel}: {event.kind} at line {event.line}" for event in ran.events)
    if not ran.complete:
        found += ("the case did not end",)
    outputs = np.stack([ran.memory[name].view(np.uint32) for name in outs])
    return Ran(seeds, outputs, found, assemble(program, arch) if arch else b"")


def every(first: int, count: int) -> list[range]:
    return [range(at, min(at + PER_MODULE, first + count)) for at in range(first, first + count, PER_MODULE)]


def measured(modules: Iterable[Ran], device: int) -> Iterator[tuple[Ran, Array]]:
    """Yield each module with its kernels' outputs on the GPU."""
    from grader.backends.gpu.arena import Arena
    from grader.backends.gpu.cuda import Cuda
    from grader.backends.gpu.program import LoadedProgram
    from grader.backends.gpu.wire import LaunchShape
    from grader.launch import Launch, LaunchPlan

    cuda = Cuda(device)
    arena = Arena(cuda)
    for ran in modules:
        seeds = ran.seeds
        loaded = LoadedProgram(cuda, ran.cubin, program_of(seeds).entries)
        arena.lay_out([LaunchShape(name, "uint32", SIZE, "in") for name in ("in", *(f"out{s}" for s in seeds))])
        arena.upload("in", inputs())
        for seed in seeds:
            arena.upload(f"out{seed}", np.zeros(SIZE, np.uint32))
        plan = LaunchPlan(tuple(Launch(f"k_{s}", ("in", f"out{s}"), (BLOCKS, 1, 1), (THREADS, 1, 1)) for s in seeds))
        loaded.prepare(plan)
        loaded.queue(plan, arena)
        cuda.synchronise()
        yield ran, np.stack([arena.download(f"out{seed}", "uint32") for seed in seeds])


def compare(first: int, count: int, device: int | None) -> list[str]:
    """A line for each kernel that differs, or in which something was found."""
    modules = every(first, count)
    complaints: list[str] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        if device is None:
            in_memory = pool.map(partial(simulated, in_memory=True), modules)
            pairs = zip(pool.map(simulated, modules), (ran.outputs for ran in in_memory), strict=True)
        else:
            from grader.gpus.detect import detect

            pairs = measured(pool.map(partial(simulated, arch=detect(device).arch), modules), device)
        for ran, outputs in pairs:
            complaints += ran.findings
            for seed, a, b in zip(ran.seeds, ran.outputs, outputs, strict=True):
                if not np.array_equal(a, b):
                    at = np.flatnonzero(a != b)
                    complaints.append(
                        f"k_{seed}: {len(at)} of {len(a)} words differ, first word {at[0] % WORDS} of thread "
                        f"{at[0] // WORDS}: {a[at[0]]:#010x} on the simulator, {b[at[0]]:#010x}"
                    )
    return complaints


def to_markdown(head: str, first: int, count: int, complaints: list[str]) -> str:
    return "\n".join([
        head, "", f"**{count} kernels (seeds {first} to {first + count - 1}), {len(complaints)} complaints.**", "",
        "Written by `scripts/random_compare.py`; not edited by hand. Kernels of `scripts/random_kernels.py`, each "
        f"{BLOCKS} blocks of {THREADS} threads, ran on the simulator and on the GPU from the same PTX (for sm_80) with "
        f"the same inputs; all {SIZE} words of each output were compared, bit for bit.", "",
        *(f"- {text}" for text in complaints),
    ]) + "\n"  # fmt: skip


def main() -> int:
    arguments = argparse.ArgumentParser(description="Compare random kernels on the simulator with a GPU.")
    arguments.add_argument("--seeds", type=int, nargs=2, default=(1, 10_000), metavar=("FIRST", "COUNT"))
    arguments.add_argument("--simulator-only", action="store_true")
    arguments.add_argument("--device", type=int, default=0)
    arguments.add_argument("--out", type=Path, help="the page; docs/results/<gpu>-random.md")
    arguments.add_argument("--show", type=int, metavar="SEED", help="print this kernel")
    given = arguments.parse_args()
    if given.show is not None:
        print(kernel(given.show))
        return 0
    first, count = given.seeds
    started = time.perf_counter()
    complaints = compare(first, count, None if given.simulator_only else given.device)
    print(*complaints, sep="\n", end="\n" if complaints else "")
    print(f"{count} kernels, {len(complaints)} complaints, {time.perf_counter() - started:.0f} s")
    if not given.simulator_only:
        print(f"written to {write(first, count, complaints, given.device, given.out)}")
    return int(bool(complaints))


def write(first: int, count: int, complaints: list[str], device: int, out: Path | None) -> Path:
    import datetime

    from stability import results_file

    from grader.bench.solutions import versions
    from grader.gpus.detect import detect

    gpu = detect(device)
    versioned = ", ".join(f"{name} {text}" for name, text in versions(gpu))
    path = out or results_file(gpu.name, "random")
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"# {gpu.name}: random kernels beside the simulator's\n\n{datetime.date.today().isoformat()}. {versioned}."
    path.write_text(to_markdown(head, first, count, complaints))
    return path


if __name__ == "__main__":
    raise SystemExit(main())
