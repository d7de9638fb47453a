"""Whole CUDA programs with a reference in Python: the shape of the data-driven tests `test_programs_*.py`.

Program("a name that is a sentence", source, {"x": start}, lambda a: {"x": a["x"] + 1})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from grader.simt.observers import WATCHING
from tests.simt.kernels import Array, Ran, body, run

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Program:
    """A file with one kernel, its launch, and what its arrays hold afterwards. ``ulp`` 0: the same bits."""

    name: str
    source: str
    arrays: Arrays
    want: Callable[[Arrays], Mapping[str, Any]]
    scalars: tuple[int | float | bytes, ...] = ()
    grid: int | tuple[int, int, int] = 1
    block: int | tuple[int, int, int] = 32
    shared: int = 0
    ulp: int = 0
    kinds: tuple[str, ...] = field(default=())  # findings that belong to it


def ints(name: str, statements: str, want: Any, before: str = "", block: int = 64, **more: Any) -> Program:
    """A kernel that writes an int for each thread of one block; ``want`` by thread, or one for all."""
    wanted = np.broadcast_to(np.asarray(want), block).astype(np.int32)
    return Program(
        name,
        body(statements, "int* x", before),
        {"x": np.zeros(block, np.int32)},
        lambda _: {"x": wanted},
        block=block,
        **more,
    )


def cases(programs: list[Program]) -> pytest.MarkDecorator:
    """Parametrise a test over programs, by name."""
    return pytest.mark.parametrize("program", programs, ids=[p.name for p in programs])


def check(program: Program) -> Ran:
    """Run a program and hold every array that its reference names to it."""
    ran = run(
        program.source, program.arrays, *program.scalars, grid=program.grid, block=program.block, shared=program.shared,
        observed=frozenset(WATCHING),
    )  # fmt: skip
    assert tuple(ran.kinds) == program.kinds, ran.events
    with np.errstate(all="ignore"):
        wanted = program.want(program.arrays)
    for name, want in wanted.items():
        compare(ran.arrays[name], np.asarray(want), program.ulp)
    return ran


def compare(got: Array, want: Array, ulp: int) -> None:
    """Equal bits (any NaN equals any), or floats at most ``ulp`` units in the last place apart."""
    with np.errstate(over="ignore"):
        want = want.reshape(-1).astype(got.dtype)
    if not ulp:
        np.testing.assert_array_equal(got, want)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    scale = np.spacing(np.maximum(np.abs(want), np.finfo(got.dtype).tiny))
    with np.errstate(invalid="ignore"):
        far = (got != want) & (np.abs(got.astype(np.float64) - want) > ulp * scale.astype(np.float64))
    assert not far.any(), (np.flatnonzero(far)[:4], got[far][:4], want[far][:4])
