"""A host file's calls without a host file: a machine over one compiled program, and arrays in the shared file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.compile import compile_source
from grader.findings.record import Finding
from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import Module, parse
from grader.standin.device import A100, Model, RunReport, StandinDevice
from grader.standin.protocol import HOST_BASE

Floats = npt.NDArray[np.float32]
PAGE = 4096
FILE = "k_host.py"
CU = "k.cu"
SHARED_BYTES = 4 << 20

SOURCE = """
extern "C" __global__ void twice(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void add_one(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}
extern "C" __global__ void sum(const float* x, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
}
extern "C" __global__ void read_twice(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[n - 1 - i];
}
extern "C" __global__ void strided(const float* x, float* y, int n, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * stride];
}
"""


@cache
def module(source: str = SOURCE) -> tuple[Module, CodeCache]:
    """The program, compiled once, with its device code."""
    program = compile_source(source.encode(), CU)
    return parse(program.ptx, CU), CodeCache(program.ptx)


def pointer(address: int) -> bytes:
    return struct.pack("<Q", address)


def integer(value: int) -> bytes:
    return struct.pack("<i", value)


class Rig:
    """A machine with the arrays ``x`` and ``out`` of ``n`` floats each; ``m`` takes the calls."""

    def __init__(
        self,
        n: int = 1000,
        *,
        devices: int = 1,
        model: Model = A100,
        source: str = SOURCE,
        names: Sequence[str] = ("x", "out"),
        **known: Any,
    ) -> None:
        self.n, self.bytes = n, 4 * n
        self.shared = np.zeros(SHARED_BYTES, np.uint8)
        step = -(-self.bytes // PAGE) * PAGE
        self.arrays = {
            name: (i * step, self.bytes, "float32", "out" if name == "out" else "in") for i, name in enumerate(names)
        }
        program, code = module(source)
        pool = (len(names) * step, SHARED_BYTES)
        self.m = StandinDevice(
            program, self.shared, cache=code, devices=devices, model=model, pool=pool, hostfile=FILE, **known
        )
        self.m.bind(self.arrays)

    def at(self, name: str) -> int:
        """The address of an array."""
        return HOST_BASE + self.arrays[name][0]

    def view(self, name: str) -> Floats:
        offset, size, _, _ = self.arrays[name]
        return self.shared[offset : offset + size].view(np.float32)

    def floats(self, address: int, count: int) -> Floats:
        """Memory that the device gave from the shared file."""
        start = address - HOST_BASE
        return self.shared[start : start + 4 * count].view(np.float32)

    def pin(self, *names: str) -> None:
        for name in names:
            self.m.host_register(1, self.at(name), self.bytes, 0)

    def streams(self, count: int, *, non_blocking: bool = True) -> list[int]:
        return [self.m.stream_create(2, 0, non_blocking, 0) for _ in range(count)]

    def device(self, count: int = 1, device: int = 0) -> list[int]:
        """Device memory for an array each."""
        return [self.m.malloc(3, device, self.bytes, False) for _ in range(count)]

    def launch(
        self, line: int, kernel: str, *arguments: int | bytes, stream: int = 0, cooperative: bool = False
    ) -> None:
        """One thread for each element; addresses as integers, then the number of elements."""
        given = [pointer(a) if isinstance(a, int) else a for a in arguments]
        kinds = ["array" if isinstance(a, int) else "int32" for a in arguments]
        device = self.m.streams.stream(stream).device
        self.m.launch(line, kernel, [-(-self.n // 256)], [256], 0, given, kinds, stream, cooperative, device)

    def behind(self, line: int, first: int, second: int) -> None:
        """Let stream ``second`` wait for what is in ``first``."""
        event = self.m.event_create(line, self.m.streams.stream(first).device, False)
        self.m.event_record(line, event, first)
        self.m.stream_wait_event(line, second, event)

    def fresh(self, seed: int = 0) -> Floats:
        """New inputs, poisoned outputs; gives x."""
        for name in self.arrays:
            self.view(name)[:] = np.nan
        self.view("x")[:] = np.random.default_rng(seed).integers(0, 100, self.n).astype(np.float32)
        return self.view("x").copy()

    @contextmanager
    def run(self, *, graded: bool = True) -> Iterator[Ran]:
        """One run of the host file: its report is there afterwards."""
        ran = Ran()
        self.m.begin_run(self.arrays, graded)
        yield ran
        ran.report = self.m.end_run()


class Ran:
    """What a run came to, once it is over."""

    report: RunReport

    @property
    def kinds(self) -> list[str]:
        """Of what is a mistake, without notes."""
        return [found.kind for found in self.report.findings if found.severity == "error"]

    @property
    def first(self) -> Finding:
        return self.report.findings[0]

    def of(self, kind: str) -> list[Finding]:
        return [found for found in self.report.findings if found.kind == kind]

    @property
    def counted(self) -> Mapping[str, float]:
        return self.report.host_counters

    @property
    def bars(self) -> tuple[Any, ...]:
        return self.report.timeline.operations
