"""LLVM's IR as text: types, values, functions, and a builder that appends one line for each instruction.

It has what the simulator's code needs, under the names that llvmlite's `ir` gives it. Building a kernel's IR is most of
what Python does for an edited file, and takes a small part of llvmlite's time here: nothing is kept but the text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

# ---------------------------------------------------------------------------------------------------------------- types


class Type:
    """A type: its text is its name in IR. Equal types are the same object; a scalar is its own ``element``."""

    __slots__ = ("count", "element", "text")
    text: str
    element: Type
    count: int

    def __str__(self) -> str:
        return self.text


class IntType(Type):
    """An integer of ``width`` bits."""

    __slots__ = ("width",)
    width: int
    _made: ClassVar[dict[int, IntType]] = {}

    def __new__(cls, width: int) -> IntType:
        found = cls._made.get(width)
        if found is None:
            found = cls._made[width] = super().__new__(cls)
            found.text, found.width, found.element, found.count = f"i{width}", width, found, 1
        return found


class VectorType(Type):
    __slots__ = ()
    _made: ClassVar[dict[tuple[Type, int], VectorType]] = {}

    def __new__(cls, element: Type, count: int) -> VectorType:
        found = cls._made.get((element, count))
        if found is None:
            found = cls._made[element, count] = super().__new__(cls)
            found.text, found.element, found.count = f"<{count} x {element.text}>", element, count
        return found


def _named(text: str) -> Type:
    kind = Type()
    kind.text, kind.element, kind.count = text, kind, 1
    return kind


HALF, FLOAT, DOUBLE, POINTER, VOID, METADATA = map(_named, ("half", "float", "double", "ptr", "void", "metadata"))
_BIT = IntType(1)

# --------------------------------------------------------------------------------------------------------------- values


class Value:
    """What an instruction can use: a type, and the text that names it."""

    __slots__ = ("ref", "type", "typed")

    def __init__(self, kind: Type, ref: str) -> None:
        self.type = kind
        self.ref = ref
        self.typed = f"{kind.text} {ref}"


def metadata(text: str) -> Value:
    """A string as metadata, which some intrinsics take."""
    return Value(METADATA, f'!"{text}"')


class Block:
    """A basic block under construction."""

    __slots__ = ("is_terminated", "label", "lines")

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: list[str | Phi | Switch | Branch] = []
        self.is_terminated = False


class Phi(Value):
    """The value that belongs to the block that control came from."""

    __slots__ = ("_incoming",)

    def __init__(self, kind: Type, ref: str) -> None:
        super().__init__(kind, ref)
        self._incoming: list[str] = []

    def add_incoming(self, value: Value, block: Block) -> None:
        self._incoming.append(f"[{value.ref}, %{block.label}]")

    def __str__(self) -> str:
        return f" {self.ref} = phi {self.type.text} {', '.join(self._incoming)}"


class Switch:
    __slots__ = ("_cases", "_default", "_value")

    def __init__(self, value: Value, default: Block) -> None:
        self._value, self._default = value, default
        self._cases: list[str] = []

    def add_case(self, value: int, block: Block) -> None:
        self._cases.append(f"{self._value.type.text} {value}, label %{block.label}")

    def __str__(self) -> str:
        return f" switch {self._value.typed}, label %{self._default.label} [{' '.join(self._cases)}]"


class Branch:
    """A conditional branch; ``weights`` say how often it goes either way."""

    __slots__ = ("_text", "weights")

    def __init__(self, text: str) -> None:
        self._text = text
        self.weights: tuple[int, int] | None = None

    def set_weights(self, often: int, other: int) -> None:
        self.weights = often, other

    def __str__(self) -> str:
        return self._text if self.weights is None else f"{self._text}, !prof !{_number(self.weights)}"


def _number(weights: tuple[int, int]) -> int:
    """Of the metadata that holds these weights: the same everywhere, so that equal functions have equal texts."""
    return weights[0] * 1000 + weights[1]


# ------------------------------------------------------------------------------------------------ functions and modules


class Module:
    """Functions by name; ``globals`` holds the declared ones too."""

    def __init__(self) -> None:
        self.globals: dict[str, Function] = {}

    def __str__(self) -> str:
        return module_text(self.globals.values(), {name for name, fn in self.globals.items() if not fn.public})


class Function:
    """A function; without blocks it is only declared. ``attributes`` are LLVM's words."""

    def __init__(self, module: Module, result: Type, arguments: Sequence[Type], name: str) -> None:
        assert name not in module.globals, name
        self.name = name
        self.result = result
        self.arguments = tuple(arguments)
        self.args = [Value(kind, f"%a{i}") for i, kind in enumerate(arguments)]
        self.public = True
        self.attributes: set[str] = set()
        self.blocks: list[Block] = []
        self.called: dict[str, Function] = {}
        self.values = 0  # named so far
        self._text: tuple[str, str] | None = None
        module.globals[name] = self

    def append_basic_block(self, name: str) -> Block:
        block = Block(f"{name}.{len(self.blocks)}")
        self.blocks.append(block)
        return block

    @property
    def is_outlined(self) -> bool:
        """Whether it stays a function of its own, which any module may call."""
        return "noinline" in self.attributes and not self.public

    @property
    def lines(self) -> int:
        return sum(len(block.lines) for block in self.blocks)

    @property
    def declaration(self) -> str:
        return f'declare {self.result} @"{self.name}"({", ".join(map(str, self.arguments))})'

    @property
    def body(self) -> str:
        """Its text from the name on. To be asked for when it is complete."""
        if self._text is None:
            self._text = self._rendered()
        return self._text[0]

    @property
    def weights(self) -> str:
        """The metadata that its branches name."""
        assert self._text is not None
        return self._text[1]

    def _rendered(self) -> tuple[str, str]:
        parameters = ", ".join(a.typed for a in self.args)
        lines = [f'{self.result} @"{self.name}"({parameters}) {" ".join(sorted(self.attributes))} {{']
        weights = set()
        for block in self.blocks:
            lines.append(f"{block.label}:")
            lines += map(str, block.lines)
            last = block.lines[-1]
            if isinstance(last, Branch) and last.weights is not None:
                weights.add(last.weights)
        told = "\n".join(f'!{_number(w)} = !{{!"branch_weights", i32 {w[0]}, i32 {w[1]}}}' for w in sorted(weights))
        return "\n".join([*lines, "}"]), told


