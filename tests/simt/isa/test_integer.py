"""Integer arithmetic against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from single import evaluate, evaluate_carry
from whole import bounds, check, integers, wrapped

from grader.simt.isa.registry import WIDTH

INTS = ("u16", "s16", "u32", "s32", "u64", "s64")
NARROW = ("u16", "s16", "u32", "s32")
WORDS = ("u32", "s32")


def quotient(a: int, b: int) -> int:
    """Towards zero; all ones by zero."""
    return (abs(a) // abs(b)) * (-1 if (a < 0) != (b < 0) else 1) if b else -1


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b) if b else -1


def saturated(value: int) -> int:
    low, high = bounds("s32")
    return min(max(value, low), high)


def low24(value: int, kind: str) -> int:
    cut = value & 0xFFFFFF
    return cut - (1 << 24) if kind == "s32" and cut >> 23 else cut


def field(value: int, at: int, bits: int, kind: str) -> int:
    return wrapped(value >> at, f"{kind[0]}{bits}")


@pytest.mark.parametrize("kind", INTS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", lambda a, b: a + b),
        ("sub", lambda a, b: a - b),
        ("mul.lo", lambda a, b: a * b),
        ("div", quotient),
        ("rem", remainder),
        ("min", min),
        ("max", max),
    ],
)
def test_two_operands_wrap_as_the_type_says(name: str, expected: object, kind: str) -> None:
    assert callable(expected)
    check(f"{name}.{kind}", expected, integers(kind, 1), integers(kind, 2))


@pytest.mark.parametrize("kind", INTS)
def test_the_upper_half_of_a_product_is_exact(kind: str) -> None:
    bits = WIDTH[kind]
    a, b, c = (integers(kind, seed) for seed in (3, 4, 5))
    check(f"mul.hi.{kind}", lambda a, b: a * b >> bits, a, b)
    check(f"mad.hi.{kind}", lambda a, b, c: (a * b >> bits) + c, a, b, c)
    check(f"mad.lo.{kind}", lambda a, b, c: a * b + c, a, b, c)
    check(f"sad.{kind}", lambda a, b, c: abs(a - b) + c, a, b, c)


@pytest.mark.parametrize("kind", NARROW)
def test_wide_products_keep_every_bit(kind: str) -> None:
    a, b = integers(kind, 6), integers(kind, 7)
    c = integers(f"{kind[0]}{2 * WIDTH[kind]}", 8)
    check(f"mul.wide.{kind}", lambda a, b: a * b, a, b)
    check(f"mad.wide.{kind}", lambda a, b, c: a * b + c, a, b, c)


def test_saturating_forms_stop_at_the_ends_of_the_range() -> None:
    a, b, c = (integers("s32", seed) for seed in (9, 10, 11))
    check("add.sat.s32", lambda a, b: saturated(a + b), a, b)
    check("sub.sat.s32", lambda a, b: saturated(a - b), a, b)
    check("mad.hi.sat.s32", lambda a, b, c: saturated((a * b >> 32) + c), a, b, c)
    check(
        "mad24.hi.sat.s32",
        lambda a, b, c: saturated(wrapped(low24(a, "s32") * low24(b, "s32") >> 16, "s32") + c),
        a,
        b,
        c,
    )


@pytest.mark.parametrize("kind", WORDS)
def test_24_bit_products_ignore_the_upper_bytes(kind: str) -> None:
    a, b, c = (integers(kind, seed) for seed in (12, 13, 14))
    check(f"mul24.lo.{kind}", lambda a, b: low24(a, kind) * low24(b, kind), a, b)
    check(f"mul24.hi.{kind}", lambda a, b: low24(a, kind) * low24(b, kind) >> 16, a, b)
    check(f"mad24.lo.{kind}", lambda a, b, c: low24(a, kind) * low24(b, kind) + c, a, b, c)
    check(f"mad24.hi.{kind}", lambda a, b, c: (low24(a, kind) * low24(b, kind) >> 16) + c, a, b, c)


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_signs_of_the_most_negative_number_wrap(kind: str) -> None:
    a = integers(kind, 15)
    check(f"abs.{kind}", abs, a)
    check(f"neg.{kind}", lambda a: -a, a)


@pytest.mark.parametrize("kind", ["u16", "s16"])
def test_pairs_are_two_operations(kind: str) -> None:
    a, b = integers(kind, 16), integers(kind, 17)
    check(f"add.{kind}x2", lambda a, b: a + b, a, b)
    check(f"min.{kind}x2", min, a, b)
    check(f"max.{kind}x2", max, a, b)


@pytest.mark.parametrize("kind", ["s32", "s16x2"])
def test_relu_is_a_maximum_with_zero(kind: str) -> None:
    a, b = integers(kind.removesuffix("x2"), 18), integers(kind.removesuffix("x2"), 19)
    check(f"min.relu.{kind}", lambda a, b: max(min(a, b), 0), a, b)
    check(f"max.relu.{kind}", lambda a, b: max(a, b, 0), a, b)


@pytest.mark.parametrize("left", WORDS)
@pytest.mark.parametrize("right", WORDS)
def test_dot_products_extend_each_element_by_its_own_type(left: str, right: str) -> None:
    a, b, c = (integers("u32", seed) for seed in (20, 21, 22))

    def dot4(a: int, b: int, c: int) -> int:
        return c + sum(field(a, at, 8, left) * field(b, at, 8, right) for at in (0, 8, 16, 24))

    def dot2(first: int) -> object:
        return lambda a, b, c: c + sum(field(a, 16 * i, 16, left) * field(b, first + 8 * i, 8, right) for i in (0, 1))

    check(f"dp4a.{left}.{right}", dot4, a, b, c)
    check(f"dp2a.lo.{left}.{right}", dot2(0), a, b, c)
    check(f"dp2a.hi.{left}.{right}", dot2(16), a, b, c)


@pytest.mark.parametrize("kind", INTS)
def test_garbage_in_inactive_lanes_does_not_trap(kind: str) -> None:
    dividends, divisors = [bounds(kind)[0], 7], [-1, 0]
    (got,) = evaluate(f"div.{kind}", (dividends, divisors), mask=0)
    assert not got.any()


PART_OPERATIONS = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}


@pytest.mark.parametrize("kinds", ["u32.u32.u32", "s32.s32.s32", "u32.s32.u32", "s32.u32.s32"])
@pytest.mark.parametrize("name", PART_OPERATIONS)
@pytest.mark.parametrize("bits", [8, 16])
def test_halves_and_bytes_are_operated_side_by_side_or_summed(name: str, bits: int, kinds: str) -> None:
    target, left, right = kinds.split(".")
    low, high = bounds(f"{target[0]}{bits}")

    def parts(a: int, b: int) -> list[int]:
        places = range(0, 32, bits)
        return [PART_OPERATIONS[name](field(a, at, bits, left), field(b, at, bits, right)) for at in places]

    def packed(values: list[int]) -> int:
        return sum((value % (1 << bits)) << (bits * i) for i, value in enumerate(values))

    a, b, c = (integers("u32", seed) for seed in (23, 24, 25))
    text = f"{name}{32 // bits}.{kinds}"
    check(text, lambda a, b, c: packed(parts(a, b)), a, b, c)
    check(f"{text}.sat", lambda a, b, c: packed([min(max(x, low), high) for x in parts(a, b)]), a, b, c)
    check(f"{text}.add", lambda a, b, c: c + sum(parts(a, b)), a, b, c)


@pytest.mark.parametrize("kinds", ["u32.u32", "s32.s32", "s32.u32"])
@pytest.mark.parametrize("bits", [8, 16])
def test_halves_and_bytes_are_compared(bits: int, kinds: str) -> None:
    left, right = kinds.split(".")

    def answers(a: int, b: int) -> list[bool]:
        return [field(a, at, bits, left) < field(b, at, bits, right) for at in range(0, 32, bits)]

    a, b, c = (integers("u32", seed) for seed in (26, 27, 28))
    check(
        f"vset{32 // bits}.{kinds}.lt",
        lambda a, b, c: sum(x << (bits * i) for i, x in enumerate(answers(a, b))),
        a,
        b,
        c,
    )
    check(f"vset{32 // bits}.{kinds}.lt.add", lambda a, b, c: c + sum(answers(a, b)), a, b, c)


# -- chains of instructions that carry, and the flag itself ------------------------------------------------------------
CARRIED = ("u32", "s32", "u64", "s64")
WARPS = [slice(32 * i, 32 * i + 32) for i in range(6)]


def lanes(flags: int) -> list[int]:
    return [flags >> i & 1 for i in range(32)]


def flags(bits: list[bool]) -> int:
    return sum(bit << i for i, bit in enumerate(bits))


@pytest.mark.parametrize("kind", CARRIED)
@pytest.mark.parametrize("warp", WARPS[:2])
@pytest.mark.parametrize("carry", [0, 0xFFFFFFFF, 0x12345678])
def test_sums_and_differences_read_and_write_the_flag(kind: str, warp: slice, carry: int) -> None:
    unsigned = f"u{WIDTH[kind]}"
    a, b = integers(unsigned, 1)[warp], integers(unsigned, 2)[warp]
    b[::3] = a[::3]  # where only the flag makes a difference borrow
    size = 1 << WIDTH[kind]
    totals = [int(x) + int(y) + c for x, y, c in zip(a, b, lanes(carry), strict=True)]
    rests = [int(x) + size - 1 - int(y) + c for x, y, c in zip(a, b, lanes(carry), strict=True)]
    for text, exact in (("addc.cc", totals), ("subc.cc", rests)):
        (got,), after = evaluate_carry(f"{text}.{kind}", (a, b), carry)
        assert got.view(a.dtype).tolist() == [t % size for t in exact]
        assert after == flags([t >= size for t in exact])


@pytest.mark.parametrize("kind", CARRIED)
def test_a_difference_and_a_sum_read_each_others_flag(kind: str) -> None:
    small, large = [0x627ADF75], [0x864CCEF5]
    none, all_lanes = 0, 0xFFFFFFFF
    for first, a, b, flag in (
        ("sub.cc", small, large, none),  # an H200 gives 0 to `sub.cc.u32 r, 0x627ADF75, 0x864CCEF5; addc.u32 r, 0, 0`
        ("sub.cc", large, small, all_lanes),
        ("sub.cc", small, small, all_lanes),
        ("add.cc", small, large, none),
        ("add.cc", [-1], small, all_lanes),
        ("mad.lo.cc", [1], [-1], none),
    ):
        sources = (a, b, [0]) if first.startswith("mad") else (a, b)
        assert evaluate_carry(f"{first}.{kind}", sources, 0x1234)[1] == flag
        carry = int(flag != 0)
        for text, operands, want in (("addc", ([5], [7]), 12 + carry), ("subc", ([9], [7]), 1 + carry)):
            (got,), _ = evaluate_carry(f"{text}.{kind}", operands, flag)
            assert got.tolist() == [want] * 32
        (got,), _ = evaluate_carry(f"madc.lo.{kind}", ([3], [4], [5]), flag)
        assert got.tolist() == [17 + carry] * 32


@pytest.mark.parametrize("kind", CARRIED)
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
