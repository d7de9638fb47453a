"""A parser for PTX from compilers and from inline assembly.

    text ──Reader: tokens, operands, variables──▶ bodies of functions ──▶ Module

The text may be hostile: parsing takes linear time and ends with a Module or with PtxSyntaxError.
"""

from __future__ import annotations

import re
from dataclasses import replace

from grader.simt.ptx.model import (
    Address,
    Function,
    Instruction,
    Label,
    Line,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from grader.simt.ptx.reader import SPACES, PtxSyntaxError, Reader, integer

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"', re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*\.section[ \t]", re.MULTILINE)
FURTHEST_LINE = 1 << 31
DEEPEST_INLINING = 64
"""Maximum of levels of inlining in line information."""
_MARKS = (".visible", ".weak", ".extern", ".common", ";", ".pragma")


def parse(text: str, source_name: str | None = None) -> Module:
    """Parse a whole module. ``source_name`` is the file for `Line`s (see `Body`).

    Raises PtxSyntaxError.
    """
    files = {integer(n) or 0: name for n, name in _FILE.findall(text)}
    main = next((i for i, name in files.items() if source_name and name.endswith(source_name)), None)
    debug = _SECTION.search(text)  # debug sections are at the end
    return _Parser(text[: debug.start()] if debug else text, main).module()


class _Parser(Reader):
    def __init__(self, text: str, main: int | None) -> None:
        super().__init__(text)
        self.main = main
        self.functions: dict[str, Function] = {}
        self.globals: dict[str, Variable] = {}

    def module(self) -> Module:
        while self.peek():
            self._declaration()
        used: set[str] = set()  # headers declare a thousand variables that no function uses
        waiting = [name for name in self.named if name in self.globals]
        while waiting:
            name = waiting.pop()
            if name in self.globals and name not in used:
                used.add(name)
                waiting += [symbol.name for _, symbol in self.globals[name].symbols]
        return Module(self.functions, self.globals, frozenset(used))

    def _declaration(self) -> None:
        word = self.take()
        if word == ".version":
            self.take()
        elif word == ".target":
            self._words()
        elif word == ".address_size":
            self.integer()
        elif word == ".file":
            self._words()
            self.take()
        elif word in (".entry", ".func"):
            self._function(is_entry=word == ".entry")
        elif word[1:] in SPACES:
            for variable in self.variables(word[1:]):
                self.globals[variable.name] = variable
        elif word not in _MARKS and not word.startswith('"'):
            raise self.wrong("unknown declaration")

    def _words(self) -> None:
        """Skip words between commas."""
        self.take()
        while self.accept(","):
            self.take()

    def _function(self, *, is_entry: bool) -> None:
        returns = self._parameters() if self.peek() == "(" else ()
        name = self.word()
        parameters = self._parameters() if self.peek() == "(" else ()
        while self.peek() not in ("{", ";"):
            self.take()  # .maxntid 256, 1, 1 · .minnctapersm 2 · .noreturn
        if self.take() == ";":
            self.functions.setdefault(name, Function(name, is_entry, parameters, returns))
            return
        body = Body(self, self.main)
        body.run()
        self.functions[name] = Function(
            name, is_entry, parameters, returns, body.registers, tuple(body.variables), tuple(body.items), body.tables
        )

    def _parameters(self) -> tuple[Variable, ...]:
        self.expect("(")
        found: list[Variable] = []
        while not self.accept(")"):
            word = self.take()
            if word in (".param", ".reg"):
                found.append(self.variable(word[1:], self.qualifiers()))
        return tuple(found)


