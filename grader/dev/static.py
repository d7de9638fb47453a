"""Checks of an exercise that need no grading.

- exercise.py: its counters, oracle, trusted check and ceilings exist, and its comparison passes its self-test
- the stub: it is the solution minus lines
- statement, hints and interview page: they exist, and the statement agrees with exercise.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.catalog.courses import CourseExercise, built_in_course
from grader.dev.markdown import cuts
from grader.dev.report import Problem
from grader.dev.statement import form_of, has_form
from grader.errors import UsageError, WarpgradeError
from grader.text import counted
from grader.timing.pass_lines import REFERENCE, lines_on, with_line
from grader.verdict import STAGES, VERDICTS

OWN_REFERENCE_TIME = ("overlap", "launches")
"""Units of host exercises whose ceiling is measured with the exercise's own kernel; see `baselines`."""

MOST_WORDS = 15  # of the idea, which has to fit into a line of `grade list`

MARKER = "YOUR CODE"
"""Marks the comment where the student writes; such a line need not be in the solution."""

HINTS = QUESTIONS = 2
"""The minimum number of hints, and of interview questions with answers."""

_HINT = re.compile(r"^(?:## (\d+)\b.*|(\d+)\. .*)$", re.MULTILINE)
_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(")
_LIMIT = re.compile(r"at (?:least|most) (\d+(?:\.\d+)?)(?!\d|\.\d)")
_FRACTION = re.compile(r"\b0\.\d+\b")


# --------------------------------------------------------------------------------------------------------- exercise.py


def fact_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield the problems of the exercise's literal, beyond those found when it is loaded."""
    for check in (_idea, _technique, _target, _large, _comparison):
        try:
            yield from (Problem("exercise.py", message) for message in check(entry))
        except WarpgradeError as error:
            yield Problem("exercise.py", error.message)


def _idea(entry: CourseExercise) -> Iterator[str]:
    words = entry.exercise.idea.split()
    if not 1 <= len(words) <= MOST_WORDS:
        yield f"the idea has {len(words)} words; it must have 1 to {MOST_WORDS}, for one line of a list"
    if sum(entry.exercise.points) != 100:
        yield f"the points add up to {sum(entry.exercise.points)}, not 100"


def _technique(entry: CourseExercise) -> Iterator[str]:
    from grader.counters import HOST_COUNTERS, KERNEL_COUNTERS

    for size in entry.exercise.counted:
        if size not in entry.exercise.small:
            yield f"the size {dict(size)} is counted, but is none of the small ones"
    for expect in entry.exercise.technique:
        if expect.counter not in KERNEL_COUNTERS and expect.counter not in HOST_COUNTERS:
            yield f"there is no counter {expect.counter!r}"
        elif expect.counter in HOST_COUNTERS and not entry.exercise.host:
            yield f"{expect.counter} is a counter of host files, and the exercise has none"
        place = f"the expectation on {expect.counter}"
        if (expect.at_least is None) == (expect.at_most is None):
            yield f"{place} needs either at_least or at_most"
        if not expect.why:
            yield f"{place} has no why: it must say why it matters"
        elif not expect.hint:
            yield f"{place} has no hint"


def _target(entry: CourseExercise) -> Iterator[str]:
    from grader.backends.gpu.hostfile.baselines import LINKS
    from grader.backends.gpu.reference import find

    exercise, target = entry.exercise, entry.exercise.target
    if target is None:
        return
    if exercise.timed is None:
        yield "it has a target, but no timed size"
    for name in exercise.compared:
        if name != "stub" and not (entry.folder / name).is_file():
            yield f"there is no {name}, which would be timed beside the solution"
    if target.fraction and not target.note:
        yield "the target's note does not say where the pass line comes from"
    yield from _line(entry)
    if target.of == "ceiling" and not target.ceiling and target.unit not in OWN_REFERENCE_TIME:
        yield "the target is a fraction of a ceiling, but does not name one"
    links = LINKS if exercise.host else ()
    if target.ceiling not in ("", *links) and find(entry.course, "ceilings", "CEILINGS", target.ceiling) is None:
        yield f"there is no ceiling {target.ceiling!r}"
    if not exercise.host and find(entry.course, "device", "CHECKS", exercise.checker or exercise.oracle) is None:
        yield f"no trusted check on the device for {exercise.checker or exercise.oracle!r}"


def _line(entry: CourseExercise) -> Iterator[str]:
    """Problems of the pass line, which is in a profile or in the target, and of the solution's speed."""
    target = entry.exercise.target
    assert target is not None
    line = lines_on(REFERENCE).get(entry.name)
    if line is None and not target.fraction and not target.unlined:
        yield "it has no pass line: `grade calibrate` on a GPU, or a fraction in its target"
    if line is not None and line.of != target.of:
        yield f"its line is a fraction of the {line.of}, its target a fraction of the {target.of}: calibrate it again"
    if line is not None and line.solution < target.reach and not target.note:
        yield f"the solution reached {line.solution:g}, not {target.reach:g}, and the target's note does not say why"


def _large(entry: CourseExercise) -> Iterator[str]:
    """The problems of the large case, whose data must differ at a distance of 2^31 and 2^32 elements or bytes."""
    from grader.inputs import element_bytes, element_count

    exercise, large = entry.exercise, entry.exercise.large
    if large is None:
        return
    counts = {
        a: (element_count(a, large.size), element_count(a, {**large.size, **large.period})) for a in exercise.arrays
    }
    if max(count for count, _ in counts.values()) <= 2**31:
        yield "no array of the large size has more than 2^31 elements"
    for array, (count, period) in counts.items():
        if count * element_bytes(array) > 2**31 and 2**32 % (period * element_bytes(array)) == 0:
            yield f"{array.name} repeats after a power of 2: take an odd number of rows"


def _comparison(entry: CourseExercise) -> Iterator[str]:
    """The problems of the oracle, and of the comparison, which must reject typical wrong results."""
    from grader.catalog.courses import resolve_reference
    from grader.compare import self_test

    oracle = resolve_reference(entry.exercise.oracle, entry.course)
    yield from self_test(entry.exercise, entry.exercise.simulated, oracle)


# --------------------------------------------------------------------------------------------------- stub and solution


def source_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield the problems of the stub and the host file, compared with the solution."""
    if not entry.stub.is_file():
        yield Problem(entry.stub.name, "the stub is missing")
    elif entry.exercise.answers:
        yield from answer_problems(entry)
    elif entry.solution is not None and not (entry.exercise.host and _given(entry.stub, entry.solution)):
        yield from pair_problems(entry.stub, entry.solution)
    for path in sorted(entry.folder.glob("*.cuh")):
        if path not in entry.headers:
            yield Problem(path.name, "this header is not in headers= of exercise.py: nobody gets it")
    for path in entry.headers:
        if entry.stub.is_file() and f'#include "{path.name}"' not in entry.stub.read_text(encoding="utf-8"):
            yield Problem(entry.stub.name, f"the stub does not include {path.name}")
    if entry.exercise.host:
        if entry.host_file is None:
            yield Problem(f"{entry.name}_host.py", "the host file is missing")
        elif entry.solution is not None and entry.solution_host_file is None:
            yield Problem(f"{entry.name}_host.py", "the solution has no host file")
        elif entry.solution_host_file is not None and (
            _given(entry.stub, entry.solution) or not _given(entry.host_file, entry.solution_host_file)
        ):
            yield from pair_problems(entry.host_file, entry.solution_host_file)


def answer_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield the problems of a stub with a bug: it is not the solution minus lines, and has the places that count."""
    from grader.grading.answers import faults

    stub = _read(entry.stub)
    yield from (Problem(entry.stub.name, message) for message in faults(entry.exercise.answers, stub))
    solution = _read(entry.solution) if entry.solution is not None else ""
    if MARKER not in stub or MARKER in solution:
        yield Problem(entry.stub.name, f"the stub has a `{MARKER}`, and the solution has none")


def _given(stub: Path, solution: Path | None) -> bool:
    """Whether a file of a host exercise is given complete: then the student changes only the other file."""
    return solution is not None and stub.is_file() and stub.read_bytes() == solution.read_bytes()


def pair_problems(stub: Path, solution: Path) -> Iterator[Problem]:
    """Yield the differences of ``stub`` from ``solution`` with lines removed and markers added."""
    stubbed, solved = (
        [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()] for path in (stub, solution)
    )
    if not any(MARKER in line for line in stubbed):
        yield Problem(stub.name, f"no `{MARKER}` says where to write")
    if any(MARKER in line for line in solved):
        yield Problem(stub.name, f"the solution still has a `{MARKER}`")
    given = [line for line in stubbed if line and MARKER not in line]
    extra = first_foreign(given, solved)
    if extra is not None:
        number = stubbed.index(extra) + 1
        yield Problem(stub.name, f"line {number} is not in the solution, or not in this order: {extra.strip()!r}")
    elif len(given) >= len([line for line in solved if line]):
        yield Problem(stub.name, "the stub is the whole solution")


def first_foreign(lines: list[str], among: list[str]) -> str | None:
    """Return the first of ``lines`` that is not in ``among`` after the lines before it; None if all are."""
    remaining = iter(among)
    return next((line for line in lines if line not in remaining), None)


# --------------------------------------------------------------------------------------------------------------- texts


def text_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield the problems of an exercise's statement, hints and interview page: missing parts, false statements."""
    for path, check in ((entry.statement, _statement), (entry.hints, _hints), (entry.interview, _interview)):
        text = _read(path)
        messages = check(entry, text) if text.strip() else ("it is missing, or empty",)
        yield from (Problem(path.name, message) for message in messages)
        yield from (Problem(path.name, f"line {line}: {message}") for line, message in cuts(text))


def form_problems(entry: CourseExercise) -> tuple[list[Problem], list[Problem], str]:
    """The statement against the form: problems, advice, and its counts if it has the form.

    The built-in course keeps to the form wherever a statement has it. Other courses write as they like, and have no
    `scripts/docs`: they get advice, which fails no check.
    """
    text = _read(entry.statement)
    form, formed = form_of(text), has_form(text)
    found = [*form.too_many, *((*form.parts, *_predictable(entry, text)) if formed else ())]
    counts = f"{entry.statement.name}: {form.counts()}" if formed else ""
    if entry.course != built_in_course():
        return [], [Problem(entry.statement.name, message) for message in found], counts
    broken = [*found, *form.unproven] if formed else []
    return [Problem(entry.statement.name, message) for message in broken], [], counts


def _predictable(entry: CourseExercise, text: str) -> Iterator[str]:
    """The problems of the counters that the statement asks to predict: `grade NAME --predict` must know them."""
    from grader.catalog.statements import asked_counters
    from grader.grading.predictions import read_predictions

    counters = asked_counters(text)
    if not counters:
        yield 'its part "Predict" names no counter'
    for counter in counters:
        try:
            read_predictions([(counter, "0")], entry)
        except UsageError as error:
            yield f'its part "Predict": {error.message}'


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _hints(_: CourseExercise, text: str) -> Iterator[str]:
    """Hints are ``## 1``, ``## 2`` … or a numbered list, each with words."""
    matches = list(_HINT.finditer(text))
    has_headings = any(match[1] for match in matches)  # then a numbered list is part of a hint
    numbers = [int(match[1] or match[2]) for match in matches if match[1] or not has_headings]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the hints are numbered {', '.join(map(str, numbers))}, not 1, 2, 3 …"
    if len(numbers) < HINTS:
        yield f"{counted(len(numbers), 'hint')}; an exercise needs {HINTS} or more, each going further than the last"
    yield from (f"hint {title} is empty" for title, body in _sections(text) if not body.strip())


def _interview(_: CourseExercise, text: str) -> Iterator[str]:
    """A question is a heading, its answer the text below it."""
    sections = _sections(text)
    if len(sections) < QUESTIONS:
        yield f"{counted(len(sections), 'question')}; an exercise needs {QUESTIONS} or more, with answers"
    for title, body in sections:
        if not re.sub(r"^#+ .*$", "", body, flags=re.MULTILINE).strip():
            yield f"the question {title!r} has no answer"


def _sections(text: str) -> list[tuple[str, str]]:
    """Return title and body of each ``##`` section."""
    parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def _statement(entry: CourseExercise, text: str) -> Iterator[str]:
    if not text.startswith(f"# {entry.name}\n"):
        yield f"it does not begin with `# {entry.name}`"
    for table in re.findall(r"(?:^\|.*\|[ \t]*\n){2,}", text + "\n", flags=re.MULTILINE):
        cells = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in table.splitlines()]
        header, rows = cells[0], cells[2:]
        if header[:2] == ["parameter", "type"] and not entry.exercise.host:
            yield from _parameters(entry, rows)
        elif header[0] == "stage":
            yield from _graded(entry, rows)
        elif header[0] == "report":
            yield from _reports(entry, rows)


