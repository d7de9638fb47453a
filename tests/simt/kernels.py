"""Runs CUDA C on the simulator for tests: compile, launch once, and look at memory, counters and events."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.compile import compile_source
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.schedule import USUAL, Order
from grader.simt.events import Event
from grader.simt.observers import OBSERVERS
from grader.simt.ptx import parse
from grader.simt.simulate import Call, Memory, Options, Outcome, simulate

Array = npt.NDArray[Any]
NAME = "kernel.cu"


@dataclass(frozen=True)
class Ran:
    """One launch: buffers afterwards in their own dtypes, and what was counted and found."""

    arrays: Mapping[str, Array]
    outcome: Outcome

    @property
    def events(self) -> tuple[Event, ...]:
        return self.outcome.events

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    @property
    def total(self) -> Mapping[str, float]:
        return self.outcome.counters[0].total


def run(
    source: str,
    arrays: Mapping[str, Array],
    *scalars: int | float | bytes,
    grid: int | tuple[int, int, int] = 1,
    block: int | tuple[int, int, int] = 32,
    shared: int = 0,
    unset: tuple[str, ...] = (),
    threads: int = 1,
    budget: int = 1_000_000,
    observed: frozenset[str] = frozenset(OBSERVERS),
    cooperative: bool = False,
    order: Order = USUAL,
    changed: Sequence[tuple[str, int, int]] = (),
) -> Ran:
    """Launch the file's only entry with the arrays, then the scalars (bytes: a struct).

    ``unset`` arrays count as uninitialised.
    """
    program = compile_source(source.encode(), NAME)
    memories = [Memory(n, np.frombuffer(a.tobytes(), np.uint8), n not in unset) for n, a in arrays.items()]
    given = (*arrays, *map(_parameter, scalars))
    call = Call(program.entries[0].name, _dim3(grid), _dim3(block), shared, given, cooperative=cooperative)
    options = Options(
        observed=observed, threads=threads, instructions_per_block=budget, order=order, by_site=True, changed=changed
    )
    outcome = simulate(parse(program.ptx, NAME), memories, [call], cache=machine_code(program.key), options=options)
    results = {n: outcome.memory[n].view(a.dtype) for n, a in arrays.items()}
    return Ran(results, outcome)


@lru_cache(maxsize=64)
def machine_code(key: str) -> CodeCache:
    """The machine code of one PTX text: what one launch compiled, the next one finds."""
    return CodeCache(key)


def _dim3(size: int | tuple[int, int, int]) -> tuple[int, int, int]:
    return (size, 1, 1) if isinstance(size, int) else size


def _parameter(value: int | float | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    return struct.pack("<f" if isinstance(value, float) else "<i", value)


def body(statements: str, parameters: str = "float* x, int n", before: str = "") -> str:
    """A kernel with the usual index ``i`` and thread ``t``; statements start at line 4."""
    return (
        f'{before}extern "C" __global__ void k({parameters}) {{\n'
        "int t = threadIdx.x;\n"
        "int i = blockIdx.x * blockDim.x + t;\n"
        f"{statements}\n}}\n"
    )
