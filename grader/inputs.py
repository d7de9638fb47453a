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
    masked, of arrays that may be:    the real value where x is odd, -infinity where x is even; with ``masked_rows``
                                      also -infinity where (i / row + seed) % 4 is 0
    special, of arrays that may be:   with x % 2048, NaN where it is 0, +infinity where it is 1, -0 where it is 2 or 3,
                                      0 where it is 4 or 5, else the real value; of arrays that may be masked, too, the
                                      masked one: a NaN may have only masked neighbours. A NaN has the sign of a number
                                      below 0 where x / 2048 is odd. The first four rows, r = 0 … 3, of ``masked_rows``
                                      elements, or an eighth of the array, have one NaN or +infinity at most, as
                                      element ``seed / 4 % row``: +infinity where (r + seed) % 4 is 2, a NaN where it
                                      is 1 or 3, first one below 0, then one above. Where it is 0, a row may be masked
    infinite, of the same arrays:     like special, with -infinity in place of NaN
    first, of integer arrays:         these numbers, in the cases, where the array has more elements; timed launches
                                      have drawn ones
    outlier, of values with one:      this number where x % 64 is 33, else the real value
    real, shape "uniform":            low + (high - low) * u             with u = (x >> 8) * 2**-24, in [0, 1)
    real, shape "normal":             low + (high - low) / 1021 * t      with t = s + f * 2**-24, in [0, 1021)
    real, rising:                     low + (high - low) * c             with c = i / (count - 1), or 0 if count is 1

``s`` is the sum of the four bytes of x, 0 to 1020, and ``f`` the 24 high bits of x * 0x9E3779B1 modulo 2**32, so that
equal sums are rarely equal values. Each byte is uniform, so t has the mean 510.5 (less 2**-25) and the standard
deviation 147.80: the values have the mean (low + high) / 2 and the deviation 0.14476 * (high - low). The sum of four
uniform numbers is near a normal distribution: its distribution function differs by at most 0.0075, its excess kurtosis
is -0.3 instead of 0, and nothing lies more than 3.454 deviations from the mean (of normal values one in 1800 does).

A real formula is evaluated in float64: one rounded subtraction, (normal) one rounded division, one rounded product, one
rounded sum (no fma; on a device ``__dadd_rn``, ``__ddiv_rn`` and ``__dmul_rn``), then rounded once, to nearest even, to
the array's dtype. u and t are exact. Only the last rounding, or c = 1, can give ``high`` itself.

Integers that rise, with span = exact_high - exact_low and, in float64, rounded to nearest,

    place(i) = low + floor(span * c(min(i, count - 1) / (count - 1)))   with c(u) = u, or ``skew`` times its square root
    least = max(low, place(i) - width),  most = min(high, place(i + 1) + width)
    least + ((uint64(x) * (most - least + 1)) >> 32);  low where i is 0 and width 0

A permutation of 0 … count - 1 is a Feistel network of four rounds on numbers of 2b bits, the least b >= 1 with
count <= 4**b, repeated until the number is below count (at most 4 times on average):

    keys    = philox4x32_10((0xFFFFFFFF, 0xFFFFFFFF, crc32(name), sample), key), a counter that no element has
    a round:  (left, right) = (right, left ^ F(right ^ key_of_the_round))      left and right of b bits, left above
    F(z):     z *= 0x85EBCA6B;  z ^= z >> 13;  z *= 0xC2B2AE35;  z ^= z >> 16  (modulo 2**32);  its low b bits
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

    from grader.exercise import Array, Exercise, Size, Values

    _U64 = npt.NDArray[np.uint64]
    _Mapping = Callable[[_U64, int], npt.NDArray[np.generic]]

Unusual = Literal["unusual", "unusual_2", "unusual_3", "unusual_4"]
Kind = Literal["exact", "real", Unusual, "masked", "special", "infinite"]

SPECIAL: tuple[Literal["special", "infinite"], ...] = ("special", "infinite")
"""The kinds of an array that may have special elements. The second has no NaN, which may hide an infinity."""

