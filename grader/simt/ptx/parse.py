"""A parser for the PTX that compilers emit and people write.

    text ──tokens──▶ Reader ──▶ operands, variables, bodies ──▶ Module

The text may be hostile: reading it takes time in proportion to its length and ends in a Module or in PtxSyntaxError.
"""

from __future__ import annotations

import re

from grader.simt.ptx.body import Body
from grader.simt.ptx.model import Function, Module, Variable
from grader.simt.ptx.tokens import PtxSyntaxError, integer, tokens, type_size
from grader.simt.ptx.variables import SPACES, VariableReader

__all__ = ["PtxSyntaxError", "parse", "type_size"]

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"', re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*\.section[ \t]", re.MULTILINE)
_MARKS = (".visible", ".weak", ".extern", ".common", ";", ".pragma")


def parse(text: str, source_name: str | None = None) -> Module:
    """Parse a whole module. ``source_name`` names the file that `Line`s should point into (see `Lines`).

    Raises PtxSyntaxError.
    """
    files = {integer(n) or 0: name for n, name in _FILE.findall(text)}
    main = next((i for i, name in files.items() if source_name and name.endswith(source_name)), None)
    debug = _SECTION.search(text)  # debug sections stand at the end
    return _Parser(text[: debug.start()] if debug else text, files, main).module()


class _Parser(VariableReader):
    def __init__(self, text: str, files: dict[int, str], main: int | None) -> None:
        super().__init__(tokens(text))
        self.files, self.main = files, main
        self.version = ""
        self.target = ""
        self.functions: dict[str, Function] = {}
        self.globals: dict[str, Variable] = {}

    def module(self) -> Module:
        while not self.ended:
            self._declaration()
        return Module(self.version, self.target, self.functions, self.globals, self.files, frozenset(self._used()))

    def _used(self) -> set[str]:
        """Headers declare a thousand variables that no function uses."""
        used: set[str] = set()
        waiting = [name for name in self.named if name in self.globals]
        while waiting:
            name = waiting.pop()
            if name in self.globals and name not in used:
                used.add(name)
                waiting += [symbol.name for _, symbol in self.globals[name].symbols]
        return used

    def _declaration(self) -> None:
        word = self.take()
        if word == ".version":
            self.version = self.take()
        elif word == ".target":
            self.target = self._words()[0]
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

    def _words(self) -> list[str]:
        """What stands between commas."""
        found = [self.take()]
        while self.accept(","):
            found.append(self.take())
        return found

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
