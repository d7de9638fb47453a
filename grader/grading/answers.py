"""Answers that a student writes into the file as comments, graded beside the kernel. Pure.

    // bug: 31          the line of the stub, as handed out, where its bug is
    // bound: memory    what limits the given kernel
    // predict: 64      a counter after the change that the stub has under `#ifdef CHANGED`

    judged(exercise.answers, Texts(text, stub, file), counted) -> the public records, and what is not right

Design: docs/design/029-answers.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from grader.compile.lexical import without_comments
from grader.exercise import Answer, Bound, BugLine, Expect, Forecast, Size
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.grading.technique import per, total
from grader.simt.occupancy import SM_COUNT
from grader.typed_numbers import typed_rounding
from grader.verdict import AnswerResult, LaunchRecord

KEYS: Mapping[type, str] = {BugLine: "bug", Bound: "bound", Forecast: "predict"}

_COMMENT = re.compile(r"//[ \t]*(bug|bound|predict)[ \t]*:([^\r\n]*)", re.IGNORECASE)
_LINE = re.compile(r"(?:line[ \t]*)?(\d{1,9})(?:[ \t]*[:;(.].*|[ \t]+(?!and\b|or\b|to\b)[^\d\W].*)?", re.IGNORECASE)
_WORD = re.compile(r"([a-z]+)(?:[ \t:;(,.].*)?", re.IGNORECASE)
_NUMBER = re.compile(r"(?:[a-z_]+[ \t]*=[ \t]*)?(\d{1,15}(?:\.\d{1,9})?)(?:[ \t]+[^\d\W].*|[ \t]*[(;:].*)?", re.I)
PLACEHOLDER = "?"
"""Begins the answer of a stub: `// bug: ?` is no answer."""

MOST_SHOWN = 40  # characters of an answer in a record

CHANGED = b"#define CHANGED 1\n"
"""Stands above the stub in the run that a forecast is about."""

A100_SECTORS_PER_CLOCK = 1555e9 / 1.41e9 / 32  # 1555 GB/s, 1.41 GHz, 32 bytes
LIMITS: Mapping[str, tuple[str, float]] = {
    "memory": ("sectors", A100_SECTORS_PER_CLOCK),
    "shared": ("wavefronts", SM_COUNT),
    "instructions": ("instructions", 4 * SM_COUNT),
    "special": ("special_function_instructions", SM_COUNT / 2),  # 16 lanes of an SM
    "double": ("f64_instructions", SM_COUNT),  # 32 lanes
    "shuffles": ("shuffles", SM_COUNT),  # 32 lanes
}
"""What can limit a kernel: a counter, and how many the simulated A100 serves in a clock (CUDA C++ Programming Guide,
"Arithmetic Instructions", compute capability 8.0)."""


@dataclass(frozen=True)
class Texts:
    """The student's file and the stub as handed out; ``file`` is the name of the first; ``passes``: its kernel does."""

    text: str
    stub: str
    file: str
    passes: bool = False


@dataclass(frozen=True)
class Counted:
    """The launches of the given kernel and of the changed one at the simulated size; empty if they did not run."""

    size: Size = field(default_factory=dict)
    given: Sequence[LaunchRecord] = ()
    changed: Sequence[LaunchRecord] = ()


@dataclass(frozen=True)
class Written:
    """A comment of the file: its key, the text after the colon, and its line."""

    key: str
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


def written(text: str, key: str) -> tuple[Written, ...]:
    """The answers of a file with this key, without placeholders."""
    found = ((number, _COMMENT.search(line)) for number, line in enumerate(text.splitlines(), 1))
    every = (Written(match[1].lower(), match[2].strip(), number) for number, match in found if match)
    return tuple(one for one in every if one.key == key and one.text and not one.text.startswith(PLACEHOLDER))


