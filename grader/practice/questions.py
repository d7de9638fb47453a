"""The questions of an exercise: those with a model answer of ``interview.md``, and numbers, new each time, of
``interview.toml``.

    ## Why is it faster?                       [[number]]
                                               ask = "A warp reads floats with a stride of {s}. How many sectors?"
    ### Answer                                 draw = { s = [1, 2, 4, 8, 16] }
                                               answer = "sectors(s, 4)"
    Because …                                  unit = "sectors"
                                               because = "Each sector of 32 bytes has {cdiv(8, s)} of its elements."
    **Listens for:** bytes in flight.

A generator's draws are numbered, so that all of them can be checked and a seed always draws the same. In ``ask`` and
``because`` braces hold a drawn name or an expression of the drawn names; ``because`` also knows ``answer``. A noun is
counted: ``{n:sectors}`` is "1 sector" or "4 sectors". Expressions have the functions of
`grader.practice.gpu_arithmetic`, and ``/`` divides as on paper.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import prod
from random import Random
from typing import Any

from grader.catalog.courses import CourseExercise
from grader.errors import UsageError
from grader.expressions import Number, did_you_mean, evaluate
from grader.frozen import dataclass
from grader.practice.gpu_arithmetic import functions
from grader.practice.pages import lines_of
from grader.text import counted, grouped, ordinal
from grader.typed_numbers import values_in_unit

LISTENS_FOR = "**Listens for:**"
MOST_DRAWS = 5000
"""Of one generator: few enough to check them all."""

Drawn = Mapping[str, Number | str]
"""One draw: a number, or a word such as a GPU's name, for each name."""


# ------------------------------------------------------------------------------------------- questions with an answer


@dataclass(frozen=True)
class Question:
    """One question, its model answer, and what an interviewer listens for ("" if that is missing), all Markdown."""

    text: str
    answer: str
    listens_for: str = ""


def questions_in(markdown: str) -> tuple[Question, ...]:
    """Return every question of a page in order; the text before the first question is ignored."""
    sections: list[tuple[str, list[str], list[str]]] = []
    for line, in_code in lines_of(markdown):
        if not in_code and line.startswith("## "):
            sections.append((line[3:].strip(), [], []))
        elif sections and (in_code or line.strip() != "### Answer"):
            _, answer, listens_for = sections[-1]
            ended = listens_for or (not in_code and line.startswith(LISTENS_FOR))
            (listens_for if ended else answer).append(line)
    return tuple(
        Question(text, "\n".join(answer).strip(), " ".join("\n".join(rest).removeprefix(LISTENS_FOR).split()))
        for text, answer, rest in sections
    )


# ------------------------------------------------------------------------------------------------------------- numbers


_PLURAL = re.compile(r"(?<=hal)ves\b|(?<=\w\w)s\b")  # of "blocks per SM", not of "ms"


def singular(words: str) -> str:
    """The words for one: "block per SM" for "blocks per SM", "half" for "halves"."""
    return _PLURAL.sub(lambda end: "f" if end[0] == "ves" else "", words)


def in_number(shown: str, nouns: str) -> str:
    """``1 sector``, ``4 sectors``: a number as it is shown, with what it counts."""
    return f"{shown} {singular(nouns) if shown == '1' else nouns}".rstrip()


@dataclass(frozen=True)
class NumericQuestion:
    """One question with its values. ``answer`` is exact: a typed one may be rounded to ``decimals``, None for none."""

    text: str
    answer: Number
    unit: str
    because: str
    decimals: int | None = None

    @property
    def shown_answer(self) -> str:
        """``12.58 MB``; a half is rounded up, as people do."""
        places = Decimal(1).scaleb(-(self.decimals or 0))
        value = Decimal(repr(self.answer)).quantize(places, ROUND_HALF_UP)
        number = _shown(int(value)) if value == int(value) else f"{value}"
        return in_number(number, self.unit)

    def is_right(self, typed: str) -> bool | None:
        """Whether a typed answer is right; None if it cannot be read as a number in the unit.

        Right is the exact answer, and what is at most half a unit of the last decimal that the question asks for away.
        """
        values = values_in_unit(typed, self.unit)
        rounding = 0.0 if self.decimals is None else 0.5 * 10.0**-self.decimals
        most_off = rounding + 1e-9 * max(1.0, abs(self.answer))
        return any(abs(value - self.answer) <= most_off for value in values) if values else None


@dataclass(frozen=True)
class Generator:
    """A question with names for its values. A draw takes one element of each of ``choices``."""

    ask: str
    answer: str
    choices: tuple[tuple[Drawn, ...], ...]
    unit: str
    because: str
    decimals: int | None = None

    @property
    def count(self) -> int:
        """The number of different draws."""
        return prod(map(len, self.choices))

    @property
    def names(self) -> frozenset[str]:
        """The names that are drawn."""
        return frozenset(name for column in self.choices for name in column[0])

    def draw(self, seed: object) -> NumericQuestion:
        """The question that a seed draws, always the same for the same seed. Raises ExpressionError."""
        return self.question(Random(f"{seed}").randrange(self.count))

    def question(self, at: int) -> NumericQuestion:
        """The question of draw number ``at``, from 0. Raises ExpressionError."""
        drawn = self.drawn(at)
        answer = _evaluate(self.answer, drawn)
        rounding = "" if self.decimals is None else f" Round to {counted(self.decimals, 'decimal')}."
        rounding = rounding.replace("0 decimals", "an integer")
        return NumericQuestion(
            _filled(self.ask, drawn) + rounding, answer, self.unit, _filled(self.because, {**drawn, "answer": answer}),
            self.decimals,
        )  # fmt: skip

    def drawn(self, at: int) -> Drawn:
        """The values of draw number ``at``."""
        values: dict[str, Number | str] = {}
        for column in self.choices:
            at, index = divmod(at, len(column))
            values |= column[index]
        return values


