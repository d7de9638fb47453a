"""Queries on the student's source for hints: accesses, loops, conditions and barriers by line.

A child parses it at the first query, so that a right submission pays nothing. If that is impossible (the parser is not
installed, the text exceeds its limits, these lines are not C), nothing is known, and hints are general.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

from grader.compile.lexical import without_directives, without_strings
from grader.compile.parsing import Part
from grader.errors import GraderFault
from grader.expressions import ExpressionError, evaluate_integer
from grader.launch.source import float_names, parameter_names, read_integers, read_source
from grader.process import kept
from grader.process.child import spawn
from grader.process.sandbox import Sandbox

CHILD = "grader.compile.parsing"
CPU_S = 2
WALL_S = 60.0  # far above CPU_S, for a busy machine
LIMITS = Sandbox(files=True, processes=False, network=False, memory_bytes=512 << 20, file_bytes=0)
LONGEST = 1 << 18  # characters

_WORD = re.compile(r"[A-Za-z_]\w*")
BARRIERS = ("__syncthreads", "__syncwarp")

END = 1 << 62
UNREAD = (Part("error", 1, END, -1),)
"""The parts of a source that could not be parsed."""


@lru_cache(maxsize=8)
def parsed(source: str) -> tuple[Part, ...]:
    """The parts of a source; `UNREAD` if it could not be parsed within the limits."""
    if not source or len(source) > LONGEST:
        return UNREAD
    request = {"source": source.encode()}
    try:
        answer = (_kept_answer(request) or _answered(request))["parts"]
        parts = tuple(
            Part(str(kind), int(line), int(last), int(inside), str(name), tuple(map(str, texts)))
            for kind, line, last, inside, name, texts in answer
        )
        in_order = all(-1 <= part.inside < number for number, part in enumerate(parts))
    except (GraderFault, KeyError, TypeError, ValueError):
        return UNREAD
    return parts if in_order else UNREAD


_USES = ("assigned", "call", "pointer", "asm", "element", "member")


def _may_name(part: Part, name: str) -> bool:
    """Whether a part names a variable, or may name it: assembly, and expressions that were too long to be kept."""
    texts = (part.name, *part.texts)
    is_open = part.kind == "asm" or "" in (texts[:-1] if part.kind == "local" else texts)
    return is_open or name in re.findall(r"\w+", " ".join(texts))


def _answered(request: dict[str, Any]) -> dict[str, Any]:
    with spawn(CHILD, sandbox=LIMITS._replace(cpu_s=CPU_S)) as child:
        child.channel.send(request)
        return child.channel.receive(WALL_S)[0]


def _kept_answer(request: dict[str, Any]) -> dict[str, Any] | None:
    """The answer of a persistent child; None if there is none, or if it may have taken more than the limit."""
    if kept.KEPT is None:
        return None
    start = partial(spawn, CHILD, sandbox=LIMITS)
    return kept.KEPT.answer(CHILD, start, lambda used: kept.asked(used, request, CPU_S))


class SourceView:
    """One file. Lines are numbered from 1; nothing is known of lines that could not be parsed."""

    def __init__(self, source: str = "") -> None:
        self._source = source

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        return parsed(self._source)

    def parameters(self, kernel: str) -> tuple[str, ...]:
        """The names of a kernel's parameters; () if they are not found."""
        return parameter_names(self._source, kernel)

    def floats(self) -> set[str]:
        """The names of parameters of kernels that are arrays of floats."""
        kernels = [part.name for part in self._parts if part.kind == "kernel"]
        return {name for kernel in kernels[:8] for name in float_names(self._source, kernel)}

    def is_clear(self, first: int = 1, last: int = END) -> bool:
        """Whether all these lines could be parsed."""
        return not self.parts(first, last, "error")

    def parts(self, first: int, last: int, *kinds: str) -> list[Part]:
        """The parts of these kinds that overlap these lines, in the order of their first lines."""
        inside = (part for part in self._parts if part.kind in kinds and first <= part.last and part.line <= last)
        return sorted(inside, key=lambda part: part.line)

    def shared_shape(self, name: str) -> tuple[int, ...]:
        """The lengths of a shared array's dimensions, as it is declared; () if they are not known."""
        declared = rf"__shared__[^;(){{}}]{{0,300}}?\b{re.escape(name)}((?:\s*\[[^\[\];]{{1,100}}\]){{1,4}})"
        shapes = set(re.findall(declared, without_directives(self._source)))
        if len(shapes) != 1:
            return ()
        try:
            known = read_integers(read_source(self._source, "")).values
            return tuple(evaluate_integer(text, known, suggest=False) for text in shapes.pop().strip("[] ").split("]["))
        except ExpressionError:
            return ()

    def shared_type(self, name: str) -> str:
        """The type of a shared array's elements, as it is declared; "" if it is not one name, or not known."""
        declared = rf"__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?(\w+)\s+{re.escape(name)}\s*\["
        types = set(re.findall(declared, without_directives(self._source)))
        return types.pop() if len(types) == 1 else ""

    def function(self, line: int) -> Part | None:
        """The function or lambda that contains a line."""
        return self._innermost(line, line, "kernel", "function")

    def loop(self, first: int, last: int = 0) -> Part | None:
        """The innermost loop around ``first``, and around ``last`` if it is given."""
        return self._innermost(first, last or first, "loop")

    def _innermost(self, first: int, last: int, *kinds: str) -> Part | None:
        around = [part for part in self.parts(first, last, *kinds) if part.line <= first and last <= part.last]
        return around[-1] if around else None

    def barriers(self, first: int, last: int) -> list[Part]:
        """The barriers of a block or a warp in these lines; of kind ``name`` if they are not called."""
        return [part for part in self.parts(first, last, "call", "name") if part.name in BARRIERS]

    def unfinished(self, first: int, last: int) -> int | None:
        """The first of these lines that still says YOUR CODE."""
        lines = enumerate(self._source.splitlines(), start=1)
        return next((number for number, text in lines if first <= number <= last and "YOUR CODE" in text), None)

    def first_return(self, first: int = 1, last: int = END) -> int | None:
        """The first line with a ``return;`` of a kernel."""
        returns = self.parts(first, last, "return")
        return next((part.line for part in returns if self._function_around(part) == "kernel"), None)

    def elements(self, line: int) -> list[Part]:
        """The accesses ``name[…]`` that begin in a line."""
        accesses = self.parts(line, line, "element", "member") if self.is_clear(line, line) else []
        return [part for part in accesses if part.line == line]

    def condition(self, part: Part) -> str:
        """The innermost condition around a part, inside the innermost loop or `else`; "" if there is none."""
        for around in self._around(part):
            if around.kind == "then":
                return self._parts[around.inside].texts[0]
            if around.kind != "if":
                return ""
        return ""

    def empty_if(self, first: int, last: int) -> Part | None:
        """The last ``if (…);`` in these lines, whose semicolon is its whole body."""
        branches = self.parts(first, last, "then", "else")
        with_else = {branch.inside for branch in branches if branch.kind == "else"}
        empty = [one for one in branches if one.kind == "then" and one.texts and one.inside not in with_else]
        return self._parts[empty[-1].inside] if empty else None

    def conditions(self, part: Part) -> list[str]:
        """The conditions under which a part is executed, in all branches around it; those of guards are not these."""
        branches = (around for around in self._around(part) if around.kind == "then")
        return [self._parts[branch.inside].texts[0] for branch in branches]

    def guards(self, line: int) -> list[Part]:
        """The conditions, each ``texts[0]``, under which threads leave before a line."""
        return [self._parts[number] for number in sorted(self._guards(line))]

    def comparisons(self, line: int) -> list[Part]:
        """The comparisons that are true in a line, by the conditions around it and the guards above it."""
        conditions = {branch.inside for branch in self.parts(line, line, "then")}
        return self._comparisons_in(conditions | self._guards(line))

    def ends_of(self, loop: Part) -> list[Part]:
        """The comparisons of a loop's own condition."""
        return self._comparisons_in({self._parts.index(loop)})

    def comparisons_at(self, access: Part) -> list[Part]:
        """The comparisons that are true at a part, by all conditions and loops around it and the guards before it."""
        known, at = self._guards(access.line), access.inside
        while at >= 0:
            around = self._parts[at]
            known |= {at} if around.kind == "loop" else {around.inside} if around.kind == "then" else set()
            at = around.inside
        return self._comparisons_in(known)

    def _comparisons_in(self, numbers: set[int]) -> list[Part]:
        return [part for part in self._parts if part.kind == "comparison" and part.inside in numbers]

    def _guards(self, line: int) -> set[int]:
        return {number for number, part in enumerate(self._parts) if part.kind == "guard" and self._rules(part, line)}

    def _rules(self, guard: Part, line: int) -> bool:
        """Whether a line is after a guard, in the same function, loop or branch."""
        return guard.last < line and (guard.inside < 0 or line <= self._parts[guard.inside].last)

    def is_of_guard(self, comparison: Part) -> bool:
        return self._parts[comparison.inside].kind == "guard"

    def line_of_access(self, line: int, names: Sequence[str]) -> int:
        """The line that accesses one of these arrays: ``line``, or if it has no access, one below in its function.

        A compiler that moves a load up may give it the line of an earlier statement.
        """
        function = self.function(line)
        if function is None or not self.is_clear(line, function.last) or self._accesses(line):
            return line
        below = self.parts(line + 1, function.last, "element", "member")
        return next((part.line for part in below if part.line > line and part.name in names), line)

    def _accesses(self, line: int) -> bool:
        return bool(self.parts(line, line, "call", "asm", "pointer") or self.elements(line))

    def local(self, name: str, line: int) -> Part | None:
        """The last declaration of a variable above a line, in the line's function."""
        function = self.function(line)
        first = function.line if function else 1
        return next((one for one in reversed(self.parts(first, line, "local")) if one.name == name), None)

    def first_use(self, local: Part) -> Part | None:
        """The first assignment, call or access below a declaration that names its variable.

        None also if it is uncertain: another variable or a macro has the name, or gets its value or its address.
        """
        function = self.function(local.line)
        macros = (line for line in self._code if re.match(r"\s*#\s*define\b", line))
        if function is None or any(local.name in _WORD.findall(line) for line in macros):
            return None
        below = self.parts(local.line, function.last, "local", *_USES)
        below = [one for one in below[below.index(local) + 1 :] if _may_name(one, local.name)]
        first = next((one for one in below if one.kind in _USES), None)
        certain = first is not None and local.name in _WORD.findall(" ".join((first.name, *first.texts)))
        return first if certain and all(one.kind != "local" for one in below) else None

    def values(self, name: str, function: Part) -> list[str]:
        """What a function's variable or a constant of the file is set to; a `++` adds nothing of interest."""
        parts = self.parts(function.line, function.last, "local", "assigned")
        parts += [one for one in self.parts(1, function.line, "local") if one.inside < 0]
        own = [one for one in parts if one.name == name and one.texts[0] not in ("++", "--")]
        if any(one.kind == "local" for one in own):
            return [one.texts[1] for one in own if one.kind == "assigned" or one.texts[1]]
        lines = [self._code[line - 1] for line in self.uses(name, 1, function.line)]
        return [found[1] for line in lines if (found := re.fullmatch(rf"\s*#\s*define\s+{name}\s+(.+?)\s*", line))]

    def calls(self, name: str) -> list[int]:
        """The lines that call a function."""
        return [part.line for part in self._parts if part.kind == "call" and part.name == name]

    def is_changed(self, name: str) -> bool:
        """Whether a variable of this name is assigned anywhere outside its declaration."""
        return any(part.name == name for part in self._parts if part.kind == "assigned")

    def hidden_by(self, inner: Part) -> Part | None:
        """The variable of an outer block that has the name of one declared in a loop or a branch."""
        around, at = set[int](), inner.inside
        while at >= 0:
            at = self._parts[at].inside
            around.add(at)
        outer = (one for one in self.parts(1, inner.line, "local") if one.name == inner.name)
        return next((one for one in outer if one.inside in around and one.inside >= 0), None)

    def end_of_scope(self, part: Part) -> int:
        """The last line of the function, the loop or the branch that a part is in."""
        return self._parts[part.inside].last if part.inside >= 0 else END

    def uses(self, name: str, first: int, last: int) -> list[int]:
        """The lines of these in which a name occurs."""
        return [line for line in self._lines_of.get(name, ()) if first <= line <= last]

    @cached_property
    def _code(self) -> list[str]:
        return without_strings(self._source).splitlines()

    @cached_property
    def _lines_of(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self._code, start=1):
            for word in dict.fromkeys(_WORD.findall(line)):
                found.setdefault(word, []).append(number)
        return found

    def _around(self, part: Part) -> Iterator[Part]:
        """The parts around a part, the innermost first."""
        while part.inside >= 0:
            part = self._parts[part.inside]
            yield part

    def _function_around(self, part: Part) -> str:
        return next((around.kind for around in self._around(part) if around.kind in ("kernel", "function")), "")
