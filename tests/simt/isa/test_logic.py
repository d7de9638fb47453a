"""Logic, shifts, byte permutes, counts and fields against Python's integers, byte strings and bit strings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from single import evaluate_batch
from whole import COUNT, Lanes, check, integers

from grader.simt.isa.registry import WIDTH

BITS = ("b16", "b32", "b64")


def amounts(seed: int) -> Lanes:
    """Shift amounts around every width, and huge ones."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(COUNT) < 0.85, rng.integers(0, 68, COUNT), integers("u32", seed)).astype("u4")


@pytest.mark.parametrize("kind", BITS)
def test_operators_work_bit_by_bit(kind: str) -> None:
    a, b = integers(kind, 1), integers(kind, 2)
    check(f"and.{kind}", lambda a, b: a & b, a, b)
    check(f"or.{kind}", lambda a, b: a | b, a, b)
    check(f"xor.{kind}", lambda a, b: a ^ b, a, b)
    check(f"not.{kind}", lambda a: ~a, a)
    check(f"cnot.{kind}", lambda a: a == 0, a)


def test_every_table_of_lop3_is_looked_up() -> None:
    tables = np.arange(256, dtype="u4")
    a, b, c = (integers("u32", seed, 256) for seed in (3, 4, 5))

    def looked_up(a: int, b: int, c: int, table: int) -> int:
        index = [(a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1 for i in range(32)]
        return sum((table >> at & 1) << i for i, at in enumerate(index))

    check("lop3.b32", looked_up, a, b, c, tables)


@pytest.mark.parametrize("kind", ["u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64"])
def test_shifts_of_the_width_and_more_leave_zero_or_the_sign(kind: str) -> None:
    a, b = integers(kind, 6), amounts(7)
    check(f"shr.{kind}", lambda a, b: a >> min(b, 64), a, b)
    if kind[0] == "b":
        check(f"shl.{kind}", lambda a, b: a << min(b, 64), a, b)


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_funnel_shifts_move_64_bits(mode: str) -> None:
    def amount(c: int) -> int:
        return min(c, 32) if mode == "clamp" else c & 31

    a, b, c = integers("u32", 8), integers("u32", 9), amounts(10)
    check(f"shf.l.{mode}.b32", lambda a, b, c: ((b << 32 | a) << amount(c)) >> 32, a, b, c)
    check(f"shf.r.{mode}.b32", lambda a, b, c: (b << 32 | a) >> amount(c), a, b, c)


def pool(a: int, b: int) -> bytes:
    return (b << 32 | a).to_bytes(8, "little")


def test_permutes_pick_any_byte_or_its_sign() -> None:
    def permuted(a: int, b: int, c: int) -> int:
        choices = [c >> (4 * i) & 15 for i in range(4)]
        picked = [(255 if pool(a, b)[n & 7] >> 7 else 0) if n >> 3 else pool(a, b)[n] for n in choices]
        return int.from_bytes(bytes(picked), "little")

    check("prmt.b32", permuted, *(integers("u32", seed) for seed in (11, 12, 13)))


@pytest.mark.parametrize(
    ("mode", "index"),
    [
        ("f4e", lambda n, i: n + i),
        ("b4e", lambda n, i: (n - i) % 8),
        ("rc8", lambda n, i: n),
        ("ecl", lambda n, i: max(n, i)),
        ("ecr", lambda n, i: min(n, i)),
        ("rc16", lambda n, i: 2 * (n % 2) + i % 2),
    ],
)
def test_modes_of_the_permute_follow_a_rule(mode: str, index: Callable[[int, int], int]) -> None:
    def permuted(a: int, b: int, c: int) -> int:
        return int.from_bytes(bytes(pool(a, b)[index(c & 3, i)] for i in range(4)), "little")

    check(f"prmt.b32.{mode}", permuted, *(integers("u32", seed) for seed in (14, 15, 16)))


@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_predicates_combine(name: str) -> None:
    a, b = np.array([0, 0, 1, 1], "u1"), np.array([0, 1, 0, 1], "u1")
    operator = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[name]
    assert (evaluate_batch(f"{name}.pred", a, b)[0] == operator(a, b)).all()


# -- counting, finding and moving bits ---------------------------------------------------------------------------------
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
