"""Runs the programs: compiled once, on the simulator in processes of their own, and on a GPU in this one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from forms import Array, Form

if TYPE_CHECKING:
    from grader.compile import Program

NAME = "forms.cu"
TARGET = "sm_80"


@dataclass(frozen=True, eq=False)
class Simulated:
    """What the simulator gives: the output, Σ|a·b| + |c| where a bound needs it, and what was found wrong."""

    output: Array
    magnitude: Array | None
    findings: tuple[str, ...]


def compiled(source: str) -> Program:
    from grader.compile import compile_source

    return compile_source(source.encode(), NAME, target=TARGET)


@lru_cache(maxsize=4)
def _loaded(source: str) -> tuple[Any, Any]:
    """The source's PTX as the simulator takes it, and the cache of what is made from it."""
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse

    program = compiled(source)
    return parse(program.ptx, NAME), CodeCache(program.key)


def simulated(form: Form) -> Simulated:
    """One program on the simulator, watched for races and reads of what nobody wrote."""
    try:
        output, findings = _simulate(form, form.arrays)
        magnitude = None if form.magnitudes is None else _simulate(form, form.magnitudes)[0]
    except Exception as error:  # not every error can go from process to process
        raise RuntimeError(f"{form.name}: {error}") from None
    return Simulated(output, magnitude, findings)


def _simulate(form: Form, arrays: Mapping[str, Array]) -> tuple[Array, tuple[str, ...]]:
    from grader.simt.observers import WATCHING
    from grader.simt.simulate import Call, Memory, Options, simulate

    module, cache = _loaded(form.source)
    memories = [Memory(name, np.frombuffer(array.tobytes(), np.uint8), True) for name, array in arrays.items()]
    call = Call(form.kernel, (form.grid, 1, 1), (form.block, 1, 1), 0, tuple(arrays))
    ran = simulate(module, memories, [call], cache=cache, options=Options(observed=frozenset(WATCHING)))
    findings = tuple(f"{event.kind} at line {event.line}" for event in ran.events)
    return ran.memory[form.output].view(arrays[form.output].dtype), findings


def prepared(forms: list[Form], arch: str) -> tuple[list[Simulated], dict[str, bytes]]:
    """All programs simulated, and each source's cubin. The compilers are processes already; the simulator is not."""
    sources = list(dict.fromkeys(form.source for form in forms))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        cubins = dict(zip(sources, threads.map(lambda source: _assembled(source, arch), sources), strict=True))
    kernels: dict[tuple[str, str], list[Form]] = {}  # launches of one kernel go to one process, which compiles it once
    for form in forms:
        kernels.setdefault((form.source, form.kernel), []).append(form)
    with ProcessPoolExecutor() as processes:
        groups = zip(kernels.values(), processes.map(_simulated_all, kernels.values()), strict=True)
        found = {form: one for group, results in groups for form, one in zip(group, results, strict=True)}
    return [found[form] for form in forms], cubins


def _simulated_all(forms: list[Form]) -> list[Simulated]:
    return [simulated(form) for form in forms]


def _assembled(source: str, arch: str) -> bytes:
    from grader.compile import assemble

    return assemble(compiled(source), arch)


def measured(forms: list[Form], cubins: Mapping[str, bytes], index: int) -> Iterator[Array]:
    """Yield the output of each program on GPU ``index``, by the grader's own loader."""
    from grader.backends.gpu.arena import Arena
    from grader.backends.gpu.cuda import Cuda
    from grader.backends.gpu.program import LoadedProgram

    cuda = Cuda(index)
    arena = Arena(cuda)
    loaded = {source: LoadedProgram(cuda, cubin, compiled(source).entries) for source, cubin in cubins.items()}
    for form in forms:
        yield launched(cuda, arena, loaded[form.source], form)


def launched(cuda: Any, arena: Any, program: Any, form: Form) -> Array:
    """Launch one program of a loaded source; gives its output."""
    from grader.backends.gpu.wire import LaunchShape
    from grader.launch import Launch, LaunchPlan

    arena.lay_out([LaunchShape(name, array.dtype.name, array.size, "in") for name, array in form.arrays.items()])
    for name, array in form.arrays.items():
        arena.upload(name, array)
    plan = LaunchPlan((Launch(form.kernel, tuple(form.arrays), (form.grid, 1, 1), (form.block, 1, 1)),))
    program.prepare(plan)
    program.queue(plan, arena)
    cuda.synchronise()
    result: Array = arena.download(form.output, form.arrays[form.output].dtype.name)
    return result
