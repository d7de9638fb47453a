"""The counters of instructions that a mnemonic belongs to, and with how much: `counted("div.rn.f32")`.

docs/counters.md explains each, and says where `ptxas` makes other instructions of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

BARRIERS = ("bar.sync", "bar.cta", "bar.red", "bar.arrive", "barrier")  # of a block: not `bar.warp.sync`
PRODUCTS = ("wmma.mma", "mma.sync")
SPECIAL = frozenset({"ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt"})
"""With `div`: all begin with one instruction of the special-function unit."""

ROOTS_AND_QUOTIENTS = frozenset({"div", "rcp", "sqrt"})
QUICK = frozenset({"approx", "full"})
F64 = frozenset({"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "min", "max", "setp", "set"})
ON_BITS = frozenset({"and", "or", "xor", "not", "cnot", "lop3", "shl", "shr", "shf", "bfe", "bfi", "bfind", "fns",
                     "popc", "clz", "szext", "bmsk"})  # fmt: skip
"""Not `prmt` and `brev`, which a profiler counts as operations on bits, beside those on integers."""

ON_NUMBERS = frozenset({"add", "addc", "sub", "subc", "mul", "mul24", "mad", "mad24", "madc", "sad", "div", "rem",
                        "abs", "neg", "min", "max", "dp4a", "dp2a", "setp", "set", "selp"})  # fmt: skip
INTEGERS = frozenset(f"{kind}{bits}" for kind in "usb" for bits in (16, 32, 64)) | {"u16x2", "s16x2"}
PAIRS = frozenset({"f16x2", "bf16x2"})
FLOATS = PAIRS | {"f16", "bf16", "f32", "f64"}


@cache
def counted(name: str) -> tuple[tuple[str, int], ...]:
    """Counters, each with what one execution by a warp adds to it."""
    opcode, *modifiers = name.split(".")
    found: Counter[str] = Counter()
    found["branches"] = opcode == "bra"
    found["shuffles"] = opcode == "shfl"
    found["barriers"] = _begins(name, BARRIERS)
    found["wmma_instructions"] = _begins(name, PRODUCTS)
    found["f64_instructions"] = opcode in F64 and "f64" in modifiers
    found["integer_instructions"] = _on_integers(opcode, modifiers)
    is_float = not INTEGERS.intersection(modifiers)
    if opcode in SPECIAL or (opcode == "div" and is_float):
        found["special_function_instructions"] = 2 if PAIRS.intersection(modifiers) else 1
    if opcode == "rem" or (opcode in ROOTS_AND_QUOTIENTS and not QUICK.intersection(modifiers)):
        found["slow_divisions"] = 1
    return tuple((counter, int(amount)) for counter, amount in found.items() if amount)


def _begins(name: str, mnemonics: Sequence[str]) -> bool:
    return any(f"{name}.".startswith(f"{mnemonic}.") for mnemonic in mnemonics)


def _on_integers(opcode: str, modifiers: Sequence[str]) -> bool:
    """Whether it computes with integers or bits."""
    if opcode in ON_BITS or (opcode.startswith("v") and opcode != "vote"):
        return "pred" not in modifiers
    types = [m for m in modifiers if m in INTEGERS or m in FLOATS]
    return opcode in ON_NUMBERS and bool(types) and types[-1] in INTEGERS  # the last type is that of the operands
