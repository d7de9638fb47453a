"""One PTX form is one decorated function; this module has the decorator, and the interface that the function gets.

    @form("add.TYPE d, a, b", Example("add.s32", ([2147483647], [1]), [-2147483648]), TYPE=INTS)
    def add(e, m, a, b):
        return a + b

The syntax line is the manual's: literal modifiers (``.rn``), optional ones (``{.sat}``), and placeholders in capitals
(``.TYPE``) whose choices are keywords of the decorator. A match is a `Match`: ``m.TYPE`` is the modifier at the
placeholder, ``m.sat`` is whether an optional literal is present, and for ``{.RND}`` ``m.RND`` is its text or "". A line
that begins with ``OPCODE`` is a form of each opcode in its choices, with examples by opcode; ``m.OPCODE`` is the
opcode. Programs may have modifiers in another order, as ptxas allows: `arranged` sorts them as in the form.

Operands: names that begin with ``d`` are destinations (``d|dp`` writes two), the others are sources, read before the
function is called; a last one in braces (``{, stride}``) may be missing in a raw form. All have type ``TYPE`` (without
that placeholder: the last modifier that is a type) unless ``operands=`` says otherwise: ``operands={"c": "u32", "d":
"DTYPE"}`` names a type or a placeholder; ``"wide:TYPE"`` is the type of twice the width. The function gets the emitter
``e``, the match ``m`` and a `Value` of 32 lanes for each source, and returns the destination's `Value` (a tuple for
two). A *raw* form (``raw=True``: memory, control, synchronisation) gets the `Instruction` instead, and reads and writes
operands itself. One function may have several forms.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import F16, F32, F64, I1, I8, I16, I32, I64, Value, vec
from grader.simt.ptx import Immediate, Instruction, Operand, Vector
from grader.simt.ptx.reader import SIZES

WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
WIDTH = {kind: 8 * size for kind, size in SIZES.items()}
WIDTH |= {"pred": 1, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "tf32": 32}
"""Bits of each type."""

ELEMENT: dict[str, ir.Type] = {
    "pred": I1, "b8": I8, "u8": I8, "s8": I8, "b16": I16, "u16": I16, "s16": I16, "f16": F16, "bf16": I16,
    "b32": I32, "u32": I32, "s32": I32, "f32": F32, "b64": I64, "u64": I64, "s64": I64, "f64": F64,
}  # fmt: skip
"""Element type of a 32-lane value for each PTX type; packed pairs are 64 lanes of half the width (see PACKED)."""

PACKED: dict[str, ir.Type] = {"f16x2": F16, "bf16x2": I16, "u16x2": I16, "s16x2": I16}
"""Types with two elements per 32-bit register: a `Value` of 64 lanes, so that one function is for both forms."""


def vector_type(name: str) -> ir.VectorType:
    """The IR type of a value of PTX type ``name``: 32 lanes, or 64 of a packed pair."""
    return vec(PACKED[name], 64) if name in PACKED else vec(ELEMENT[name])


def is_signed(name: str) -> bool:
    return name.startswith("s")


@dataclass(frozen=True)
class Example:
    """An example, which is executed as a test and shown in the docs. ``sources`` are lists by lane (short ones repeat).

    ``text`` is the mnemonic with its modifiers. Floats are Python floats, or ints for bit patterns (``0x7fc00000``).
    ``gives`` is the destination by lane (for two destinations: a pair of lists).
    """

    text: str
    sources: tuple[Sequence[float], ...]
    gives: Any
    ulp: int = 0  # allowed error in units of the last place, for special functions


@dataclass(frozen=True)
class Slot:
    name: str
    choices: frozenset[str]
    optional: bool


@dataclass(frozen=True)
class Match:
    """The modifiers of an instruction, by the names in its form: ``m.TYPE``, ``m.sat``, ``m.RND``."""

    values: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        value = self.values.get(name)
        if name.isupper():
            return value or ""
        return value is not None

    @property
    def space(self) -> str:
        """The state space, e.g. ``shared``; ``generic`` if there is none."""
        return self.values.get("SPACE", "generic").partition("::")[0]


@dataclass(frozen=True)
class Form:
    syntax: str
    opcode: str
    slots: tuple[Slot, ...]
    operands: tuple[str, ...]
    types: Mapping[str, str]
    build: Callable[..., Any]
    raw: bool
    examples: tuple[Example, ...]
    chapter: str
    tags: frozenset[str]

    def match(self, modifiers: Sequence[str]) -> Match | None:
        """The match of an instruction's modifiers with this form's, or None."""
        found = {"OPCODE": self.opcode}
        rest = list(modifiers)
        for slot in self.slots:
            if rest and rest[0] in slot.choices:
                found[slot.name] = rest.pop(0)
            elif not slot.optional:
                return None
        return None if rest else Match(found)

    def arrange(self, modifiers: Sequence[str]) -> tuple[str, ...] | None:
        """The modifiers in this form's order, or None if the form does not have them all."""
        rest, placed = list(modifiers), []
        for slot in self.slots:
            modifier = next((m for m in rest if m in slot.choices), None)
            if modifier is not None:
                placed.append(modifier)
                rest.remove(modifier)
        kept = all([m for m in placed if m in group] == [m for m in modifiers if m in group] for group in IN_ORDER)
        return tuple(placed) if kept and not rest and self.match(placed) is not None else None

    def operand_type(self, name: str, match: Match) -> str:
        """The PTX type of an operand in this match, e.g. ``u32``."""
        prefix, _, rest = self.types.get(name, self.types["*"]).rpartition(":")
        text = match.values.get(rest, rest)
        return WIDE[text] if prefix else text

    def takes(self, count: int) -> bool:
        """Whether an instruction of this form may have ``count`` operands."""
        return len(self.operands) - self.syntax.count("{,") <= count <= len(self.operands)

    @property
    def destinations(self) -> tuple[str, ...]:
        return tuple(part for name in self.operands for part in name.split("|") if part.startswith("d"))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(name for name in self.operands if not name.startswith("d"))


