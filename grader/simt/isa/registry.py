"""One PTX form is one decorated function; this module holds the decorator and finds the form of an instruction.

    @form("add{.sat}.TYPE d, a, b", TYPE=INTS, examples=[Example("add.s32", ([2147483647], [1]), [-2147483648])])
    def add(e, m, a, b):
        return a + b

The syntax line is the manual's: literal modifiers (``.rn``), optional ones (``{.sat}``), and placeholders in capitals
(``.TYPE``) whose choices are keywords of the decorator. Matching gives a `Match`: ``m.TYPE`` is the text that stood
there, ``m.sat`` says whether an optional literal was present, ``{.RND}`` gives its text or "".

Operands: names that begin with ``d`` are destinations (``d|dp`` writes two), the others are sources, read before the
function is called; a last one in braces (``{, stride}``) may be missing. All have type ``TYPE`` unless ``operands=``
says otherwise: ``operands={"c": "u32", "d": "DTYPE"}`` names a type or a placeholder; ``"wide:TYPE"`` is the type of
twice the width, and ``"bits:TYPE"`` the untyped bits. The function gets the emitter ``e``, the match ``m`` and a
`Value` of 32 lanes for each source, and gives the
destination's `Value` (a tuple for two). A *raw* form (``raw=True``: memory, control, synchronisation) gets the
`Instruction` instead, and reads and writes operands itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.simt.ptx import Instruction, Operand, Vector

WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
WIDTH = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "b32": 32,
         "u32": 32, "s32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "b64": 64, "u64": 64,
         "s64": 64, "f64": 64, "b128": 128}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """An executed example: test vector and line of the manual. ``sources`` are lists by lane (short ones repeat).

    ``text`` is the mnemonic with its modifiers, or a whole instruction for raw forms. Floats are Python floats, or
    ints for bit patterns (``0x7fc00000``). ``gives`` is the destination by lane (for two: a pair of lists).
    """

    text: str
    sources: tuple[Sequence[float], ...]
    gives: Any
    ulp: int = 0  # allowed distance in units of the last place, for special functions


@dataclass(frozen=True)
class Slot:
    name: str
    choices: frozenset[str]
    optional: bool


@dataclass(frozen=True)
class Match:
    """How an instruction filled a form's modifiers: ``m.TYPE``, ``m.sat``, ``m.RND``."""

    values: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        value = self.values.get(name)
        if name.isupper():
            return value or ""
        return value is not None


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
    reads_inactive: bool = False
    tags: frozenset[str] = field(default_factory=frozenset)
    any_order: bool = False

    def match(self, modifiers: Sequence[str]) -> Match | None:
        """The match of an instruction's modifiers with this form's, or None."""
        return self._by_choice(modifiers) if self.any_order else self._in_order(modifiers)

    def _by_choice(self, modifiers: Sequence[str]) -> Match | None:
        """Modifiers wherever they stand: each goes to the first free slot that takes it."""
        found: dict[str, str] = {}
        for modifier in modifiers:
            slot = next((s for s in self.slots if s.name not in found and modifier in s.choices), None)
            if slot is None:
                return None
            found[slot.name] = modifier
        return Match(found) if all(s.optional or s.name in found for s in self.slots) else None

    def _in_order(self, modifiers: Sequence[str]) -> Match | None:
        found: dict[str, str] = {}
        at = 0
        for slot in self.slots:
            if at < len(modifiers) and modifiers[at] in slot.choices:
                found[slot.name] = modifiers[at]
                at += 1
            elif not slot.optional:
                return None
        return Match(found) if at == len(modifiers) else None

    def operand_type(self, name: str, match: Match) -> str:
        """The PTX type of an operand in this match, e.g. ``u32``."""
        kind = self.types.get(name, "TYPE")
        prefix, _, rest = kind.rpartition(":")
        text = match.values.get(rest, rest)
        if prefix == "wide":
            return WIDE[text]
        return f"b{WIDTH[text]}" if prefix == "bits" else text

    def takes(self, count: int) -> bool:
        """Whether an instruction of this form may have so many operands."""
        return len(self.operands) - self.syntax.count("{,") <= count <= len(self.operands)

    @property
    def destinations(self) -> tuple[str, ...]:
        return tuple(part for name in self.operands for part in name.split("|") if part.startswith("d"))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(name for name in self.operands if not name.startswith("d"))


FORMS: dict[str, list[Form]] = defaultdict(list)
"""Every form by opcode; filled by importing the chapters (`grader.simt.isa`)."""

_SLOT = re.compile(r"\{\.([\w:]+)\}|\.([\w:]+)")


def form(
    syntax: str,
    *,
    operands: Mapping[str, str] | None = None,
    raw: bool = False,
    examples: Sequence[Example] = (),
    tags: Sequence[str] = (),
    also: Mapping[str, Sequence[str]] | None = None,
    any_order: bool = False,
    **choices: Sequence[str],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the meaning of one syntax line; see the module's docstring.

    ``also`` holds more choices, for tables that several forms share. ``any_order``: compilers and people write these
    modifiers in more than one order. ``tags`` tell the engine what no opcode should be asked: ``branch``, ``exit`` and
    ``barrier`` end a basic block, ``sync`` starts one (it may wait for lanes), ``result`` (a barrier that gives a
    value), ``memory`` (the last modifier is an element's type), ``fence``, ``carry`` (uses the condition code).
    """
    head, _, tail = syntax.partition(" ")
    opcode = re.split(r"[.{]", head, maxsplit=1)[0]
    known = {**(also or {}), **choices}
    slots = []
    for match in _SLOT.finditer(head[len(opcode) :]):
        name, optional = match.group(1) or match.group(2), match.group(1) is not None
        slots.append(Slot(name, frozenset(known.get(name, (name,))), optional))
    names = tuple(part.strip(" {}") for part in tail.split(",")) if tail.strip() else ()

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        chapter = build.__module__.rpartition(".")[2]
        FORMS[opcode].append(
            Form(syntax, opcode, tuple(slots), names, operands or {}, build, raw, tuple(examples), chapter,
                 tags=frozenset(tags), any_order=any_order)
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


def _fits(form: Form, operands: Sequence[Operand]) -> bool:
    """Whether the operands have the form's number and shape; raw forms look at the shapes themselves."""
    if not operands:  # asked without any: is there such a form at all?
        return True
    pairs = zip(form.operands, operands, strict=False)
    return form.takes(len(operands)) and (
        form.raw or all(("|" in name) == isinstance(operand, Vector) for name, operand in pairs if name.startswith("d"))
    )
