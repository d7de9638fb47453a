"""Chains of instructions that carry against Python's integers, and the flag itself."""

from __future__ import annotations

import numpy as np
import pytest
from whole import integers

from grader.simt.isa.registry import WIDTH
from grader.simt.isa.single import evaluate_carry

KINDS = ("u32", "s32", "u64", "s64")
WARPS = [slice(32 * i, 32 * i + 32) for i in range(6)]


def lanes(flags: int) -> list[int]:
    return [flags >> i & 1 for i in range(32)]


def flags(bits: list[bool]) -> int:
    return sum(bit << i for i, bit in enumerate(bits))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("warp", WARPS[:2])
@pytest.mark.parametrize("carry", [0, 0xFFFFFFFF, 0x12345678])
def test_sums_and_differences_read_and_write_the_flag(kind: str, warp: slice, carry: int) -> None:
    unsigned = f"u{WIDTH[kind]}"
    a, b = integers(unsigned, 1)[warp], integers(unsigned, 2)[warp]
    b[::3] = a[::3]  # where only the flag makes a difference borrow
    size = 1 << WIDTH[kind]
    totals = [int(x) + int(y) + c for x, y, c in zip(a, b, lanes(carry), strict=True)]
    rests = [int(x) - int(y) - c for x, y, c in zip(a, b, lanes(carry), strict=True)]
    for text, exact in (("addc.cc", totals), ("subc.cc", rests)):
        (got,), after = evaluate_carry(f"{text}.{kind}", (a, b), carry)
        assert got.view(a.dtype).tolist() == [t % size for t in exact]
        assert after == flags([not 0 <= t < size for t in exact])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("half", ["lo", "hi"])
def test_multiply_and_add_carries_out_of_its_sum(kind: str, half: str) -> None:
    unsigned = f"u{WIDTH[kind]}"
    bits, carry = WIDTH[kind], 0x0F0F3355
    a, b, c = integers(kind, 3)[:32], integers(kind, 4)[:32], integers(unsigned, 5)[:32]
    parts = [int(x) * int(y) >> (bits if half == "hi" else 0) for x, y in zip(a, b, strict=True)]
    for text, flag in ((f"mad.{half}.cc", 0), (f"madc.{half}.cc", carry)):
        exact = [p % (1 << bits) + int(z) + f for p, z, f in zip(parts, c, lanes(flag), strict=True)]
        (got,), after = evaluate_carry(f"{text}.{kind}", (a, b, c), carry)
        assert got.view(c.dtype).tolist() == [t % (1 << bits) for t in exact]
        assert after == flags([t >> bits > 0 for t in exact])


@pytest.mark.parametrize(
    ("text", "sources"), [("addc.u32", 2), ("subc.u32", 2), ("madc.lo.u32", 3), ("madc.hi.u32", 3)]
)
def test_without_cc_the_flag_stays(text: str, sources: int) -> None:
    ones = [np.full(32, 0xFFFFFFFF, "u4")] * sources
    assert evaluate_carry(text, ones, 0x00FF00FF)[1] == 0x00FF00FF


def test_the_flag_of_inactive_lanes_stays() -> None:
    ones = [0xFFFFFFFF]
    assert evaluate_carry("add.cc.u32", (ones, ones), 0xF0F0F0F0, mask=0x0000FFFF)[1] == 0xF0F0FFFF


def test_a_chain_of_words_adds_and_subtracts_128_bits() -> None:
    words = [[integers("u32", 10 * side + i)[:32] for i in range(4)] for side in (1, 2)]
    numbers = [[sum(int(w[lane]) << (32 * i) for i, w in enumerate(side)) for lane in range(32)] for side in words]
    for first, rest, sign in (("add.cc", "addc.cc", 1), ("sub.cc", "subc.cc", -1)):
        flag, total = 0, [0] * 32
        for i in range(4):
            (got,), flag = evaluate_carry(f"{first if i == 0 else rest}.u32", (words[0][i], words[1][i]), flag)
            total = [t + (int(g) << (32 * i)) for t, g in zip(total, got, strict=True)]
        assert total == [(a + sign * b) % (1 << 128) for a, b in zip(*numbers, strict=True)]