IN_ORDER = (
    frozenset(WIDTH) | {"u2", "s2", "u4", "s4"},
    frozenset(("global", "shared", "shared::cta", "local", "const", "param")),
    frozenset(("row", "col")),
)
"""Modifiers whose order tells which operand they belong to: ``cvt.f32.f16``, ``cp.async.ca.shared.global``."""

FORMS: dict[str, list[Form]] = defaultdict(list)
"""Every form by opcode; filled by importing the chapters (`grader.simt.isa`)."""

_SLOT = re.compile(r"(\{?)\.([\w:]+)")


def form(
    syntax: str,
    *examples: Example,
    operands: Mapping[str, str] | None = None,
    raw: bool = False,
    tags: Sequence[str] = (),
    also: Mapping[str, Collection[str]] | None = None,
    **choices: Collection[str],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the meaning of one syntax line; see the module's docstring.

    ``also`` has further choices, for tables that several forms share. ``tags`` tell the engine what it needs to know,
    so that it has no opcodes: ``branch``, ``exit`` and ``barrier`` end a basic block, ``sync`` starts one (it may wait
    for lanes), ``result`` (a barrier with a result), ``memory`` (a modifier is an element's type), ``fence``, ``carry``
    (uses the condition code).
    """
    head, _, tail = syntax.partition(" ")
    first = re.split(r"[.{]", head, maxsplit=1)[0]
    known = {**(also or {}), **choices}
    slots = []
    for brace, name in _SLOT.findall(head[len(first) :]):
        slots.append(Slot(name, frozenset(known.get(name, (name,))), bool(brace)))
    names = tuple(part.strip(" {}") for part in tail.split(",")) if tail.strip() else ()
    usual = next((slot.name for slot in reversed(slots) if slot.name in WIDTH), "")
    types = {"*": "TYPE" if "TYPE" in known else usual, **(operands or {})}
    opcodes = known.get(first, (first,))
    for example in examples:
        if example.text.partition(".")[0] not in opcodes:
            raise ValueError(f"{example.text} is no example of {syntax}")

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        chapter = build.__module__.rpartition(".")[2]
        for opcode in opcodes:
            own = tuple(x for x in examples if x.text.partition(".")[0] == opcode)
            FORMS[opcode].append(
                Form(syntax.replace(first, opcode, 1), opcode, tuple(slots), names, types, build, raw, own, chapter,
                     frozenset(tags))
            )  # fmt: skip
        return build

    return register


def find(instruction: Instruction) -> tuple[Form, Match] | None:
    """The form of an instruction with its match, or None if the simulator does not know it."""
    for candidate in FORMS.get(instruction.opcode, ()):
        match = candidate.match(instruction.modifiers)
        if match is not None and _fits(candidate, instruction.operands):
            return candidate, match
    return None


def arranged(instruction: Instruction) -> Instruction:
    """The instruction, if no form matches it, with its modifiers in the order of the first form that has them all.

    ptxas accepts modifiers in any order, except `IN_ORDER`: ``ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16``.
    """
    orders = (form.arrange(instruction.modifiers) for form in FORMS.get(instruction.opcode, ()))
    return replace(instruction, modifiers=next(filter(None, orders), instruction.modifiers))


def _fits(form: Form, operands: Sequence[Operand]) -> bool:
    """Whether the operands have the form's number and shape; raw forms check shapes themselves."""
    if not operands:  # a query without operands: for the mnemonic alone
        return True
    pairs = zip(form.operands, operands, strict=False)
    return form.takes(len(operands)) and (
        form.raw or all(("|" in name) == isinstance(operand, Vector) for name, operand in pairs if name.startswith("d"))
    )


class Emitter(ABC):
    """The interface of forms to the generated code. ``mask`` is the i32 of lanes that execute this instruction.

    Subclasses decide where registers are: the engine has them in the warp's state, the tests of single forms in arrays.
    """

    f: Builder
    mask: Value

    @abstractmethod
    def read(self, operand: Operand, kind: str) -> Value:
        """The operand as a value of PTX type ``kind``."""

    @abstractmethod
    def write(self, operand: Operand, value: Value, kind: str) -> None:
        """Write the executing lanes of a register."""

    @abstractmethod
    def read_carry(self) -> Value:
        """The condition code's carry flag as ``<32 x i1>``; `add.cc` writes it, `addc` reads it."""

    @abstractmethod
    def write_carry(self, value: Value) -> None:
        """Write the executing lanes of the carry flag."""

    def immediate(self, operand: Immediate, kind: str) -> Value:
        """A literal as a splat of PTX type ``kind``; float literals are bit patterns."""
        f = self.f
        if operand.kind == "int":
            if kind in PACKED:
                return f.const(vec(I32), operand.value).reinterpret(vector_type(kind))
            return f.const(vec(ELEMENT[kind]), float(operand.value) if kind in ("f32", "f64", "f16") else operand.value)
        bits = f.const(vec(I32 if operand.kind == "f32" else I64), operand.value)
        value = bits.bitcast(F32 if operand.kind == "f32" else F64)
        if kind in ("f32", "f64"):
            return value.fpext(F64) if kind == "f64" else value.fptrunc(F32)
        return bits.resize(ELEMENT[kind])
