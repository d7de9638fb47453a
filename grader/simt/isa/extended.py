"""Arithmetic with carry: PTX manual, chapter "Extended-Precision Integer Arithmetic Instructions".

Every thread has one carry flag, which only these instructions read and write.
"""

from __future__ import annotations

from grader.simt.engine.values import Value
from grader.simt.isa.emit import ELEMENT, Emitter
from grader.simt.isa.integer import high_product
from grader.simt.isa.registry import Example, Match, form

CARRY = ("carry",)
TYPES = ("u32", "s32", "u64", "s64", "b32", "b64")
ONES = 0xFFFFFFFF


def _sum(e: Emitter, a: Value, b: Value, *, carries_in: bool, carries_out: bool) -> Value:
    """``a + b``, plus the flag; the flag becomes the carry out of the top bit."""
    total = a + b
    carry = total.ult(a)
    if carries_in:
        partial = total
        total = partial + e.read_carry().zext(ELEMENT[f"b{a.bits}"])
        carry = carry | total.ult(partial)
    if carries_out:
        e.write_carry(carry)
    return total


def _difference(e: Emitter, a: Value, b: Value, *, borrows_in: bool, borrows_out: bool) -> Value:
    """``a - b``, less the flag; the flag becomes the borrow."""
    total = a - b
    borrow = a.ult(b)
    if borrows_in:
        partial = total
        total = partial - e.read_carry().zext(ELEMENT[f"b{a.bits}"])
        borrow = borrow | total.ugt(partial)
    if borrows_out:
        e.write_carry(borrow)
    return total


@form("add.cc.TYPE d, a, b", tags=CARRY, TYPE=TYPES, examples=[Example("add.cc.u32", ([ONES], [2]), [1])])
def add_cc(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _sum(e, a, b, carries_in=False, carries_out=True)


@form("addc{.cc}.TYPE d, a, b", tags=CARRY, TYPE=TYPES, examples=[Example("addc.u32", ([ONES], [2]), [1])])
def addc(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _sum(e, a, b, carries_in=True, carries_out=m.cc)


@form("sub.cc.TYPE d, a, b", tags=CARRY, TYPE=TYPES, examples=[Example("sub.cc.u64", ([1], [2]), [2**64 - 1])])
def sub_cc(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _difference(e, a, b, borrows_in=False, borrows_out=True)


@form("subc{.cc}.TYPE d, a, b", tags=CARRY, TYPE=TYPES, examples=[Example("subc.cc.s32", ([1], [2]), [-1])])
def subc(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _difference(e, a, b, borrows_in=True, borrows_out=m.cc)


def _product(m: Match, a: Value, b: Value) -> Value:
    return a * b if m.HALF == "lo" else high_product(a, b, m.TYPE)


@form(
    "mad.HALF.cc.TYPE d, a, b, c",
    tags=CARRY,
    HALF=("lo", "hi"),
    TYPE=("u32", "s32", "u64", "s64"),
    examples=[
        Example("mad.lo.cc.u32", ([0x10000], [0x10000], [5]), [5]),
        Example("mad.hi.cc.s32", ([-1], [1], [1]), [0]),
    ],
)
def mad_cc(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return _sum(e, _product(m, a, b), c, carries_in=False, carries_out=True)


@form(
    "madc.HALF{.cc}.TYPE d, a, b, c",
    tags=CARRY,
    HALF=("lo", "hi"),
    TYPE=("u32", "s32", "u64", "s64"),
    examples=[Example("madc.hi.u64", ([2**63], [6], [1]), [4])],
)
def madc(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return _sum(e, _product(m, a, b), c, carries_in=True, carries_out=m.cc)
