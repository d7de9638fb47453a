"""Integers for the tests: values of every kind by PTX type, and forms held against functions of Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from single import DTYPE, evaluate_batch

from grader.simt.isa.registry import WIDTH, Form

COUNT = 320
Lanes = npt.NDArray[Any]


def bounds(kind: str) -> tuple[int, int]:
    bits = WIDTH[kind]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind.startswith("s") else (0, (1 << bits) - 1)


def wrapped(value: int, kind: str) -> int:
    """An integer of any size in the range of the type, as its low bits say."""
    bits = WIDTH[kind]
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if kind.startswith("s") and low >> (bits - 1) else low


def integers(kind: str, seed: int, count: int = COUNT) -> Lanes:
    """Random bits, small numbers of both signs, powers of two and their neighbours, and the ends of the range."""
    rng = np.random.default_rng(seed)
    bits = WIDTH[kind]
    edges = [0, 1, 2, -1, -2, *bounds(f"s{bits}"), *bounds(f"u{bits}")]

    def one(choice: float) -> int:
        if choice < 0.4:
            return int(rng.integers(0, 1 << 63)) * 2 + int(rng.integers(0, 2))
        if choice < 0.6:
            return int(rng.integers(-40, 41))
        if choice < 0.8:
            return (1 << int(rng.integers(0, bits))) + int(rng.integers(-1, 2))
        return int(rng.choice(np.array(edges, object)))

    return np.array([wrapped(one(choice), kind) for choice in rng.random(count)], DTYPE[kind])


def check(text: str, expected: Callable[..., int], *operands: Lanes, form: Form | None = None) -> None:
    """The form's result is ``expected``'s of the operands, lane by lane, modulo the destination's width."""
    (got,) = evaluate_batch(text, *operands, form=form)
    kind = f"{got.dtype.kind.replace('i', 's')}{8 * got.dtype.itemsize}"
    rows = list(zip(*(lanes.tolist() for lanes in operands), strict=True))
    want = np.array([wrapped(expected(*row), kind) for row in rows], got.dtype)
    wrong = np.flatnonzero(got != want)
    assert wrong.size == 0, f"{text}{rows[wrong[0]]} gave {got[wrong[0]]}, not {want[wrong[0]]}; {wrong.size} are wrong"
