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
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
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


@dataclass(frozen=True)
class Compared:
    """A line for each kernel that differs or in which something was found; apart, for each that differs only if ptxas
    optimises it."""

    complaints: tuple[str, ...]
    by_ptxas: tuple[str, ...] = ()


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


class Gpu:
    """A GPU that runs modules' kernels."""

    def __init__(self, device: int) -> None:
        from grader.backends.gpu.arena import Arena
        from grader.backends.gpu.cuda import Cuda
        from grader.gpus.detect import detect

        self.arch = detect(device).arch
        self._cuda = Cuda(device)
        self._arena = Arena(self._cuda)

    def outputs(self, seeds: range, cubin: bytes) -> Array:
        """The outputs of the module's kernels, one row each."""
        from grader.backends.gpu.program import LoadedProgram
        from grader.backends.gpu.wire import LaunchShape
        from grader.launch import Launch, LaunchPlan

        arena = self._arena
        loaded = LoadedProgram(self._cuda, cubin, program_of(seeds).entries)
        arena.lay_out([LaunchShape(name, "uint32", SIZE, "in") for name in ("in", *(f"out{s}" for s in seeds))])
        arena.upload("in", inputs())
        for seed in seeds:
            arena.upload(f"out{seed}", np.zeros(SIZE, np.uint32))
        plan = LaunchPlan(tuple(Launch(f"k_{s}", ("in", f"out{s}"), (BLOCKS, 1, 1), (THREADS, 1, 1)) for s in seeds))
        loaded.prepare(plan)
        loaded.queue(plan, arena)
        self._cuda.synchronise()
        return np.stack([arena.download(f"out{seed}", "uint32") for seed in seeds])


def unoptimised(seeds: range, arch: str) -> bytes:
    """The module's cubin as ptxas makes it without optimisation."""
    from grader.compile.toolchain import find_toolchain

    ptxas = find_toolchain().ptxas
    assert ptxas is not None
    with TemporaryDirectory(prefix="warpgrade-random-") as folder:
        ptx, cubin = Path(folder, "random.ptx"), Path(folder, "random.cubin")
        ptx.write_text(program_of(seeds).ptx)
        subprocess.run([ptxas, "-O0", f"--gpu-name={arch}", ptx, "-o", cubin], check=True)
        return cubin.read_bytes()


def compare(first: int, count: int, device: int | None) -> Compared:
    modules = every(first, count)
    complaints: list[str] = []
    by_ptxas: list[str] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        if device is None:
            in_memory = pool.map(partial(simulated, in_memory=True), modules)
            for ran, other in zip(pool.map(simulated, modules), in_memory, strict=True):
                complaints += [*ran.findings, *differences(ran, other.outputs).values()]
            return Compared(tuple(complaints))
        gpu = Gpu(device)
        for ran in pool.map(partial(simulated, arch=gpu.arch), modules):
            complaints += ran.findings
            if different := differences(ran, gpu.outputs(ran.seeds, ran.cubin)):
                still = differences(ran, gpu.outputs(ran.seeds, unoptimised(ran.seeds, gpu.arch)))
                complaints += [text for seed, text in different.items() if seed in still]
                by_ptxas += [text for seed, text in different.items() if seed not in still]
    return Compared(tuple(complaints), tuple(by_ptxas))


def differences(ran: Ran, outputs: Array) -> dict[int, str]:
    """A line for each kernel whose outputs differ, by its seed."""
    lines = {}
    for seed, a, b in zip(ran.seeds, ran.outputs, outputs, strict=True):
        if len(at := np.flatnonzero(a != b)):
            lines[seed] = (
                f"k_{seed}: {len(at)} of {len(a)} words differ, first word {at[0] % WORDS} of thread "
                f"{at[0] // WORDS}: {a[at[0]]:#010x} on the simulator, {b[at[0]]:#010x}"
            )
    return lines


def to_markdown(head: str, first: int, count: int, compared: Compared) -> str:
    by_ptxas = [
        "", f"In {len(compared.by_ptxas)} more the GPU agrees with the simulator when ptxas assembles the same PTX "
        "without optimisation (`-O0`), so its optimiser changes what they compute:", "",
        *(f"- {text}" for text in compared.by_ptxas),
    ] if compared.by_ptxas else []  # fmt: skip
    return "\n".join([
        head, "",
        f"**{count} kernels (seeds {first} to {first + count - 1}), {len(compared.complaints)} complaints.**", "",
        "Written by `scripts/random_compare.py`; not edited by hand. Kernels of `scripts/random_kernels.py`, each "
        f"{BLOCKS} blocks of {THREADS} threads, ran on the simulator and on the GPU from the same PTX (for sm_80) with "
        f"the same inputs; all {SIZE} words of each output were compared, bit for bit.", "",
        *(f"- {text}" for text in compared.complaints), *by_ptxas,
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
    compared = compare(first, count, None if given.simulator_only else given.device)
    for text in (*compared.complaints, *(f"{text} (not if ptxas does not optimise)" for text in compared.by_ptxas)):
        print(text)
    print(f"{count} kernels, {len(compared.complaints)} complaints, {time.perf_counter() - started:.0f} s")
    if not given.simulator_only:
        print(f"written to {write(first, count, compared, given.device, given.out)}")
    return int(bool(compared.complaints))


def write(first: int, count: int, compared: Compared, device: int, out: Path | None) -> Path:
    import datetime

    from stability import results_file

    from grader.bench.solutions import versions
    from grader.gpus.detect import detect

    gpu = detect(device)
    versioned = ", ".join(f"{name} {text}" for name, text in versions(gpu))
    path = out or results_file(gpu.name, "random")
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"# {gpu.name}: random kernels beside the simulator's\n\n{datetime.date.today().isoformat()}. {versioned}."
    path.write_text(to_markdown(head, first, count, compared))
    return path


if __name__ == "__main__":
    raise SystemExit(main())
