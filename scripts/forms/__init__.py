"""Small programs of single PTX forms, to be run on the simulator and on a GPU, and what their outputs may differ by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNIT = 2.0**-24
"""Differences of sums are shown as multiples of this part of Σ|a·b| + |c|: half a unit in the last place of a float."""

SUM_UNITS = 8
"""The bound of a sum in single precision, 2^-21 · (Σ|a·b| + |c|).

The simulator rounds after each product, by half a last place of the partial sum. A tensor core cuts each of its k + 1
terms to a place near the last one of the largest term (some bits below it are kept, how many depends on the GPU), and
rounds the sum towards zero. Where one term is as large as all others together, these k + 2 errors can be 2·(k + 2)
units. For values spread evenly over [-1, 1], Σ is a few times the largest term: in 200 000 random sums of k = 4, 8 and
16, so computed in NumPy with one bit kept, the two were 6 units apart at most. A value of an operand in the wrong
place, or rounded where it should be cut, is an error of hundreds.
"""

HALF_ULPS = 1
"""The bound of a sum that is rounded to half: units in the last place of the larger result, beside the sum's own."""


@dataclass(frozen=True, eq=False)
class Form:
    """One launch. The kernel takes the arrays' addresses in order; ``output`` is the one that is compared.

    ``magnitudes`` are the arrays with absolute values: from them the kernel computes Σ|a·b| + |c|, which bounds the
    difference of floating-point sums. None: every bit must be equal.
    """

    name: str
    source: str
    kernel: str
    arrays: Mapping[str, Array] = field(repr=False)
    output: str = "d"
    grid: int = 1
    block: int = 32
    magnitudes: Mapping[str, Array] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Row:
    """How far the outputs of one program are apart; ``largest`` counts ``unit``s, where a bound was asked for."""

    name: str
    elements: int
    differing: int
    largest: float = 0.0
    bound: float = 0.0
    unit: str = ""
    farthest: str = ""  # the element that is farthest apart, in words

    @property
    def fine(self) -> bool:
        return self.differing == 0 or (bool(self.unit) and self.largest <= self.bound)


def compare(form: Form, simulated: Array, measured: Array, magnitude: Array | None) -> Row:
    """The row of one program; not-a-number equals not-a-number where a bound is asked for."""
    raw = f"u{simulated.dtype.itemsize}"
    unequal = simulated.view(raw) != measured.view(raw)
    if magnitude is None:
        return Row(form.name, simulated.size, int(unequal.sum()), farthest=_pair(simulated, measured, unequal))
    unequal &= ~(np.isnan(simulated) & np.isnan(measured))
    finite = np.isfinite(simulated) & np.isfinite(measured)
    unit, bound = (_half_ulp, HALF_ULPS) if simulated.dtype == np.float16 else (_sum_unit, SUM_UNITS)
    word = f"(ulp of half + {SUM_UNITS} · 2^-24·Σ)" if simulated.dtype == np.float16 else "2^-24·Σ"
    chosen = finite & unequal
    mine, theirs, total = (values[chosen].astype(np.float64) for values in (simulated, measured, magnitude))
    units = np.abs(mine - theirs) / unit(mine, theirs, total)
    largest = np.inf if (unequal & ~finite).any() else float(units.max(initial=0.0))
    worst = np.zeros(unequal.shape)
    worst[chosen] = units
    farthest = _pair(simulated, measured, worst)
    return Row(form.name, simulated.size, int(unequal.sum()), largest, bound, word, farthest)


def _pair(simulated: Array, measured: Array, weight: Array) -> str:
    """The element of the largest weight, in words: to find out why it differs."""
    at = int(weight.argmax())
    return f"element {at}: {simulated[at]!s} simulated, {measured[at]!s} measured" if weight[at] else ""


def _sum_unit(mine: Array, theirs: Array, total: Array) -> Array:
    return UNIT * total


def _half_ulp(mine: Array, theirs: Array, total: Array) -> Array:
    """The last place of the larger result, at least 2^-24, and what the unrounded sums may be apart."""
    larger = np.maximum(np.maximum(np.abs(mine), np.abs(theirs)), 2.0**-14)
    return 2.0 ** (np.floor(np.log2(larger)) - 10) + SUM_UNITS * UNIT * total


def every_form() -> list[Form]:
    """All programs, in the order of the page."""
    from forms import carries, copies, mma, moves, objects, wmma

    return [form for module in (wmma, mma, moves, copies, objects, carries) for form in module.forms()]
