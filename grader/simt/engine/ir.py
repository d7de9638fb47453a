"""LLVM's IR as text: types, functions and modules. `Builder` appends one line for each instruction.

Building a kernel's IR is most of Python's work for an edited file. Only the text is stored, which takes a small part of
the time of llvmlite's `ir`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import ClassVar


class Type:
    """A type; its ``str`` is its name in IR. Equal types are the same object; the ``element`` of a scalar is itself."""

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


class IRBlock:
    """A basic block under construction. A line that may still change is an object with a ``str``."""

    __slots__ = ("is_terminated", "label", "lines")

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: list[object] = []
        self.is_terminated = False


class IRModule:
    """Functions by name; ``globals`` includes declared ones.

    ``shared`` has outlined functions of other modules, by name: those that would be the same here.
    """

    def __init__(self, shared: dict[str, IRFunction] | None = None) -> None:
        self.globals: dict[str, IRFunction] = {}
        self.shared = {} if shared is None else shared

    def adopted(self, name: str) -> IRFunction | None:
        """The shared function of this name, which is now in this module, with what it calls; None if there is none.

        Public functions are the kernel's own: this module has its own ones.
        """
        found = self.shared.get(name)
        work = [found] if found is not None else []
        while work:
            fn = work.pop()
            if fn.name not in self.globals:
                self.globals[fn.name] = fn
                work += [called for called in fn.called.values() if not (called.blocks and called.public)]
        return found

    def __str__(self) -> str:
        return module_text(self.globals.values(), {name for name, fn in self.globals.items() if not fn.public})


class IRFunction:
    """A function; without blocks it is only declared. ``attributes`` are LLVM's words."""

    def __init__(self, module: IRModule, result: Type, arguments: Sequence[Type], name: str) -> None:
        assert name not in module.globals, name
        self.name = name
        self.result = result
        self.arguments = tuple(arguments)
        self.public = True
        self.attributes: set[str] = set()
        self.blocks: list[IRBlock] = []
        self.called: dict[str, IRFunction] = {}
        self.weights: set[tuple[int, int]] = set()  # of its branches: the frequencies of both ways
        self.values = 0  # number of named values
        module.globals[name] = self

    def append_basic_block(self, name: str) -> IRBlock:
        block = IRBlock(f"{name}.{len(self.blocks)}")
        self.blocks.append(block)
        return block

    @property
    def is_outlined(self) -> bool:
        """Whether it is not inlined, so that its machine code can be shared by modules."""
        return "noinline" in self.attributes and not self.public

    @property
    def lines(self) -> int:
        return sum(len(block.lines) for block in self.blocks)

    @property
    def declaration(self) -> str:
        return f'declare {self.result} @"{self.name}"({", ".join(map(str, self.arguments))})'

    @cached_property
    def unit(self) -> str:
        """The text of a module with this function alone, and with those that are inlined into it."""
        return _with_inlined([self])

    @cached_property
    def body(self) -> str:
        """Its text from the name on, once it is complete."""
        parameters = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(self.arguments))
        lines = [f'{self.result} @"{self.name}"({parameters}) {" ".join(sorted(self.attributes))} {{']
        for block in self.blocks:
            lines += (f"{block.label}:", *map(str, block.lines))
        return "\n".join([*lines, "}"])


def weights_number(weights: tuple[int, int]) -> int:
    """The number of the metadata with these weights: the same everywhere, so that equal functions are equal texts."""
    return weights[0] * 1000 + weights[1]


def module_text(functions: Iterable[IRFunction], hidden: Collection[str]) -> str:
    """The text of a module with these functions; other functions that they call are declared. ``hidden`` functions are
    called only in this module.
    """
    defined = {fn.name: fn for fn in functions if fn.blocks}
    parts = [f"define {'internal ' if fn.name in hidden else ''}{fn.body}" for fn in defined.values()]
    outside = {name: fn for own in defined.values() for name, fn in own.called.items() if name not in defined}
    weights = {
        f'!{weights_number(w)} = !{{!"branch_weights", i32 {w[0]}, i32 {w[1]}}}'
        for fn in defined.values()
        for w in fn.weights
    }
    return "\n".join([*parts, *(fn.declaration for _, fn in sorted(outside.items())), *sorted(weights), ""])


def units(module: IRModule, lines: int) -> tuple[list[str], list[str]]:
    """The module in parts that are compiled separately and linked: the public functions, and each outlined function.

    A part has about ``lines`` lines of public functions. A function that is neither public nor outlined is in each part
    that calls it. The text of an outlined function does not depend on its module, so that modules with the same
    function share its machine code.
    """
    outlined = [fn for fn in module.globals.values() if fn.blocks and fn.is_outlined]
    own: list[list[IRFunction]] = [[]]
    for fn in module.globals.values():
        if fn.blocks and fn.public:
            if sum(f.lines for f in own[-1]) + fn.lines > lines and own[-1]:
                own.append([])
            own[-1].append(fn)
    return [_with_inlined(part) for part in own], [fn.unit for fn in outlined]


def _with_inlined(functions: Sequence[IRFunction]) -> str:
    chosen = {fn.name: fn for fn in functions}
    work = list(functions)
    while work:
        for name, fn in work.pop().called.items():
            if name not in chosen and fn.blocks and not fn.public and not fn.is_outlined:
                chosen[name] = fn
                work.append(fn)
    return module_text(chosen.values(), hidden=chosen.keys() - {fn.name for fn in functions})
