"""Statement, hints and interview page: are they there, and does the statement say what the exercise does?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.dev.problem import Problem
from grader.gpus.pass_lines import REFERENCE, with_line
from grader.verdict import STAGES, VERDICTS

HINTS = QUESTIONS = 2
"""The least number of hints, and of interview questions with answers."""

_HINT = re.compile(r"^(?:## (\d+)\b.*|(\d+)\. .*)$", re.MULTILINE)
_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(")
_ASKED = re.compile(r"at (?:least|most) (\d+(?:\.\d+)?)(?!\d|\.\d)")
_FRACTION = re.compile(r"\b0\.\d+\b")


def text_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield what is missing in the three texts of an exercise, and what in its statement is not so."""
    for path, check in ((entry.statement, _statement), (entry.hints, _hints), (entry.interview, _interview)):
        text = _read(path)
        messages = check(entry, text) if text.strip() else ("it is missing, or empty",)
        yield from (Problem(path.name, message) for message in messages)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


# -------------------------------------------------------------------------------------------------- hints and interview


def _hints(_: CourseExercise, text: str) -> Iterator[str]:
    """Hints are ``## 1``, ``## 2`` … or a numbered list, each with words."""
    found = list(_HINT.finditer(text))
    numbers = [int(match[1] or match[2]) for match in found if match[1] or not _under_heading(found)]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the hints are numbered {', '.join(map(str, numbers))}, not 1, 2, 3 …"
    if len(numbers) < HINTS:
        yield f"{_counted(len(numbers), 'hint')}; an exercise has {HINTS} or more, each a step further than the last"
    yield from (f"hint {title} is empty" for title, body in _sections(text) if not body.strip())


def _under_heading(found: list[re.Match[str]]) -> bool:
    """Whether the file uses headings; a numbered list inside a hint is then no hint."""
    return any(match[1] for match in found)


def _interview(_: CourseExercise, text: str) -> Iterator[str]:
    """A question is a heading, its answer what stands below it."""
    sections = _sections(text)
    if len(sections) < QUESTIONS:
        yield f"{_counted(len(sections), 'question')}; an exercise has {QUESTIONS} or more, with answers"
    for title, body in sections:
        if not re.sub(r"^#+ .*$", "", body, flags=re.MULTILINE).strip():
            yield f"the question {title!r} has no answer"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _sections(text: str) -> list[tuple[str, str]]:
    """Return title and body of each ``##`` section."""
    parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


# ------------------------------------------------------------------------------------------------------------ statement


def _statement(entry: CourseExercise, text: str) -> Iterator[str]:
    if not text.startswith(f"# {entry.name}\n"):
        yield f"it does not begin with `# {entry.name}`"
    tables = list(_tables(text))
    for header, rows in tables:
        if header[:2] == ["parameter", "type"] and not entry.exercise.host:
            yield from _parameters(entry, rows)
        elif header[0] == "stage":
            yield from _graded(entry, rows)
        elif header[0] == "report":
            yield from _reports(entry, rows)


def _tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield each Markdown table: its header's cells, and its rows."""
    for block in re.findall(r"(?:^\|.*\|[ \t]*\n){2,}", text + "\n", flags=re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in block.splitlines()]
        yield rows[0], rows[2:]


def _parameters(entry: CourseExercise, rows: list[list[str]]) -> Iterator[str]:
    """A row says what some kernel of the stub declares, and every parameter has a row."""
    declared = _declared(entry.stub)
    told = {(re.sub(r"\s", "", row[1].strip("`")), name) for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    for kind, name in sorted(told - declared):
        yield f"the parameter `{name}` of type `{kind}` is in no kernel of the stub"
    for kind, name in sorted(declared - told):
        yield f"the stub's parameter `{name}` of type `{kind}` is not in the table of parameters"


def _declared(stub: Path) -> set[tuple[str, str]]:
    """Return (type without blanks, name) of every kernel parameter of a file."""
    from grader.launch.source import read_source, signature

    source = read_source(_read(stub), stub.name)
    parameters = [text for kernel in _KERNEL.findall(source.code) for text in signature(source, kernel)]
    split = (re.fullmatch(r"(.*?)(\w+)", text.replace("__restrict__", "")) for text in parameters)
    return {(re.sub(r"\s", "", match[1]), match[2]) for match in split if match}


def _graded(entry: CourseExercise, rows: list[list[str]]) -> Iterator[str]:
    """The table of stages: known words, and the figures of exercise.py."""
    told = {row[0]: row[-1] for row in rows}
    yield from (f"there is no stage {name!r}" for name in told if name not in STAGES)
    asked = {value for e in entry.graded.technique for value in (e.at_least, e.at_most) if value is not None}
    for figure in _ASKED.findall(told.get("technique", "")):
        if float(figure) not in asked:
            yield f"it asks for {figure} under technique, which exercise.py does not"
    target = with_line(entry.exercise, REFERENCE).target
    for figure in _FRACTION.findall(told.get("fast", ""))[:1]:
        if target is None or float(figure) != target.fraction:
            yield f"its pass line is {figure}, that on an H200 {target.fraction if target else 'none'}"
    if "secret" in told.get("correct", "") and not entry.exercise.secret:
        yield "it speaks of secret sizes, of which exercise.py has none"
    if entry.graded.technique and "technique" not in told:
        yield "it does not say what technique is graded"


def _reports(entry: CourseExercise, rows: list[list[str]]) -> Iterator[str]:
    """The table of reports: each row begins with a verdict word that this exercise can get."""
    for row in rows:
        word = (re.findall(r"`(\w+)`", row[0]) or [row[0]])[0]
        if word not in VERDICTS:
            yield f"{word!r} is no verdict word"
        elif word == "technique" and not entry.graded.technique:
            yield "it explains the verdict `technique`, which this exercise does not give"
        elif word == "slow" and entry.exercise.target is None:
            yield "it explains the verdict `slow`, which this exercise does not give"