def module_text(functions: Iterable[Function], hidden: Collection[str]) -> str:
    """A module of these functions; what they call beyond is declared. ``hidden``: those that nobody else calls."""
    defined = {fn.name: fn for fn in functions if fn.blocks}
    parts = [f"define {'internal ' if fn.name in hidden else ''}{fn.body}" for fn in defined.values()]
    outside = {name: fn for own in defined.values() for name, fn in own.called.items() if name not in defined}
    told = {line for fn in defined.values() for line in fn.weights.splitlines()}
    return "\n".join([*parts, *(fn.declaration for _, fn in sorted(outside.items())), *sorted(told), ""])


def units(module: Module, lines: int) -> tuple[list[str], list[str]]:
    """The module in parts that are compiled apart and linked: the public functions, and each outlined one by itself.

    About so many ``lines`` of public functions make a part. A function that is neither public nor outlined goes with
    each that calls it. The text of an outlined function names nothing of the module that it comes from, so that its
    machine code serves every module that has the same.
    """
    outlined = [fn for fn in module.globals.values() if fn.blocks and fn.is_outlined]
    own: list[list[Function]] = [[]]
    for fn in module.globals.values():
        if fn.blocks and fn.public:
            if sum(f.lines for f in own[-1]) + fn.lines > lines and own[-1]:
                own.append([])
            own[-1].append(fn)
    return [_with_inlined(part) for part in own], [_with_inlined([fn]) for fn in outlined]


def _with_inlined(functions: Sequence[Function]) -> str:
    chosen = {fn.name: fn for fn in functions}
    work = list(functions)
    while work:
        for name, fn in work.pop().called.items():
            if name not in chosen and fn.blocks and not fn.public and not fn.is_outlined:
                chosen[name] = fn
                work.append(fn)
    inlined = {name for name in chosen if name not in {fn.name for fn in functions}}
    return module_text(chosen.values(), hidden=inlined)


# -------------------------------------------------------------------------------------------------------------- builder