class Body:
    """Reads a function's statements in order, from after the opening brace to the closing one.

    Names that are declared in an inner `{ … }` (NVRTC has one around every call) get a suffix, so that a function's
    names are unique. Labels are known in their whole scope, registers and variables after their declaration. ``main``
    is the index of the student's file in the `.file` table (None: lines of all files count); a line of another file (a
    header) is replaced by the line where it was inlined.
    """

    def __init__(self, reader: Reader, main: int | None) -> None:
        self.p = reader
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.items: list[Instruction | Label] = []
        self.tables: dict[str, tuple[str, ...]] = {}
        self._main = main
        self._line: Line | None = None  # of the instructions that follow
        self._inlined_at: dict[Line, Line] = {}
        self._labels = _labels_by_scope(reader.tokens, reader.at)
        self._scopes: list[dict[str, str]] = []
        self._suffixes: list[str] = []
        self._count = 0

    def run(self) -> None:
        self._enter()
        while self._scopes:
            self._statement()

    def _statement(self) -> None:
        p = self.p
        token = p.peek()
        if token == "{":
            p.take()
            self._enter()
        elif token == "}":
            p.take()
            self._scopes.pop()
            self._suffixes.pop()
        elif token == ";":
            p.take()
        elif p.peek(1) == ":":
            self._label()
        elif token.startswith("."):
            self._directive(p.take())
        else:
            self._instruction()

    # -- names ------------------------------------------------------------------------------------------------------
    def _enter(self) -> None:
        """Enter a new scope, which begins at the reader's position."""
        self._suffixes.append(f"@{self._count}." if self._scopes else "")
        self._scopes.append({})
        self._count += 1
        for label in self._labels.get(self.p.at, ()):
            if label in self._scopes[-1]:
                raise PtxSyntaxError(f"the label {label} stands twice in one scope")
            self._declare(label)

    def _declare(self, name: str) -> str:
        unique = name + self._suffixes[-1]
        self._scopes[-1][name] = unique
        return unique

    def _rename(self, name: str) -> str:
        base = name.rstrip("0123456789")
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
            if base + "<" in scope:  # one of a range: `.reg .b32 t<4>` declares t0 … t3
                return scope[base + "<"] + name[len(base) :]
        return name

    def _resolve(self, operand: Operand) -> Operand:
        """The operand with unique names for inner scopes; a declared register may also have a name without ``%``."""
        if isinstance(operand, Register):
            return replace(operand, name=self._rename(operand.name)) if len(self._scopes) > 1 else operand
        if isinstance(operand, Symbol):
            name = self._rename(operand.name)
            declared = name in self.registers or name.rstrip("0123456789") + "<" in self.registers
            return Register(name) if declared else Symbol(name, operand.offset)
        if isinstance(operand, Vector):
            return Vector(tuple(self._resolve(item) for item in operand.items))
        if isinstance(operand, Address) and operand.base is not None:
            base = self._resolve(operand.base)
            assert isinstance(base, Register | Symbol)
            return Address(base, operand.offset)
        return operand

    # -- statements -------------------------------------------------------------------------------------------------
    def _label(self) -> None:
        p = self.p
        name = self._rename(p.word())
        p.expect(":")
        if p.accept(".branchtargets"):
            targets = []
            while not p.accept(";"):
                if not p.accept(","):
                    targets.append(self._rename(p.word()))
            self.tables[name] = tuple(targets)
        else:
            self.items.append(Label(name))

    def _directive(self, word: str) -> None:
        p = self.p
        if word == ".loc":
            self._loc()
        elif word == ".reg":
            self._registers()
        elif word[1:] in SPACES:
            for variable in p.variables(word[1:]):
                self.variables.append(replace(variable, name=self._declare(variable.name)))
        else:  # .pragma "nounroll"; .callprototype …
            while p.take() != ";":
                pass

    def _loc(self) -> None:
        p = self.p
        place, inlined = self._place(), None
        while p.accept(","):
            if p.word() == "function_name":
                p.operand()
            else:  # inlined_at
                inlined = self._place()
        if inlined is not None:
            self._inlined_at[place] = inlined
        stated = place
        for _ in range(DEEPEST_INLINING):
            if self._main is None or place.file == self._main or place not in self._inlined_at:
                break
            place = self._inlined_at[place]
        if place.line and (self._main is None or place.file == self._main):
            # Of a header's code only the line where it was inlined is certain, not the call of that line's function.
            called = place == stated and inlined is not None and inlined.file == place.file
            self._line = replace(place, called_at=inlined.line) if called and inlined is not None else place

    def _place(self) -> Line:
        file, line, column = (self.p.integer() for _ in range(3))
        if line >= FURTHEST_LINE:
            raise self.p.wrong("a line number that is too large")
        return Line(file, line, column)

    def _registers(self) -> None:
        p = self.p
        _, element = p.qualifiers()
        while True:
            name = p.word()
            if p.accept("<"):
                p.integer()
                p.expect(">")
                unique = name + self._suffixes[-1]
                self._scopes[-1][name + "<"] = unique
                self.registers[unique + "<"] = element
            else:
                self.registers[self._declare(name)] = element
            if p.accept(";"):
                return
            p.expect(",")

    def _instruction(self) -> None:
        p = self.p
        guard = None
        if p.accept("@"):
            named = p.register()
            guard = Register(self._rename(named.name), named.negated)
        opcode, *modifiers = p.word().split(".")
        while p.kind == "word" and p.peek().startswith("."):  # `add .u32` means `add.u32`
            modifiers.append(p.take()[1:])
        operands: list[Operand] = []
        while not p.accept(";"):
            if not p.accept(","):
                operands.append(self._resolve(p.operand()))
        self.items.append(Instruction(opcode, tuple(modifiers), tuple(operands), guard, self._line))


def _labels_by_scope(tokens: list[tuple[str, str]], start: int) -> dict[int, list[str]]:
    """Labels of each scope of the body that begins at ``start``, by the index of the scope's first token."""
    found: dict[int, list[str]] = {start: []}
    scopes = [start]
    for i in range(start, len(tokens)):
        text = tokens[i][1]
        if text == "{":
            scopes.append(i + 1)
            found[i + 1] = []
        elif text == "}":
            scopes.pop()
            if not scopes:
                break
        elif text == ":" and i > start and tokens[i - 1][0] == "word":
            found[scopes[-1]].append(tokens[i - 1][1])
    return found
