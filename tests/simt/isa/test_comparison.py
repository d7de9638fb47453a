"""Comparisons against Python's own, NaN and subnormal numbers included."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
import pytest
from formats16 import encoded, flushed, meaning, operands
from single import evaluate_batch
from whole import Lanes, integers

from grader.simt.isa import FORMS
from grader.simt.isa.registry import Form

ORDER: dict[str, Callable[[float, float], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNSIGNED = ORDER | {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}
BOOLS = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
FLOATS = ("f16", "bf16", "f32", "f64")
TRUE = {"u32": 0xFFFFFFFF, "s32": -1, "u16": 0xFFFF, "s16": -1, "f16": 1.0, "f32": 1.0, "bf16": 0x3F80}


def compared(how: str, a: float, b: float) -> bool:
    """Float comparison as the manual words it."""
    unordered = math.isnan(a) or math.isnan(b)
    if how in ("num", "nan"):
        return unordered == (how == "nan")
    if how.endswith("u"):
        return unordered or ORDER[how[:-1]](a, b)
    return not unordered and ORDER[how](a, b)


FLOAT_ORDER = (*ORDER, *(f"{name}u" for name in ORDER), "num", "nan")


def pairs(kind: str, seed: int) -> tuple[Lanes, Lanes]:
    """Operands of which a third are equal."""
    make = operands if kind in FLOATS else integers
    a, b = make(kind, seed), make(kind, seed + 1)
    b[::3] = a[::3]
    return a, b


def both(text: str) -> Form:
    """The form of `setp` with two destinations that takes this mnemonic."""
    _, *modifiers = text.split(".")
    return next(f for f in FORMS["setp"] if f.match(modifiers) and len(f.destinations) == 2)


def test_floats_have_the_manual_s_fourteen_comparisons() -> None:
    assert len(FLOAT_ORDER) == 14


@pytest.mark.parametrize("kind", ["u16", "u32", "u64", "s16", "s32", "s64", "b16", "b32", "b64"])
def test_integers_compare_as_their_type_says(kind: str) -> None:
    a, b = pairs(kind, 1)
    names = {"u": UNSIGNED, "s": ORDER, "b": {name: ORDER[name] for name in ("eq", "ne")}}[kind[0]]
    for how, compare in names.items():
        want = [compare(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert evaluate_batch(f"setp.{how}.{kind}", a, b)[0].tolist() == want, how


@pytest.mark.parametrize(("kind", "ftz"), [*((kind, False) for kind in FLOATS), ("f16", True), ("f32", True)])
def test_floats_compare_in_all_fourteen_ways(kind: str, ftz: bool) -> None:
    a, b = pairs(kind, 3)
    left, right = (meaning(x, kind) for x in (a, b))
    if ftz:
        left, right = ([flushed(v, kind) for v in side] for side in (left, right))
    for how in FLOAT_ORDER:
        want = [compared(how, x, y) for x, y in zip(left, right, strict=True)]
        assert evaluate_batch(f"setp.{how}{'.ftz' * ftz}.{kind}", a, b)[0].tolist() == want, how


@pytest.mark.parametrize("kind", ["u32", "s64", "b32", "f32", "f16"])
@pytest.mark.parametrize("name", BOOLS)
def test_a_second_destination_is_the_opposite_before_the_predicate_comes_in(kind: str, name: str) -> None:
    a, b = pairs(kind, 5)
    c = np.random.default_rng(6).integers(0, 2, len(a)).astype("u1")
    text = f"setp.eq.{name}.{kind}"
    answers = [bool(x == y) for x, y in zip(a, b, strict=True)]
    p = [BOOLS[name](answer, bool(q)) for answer, q in zip(answers, c, strict=True)]
    q = [BOOLS[name](not answer, bool(q)) for answer, q in zip(answers, c, strict=True)]
    assert evaluate_batch(text, a, b, c)[0].tolist() == p
    assert [lanes.tolist() for lanes in evaluate_batch(text, a, b, c, form=both(text))] == [p, q]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_pairs_answer_for_each_half(kind: str) -> None:
    a, b = pairs(kind, 7)
    want = [compared("ltu", x, y) for x, y in zip(meaning(a, kind), meaning(b, kind), strict=True)]
    text = f"setp.ltu.{kind}x2"
    low, high = evaluate_batch(text, a, b)
    assert low.tolist() == want[0::2]
    assert high.tolist() == want[1::2]


@pytest.mark.parametrize("kind", TRUE)
@pytest.mark.parametrize("source", ["u32", "s64", "b16", "f32", "f64", "f16", "bf16"])
def test_true_is_one_for_floats_and_all_bits_for_integers(kind: str, source: str) -> None:
    a, b = pairs(source, 9)
    (got,) = evaluate_batch(f"set.ne.{kind}.{source}", a, b)
    sides = [meaning(x, source) if source in FLOATS else x.tolist() for x in (a, b)]
    want = [TRUE[kind] if compared("ne", x, y) else 0 for x, y in zip(*sides, strict=True)]
    assert got.tolist() == want


def test_set_of_pairs_packs_two_answers() -> None:
    a, b = pairs("f16", 11)
    answers = [compared("ge", x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert evaluate_batch("set.ge.f16x2.f16x2", a, b)[0].tolist() == [float(x) for x in answers]
    c = np.random.default_rng(17).integers(0, 2, len(a) // 2).astype("u1")
    both_halves = [x and bool(p) for x, p in zip(answers, np.repeat(c, 2), strict=True)]
    assert evaluate_batch("set.ge.and.f16x2.f16x2", a, b, c)[0].tolist() == [float(x) for x in both_halves]
    words = [0xFFFF * low | 0xFFFF0000 * high for low, high in zip(answers[0::2], answers[1::2], strict=True)]
    assert evaluate_batch("set.ge.u32.f16x2", a, b)[0].tolist() == words


@pytest.mark.parametrize("kind", ["b16", "u32", "s64", "f32", "f64"])
def test_selections_keep_every_bit(kind: str) -> None:
    make = operands if kind in FLOATS else integers
    a, b = make(kind, 12), make(kind, 13)
    choice = np.random.default_rng(14).integers(0, 2, len(a)).astype("u1")
    signs = integers("s32", 15)
    floats = operands("f32", 16)

    def picked(text: str, c: Lanes, first: Lanes) -> None:
        (got,) = evaluate_batch(text, a, b, c)
        assert got.tobytes() == np.where(first, a, b).tobytes(), text

    picked(f"selp.{kind}", choice, choice == 1)
    picked(f"slct.{kind}.s32", signs, signs >= 0)
    picked(f"slct.{kind}.f32", floats, floats >= 0)
    kept = encoded([flushed(v, "f32") for v in meaning(floats, "f32")], "f32")
    picked(f"slct.ftz.{kind}.f32", floats, kept >= 0)