def judged(answers: Sequence[Answer], texts: Texts, counted: Counted) -> tuple[Judged, ...]:
    """Each answer that the exercise asks for."""
    if any(not isinstance(answer, BugLine) for answer in answers) and _kernel(texts.text) != _kernel(texts.stub):
        return (Judged(finding=Finding("answer", "other_kernel", file=texts.file)),)
    return tuple(_judged(answer, texts, counted) for answer in answers)


def _kernel(text: str) -> list[str]:
    """The code of a file: a comment changes nothing, but for lines that the grader reads."""
    return [line for _, line in _code_lines(text)]


def _judged(answer: Answer, texts: Texts, counted: Counted) -> Judged:
    given = written(texts.text, KEYS[type(answer)])
    about: dict[str, object] = {"form": _FORMS[type(answer)]}
    if not given:
        return Judged(finding=Finding("answer", "missing", file=texts.file, facts=about))
    if len({one.text for one in given}) > 1:
        found = Finding("answer", "several", file=texts.file, line=given[1].line, facts=about | {"count": len(given)})
        return Judged(finding=found)
    if isinstance(answer, BugLine):
        cause, facts = _line_fault(answer, given[0].text, texts)
    elif isinstance(answer, Bound):
        cause, facts = _word_fault(given[0].text, counted)
    else:
        cause, facts = _number_fault(answer, given[0].text, counted)
    read = _READ[type(answer)].fullmatch(given[0].text)
    shown = read[1] if read else given[0].text[:MOST_SHOWN]
    result = AnswerResult(given[0].key, shown, given[0].line, not cause)
    if not cause:
        return Judged(replace(result, counted=_count(answer, counted) if isinstance(answer, Forecast) else None))
    return Judged(result, Finding("answer", cause, file=texts.file, line=given[0].line, facts=about | facts))


_READ: Mapping[type, re.Pattern[str]] = {BugLine: _LINE, Bound: _WORD, Forecast: _NUMBER}
_FORMS: Mapping[type, str] = {BugLine: "// bug: LINE", Bound: "// bound: WORD", Forecast: "// predict: NUMBER"}

Fault = tuple[str, dict[str, object]]
"""The cause of a finding, "" if there is none, and its facts."""


def _line_fault(answer: BugLine, text: str, texts: Texts) -> Fault:
    match, length = _LINE.fullmatch(text), len(texts.stub.splitlines())
    if not match:
        return "unreadable", {}
    named = int(match[1])
    if not 1 <= named <= length:
        return "outside", {"named": named, "length": length}
    right = named in bug_lines(answer, texts.stub) or (texts.passes and named in changed_lines(texts.text, texts.stub))
    return ("", {}) if right else ("elsewhere", {"named": named})


def _word_fault(text: str, counted: Counted) -> Fault:
    match = _WORD.fullmatch(text)
    word = match[1].lower() if match else ""
    if word not in LIMITS:
        return "no_limit", {"words": ", ".join(LIMITS)}
    return ("", {}) if word == limit_of(counted.given) else ("other_limit", {"word": word})


def _number_fault(answer: Forecast, text: str, counted: Counted) -> Fault:
    match = _NUMBER.fullmatch(text)
    if not match:
        return "no_number", {}
    predicted, count = float(match[1]), _count(answer, counted)
    # A whole count has no digits to round: its neighbours are other answers.
    rounding = 0.0 if count.is_integer() else typed_rounding(match[1])
    right = abs(predicted - count) <= max(answer.tolerance * abs(count), rounding)
    what = f"{answer.counter} per {answer.per}" if answer.per else answer.counter
    return ("", {}) if right else ("other_count", {"counter": what, "predicted": match[1]})


def _count(answer: Forecast, counted: Counted) -> float:
    return total(answer.counter, counted.changed) / per(Expect(answer.counter, per=answer.per), counted.size)


def limit_of(launches: Sequence[LaunchRecord]) -> str:
    """The word of `LIMITS` with the longest time, in clocks of the whole device."""
    clocks = {word: total(counter, launches) / rate for word, (counter, rate) in LIMITS.items()}
    return max(clocks, key=lambda word: clocks[word])


