"""Input arrays from a secret key: the same elements on every machine, in any order, without state.

``kernels_ref/device/generate.cu`` computes the same bits. For element ``i`` of the array ``name``:

    counter = (low32(i / 4), high32(i / 4), crc32(name), sample)        four 32-bit words, counter[0] first
    key     = (low32(seed), high32(seed))                               the 64-bit secret seed
    x       = philox4x32_10(counter, key)[i % 4]                        one 32-bit word per element

``i / 4`` is an integer division; ``crc32(name)`` is `zlib.crc32` of the name in UTF-8 (the host passes it to a device
kernel as a number); ``sample`` is 0 for a case and k for the k-th timed launch. Philox4x32-10 is the generator of
Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), also cuRAND's and NumPy's:

    a round:  p0 = 0xD2511F53 * c0,  p1 = 0xCD9E8D57 * c2               (64-bit products of 32-bit words)
              c  = (high32(p1) ^ c1 ^ k0,  low32(p1),  high32(p0) ^ c3 ^ k1,  low32(p0))
    ten rounds; between two rounds  k0 += 0x9E3779B9,  k1 += 0xBB67AE85  (modulo 2**32)

From a word to a value:

    exact, and every integer dtype:   low + ((uint64(x) * span) >> 32)   with span = exact_high - exact_low + 1 <= 2**32
    masked, of arrays that may be:    the real value where x is odd, -infinity where x is even
    special, of arrays that may be:   NaN where x % 2048 is 0, +infinity where it is 1, else the real value
    real, floating dtypes:            low + (high - low) * u             with u = (x >> 8) * 2**-24, in [0, 1)

The real formula is evaluated in float64: one rounded subtraction, one rounded product, one rounded sum (no fma; on a
device ``__dadd_rn`` and ``__dmul_rn``), then rounded once, to nearest even, to the array's dtype. Only this last
rounding can give ``high`` itself.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Literal

import numpy as np

from grader.c_types import DTYPE_BYTES
from grader.errors import UsageError
from grader.expressions import ExpressionError, evaluate_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from grader.exercise import Array, Exercise, Size

    _U64 = npt.NDArray[np.uint64]

Kind = Literal["exact", "real", "unusual", "masked", "special"]

POISON_WORD = 0x7FFB7FFB
"""The 32-bit word that outputs and scratch arrays hold before the first launch, repeated over their bytes.

Little-endian, cut off at the array's last byte. A quiet NaN as float16, float32 and float64; 2147188731 as int32,
9222105380131930107 as int64; 251 and 127 in turn as uint8.
"""

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_CHUNK = 1 << 14  # counters per step: their temporaries fit into the cache


def make_inputs(
    exercise: Exercise, size: Size, seed: int, values: Kind = "exact"
) -> dict[str, npt.NDArray[np.generic]]:
    """Every input array of one case: 1-D, of the array's dtype and count.

    Raises UsageError for a count or values in exercise.py that are impossible.
    """
    arrays = ((array, element_count(array, size)) for array in exercise.inputs)
    return {array.name: make_array(array, count, seed, values) for array, count in arrays}


def unusual_kind(exercise: Exercise) -> tuple[Kind, ...]:
    """The second distribution of real values, where the exercise has one."""
    return ("unusual",) if any(array.unusual for array in exercise.inputs) else ()


def infinite_kinds(exercise: Exercise) -> tuple[Kind, ...]:
    """The kinds of values with infinities that the exercise has."""
    kinds: tuple[Literal["masked", "special"], ...] = ("masked", "special")
    return tuple(kind for kind in kinds if any(getattr(array, kind) for array in exercise.inputs))


def make_array(array: Array, count: int, seed: int, values: Kind, sample: int = 0) -> npt.NDArray[np.generic]:
    """``count`` elements of one input array, shape (count,)."""
    to_values = _mapping(array, values)
    result = np.empty(-(-count // 4) * 4, dtype=array.dtype)
    for start, words in _words(count, seed, stream(array.name), sample):
        result[start : start + len(words)] = to_values(words)
    return result[:count]


def element_count(array: Array, size: Size) -> int:
    """`Array.count` at ``size``, in elements. Raises UsageError if it is not a positive integer."""
    try:
        count = evaluate_integer(array.count, size)
    except ExpressionError as error:
        raise UsageError(f"array {array.name!r}: {error.message}", code="bad_exercise", hint=error.hint) from None
    if count < 1:
        raise UsageError(f"array {array.name!r} has {count} elements at {dict(size)}", code="bad_exercise")
    return count


def element_bytes(array: Array) -> int:
    return DTYPE_BYTES[array.dtype]


def stream(name: str) -> int:
    """The 32-bit stream number of an array's name: counter word 2."""
    return zlib.crc32(name.encode())


