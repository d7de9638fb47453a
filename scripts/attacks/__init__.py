"""Submissions that must not pass, by the threat that they belong to: each is a solution with an edit, or a whole file.

    attack("replay", "vector_add", "wrong", ("c[i] = a[i] + b[i];", "…"), what="the answer of the first call")

``expect`` are the verdicts that are right for it, with blanks between them. Submissions for a GPU say ``gpu=True``: they
show their fault in timed runs, or need a real device. `scripts/attack` grades all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

Edit = tuple[str, str]


@dataclass(frozen=True)
class Attack:
    threat: str
    what: str
    exercise: str
    expect: tuple[str, ...]
    edits: tuple[Edit, ...] = ()
    host_edits: tuple[Edit, ...] = ()
    whole: str = ""
    gpu: bool = False

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
    gpu: bool = False,
) -> None:  # fmt: skip
    """Register one; an edit whose first text is empty adds its second at the end."""
    ATTACKS.append(Attack(threat, what, exercise, tuple(expect.split()), edits, host, whole, gpu))


def every_attack() -> list[Attack]:
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        import_module(f"attacks.{path.stem}")
    return ATTACKS