UNUSUAL: tuple[Unusual, ...] = ("unusual", "unusual_2", "unusual_3", "unusual_4")
"""The kinds of the further distributions of real values, in the order of `Array.unusual`."""

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
    made = {array.name: make_array(array, count, seed, values, size=size) for array, count in arrays}
    for array in exercise.inputs:
        if 0 < len(array.first) < len(made[array.name]):
            made[array.name][: len(array.first)] = first_elements(array, size)
    return made


def unusual_kinds(exercise: Exercise) -> tuple[Unusual, ...]:
    """The further distributions of real values, as many as the array with most of them has."""
    return UNUSUAL[: max((len(array.further) for array in exercise.inputs), default=0)]


def values_of(array: Array, kind: str) -> Values:
    """What the array of a case is drawn from; one without this further distribution keeps its ``values``."""
    position = UNUSUAL.index(kind) if kind in UNUSUAL else len(UNUSUAL)
    return array.further[position] if position < len(array.further) else array.values


def infinite_kinds(exercise: Exercise) -> tuple[Kind, ...]:
    """The kinds of values with infinities that the exercise has."""
    masked, special = (any(getattr(array, name) for array in exercise.inputs) for name in ("masked", "special"))
    return (*(("masked",) if masked else ()), *(SPECIAL if special else ()))


