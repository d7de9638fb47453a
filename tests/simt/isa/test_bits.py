"""Counting, finding and moving bits against bit strings."""

from __future__ import annotations

import numpy as np
import pytest
from whole import COUNT, Lanes, check, integers

from grader.simt.isa.registry import WIDTH
from grader.simt.isa.single import evaluate_batch

NONE = 0xFFFFFFFF


def low_bits(value: int, kind: str) -> int:
    return value & ((1 << WIDTH[kind]) - 1)


def positions(seed: int) -> Lanes:
    """Bit positions and lengths: most of them in range, some just beyond, some with bits that must not count."""
    rng = np.random.default_rng(seed)
    pools = np.stack([rng.integers(0, 70, COUNT), rng.integers(0, 256, COUNT), rng.integers(0, 1 << 32, COUNT)])
    return pools[rng.choice(3, COUNT, p=[0.7, 0.2, 0.1]), np.arange(COUNT)].astype("u4")


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_counts_are_those_of_the_bit_string(kind: str) -> None:
    a, bits = integers(kind, 1), WIDTH[kind]
    check(f"popc.{kind}", lambda a: a.bit_count(), a)
    check(f"clz.{kind}", lambda a: bits - a.bit_length(), a)
    check(f"brev.{kind}", lambda a: int(f"{a:0{bits}b}"[::-1], 2), a)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_the_highest_bit_is_the_first_that_differs_from_the_sign(kind: str) -> None:
    def highest(a: int) -> int:
        size = (~a if a < 0 else a).bit_length()
        return size - 1 if size else NONE

    a, bits = integers(kind, 2), WIDTH[kind]
    check(f"bfind.{kind}", highest, a)
    check(f"bfind.shiftamt.{kind}", lambda a: NONE if highest(a) == NONE else bits - 1 - highest(a), a)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_a_field_is_extracted_as_the_manual_says_bit_by_bit(kind: str) -> None:
    def extracted(a: int, b: int, c: int) -> int:
        top, start, length = WIDTH[kind] - 1, b & 0xFF, c & 0xFF
        bits = low_bits(a, kind)
        sign = 0 if kind[0] == "u" or length == 0 else bits >> min(start + length - 1, top) & 1
        found = [bits >> (start + i) & 1 if i < length and start + i <= top else sign for i in range(top + 1)]
        return sum(bit << i for i, bit in enumerate(found))

    check(f"bfe.{kind}", extracted, integers(kind, 3), positions(4), positions(5))


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_a_field_is_inserted_as_the_manual_says_bit_by_bit(kind: str) -> None:
    def inserted(a: int, b: int, c: int, d: int) -> int:
        start, length = c & 0xFF, d & 0xFF
        for i in range(length):
            if start + i < WIDTH[kind]:
                b = b & ~(1 << (start + i)) | (a >> i & 1) << (start + i)
        return b

    check(f"bfi.{kind}", inserted, integers(kind, 6), integers(kind, 7), positions(8), positions(9))


def test_the_nth_set_bit_is_found_in_both_directions() -> None:
    def nth(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if base < 32 and mask >> base & 1 else NONE
        count, at, step = abs(offset) - 1, base, 1 if offset > 0 else -1
        while 0 <= at < 32:
            if mask >> at & 1:
                if count == 0:
                    return at
                count -= 1
            at += step
        return NONE

    offsets = np.random.default_rng(10).integers(-6, 7, COUNT).astype("i4")
    offsets[::40] = integers("s32", 11)[::40]
    bases = np.random.default_rng(12).integers(0, 34, COUNT).astype("u4")
    check("fns.b32", nth, integers("b32", 13), bases, offsets)


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_numbers_of_any_width_are_extended(mode: str) -> None:
    def length(b: int) -> int:
        return b & 31 if mode == "wrap" else min(b, 32)

    def unsigned(a: int, b: int) -> int:
        return a & ((1 << length(b)) - 1)

    def signed(a: int, b: int) -> int:
        value, n = unsigned(a, b), length(b)
        return value - (1 << n) if n and value >> (n - 1) else value

    check(f"szext.{mode}.u32", unsigned, integers("u32", 14), positions(15))
    check(f"szext.{mode}.s32", signed, integers("s32", 16), positions(17))


def test_a_mask_that_is_clamped_starts_below_bit_32_or_is_empty() -> None:
    check("bmsk.clamp.b32", lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32), positions(18), positions(19))


def test_a_mask_that_wraps_takes_both_numbers_modulo_32() -> None:
    check("bmsk.wrap.b32", lambda a, b: ((1 << (b & 31)) - 1) << (a & 31), positions(20), positions(21))


def test_a_field_of_all_bits_is_the_whole_word() -> None:
    a = integers("u64", 22)
    zeros, lengths = np.zeros(COUNT, "u4"), np.full(COUNT, 64, "u4")
    assert (evaluate_batch("bfe.u64", a, zeros, lengths)[0] == a).all()
    assert (evaluate_batch("bfe.s64", a.view("i8"), zeros, lengths)[0] == a.view("i8")).all()
    assert (evaluate_batch("bfi.b64", a, ~a, zeros, lengths)[0] == a).all()