def _parameters(entry: CourseExercise, rows: list[list[str]]) -> Iterator[str]:
    """Every row must be a parameter of a kernel in the stub, and every parameter must have a row."""
    declared = _declared(entry.stub)
    rows_say = {(re.sub(r"\s", "", row[1].strip("`")), name) for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    for kind, name in sorted(rows_say - declared):
        yield f"no kernel of the stub has the parameter `{name}` of type `{kind}`"
    for kind, name in sorted(declared - rows_say):
        yield f"the stub's parameter `{name}` of type `{kind}` is not in the table of parameters"


def _declared(stub: Path) -> set[tuple[str, str]]:
    """Return (type without blanks, name) of every kernel parameter of a file."""
    from grader.launch.source import read_source, signature

    source = read_source(_read(stub), stub.name)
    parameters = [text for kernel in _KERNEL.findall(source.code) for text in signature(source, kernel)]
    split = (re.fullmatch(r"(.*?)(\w+)", text.replace("__restrict__", "")) for text in parameters)
    return {(re.sub(r"\s", "", match[1]), match[2]) for match in split if match}


def _graded(entry: CourseExercise, rows: list[list[str]]) -> Iterator[str]:
    """The table of stages must have known stages and the figures of exercise.py."""
    stages = {row[0]: row[-1] for row in rows}
    yield from (f"there is no stage {name!r}" for name in stages if name not in STAGES)
    limits = {value for e in entry.graded.technique for value in (e.at_least, e.at_most) if value is not None}
    for figure in _LIMIT.findall(stages.get("technique", "")):
        if float(figure) not in limits:
            yield f"it requires {figure} under technique, but exercise.py does not"
    target = with_line(entry.exercise, REFERENCE).target
    for figure in _FRACTION.findall(stages.get("fast", ""))[:1]:
        if target is None or float(figure) != target.fraction:
            line = f"is {target.fraction}" if target else "does not exist"
            yield f"it says that the pass line is {figure}; the line on an H200 {line}"
    if "secret" in stages.get("correct", "") and not entry.exercise.secret:
        yield "it mentions secret sizes, but exercise.py has none"
    if ("slices" in stages.get("correct", "")) != any(array.slices for array in entry.exercise.arrays):
        yield "the row of `correct` mentions slices if, and only if, exercise.py has arrays that may be slices"
    if entry.graded.technique and "technique" not in stages:
        yield "it does not say which technique is graded"


def _reports(entry: CourseExercise, rows: list[list[str]]) -> Iterator[str]:
    """Each row of the table of reports must begin with a verdict word that this exercise can get."""
    for row in rows:
        word = (re.findall(r"`(\w+)`", row[0]) or [row[0]])[0]
        if word not in VERDICTS:
            yield f"{word!r} is not a verdict word"
        elif word == "technique" and not (entry.graded.technique or entry.exercise.answers):
            yield "it explains the verdict `technique`, which this exercise does not give"
        elif word == "slow" and entry.exercise.target is None:
            yield "it explains the verdict `slow`, which this exercise does not give"
