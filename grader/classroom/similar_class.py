"""Comparing a class's submissions: what was handed out, the PTX of each, and the pairs of each exercise.

A source is split into tokens here, by linear expressions; its PTX is made in the compile child, as for grading. Without
Landlock no submission of a class is compiled: then only tokens are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from os import cpu_count
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.variants import entry_with
from grader.classroom.records import ClassSubmission, ComparedExercise
from grader.classroom.similar import PTX, TOKENS, Token, Work, closest, compared, handed_out, ptx_tokens, source_tokens
from grader.errors import WarpgradeError
from grader.frozen import dataclass

NAME = "submission.cu"  # of every compiled source, so that equal ones are compiled once
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SIGN = re.compile(r"^[+-]", re.MULTILINE)


@dataclass(frozen=True)
class SubmittedText:
    """A submission with the text that is compared: the .cu, or the Python file of a host exercise."""

    submission: ClassSubmission
    text: str

    @property
    def key(self) -> str:
        return self.submission.key


def compare_exercise(
    catalog: Catalog, entry: CourseExercise, submitted: Sequence[SubmittedText], *, with_ptx: bool = True
) -> ComparedExercise:
    """Compare all submissions of one exercise; of two students' pairs the closest counts."""
    python = entry.exercise.host
    student_of = {one.key: one.submission.student for one in submitted}
    works = [Work(student_of[one.key], one.key, source_tokens(one.text, python=python)) for one in submitted]
    given = handed_out(handed_out_tokens(catalog, entry), TOKENS)
    found = compared(entry.name, works, given, TOKENS)
    pairs, small = [*found.pairs], set(found.too_small)
    if with_ptx and not python:
        target = entry.exercise.requires if entry.exercise.requires > "sm_80" else "sm_80"
        texts = [stub_text(entry), *earlier_solutions(catalog, entry)]
        instructions = _compiled([*texts, *(one.text for one in submitted)], target, entry.header_texts)
        given = handed_out(instructions[: len(texts)], PTX)
        works = [
            Work(student_of[one.key], one.key, tokens)
            for one, tokens in zip(submitted, instructions[len(texts) :], strict=True)
        ]
        found = compared(entry.name, works, given, PTX)
        pairs += found.pairs
        small &= set(found.too_small)
    too_small = tuple(one.key for one in submitted if one.key in small)
    groups = identical(submitted, {stub_text(entry)})
    repeated = {key for group in groups for key in group[1:]}
    pairs = [pair for pair in pairs if not {pair.first, pair.second} & repeated]
    students = len(set(student_of.values()))
    return ComparedExercise(entry.name, students, len(submitted), too_small, closest(pairs, student_of), groups)


def identical(submitted: Sequence[SubmittedText], handed_out: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of the same text by different students; a text that was handed out is no group."""
    groups: dict[str, dict[str, str]] = {}  # the keys by student, by text
    for one in submitted:
        groups.setdefault(one.text, {}).setdefault(one.submission.student, one.key)
    return tuple(tuple(keys.values()) for text, keys in groups.items() if len(keys) > 1 and text not in handed_out)


def texts_of(
    folder: Path, submissions: Iterable[ClassSubmission], entry: CourseExercise, missing: Callable[[str], None]
) -> list[SubmittedText]:
    """The texts of an exercise's submissions, each once; ``missing`` is told the path of a file that cannot be read."""
    from grader.compile import read_submission

    ending = ".py" if entry.exercise.host else ".cu"
    found: dict[str, SubmittedText] = {}
    for one in submissions:
        path = next((file.path for file in one.files if file.path.endswith(ending)), None)
        if one.exercise != entry.name or path is None:
            continue
        try:
            text = read_submission(folder / path).decode("utf-8", "replace")
        except WarpgradeError:
            missing(path)
            continue
        found.setdefault(one.key, SubmittedText(one, text))
    return list(found.values())


def _compiled(texts: Sequence[str], target: str, headers: Mapping[str, str]) -> list[tuple[Token, ...]]:
    """The instructions of each source, compiled on all processors."""
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        return list(pool.map(lambda text: ptx_tokens_of(text, target, headers), texts))


def ptx_tokens_of(text: str, target: str, headers: Mapping[str, str]) -> tuple[Token, ...]:
    """The instructions of a source, which is compiled in a child; () if it does not compile."""
    from grader.compile import compile_source

    with suppress(WarpgradeError):
        return ptx_tokens(compile_source(text.encode(), NAME, target=target, headers=headers).ptx, NAME)
    return ()


# -------------------------------------------------------------------------------------------------- what was handed out


def handed_out_tokens(catalog: Catalog, entry: CourseExercise) -> list[tuple[Token, ...]]:
    """The tokens of what every student has: stub, code in the statement and the hints, solutions of earlier steps."""
    paths = (entry.statement, entry.hints, entry.shared_page)
    pages = [path.read_text("utf-8") for path in paths if path is not None and path.is_file()]
    code = [_SIGN.sub("", block) for page in pages for block in _FENCE.findall(page)]
    others = (entry_with(entry, variant.name) for variant in entry.exercise.variants)
    stubs = [stub_text(entry), *map(stub_text, others)]
    texts = (*stubs, *code, *earlier_solutions(catalog, entry))
    return [source_tokens(text, python=entry.exercise.host) for text in texts]


def stub_text(entry: CourseExercise) -> str:
    path = entry.host_file if entry.exercise.host else entry.stub
    return path.read_text("utf-8") if path is not None and path.is_file() else ""


def earlier_solutions(catalog: Catalog, entry: CourseExercise) -> Iterator[str]:
    """The solutions of the steps before this one on its ladder."""
    for step in catalog.ladder(entry):
        path = step.solution_host_file if entry.exercise.host else step.solution
        if step.number < entry.number and path is not None:
            yield path.read_text("utf-8")
