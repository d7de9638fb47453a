"""Submissions that must not pass, by the threat that they belong to: each is a solution with an edit, or a whole file.

    attack("replay", "vector_add", "wrong", ("c[i] = a[i] + b[i];", "…"), what="the answer of the first call")

The third argument is the verdict, written as in a wrong answer of the course: one word for both backends, or
``sim=pass gpu=wrong``, one for each; where a backend is not named, the submission is not graded there. `scripts/attack`
grades all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from grader.dev.wrong import read_expectation

Edit = tuple[str, str]

THREATS: Mapping[str, str] = {
    "trivial output": "nothing, constants, copies, too few bits",
    "replay": "what an earlier launch has left: variables, memory, outputs",
    "state": "variables that the next launch finds changed",
    "special-casing": "right only at some sizes, data, or on some machines",
    "timed launches": "right in every small case, and not where the time is taken",
    "undefined values": "what nothing has written, lanes that are not there",
    "stray access": "writes and reads beside the arrays, a search for the expected values",
    "clock games": "clocks and counters of the GPU as a sign of being watched",
    "hangs": "loops, barriers and waits without an end",
    "faults": "traps, asserts, bad addresses, too much memory",
    "what no GPU can start": "blocks, registers, shared memory and directives beyond every limit",
    "compiler as reader": "files that an #include names",
    "compiler as bomb": "templates, macros and arrays that explode",
    "compiler crash": "sources on which a compiler may give up",
    "PTX tricks": "assembly that leaves its function, memory and kernels from the device",
    "output forging": "verdicts, escape sequences and marks in what is printed or shown",
    "technique by padding": "accesses that only counters see",
    "schedule": "right in one order of warps, blocks and stores",
    "simulator": "budgets, huge grids, printf widths, labels",
    "host file": "work left out, left to threads, or told too early; ends of the process",
    "reach of the child": "files, network, processes, the grader's memory and its channel",
    "resources of the child": "IPC, keys, namespaces, threads, memory",
    "the parent as reader": "texts that take a reader long, or names that look like something else",
}


@dataclass(frozen=True)
class Attack:
    threat: str
    what: str
    exercise: str
    expect: Mapping[str, str]  # the verdict by backend
    edits: tuple[Edit, ...] = ()
    host_edits: tuple[Edit, ...] = ()
    whole: str = ""
    file: str = ""  # the name of the `.cu`, where that is the point

    @property
    def name(self) -> str:
        return f"{self.threat}: {self.what} ({self.exercise})"

    def source(self, solution: str) -> str:
        """The `.cu` that is handed in. Raises ValueError where an edit does not fit the solution any more."""
        return self.whole or _edited(solution, self.edits, self.name)

    def host_source(self, solution: str) -> str:
        return _edited(solution, self.host_edits, self.name)


def _edited(text: str, edits: tuple[Edit, ...], name: str) -> str:
    for old, new in edits:
        if old and text.count(old) != 1:
            raise ValueError(f"{name}: the solution has {text.count(old)} times {old!r}")
        text = text.replace(old, new) if old else text + new
    return text


ATTACKS: list[Attack] = []


def attack(
    threat: str, exercise: str, expect: str, *edits: Edit, what: str, host: tuple[Edit, ...] = (), whole: str = "",
    file: str = "",
) -> None:  # fmt: skip
    """Register one; an edit whose first text is empty adds its second at the end."""
    words = read_expectation((f"// expect: {expect}", f"// {what}")).words
    ATTACKS.append(Attack(threat, what, exercise, words, edits, host, whole, file))


def every_attack() -> list[Attack]:
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        import_module(f"attacks.{path.stem}")
    return ATTACKS


# What most of them edit: vector_add's only statement, its launch line, and the file before its kernel.

ADD = "    if (i < n)\n        c[i] = a[i] + b[i];\n"
RIGHT = "c[i] = a[i] + b[i];"
LAUNCH = "grid=cdiv(n, 256) block=256"
BEFORE = 'extern "C"'


def inside(statements: str) -> Edit:
    """What vector_add's threads with an element do instead."""
    return ADD, f"    if (i < n) {{\n        {statements}\n    }}\n"


def above(text: str) -> Edit:
    """Text above the kernel."""
    return BEFORE, f"{text}\n{BEFORE}"
