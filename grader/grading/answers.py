"""Answers that a student writes into the file as comments, graded beside the kernel. Pure.

    // bug: 31        the line of the stub, as handed out, where its bug is

    judged(exercise.answers, text, stub) -> Judged     the public record, and the finding if it is not right

Design: docs/design/029-answers.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.exercise import BugLine
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.verdict import AnswerResult

_COMMENT = re.compile(r"//[ \t]*bug[ \t]*:([^\r\n]*)", re.IGNORECASE)
_LINE = re.compile(r"(?:line[ \t]*)?(\d{1,9})(?:[ \t]*[:;(.].*|[ \t]+(?!and\b|or\b|to\b)[^\d\W].*)?", re.IGNORECASE)
PLACEHOLDER = "?"
"""Begins the answer of a stub: `// bug: ?` is no answer."""

MOST_SHOWN = 40  # characters of an answer in a record


@dataclass(frozen=True)
class Written:
    """A comment of the file: the text after the colon, and its line."""

    text: str
    line: int


@dataclass(frozen=True)
class Judged:
    """One answer: ``finding`` is None if it is right; ``result`` is None if the file has no single answer."""

    result: AnswerResult | None = None
    finding: Finding | None = None

    @property
    def right(self) -> bool:
        return self.finding is None


def written(text: str) -> tuple[Written, ...]:
    """The answers of a file, without placeholders."""
    found = ((number, _COMMENT.search(line)) for number, line in enumerate(text.splitlines(), 1))
    every = (Written(match[1].strip(), number) for number, match in found if match)
    return tuple(one for one in every if one.text and not one.text.startswith(PLACEHOLDER))


def judged(answers: Sequence[BugLine], text: str, stub: str, file: str) -> tuple[Judged, ...]:
    """Each answer that the exercise asks for; ``text`` and ``stub`` are the student's file and the one handed out."""
    return tuple(_bug_line(answer, written(text), stub, file) for answer in answers)


def _bug_line(answer: BugLine, given: Sequence[Written], stub: str, file: str) -> Judged:
    length = len(stub.splitlines())
    if not given:
        return Judged(finding=Finding("answer", "missing", file=file))
    values = [_line_in(one.text) for one in given]
    if len(given) > 1 and len(set(values)) > 1:
        return Judged(finding=_about("several", given[1], file, count=len(given)))
    (one, *_), (value, *_) = given, values
    if value is None:
        return Judged(_result(one, right=False), _about("unreadable", one, file))
    if not 1 <= value <= length:
        return Judged(_result(one, right=False), _about("outside", one, file, named=value, length=length))
    if value not in bug_lines(answer, stub):
        return Judged(_result(one, right=False), _about("elsewhere", one, file, named=value))
    return Judged(_result(one, right=True))


def _about(cause: str, one: Written, file: str, **facts: int) -> Finding:
    return Finding("answer", cause, file=file, line=one.line, facts=facts)


def _result(one: Written, *, right: bool) -> AnswerResult:
    return AnswerResult("bug", one.text[:MOST_SHOWN], one.line, right)


def _line_in(text: str) -> int | None:
    """The number in ``31``, ``line 31`` or ``31: why``; None for anything else, such as two numbers."""
    match = _LINE.fullmatch(text)
    return int(match[1]) if match else None


def found_note(every: Sequence[Judged], file: str) -> Finding | None:
    """The note for a kernel that still fails, beside a right line; None if the line is not right."""
    right = [one.result for one in every if one.right and one.result is not None]
    return Finding("bug_found", file=file, line=right[0].line) if right else None


# --------------------------------------------------------------------------------------------- the exercise's own lines


def bug_lines(answer: BugLine, stub: str) -> frozenset[int]:
    """The lines of the stub that count. Each text of ``answer`` must be in one line only: see `faults`."""
    lines = stub.splitlines()
    return frozenset(number for place in answer.lines for number in _numbers(place, lines))


def _numbers(place: str | tuple[str, str], lines: Sequence[str]) -> range:
    first, last = (place, place) if isinstance(place, str) else place
    begins, ends = ([n for n, line in enumerate(lines, 1) if text in line] for text in (first, last))
    return range(begins[0], ends[0] + 1) if begins and ends else range(0)


def faults(answers: Sequence[BugLine], stub: str) -> Iterator[str]:
    """What is wrong with an exercise's places: a text in no line of the stub, or in several; no placeholder."""
    lines = stub.splitlines()
    for answer in answers:
        for text in (text for place in answer.lines for text in ((place,) if isinstance(place, str) else place)):
            count = sum(text in line for line in lines)
            if count != 1:
                yield f"{text!r} of answers is in {count} lines of the stub; it must be in one"
        if not answer.lines or not bug_lines(answer, stub):
            yield "answers name no line of the stub"
    if answers and not any(match[1].strip().startswith(PLACEHOLDER) for match in _COMMENT.finditer(stub)):
        yield "no line `// bug: ?` says where the answer is written"