class IRBuilder:
    """Appends instructions to the end of a block of ``function``."""

    __slots__ = ("block", "function")

    def __init__(self, function: Function, block: Block) -> None:
        self.function = function
        self.block = block

    def position_at_end(self, block: Block) -> None:
        self.block = block

    def _value(self, kind: Type, text: str) -> Value:
        function = self.function
        function.values += 1
        ref = f"%v{function.values}"
        self.block.lines.append(f" {ref} = {text}")
        return Value(kind, ref)

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        """``add sub mul …``; both operands have the type of ``a``."""
        return self._value(a.type, f"{operation} {a.typed}, {b.ref}")

    def compare(self, operation: str, a: Value, b: Value) -> Value:
        """``icmp eq``, ``fcmp olt`` …"""
        kind = a.type
        result = VectorType(_BIT, kind.count) if isinstance(kind, VectorType) else _BIT
        return self._value(result, f"{operation} {a.typed}, {b.ref}")

    def convert(self, operation: str, value: Value, kind: Type) -> Value:
        """``zext trunc bitcast inttoptr …``; nothing where it has the type already."""
        return value if value.type is kind else self._value(kind, f"{operation} {value.typed} to {kind.text}")

    def negate(self, value: Value) -> Value:
        return self._value(value.type, f"fneg {value.typed}")

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        return self._value(yes.type, f"select {condition.typed}, {yes.typed}, {no.typed}")

    def extract_element(self, vector: Value, index: Value) -> Value:
        assert isinstance(vector.type, VectorType)
        return self._value(vector.type.element, f"extractelement {vector.typed}, {index.typed}")

    def insert_element(self, vector: Value, value: Value, index: Value) -> Value:
        return self._value(vector.type, f"insertelement {vector.typed}, {value.typed}, {index.typed}")

    def shuffle_vector(self, a: Value, b: Value, mask: Value) -> Value:
        assert isinstance(a.type, VectorType)
        assert isinstance(mask.type, VectorType)
        kind = VectorType(a.type.element, mask.type.count)
        return self._value(kind, f"shufflevector {a.typed}, {b.typed}, {mask.typed}")

    def alloca(self, kind: Type, *, count: int = 0, align: int = 0) -> Value:
        """Room on the stack for one, or an array of ``count``."""
        what = f"[{count} x {kind.text}]" if count else kind.text
        return self._value(POINTER, f"alloca {what}{_aligned(align)}")

    def load(self, kind: Type, pointer: Value, align: int | None = None) -> Value:
        return self._value(kind, f"load {kind.text}, ptr {pointer.ref}{_aligned(align)}")

    def store(self, value: Value, pointer: Value, align: int | None = None) -> None:
        self.block.lines.append(f" store {value.typed}, ptr {pointer.ref}{_aligned(align)}")

    def gep(self, pointer: Value, offset: Value) -> Value:
        """``pointer`` and so many bytes."""
        return self._value(POINTER, f"getelementptr i8, ptr {pointer.ref}, {offset.typed}")

    def call(self, fn: Function, args: Sequence[Value]) -> Value:
        self.function.called[fn.name] = fn
        text = f'call {fn.result.text} @"{fn.name}"({", ".join([a.typed for a in args])})'
        if fn.result is not VOID:
            return self._value(fn.result, text)
        self.block.lines.append(" " + text)
        return Value(VOID, "")

    def phi(self, kind: Type) -> Phi:
        self.function.values += 1
        phi = Phi(kind, f"%v{self.function.values}")
        self.block.lines.append(phi)
        return phi

    # -- ends of blocks ---------------------------------------------------------------------------------------------
    def _end(self, line: str | Switch | Branch) -> None:
        self.block.lines.append(line)
        self.block.is_terminated = True

    def branch(self, block: Block) -> None:
        self._end(f" br label %{block.label}")

    def cbranch(self, condition: Value, yes: Block, no: Block) -> Branch:
        branch = Branch(f" br {condition.typed}, label %{yes.label}, label %{no.label}")
        self._end(branch)
        return branch

    def switch(self, value: Value, default: Block) -> Switch:
        switch = Switch(value, default)
        self._end(switch)
        return switch

    def ret(self, value: Value | None = None) -> None:
        self._end(" ret void" if value is None else f" ret {value.typed}")


def _aligned(align: int | None) -> str:
    return f", align {align}" if align else ""
