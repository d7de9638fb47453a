"""Correctly rounded arithmetic in rational numbers, slow and plain: what the floating-point forms are held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from single import evaluate_batch

MODES = ("rn", "rz", "rm", "rp")
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Format:
    """A binary format: bits of precision, exponent of the smallest subnormal number, largest number."""

    precision: int
    smallest: int
    largest: Fraction

    def rounded(self, value: Fraction, mode: str) -> float:
        """The nonzero rational ``value`` in this format; a result of zero has its sign."""
        size = abs(value)
        exponent = max(_log2(size) - self.precision + 1, self.smallest)
        scaled = size / Fraction(2) ** exponent
        low = math.floor(scaled)
        rest = scaled - low
        away = {"rz": False, "rm": value < 0, "rp": value > 0, "rn": True}[mode]
        half = Fraction(1, 2)
        up = rest > half or (rest == half and low % 2 == 1) if mode == "rn" else away and rest > 0
        result = (low + up) * Fraction(2) ** exponent
        magnitude = (math.inf if away else float(self.largest)) if result > self.largest else float(result)
        return math.copysign(magnitude, 1 if value > 0 else -1)


SINGLE = Format(24, -149, Fraction(2**24 - 1) * 2**104)
DOUBLE = Format(53, -1074, Fraction(2**53 - 1) * 2**971)


def _log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def _root(value: Fraction) -> Fraction:
    """A rational that rounds like the root: its first 200 bits and, if it goes on, a little more."""
    shift = 400 + 2 * max(0, value.denominator.bit_length())
    scaled = value * 4**shift
    root = math.isqrt(math.floor(scaled))
    return Fraction(2 * root + (Fraction(root) ** 2 != scaled), 2 ** (shift + 1))


EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
    "rcp": lambda a: 1 / a,
    "sqrt": _root,
}


def compute(operation: str, mode: str, format_: Format, operands: Sequence[float]) -> float:
    """One correctly rounded result. NaN for every invalid operation."""
    if not all(map(math.isfinite, operands)) or _divides_by_zero(operation, operands):
        return _limit(operation, operands)
    if operation == "sqrt" and operands[0] < 0:
        return math.nan
    value = EXACT[operation](*map(Fraction, operands))
    return format_.rounded(value, mode) if value else _zero(operation, mode, operands)


def _divides_by_zero(operation: str, operands: Sequence[float]) -> bool:
    return operation in ("div", "rcp") and operands[-1] == 0.0


def _limit(operation: str, operands: Sequence[float]) -> float:
    """Infinities and NaN, which no rounding changes: NumPy's, in double precision."""
    with np.errstate(all="ignore"):
        x = [np.float64(v) for v in operands]
        if operation in ("fma", "mad"):
            product = x[0] * x[1] if not all(map(math.isfinite, operands[:2])) else np.float64(1.0)
            return float(product + x[2])
        names = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rcp": np.reciprocal}
        return float((names | {"sqrt": np.sqrt})[operation](*x))


def _zero(operation: str, mode: str, operands: Sequence[float]) -> float:
    """An exact zero: signs multiply; a sum of opposite signs is +0, and -0 when rounding down."""
    signs = [math.copysign(1.0, v) for v in operands]
    if operation in ("mul", "div"):
        return 0.0 * signs[0] * signs[1]
    if operation == "sqrt":
        return operands[0]
    first, second = {"add": (signs[0], signs[-1]), "sub": (signs[0], -signs[-1])}.get(
        operation, (signs[0] * signs[1 % len(signs)], signs[-1])
    )
    if first == second:
        return 0.0 * first
    return -0.0 if mode == "rm" else 0.0


def flushed(values: Floats) -> Floats:
    """Subnormal numbers as zeros of the same sign."""
    tiny = np.abs(values) < np.finfo(values.dtype).smallest_normal
    return np.where(tiny, np.copysign(np.zeros_like(values), values), values)


def samples(dtype: type[np.floating], count: int, seed: int) -> Floats:
    """Numbers of every kind: random bits, numbers of ordinary size, ends of the range, special values."""
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    info = np.finfo(dtype)
    wild = rng.integers(0, 256, count * size, np.uint8).view(dtype)
    usual = (rng.normal(size=count) * 2.0 ** rng.integers(-12, 12, count)).astype(dtype)
    steps = rng.integers(1, 50, count)
    tiny = (steps * info.smallest_subnormal).astype(dtype)
    edges = np.array(
        [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, info.max, -info.max, info.smallest_normal, -info.smallest_normal,
         info.smallest_subnormal, -info.smallest_subnormal, np.inf, -np.inf, np.nan, 1 + info.eps, 1 - info.epsneg],
        dtype,
    )  # fmt: skip
    pools = np.stack([wild, usual, np.copysign(tiny, usual), np.resize(rng.permutation(edges), count)])
    return pools[rng.choice(4, count, p=[0.35, 0.35, 0.15, 0.15]), np.arange(count)]


def same_bits(got: Floats, expected: Floats) -> npt.NDArray[np.bool_]:
    """Element by element: the same bits, or NaN both."""
    kind = f"u{got.dtype.itemsize}"
    return (got.view(kind) == expected.view(kind)) | (np.isnan(got) & np.isnan(expected))


def check(text: str, operands: Sequence[Floats], wanted: Floats) -> None:
    """Hold a form to the wanted results, bit by bit."""
    (got,) = evaluate_batch(text, *operands)
    wrong = np.flatnonzero(~same_bits(got, wanted))
    first = wrong[0] if wrong.size else 0
    shown = [float(column[first]).hex() for column in (*operands, got, wanted)]
    assert wrong.size == 0, f"{text}: {wrong.size} of {len(got)} differ; operands, got, expected: {shown}"


def ulps(got: npt.NDArray[np.float32], expected: npt.NDArray[np.float32]) -> int:
    """The largest distance in units of the last place; NaN agrees with NaN only."""
    assert (np.isnan(got) == np.isnan(expected)).all()

    def ordinal(x: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        raw = x.view(np.int32).astype(np.int64)
        return np.where(raw < 0, -(raw & 0x7FFFFFFF), raw)

    apart = np.abs(ordinal(got) - ordinal(expected))
    return int(apart[~np.isnan(expected)].max(initial=0))
