"""The numbers that the programs are given: by PTX type and kind of values, the same in every run."""

from __future__ import annotations

import numpy as np

from forms import Array

DTYPES = {
    "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "tf32": np.float32,
    "s8": np.int8, "u8": np.uint8, "s32": np.int32,
}  # fmt: skip
"""Arrays of bf16 hold its bits: NumPy has no such type."""

KEPT_BITS = {"bf16": 0xFFFF0000, "tf32": 0xFFFFE000}
"""What a float keeps as a value of that type."""

BYTES = {"s8": (-128, 128), "u8": (0, 256)}
SMALLEST_HALF = 2.0**-14
"""The smallest normal one."""
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, -1.5, 2.0**-14, -(2.0**-15), 2.0**-24)
"""The last two are subnormal halves."""


def values(kind: str, of: str, count: int, seed: int) -> Array:
    """``count`` values of PTX type ``kind``.

    ``of``: ``integers`` small enough that every sum is exact; ``reals`` evenly in [-1, 1]; ``floats``, the same but
    with all bits of a float; ``special`` numbers, some infinite or not-a-number; ``bytes``, all of them, with sums
    moderate (``s32``) or, as ``limits``, near both ends.
    """
    rng = np.random.default_rng([seed, len(of), *kind.encode()])
    if kind in BYTES:
        return rng.integers(*BYTES[kind], count).astype(DTYPES[kind])
    if kind == "s32":
        near = rng.integers(0, 100_000, count)
        ends = np.where(rng.integers(0, 2, count) == 1, 2**31 - 1 - near, near - 2**31)
        return (ends if of == "limits" else rng.integers(-(10**6), 10**6, count)).astype(np.int32)
    return encoded(_numbers(of, count, rng), kind, keep=of == "floats")


def _numbers(of: str, count: int, rng: np.random.Generator) -> Array:
    if of == "integers":
        return rng.integers(-8, 9, count).astype(np.float32)
    if of == "special":
        chosen = rng.choice(np.array(SPECIAL, np.float32), count)
        rare = rng.random(count)
        return np.where(rare < 0.004, np.inf, np.where(rare > 0.996, np.nan, chosen)).astype(np.float32)
    return rng.uniform(-1, 1, count).astype(np.float32)


def encoded(numbers: Array, kind: str, *, keep: bool = False) -> Array:
    """Floats as elements of a PTX type, cut to its bits unless ``keep``."""
    if kind in KEPT_BITS and not keep:
        numbers = (numbers.view(np.uint32) & np.uint32(KEPT_BITS[kind])).view(np.float32)
    if kind == "bf16":
        return (numbers.view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(DTYPES[kind])


def absolute(held: Array, kind: str) -> Array:
    """Sizes for Σ|a·b| + |c|. A subnormal half counts as the smallest normal one: by that exponent it is aligned.

    Seen on an H200: 2^-24 · 2 and -2^-39 add up without the latter, which would be in the 16th bit of the sum.
    """
    if kind == "bf16":
        return held & np.uint16(0x7FFF)
    size = np.abs(held)
    return np.where((size > 0) & (size < SMALLEST_HALF), np.float16(SMALLEST_HALF), size) if kind == "f16" else size


def words(count: int, seed: int) -> Array:
    """Any 32 bits."""
    return np.random.default_rng([seed, 32]).integers(0, 2**32, count, dtype=np.uint32)
