"""Logic, shifts and byte permutes against Python's integers and byte strings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from whole import COUNT, Lanes, check, integers

from grader.simt.isa.single import evaluate_batch

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
