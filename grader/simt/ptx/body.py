"""One function's body: statements in order.

Names that an inner `{ … }` declares (NVRTC puts one around every call, people into assembly) get a suffix, so that a
function's names are unique. Labels are known in the whole of their scope, registers and variables behind their
declaration.
"""

from __future__ import annotations

from dataclasses import replace

from grader.simt.ptx.lines import Lines
from grader.simt.ptx.model import Address, Instruction, Label, Line, Operand, Register, Symbol, Variable, Vector
from grader.simt.ptx.tokens import PtxSyntaxError, Token
from grader.simt.ptx.variables import SPACES, VariableReader

FURTHEST_LINE = 1 << 31


class Body:
    """Reads from behind the opening brace to the closing one."""

    def __init__(self, reader: VariableReader, main: int | None) -> None:
        self.p = reader
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.items: list[Instruction | Label] = []
        self.tables: dict[str, tuple[str, ...]] = {}
        self._lines = Lines(main)
        self._labels = labels_by_scope(reader.tokens, reader.at)
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
        """A new scope, which begins at the reader's place."""
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

    def _is_register(self, name: str) -> bool:
        return name in self.registers or name.rstrip("0123456789") + "<" in self.registers

    def _resolve(self, operand: Operand) -> Operand:
        """Names of inner scopes made unique; a word that was declared as a register is one, also without a ``%``."""
        if isinstance(operand, Register):
            return replace(operand, name=self._rename(operand.name)) if len(self._scopes) > 1 else operand
        if isinstance(operand, Symbol):
            name = self._rename(operand.name)
            return Register(name) if self._is_register(name) else Symbol(name, operand.offset)
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
        self._lines.loc(place, inlined)

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
        operands: list[Operand] = []
        while not p.accept(";"):
            if not p.accept(","):
                operands.append(self._resolve(p.operand()))
        self.items.append(Instruction(opcode, tuple(modifiers), tuple(operands), guard, self._lines.current))


def labels_by_scope(tokens: list[Token], start: int) -> dict[int, list[str]]:
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