_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def _filled(text: str, drawn: Drawn) -> str:
    """The text with values instead of what its braces hold; ``{{`` is a brace."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        expression, _, nouns = match[1].partition(":")
        word = drawn.get(expression.strip())
        return word if isinstance(word, str) else in_number(_shown(_evaluate(expression, drawn)), nouns.strip())

    return _BRACES.sub(value, text)


def expressions_in(text: str) -> tuple[str, ...]:
    """What the braces of an ``ask`` or a ``because`` hold."""
    return tuple(match[1].partition(":")[0].strip() for match in _BRACES.finditer(text) if match[1] is not None)


def _evaluate(text: str, drawn: Drawn) -> Number:
    numbers = {name: value for name, value in drawn.items() if not isinstance(value, str)}
    words = {name: "is a word, not a number" for name, value in drawn.items() if isinstance(value, str)}
    value = evaluate(text, numbers, refused=words, functions=functions(), exact_division=True)
    near = round(value)
    return near if abs(value - near) <= 1e-9 * max(1.0, abs(value)) else value


def _shown(value: Number) -> str:
    """``4096``, ``1 048 576``, ``0.083333``."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.5g}"
    return grouped(value)


# ------------------------------------------------------------------------------------------- reading interview.toml

_KEYS = {
    "ask": str, "draw": dict, "cases": list, "answer": str, "unit": str, "because": str, "decimals": int,
}  # fmt: skip
_NEEDED = ("ask", "answer", "because")


def generators_in(toml: str, place: str) -> tuple[Generator, ...]:
    """The generators of the text of an ``interview.toml``, in order. Raises UsageError, which names ``place``."""
    try:
        document = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise _bad(place, f"is not TOML: {error}") from None
    tables = document.get("number", [])
    if not isinstance(tables, list) or set(document) - {"number"}:
        raise _bad(place, "must hold [[number]] tables, and nothing else")
    return tuple(_generator(table, f"{place}, {ordinal(at)} [[number]]") for at, table in enumerate(tables, start=1))


def _generator(table: Mapping[str, Any], place: str) -> Generator:
    for key, value in table.items():
        if key not in _KEYS:
            raise _bad(place, f"has no field {key!r}", did_you_mean(key, _KEYS))
        if type(value) is not _KEYS[key]:
            raise _bad(place, f"{key} must be {_KINDS[_KEYS[key]]}")
    for key in _NEEDED:
        if not table.get(key, "").strip():
            raise _bad(place, f"has no {key}")
    choices = tuple(_choices(table, place))
    names = [name for column in choices for name in column[0]]
    if not choices or len(set(names)) < len(names):
        raise _bad(place, "must draw each name once", "draw = { n = [256, 512] }")
    return Generator(
        table["ask"].strip(), table["answer"], choices, table.get("unit", ""), table["because"].strip(),
        table.get("decimals"),
    )  # fmt: skip


_KINDS = {str: "a text", dict: "a table of names", list: "a list of tables", int: "an integer"}


def _choices(table: Mapping[str, Any], place: str) -> Iterator[tuple[Drawn, ...]]:
    """Yield the elements of each independent choice: of ``cases``, whose names go together, and of each name."""
    if "cases" in table:
        cases = table["cases"]
        if not cases or any(not isinstance(case, dict) or not case or set(case) != set(cases[0]) for case in cases):
            raise _bad(place, "all cases must be tables with the same names")
        if any(not _is_value(value) for case in cases for value in case.values()):
            raise _bad(place, "the values of a case are numbers or words")
        yield tuple(cases)
    for name, domain in table.get("draw", {}).items():
        yield tuple({name: value} for value in _values(domain, f"{place}, {name}"))


def _values(domain: Any, place: str) -> Sequence[Number | str]:
    """The values of a list, or of ``{low, high, step}``, whose ``high`` is included."""
    if isinstance(domain, list) and domain and all(map(_is_value, domain)):
        return domain
    if isinstance(domain, dict) and {"low", "high"} <= set(domain) <= {"low", "high", "step"}:
        low, high, step = domain["low"], domain["high"], domain.get("step", 1)
        if all(type(value) is int for value in (low, high, step)) and step > 0 and low <= high:
            values = range(low, high + 1, step)
            if len(values) <= MOST_DRAWS:
                return values
            raise _bad(place, f"has {len(values)} values; at most {MOST_DRAWS} can be checked")
    raise _bad(place, "must be a list of values, or a range of integers", "{ low = 32, high = 1024, step = 32 }")


def _is_value(value: object) -> bool:
    return type(value) in (int, float, str)


def _bad(place: str, message: str, hint: str = "") -> UsageError:
    return UsageError(f"{place}: {message}", code="bad_questions", hint=hint)


# --------------------------------------------------------------------------------------------------- of an exercise


def questions_of(entry: CourseExercise) -> tuple[Question, ...]:
    """The questions with answers of an exercise; none if it has no ``interview.md``."""
    try:
        return questions_in(entry.interview.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ()


def generators_of(entry: CourseExercise) -> tuple[Generator, ...]:
    """The generators of an exercise; none if it has no ``interview.toml``. Raises UsageError for an invalid one."""
    try:
        text = entry.interview_numbers.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return generators_in(text, f"{entry.name}/{entry.interview_numbers.name}")
