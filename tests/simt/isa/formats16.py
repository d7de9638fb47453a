"""The float formats of the tests by PTX name, and bf16 as the floats that its bits mean."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from exact import DOUBLE, SINGLE, Format, samples

HALF = Format(11, -24, Fraction(65504))
BRAIN = Format(8, -133, Fraction(2**8 - 1) * 2**120)
FORMATS = {"f16": HALF, "bf16": BRAIN, "f32": SINGLE, "f64": DOUBLE}
DTYPES = {"f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}

Lanes = npt.NDArray[Any]


def operands(kind: str, seed: int, count: int = 320) -> Lanes:
    """Samples as `evaluate_batch` takes them: bf16 as integers."""
    values = samples(DTYPES[kind], count, seed)
    return (values.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else values


def meaning(lanes: Lanes, kind: str) -> list[float]:
    """What the lanes of a format stand for."""
    if kind == "bf16":
        lanes = (lanes.astype(np.uint32) << 16).view(np.float32)
    return [float(x) for x in lanes.tolist()]


def encoded(values: list[float], kind: str) -> Lanes:
    """Values that the format holds exactly, as lanes; NaN is the canonical one (f64: NumPy's)."""
    with np.errstate(over="ignore", invalid="ignore"):
        lanes = np.array(values, np.float64).astype(DTYPES[kind])
    if kind == "f64":
        return lanes
    bits = lanes.view(f"u{lanes.dtype.itemsize}")
    bits = np.where(np.isnan(lanes), (1 << (8 * lanes.dtype.itemsize - 1)) - 1, bits).astype(bits.dtype)
    return (bits >> 16).astype(np.uint16) if kind == "bf16" else bits.view(lanes.dtype)


def rounded(value: float | Fraction, kind: str, mode: str) -> float:
    """A number rounded to the format; infinities, NaN and zeros stay."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return value
    exact = Fraction(value)
    return FORMATS[kind].rounded(exact, mode) if exact else 0.0


def flushed(value: float, kind: str) -> float:
    """Subnormal numbers of the format as zeros of the same sign."""
    format_ = FORMATS[kind]
    return math.copysign(0.0, value) if abs(value) < 2.0 ** (format_.smallest + format_.precision - 1) else value


def same(got: Lanes, want: Lanes) -> npt.NDArray[np.bool_]:
    """Equal bits, lane by lane; of f64 any NaN equals any other."""
    kind = f"u{got.dtype.itemsize}"
    equal = got.view(kind) == want.view(kind)
    return equal | (np.isnan(got) & np.isnan(want)) if got.dtype == np.float64 else equal


def agree(text: str, got: Lanes, want: Lanes, *sources: Lanes) -> None:
    """Assert that the bits agree, and say where they do not."""
    wrong = np.flatnonzero(~same(got, want))
    at = wrong[0] if wrong.size else 0
    assert wrong.size == 0, (
        f"{text}{[s[at] for s in sources]} gave {got[at]!r}, not {want[at]!r}; {wrong.size} are wrong"
    )