def derive_seed(seed: int, *parts: str | int) -> int:
    """A 64-bit seed from ``seed`` and labels, e.g. the case's size, which does not reveal the other seeds."""
    text = repr((seed, *parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def random_words(count: int, seed: int, stream: int, sample: int = 0) -> npt.NDArray[np.uint32]:
    """The first ``count`` words of a stream, dtype uint32, shape (count,)."""
    chunks = [words for _, words in _words(count, seed, stream, sample)]
    return np.concatenate(chunks)[:count].astype(np.uint32)


def _words(count: int, seed: int, stream: int, sample: int) -> Iterator[tuple[int, npt.NDArray[np.uint64]]]:
    """The stream in pieces of at most four words per counter: (index of the piece's first word, words)."""
    counters = -(-count // 4)
    for start in range(0, counters, _CHUNK):
        index = np.arange(start, min(start + _CHUNK, counters), dtype=np.uint64)
        yield start * 4, philox4x32(index, stream, sample, seed).reshape(-1)


def philox4x32(index: npt.NDArray[np.uint64], stream: int, sample: int, seed: int) -> npt.NDArray[np.uint64]:
    """Philox4x32-10 of the counters (low32(index), high32(index), stream, sample).

    32-bit words in a uint64 array of shape (len(index), 4).
    """
    c = np.empty((4, len(index)), dtype=np.uint64)
    c[0], c[1], c[2], c[3] = index & _LOW, index >> _HALF, stream, sample
    k0, k1 = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    p0, p1 = np.empty_like(index), np.empty_like(index)
    for _ in range(10):
        np.multiply(c[0], _MULTIPLIERS[0], out=p0)
        np.multiply(c[2], _MULTIPLIERS[1], out=p1)
        _xor_high(p1, c[1], k0, c[0])
        _xor_high(p0, c[3], k1, c[2])
        np.bitwise_and(p1, _LOW, out=c[1])
        np.bitwise_and(p0, _LOW, out=c[3])
        k0, k1 = (k0 + _KEY_STEPS[0]) & 0xFFFFFFFF, (k1 + _KEY_STEPS[1]) & 0xFFFFFFFF
    return c.T


def _xor_high(product: _U64, word: _U64, key: int, out: _U64) -> None:
    """``out = high32(product) ^ word ^ key``, without a temporary."""
    np.right_shift(product, _HALF, out=out)
    np.bitwise_xor(out, word, out=out)
    np.bitwise_xor(out, np.uint64(key), out=out)


def poison(dtype: str, count: int, word: int = POISON_WORD) -> npt.NDArray[np.generic]:
    """``count`` elements of a repeated word, shape (count,): the contents of an output before a kernel writes it."""
    element = np.dtype(dtype)
    words = np.full(-(-count * element.itemsize // 4), word, dtype="<u4")
    return words.view(np.uint8)[: count * element.itemsize].view(element)


def is_poison(values: npt.NDArray[np.generic], word: int = POISON_WORD) -> npt.NDArray[np.bool_]:
    """Which elements of a 1-D array still hold the poison, bit for bit; shape (len(values),)."""
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    untouched = poison(values.dtype.name, len(values), word)
    same: npt.NDArray[np.bool_] = np.ascontiguousarray(values).view(unsigned) == untouched.view(unsigned)
    return same


def _mapping(array: Array, values: Kind) -> Callable[[_U64], npt.NDArray[np.generic]]:
    """The function from 32-bit words to the array's values, exact in int64 or float64."""
    if values != "exact" and np.dtype(array.dtype).kind == "f":
        drawn = (values == "unusual" and array.unusual) or array.values
        base = float(drawn.low)
        scale = float(drawn.high) - base

        def real(words: _U64) -> npt.NDArray[np.generic]:
            return base + scale * ((words >> np.uint64(8)).astype(np.float64) * 2.0**-24)

        if values == "masked" and array.masked:
            return lambda words: np.where(words & np.uint64(1), real(words), -np.inf)
        if values == "special" and array.special:
            kinds = (np.nan, np.inf)
            return lambda words: np.select([words % np.uint64(2048) == k for k in range(2)], kinds, real(words))
        return real
    low, high = array.values.exact_low, array.values.exact_high
    span = high - low + 1
    if not 1 <= span <= 1 << 32:
        raise UsageError(f"array {array.name!r}: no integers between {low} and {high}", code="bad_exercise")
    limit = _WHOLE.get(array.dtype)
    bounds = (-limit, limit) if limit else (int(np.iinfo(array.dtype).min), int(np.iinfo(array.dtype).max))
    if low < bounds[0] or high > bounds[1]:
        raise UsageError(
            f"array {array.name!r} is {array.dtype}, which does not hold every integer from {low} to {high}",
            code="bad_exercise",
            hint=f"give it values=Values(exact_low=…, exact_high=…) within {bounds[0]} to {bounds[1]}",
        )
    return lambda words: ((words * np.uint64(span)) >> _HALF).view(np.int64) + low


_WHOLE = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}
"""Every integer up to this size is a value of the dtype."""