def found_note(every: Sequence[Judged], file: str) -> Finding | None:
    """The note for a kernel that still fails, beside a right line; None if the line is not right."""
    right = [one.result for one in every if one.right and one.result is not None and one.result.key == "bug"]
    return Finding("bug_found", file=file, line=right[0].line) if right else None


# --------------------------------------------------------------------------------------------------- the changed lines

_ALWAYS_CODE = re.compile(r"//[ \t]*(launch|passes|scratch|zero|constant)\b")


def changed_lines(text: str, stub: str) -> range:
    """The lines of the stub that a file changes, if its only difference is one line of a function; else none.

    Of a new line these are the lines beside its place. What stands outside of all functions is no part of the kernel.
    """
    own, given = (_code_lines(one) for one in (text, stub))
    first = next(
        (at for at, (a, b) in enumerate(zip(own, given, strict=False)) if a[1] != b[1]), min(len(own), len(given))
    )
    rest_of_own, rest = own[first:], given[first:]
    while rest_of_own and rest and rest_of_own[-1][1] == rest[-1][1]:
        rest_of_own, rest = rest_of_own[:-1], rest[:-1]
    if max(len(rest_of_own), len(rest)) != 1 or any(line.startswith("#") for _, line in (*rest_of_own, *rest)):
        return range(0)
    before = "".join(line for _, line in given[:first] if not line.startswith("//"))
    if before.count("{") <= before.count("}"):
        return range(0)
    if rest:
        return range(rest[0][0], rest[0][0] + 1)
    above = given[first - 1][0] if first else 1
    return range(above, (given[first][0] if first < len(given) else len(stub.splitlines())) + 1)


def _code_lines(text: str) -> list[tuple[int, str]]:
    """The lines of code with their numbers, without comments and blanks; lines for the grader are code."""
    # Not splitlines(): in a comment it also ends lines at characters that become blanks.
    both = zip(text.split("\n"), without_comments(text).split("\n"), strict=True)
    kept = (line if _ALWAYS_CODE.match(line.strip()) else code for line, code in both)
    return [(number, "".join(line.split())) for number, line in enumerate(kept, 1) if line.strip()]


# --------------------------------------------------------------------------------------------- the exercise's own lines


def bug_lines(answer: BugLine, stub: str) -> frozenset[int]:
    """The lines of the stub that count. Each text of ``answer`` must be in one line only: see `faults`."""
    lines = stub.splitlines()
    return frozenset(number for place in answer.lines for number in _numbers(place, lines))


def _numbers(place: str | tuple[str, str], lines: Sequence[str]) -> range:
    first, last = (place, place) if isinstance(place, str) else place
    begins, ends = ([n for n, line in enumerate(lines, 1) if text in line] for text in (first, last))
    return range(begins[0], ends[0] + 1) if begins and ends else range(0)


def faults(answers: Sequence[Answer], stub: str) -> Iterator[str]:
    """What is wrong with an exercise's answers: a text in no line of the stub, or in several; no place to write."""
    for answer in answers:
        key = KEYS[type(answer)]
        marks = [match for match in _COMMENT.finditer(stub) if match[1] == key]
        if isinstance(answer, BugLine):
            yield from _line_faults(answer, stub)
        if isinstance(answer, Forecast) and "#ifdef CHANGED" not in stub:
            yield "the stub has no `#ifdef CHANGED`, which a forecast is about"
        if not any(match[2].strip().startswith(PLACEHOLDER) for match in marks):
            yield f"no line `// {key}: ?` says where the answer is written"


def _line_faults(answer: BugLine, stub: str) -> Iterator[str]:
    lines = stub.splitlines()
    for text in (text for place in answer.lines for text in ((place,) if isinstance(place, str) else place)):
        count = sum(text in line for line in lines)
        if count != 1:
            yield f"{text!r} of answers is in {count} lines of the stub; it must be in one"
    if not answer.lines or not bug_lines(answer, stub):
        yield "answers name no line of the stub"