def make_array(
    array: Array, count: int, seed: int, values: Kind, sample: int = 0, size: Size | None = None
) -> npt.NDArray[np.generic]:
    """``count`` elements of one input array, shape (count,). ``size`` is for bounds that are expressions."""
    drawn = values_of(array, values)
    if drawn.permutation:
        integer_bounds(array, drawn, {}, whole=count)
        return permutation(count, seed, stream(array.name), sample).astype(array.dtype)
    to_values = _mapping(array, drawn, values, seed, size or {}, count)
    result = np.empty(-(-count // 4) * 4, dtype=array.dtype)
    for start, words in _words(count, seed, stream(array.name), sample):
        result[start : start + len(words)] = to_values(words, start)
    if values in SPECIAL and array.special:
        places, elements = _ruled(array, count, seed, size or {}, values == "infinite")
        result[places] = elements
    return result[:count]


def element_count(array: Array, size: Size) -> int:
    """`Array.count` at ``size``, in elements. Raises UsageError if it is not a positive integer."""
    count = _integer(array, array.count, size)
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


def _mapping(array: Array, drawn: Values, kind: Kind, seed: int, size: Size, count: int) -> _Mapping:
    """The function from 32-bit words, and the first one's index, to the array's values, exact in int64 or float64."""
    if kind == "exact" or np.dtype(array.dtype).kind != "f":
        low, high = integer_bounds(array, drawn, size)
        if drawn.rising and np.dtype(array.dtype).kind != "f":
            skew, width = rise(array, drawn, size)
            return lambda words, start: _rising(words, start, count - 1, low, high, skew, width)
        span = np.uint64(high - low + 1)
        return lambda words, start: ((words * span) >> _HALF).view(np.int64) + low
    real = _real(array, drawn, count)

    def others(words: _U64, start: int) -> npt.NDArray[np.float64]:
        if not array.masked or kind not in ("masked", *SPECIAL):
            return real(words, start)
        return np.where(_is_masked(words, start, _row(array, size), seed), -np.inf, real(words, start))

    if kind in SPECIAL and array.special:
        ruled = 4 * _special_row(array, count, size)
        return lambda words, start: _with_special(words, others(words, start), ruled - start, kind == "infinite")
    return others


def _with_special(
    words: _U64, values: npt.NDArray[np.float64], ruled: int, without_nan: bool
) -> npt.NDArray[np.float64]:
    """``values`` with a few NaN, or -infinity, infinities, and zeros of both signs; the first ``ruled`` with zeros."""
    lot = words % np.uint64(2048)
    free = np.arange(len(words)) >= ruled
    first = -np.inf if without_nan else np.where(words // np.uint64(2048) % np.uint64(2) == 1, -np.nan, np.nan)
    found = [(lot == 0) & free, (lot == 1) & free, (lot == 2) | (lot == 3), (lot == 4) | (lot == 5)]
    return np.select(found, [first, np.inf, -0.0, 0.0], values)


def _ruled(array: Array, count: int, seed: int, size: Size, without_nan: bool) -> tuple[list[int], list[float]]:
    """The special elements that every case has, in the first rows: their places, and what they hold.

    Each is the only one of its row, because an infinity hides a NaN, and a NaN an infinity.
    """
    row = _special_row(array, count, size)
    rows = [r for r in range(4) if (r + seed) % 4 and (r + 1) * row <= count and row > 0]
    others = iter((-np.inf, -np.inf) if without_nan else (-np.nan, np.nan))
    kinds = [np.inf if (r + seed) % 4 == 2 else next(others) for r in rows]
    return [r * row + seed // 4 % row for r in rows], kinds


def _special_row(array: Array, count: int, size: Size) -> int:
    """The elements of what has one special element in the beginning of an array."""
    return _row(array, size) or count // 8


def _row(array: Array, size: Size) -> int:
    """The elements of a row that may be masked whole; 0 where there is none."""
    return _integer(array, array.masked_rows, size) if array.masked_rows else 0


def _rising(words: _U64, start: int, last: int, low: int, high: int, skew: int, width: int) -> npt.NDArray[np.int64]:
    """Integers that rise with their index; ``last`` is the index of the last one."""

    def place(begin: int) -> npt.NDArray[np.int64]:
        part = _way(begin, len(words), last)
        for _ in range(skew):
            part = np.sqrt(part)
        return low + np.floor((high - low) * part).astype(np.int64)

    least = np.maximum(place(start) - width, low)
    most = np.minimum(place(start + 1) + width, high)
    drawn = least + ((words * (most - least + 1).astype(np.uint64)) >> _HALF).view(np.int64)
    if start == 0 and width == 0:
        drawn[:1] = low
    return drawn


def _way(start: int, count: int, last: int) -> npt.NDArray[np.float64]:
    """How far each index is on the way from 0 to ``last``: 0 to 1, and 1 behind it."""
    return np.minimum(np.arange(start, start + count), last) / np.float64(max(last, 1))


def _real(array: Array, drawn: Values, count: int) -> Callable[[_U64, int], npt.NDArray[np.float64]]:
    """The function from words, and the first one's index, to real values in float64."""
    real_bounds(array, drawn)
    base, width = float(drawn.low), float(drawn.high) - float(drawn.low)

    def uniform(words: _U64, start: int) -> npt.NDArray[np.float64]:
        return base + width * ((words >> np.uint64(8)).astype(np.float64) * 2.0**-24)

    def rising(words: _U64, start: int) -> npt.NDArray[np.float64]:
        return base + width * _way(start, len(words), count - 1)

    def normal(words: _U64, start: int) -> npt.NDArray[np.float64]:
        total = sum((words >> np.uint64(shift)) & np.uint64(255) for shift in (0, 8, 16, 24))
        fraction = ((words * np.uint64(0x9E3779B1)) & _LOW) >> np.uint64(8)
        exact = ((total << np.uint64(24)) + fraction).astype(np.float64) * 2.0**-24
        return base + (width / 1021) * exact

    shape = rising if drawn.rising else {"uniform": uniform, "normal": normal}[drawn.shape]
    if drawn.outlier is None:
        return shape
    outlier = float(drawn.outlier)
    return lambda words, start: np.where(words % np.uint64(64) == 33, outlier, shape(words, start))


def _is_masked(words: _U64, start: int, row: int, seed: int) -> npt.NDArray[np.bool_]:
    masked: npt.NDArray[np.bool_] = words & np.uint64(1) == 0
    if row:
        masked |= (np.arange(start, start + len(words)) // row + seed % 4) % 4 == 0
    return masked


def permutation(count: int, seed: int, stream: int, sample: int = 0) -> _U64:
    """Each number from 0 to count - 1 once, in random order, shape (count,)."""
    bits = max(1, -(-(count - 1).bit_length() // 2))
    low, shift = np.uint64((1 << bits) - 1), np.uint64(bits)
    keys = philox4x32(np.array([2**64 - 1], dtype=np.uint64), stream, sample, seed)[0]
    numbers = np.arange(count, dtype=np.uint64)
    outside = np.arange(count)
    while len(outside):
        left, right = numbers[outside] >> shift, numbers[outside] & low
        for key in keys:
            z = ((right ^ key) * np.uint64(0x85EBCA6B)) & _LOW
            z = ((z ^ (z >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & _LOW
            left, right = right, left ^ ((z ^ (z >> np.uint64(16))) & low)
        numbers[outside] = (left << shift) | right
        outside = outside[numbers[outside] >= count]
    return numbers


# -------------------------------------------------------------------------------- what an exercise.py may ask for


def integer_bounds(array: Array, drawn: Values, size: Size, whole: int = 0) -> tuple[int, int]:
    """The least and the largest integer of ``drawn`` at ``size``; of a permutation of ``whole`` numbers theirs.

    Raises UsageError if there is none, or one that the array's dtype does not hold.
    """
    if drawn.permutation and array.dtype != "int32":
        message = f"array {array.name!r} is {array.dtype}: only an int32 array can be a permutation"
        raise UsageError(message, code="bad_exercise")
    bounds = (0, whole - 1) if whole else (drawn.exact_low, drawn.exact_high)
    low, high = (_integer(array, bound, size) for bound in bounds)
    if not 1 <= high - low + 1 <= 1 << 32:
        raise UsageError(f"array {array.name!r}: no integers between {low} and {high}", code="bad_exercise")
    limit = _WHOLE.get(array.dtype)
    least, most = (-limit, limit) if limit else (int(np.iinfo(array.dtype).min), int(np.iinfo(array.dtype).max))
    if low < least or high > most:
        raise UsageError(
            f"array {array.name!r} is {array.dtype}, which does not hold every integer from {low} to {high}",
            code="bad_exercise",
            hint=f"give it values=Values(exact_low=…, exact_high=…) within {least} to {most}",
        )
    return low, high


def first_elements(array: Array, size: Size) -> list[int]:
    """`Array.first` in numbers. Raises UsageError for numbers that the array's dtype does not hold."""
    kind = np.dtype(array.dtype)
    numbers = [_integer(array, number, size) for number in array.first]
    if kind.kind == "f" or not all(np.iinfo(kind).min <= number <= np.iinfo(kind).max for number in numbers):
        message = f"array {array.name!r} is {array.dtype}, and its first elements {numbers} are no integers of it"
        raise UsageError(message, code="bad_exercise")
    return numbers


def rise(array: Array, drawn: Values, size: Size) -> tuple[int, int]:
    """``skew`` and ``width`` of integers that rise. Raises UsageError if they are impossible."""
    skew, width = (_integer(array, number, size) for number in (drawn.skew, drawn.width))
    if array.dtype != "int32" or not 0 <= skew <= 64 or not 0 <= width < 1 << 31:
        message = f"array {array.name!r}: integers that rise are int32, with a skew from 0 to 64 and a width from 0 on"
        raise UsageError(message, code="bad_exercise")
    return skew, width


def real_bounds(array: Array, drawn: Values) -> tuple[float, float]:
    """``low`` and ``high`` of ``drawn``. Raises UsageError for a distribution that is impossible."""
    low, high = float(drawn.low), float(drawn.high)
    most = float(np.finfo(array.dtype).max)
    problem = ""
    if drawn.shape not in ("uniform", "normal"):
        problem = f"no shape {drawn.shape!r} of values: 'uniform' and 'normal' exist"
    elif drawn.rising and (drawn.shape, drawn.outlier, drawn.skew, drawn.width) != ("uniform", None, 0, 0):
        problem = "real values that rise have no shape, outlier, skew or width"
    elif not -most <= low <= high <= most:
        problem = f"no numbers of {array.dtype} between {low:g} and {high:g}"
    elif drawn.outlier is not None and not abs(drawn.outlier) <= most:
        problem = f"its outlier {drawn.outlier:g} is no finite {array.dtype}"
    if problem:
        raise UsageError(f"array {array.name!r}: {problem}", code="bad_exercise")
    return low, high


def _integer(array: Array, bound: int | str, size: Size) -> int:
    """A number, or the value of an expression over the sizes, which must be an integer."""
    if not isinstance(bound, str):
        return bound
    try:
        return evaluate_integer(bound, size)
    except ExpressionError as error:
        raise UsageError(f"array {array.name!r}: {error.message}", code="bad_exercise", hint=error.hint) from None


_WHOLE = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}
"""Every integer up to this size is a value of the dtype."""
