"""The course's trusted checks and other kernels of ``kernels_ref``, on the simulator."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.backends.gpu.reference import device_data
from grader.catalog.courses import built_in_course
from grader.compile import Program, compile_source
from grader.compile.toolchain import find_toolchain
from grader.expressions import evaluate_integer
from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import Module, parse
from grader.simt.simulate import Call, Memory, simulate

Arrays = Mapping[str, npt.NDArray[Any]]
Numbers = Mapping[str, float]

COURSE = built_in_course()
CHECKS: Mapping[str, Any] = device_data(COURSE).CHECKS
NEEDS_NVRTC = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
NONE_BAD = (0, 2**64 - 1, [])
"""What `judge` gives for a right answer."""
UNTOUCHED = np.array([*NONE_BAD[:2], 0], np.uint64)


def judge(
    name: str, arrays: Arrays, sizes: Mapping[str, int], *, scratch: Arrays | None = None, **scalars: float
) -> tuple[int, int, list[float]]:
    """What the check finds in an answer: how many are bad, and the first; if any is bad, where and what it should be.

    The bounds ``relative`` and ``absolute`` are 0 unless ``scalars`` has them.
    """
    check, numbers = CHECKS[name], {"relative": 0.0, "absolute": 0.0, **scalars}
    given = {**arrays, **(scratch or {}), "findings": UNTOUCHED}
    memory = _launched(name, check.steps, given, sizes, numbers)
    findings = memory["findings"].view(np.uint64)
    expected: list[float] = []
    if findings[0]:
        kept = {each: memory[each].view(array.dtype) for each, array in (scratch or {}).items()}
        given = {**arrays, **kept, "findings": findings, "explanation": np.zeros(2)}
        explanation = _launched(name, (check.explain,), given, sizes, numbers)["explanation"]
        expected = explanation.view(np.float64).tolist()
    return int(findings[0]), int(findings[1]), expected


def launched(file: Path, calls: Sequence[Call], arrays: Arrays) -> Mapping[str, npt.NDArray[np.uint8]]:
    """The memory after launches of a file's kernels; nothing may be found."""
    return _simulated(*_read(compile_source(file.read_bytes(), file.name)), calls, arrays)


@dataclass(frozen=True)
class Trusted:
    """A file of trusted kernels, read once for many runs of one-dimensional launches with 256 threads a block."""

    module: Module
    code: CodeCache

    def run(
        self, steps: Sequence[tuple[str, int, tuple[str | bytes, ...]]], arrays: Arrays
    ) -> Mapping[str, npt.NDArray[np.uint8]]:
        """The memory after the launches: kernel, blocks, arguments (an array's name, or bytes)."""
        calls = [Call(kernel, (grid, 1, 1), (256, 1, 1), 0, arguments) for kernel, grid, arguments in steps]
        return _simulated(self.module, self.code, calls, arrays)


def read_file(file: Path) -> Trusted:
    return Trusted(*_read(compile_source(file.read_bytes(), file.name)))


def _launched(
    name: str, steps: Sequence[Any], arrays: Arrays, sizes: Mapping[str, int], numbers: Numbers
) -> Mapping[str, npt.NDArray[np.uint8]]:
    return _simulated(*_check(name), [_call(step, arrays, sizes, numbers) for step in steps], arrays)


@cache
def _check(name: str) -> tuple[Module, CodeCache]:
    """The check's sources, joined and compiled as the GPU backend does."""
    sources = CHECKS[name].sources
    text = "\n".join((COURSE.kernels_ref / "device" / source).read_text() for source in sources)
    return _read(compile_source(text.encode(), sources[-1]))


def _read(program: Program) -> tuple[Module, CodeCache]:
    return parse(program.ptx, program.name), CodeCache(program.key)


def _call(step: Any, arrays: Arrays, sizes: Mapping[str, int], numbers: Numbers) -> Call:
    """One step's launch: addresses, 64-bit sizes and doubles, as the GPU backend passes them."""

    def argument(name: str) -> str | bytes:
        if name in arrays:
            return name
        if name.isdecimal():
            return struct.pack("<q", int(name))
        return struct.pack("<q", sizes[name]) if name in sizes else struct.pack("<d", numbers[name])

    grid = evaluate_integer(step.grid, sizes)
    return Call(step.kernel, (grid, 1, 1), (step.block, 1, 1), 0, tuple(map(argument, step.args)))


def _simulated(
    module: Module, code: CodeCache, calls: Sequence[Call], arrays: Arrays
) -> Mapping[str, npt.NDArray[np.uint8]]:
    memories = [Memory(name, np.frombuffer(array.tobytes(), np.uint8), True) for name, array in arrays.items()]
    outcome = simulate(module, memories, calls, cache=code)
    assert outcome.complete
    assert outcome.events == ()
    return outcome.memory
