"""The commands ``grade dev new``, ``move``, ``wrong`` and ``check``, for authors of exercises."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.catalog.courses import Course, CourseExercise, built_in_course, course_at, exercise_files
from grader.catalog.edits import BadEdit
from grader.catalog.exercises import load_catalog
from grader.cli.course import find, load
from grader.cli.routing import reserved
from grader.dev.report import Problem
from grader.dev.wrong import refresh, write_edit, wrong_answer, wrong_answers
from grader.errors import UsageError
from grader.grading.advice import shown
from grader.output import print_line, print_text, say


def make_exercise(name: str, chapter: str, folder: Path | None) -> int:
    """Write a new exercise into ``folder``, else into the clone that contains this package."""
    from grader.dev.new import new_exercise

    if name in reserved():
        raise UsageError(f"{name!r} is a command", code="bad_name", hint="give the exercise another name")
    course = _course(folder)
    catalog = load_catalog((folder,) if folder is not None and exercise_files(course.exercises) else ())
    existing = [entry for entry in catalog.exercises if entry.course == course]
    for path in new_exercise(name, chapter, course, existing):
        print_line(f"  {shown(path)}")
    option = f" --course {shown(folder)}" if folder is not None else ""
    print_line("")
    say(
        "It adds two arrays, and passes its check. Change it into your exercise; "
        f"`grade dev check {name}{option}` checks it again."
    )
    return 0


def _of_a_clone() -> Course:
    """The built-in course of a clone. Raises UsageError for an installed package's, which nobody should change."""
    course = built_in_course()
    if "_course" in course.exercises.parts:
        hint = "--course DIR names your own folder"
        raise UsageError("the built-in course is inside the installed package", code="bad_course", hint=hint)
    return course


def _course(folder: Path | None) -> Course:
    """The course at ``folder``, which may be new or empty; without one, the built-in course of a clone."""
    if folder is None:
        return _of_a_clone()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", code="bad_course", hint="--course names a folder")
    if exercise_files(folder) or exercise_files(folder / "exercises"):
        return course_at(folder)
    root = folder.resolve()
    return Course(root / "exercises", root / "solutions", root / "kernels_ref")


def move_exercise(name: str, to: str | None, courses: Sequence[Path], *, gone: bool, version: int) -> int:
    """Rename a step and write its move into ``course.toml``; with ``gone``, write only that it is gone."""
    from grader.dev.move import move_step

    if gone == (to is not None):
        raise UsageError("give either the new name or --gone", code="usage")
    if to in reserved():
        raise UsageError(f"{to!r} is a command", code="bad_name", hint="give the exercise another name")
    catalog = load(courses)
    entry = find(catalog, name)
    if entry.course == built_in_course():
        _of_a_clone()
    existing = [other for other in catalog.exercises if other.course == entry.course]
    for path in move_step(entry, to, version, existing):
        print_line(f"  {shown(path)}")
    print_line("")
    if to is None:
        say(f"Older passes of {entry.name} count for no step. Now delete {shown(entry.folder)} and its solution.")
    else:
        say(f"{entry.name} is {to} now. Change its `order`; `git grep -w {entry.name}` shows where else it is named.")
    return 0


# ------------------------------------------------------------------------------------------------------- wrong answers


def list_wrong(entry: CourseExercise) -> int:
    """Print each wrong answer with its expected verdict and reason; exit 1 if one of them cannot be read."""
    answers, problems = wrong_answers(entry)
    for answer in answers:
        words = answer.expectation.words
        expected = " ".join(sorted({f"{on}={word}" for on, word in words.items()}, reverse=True))
        print_line(f"{answer.path.name:<32} {expected}\n    {answer.expectation.reason}")
    for problem in problems:
        print_line(str(problem), to_stderr=True)
    return 1 if problems else 0


def print_wrong(entry: CourseExercise, name: str, into: Path | None) -> int:
    """Print the files that are graded for a wrong answer, or write them ``into`` a folder. Raises UsageError."""
    try:
        answer = wrong_answer(entry, name)
    except FileNotFoundError:
        hint = f"`grade dev wrong {entry.name}` lists them"
        raise UsageError(f"{entry.name} has no wrong answer {name!r}", code="not_found", hint=hint) from None
    except BadEdit as error:
        raise UsageError(f"{shown(entry.folder / 'wrong')}: {name}: {error}", code="bad_wrong_answer") from None
    if into is None:
        for file, text in answer.texts.items():
            print_text(text if len(answer.texts) == 1 else f"==> {file} <==\n{text}")
        return 0
    try:
        into.mkdir(parents=True, exist_ok=True)
        paths = answer.put(into)
    except OSError as error:
        raise UsageError(f"cannot write to {into}: {error.strerror}", code="cannot_write") from None
    for path in paths:
        print_line(shown(path))
    return 0


def edit_wrong(entry: CourseExercise, name: str, files: Sequence[Path]) -> int:
    """Write a wrong answer's edit from whole files. Raises UsageError."""
    if not re.fullmatch(r"\w+", name):
        raise UsageError(f"a wrong answer cannot be called {name!r}", code="bad_name", hint="use letters, digits and _")
    try:
        written = write_edit(entry, name, files)
    except BadEdit as error:
        raise UsageError(str(error), code="bad_wrong_answer") from None
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}", code="unreadable") from None
    print_line(shown(written))
    return 0


def refresh_wrong(entry: CourseExercise) -> int:
    """Adapt the edits of an exercise to its changed solution; exit 1 if one of them no longer fits."""
    rewritten, problems = refresh(entry)
    for path in rewritten:
        print_line(shown(path))
    for problem in problems:
        print_line(str(problem), to_stderr=True)
    if not rewritten and not problems:
        print_line("Every edit fits the current solution.")
    return 1 if problems else 0


# --------------------------------------------------------------------------------------------------------- dev variant


def author_variant(entry: CourseExercise, name: str | None, into: Path | None, edit: Path | None) -> int:
    """List the variants, write the texts of one into a folder, or make its edit from them. Raises UsageError."""
    from grader.dev.variants import put_texts, variant_problems, write_variant

    if name is None:
        for variant in entry.exercise.variants:
            print_line(f"{variant.name:<16} {variant.task}")
        return 0
    problems: list[Problem] = []
    paths: Sequence[Path] = ()
    try:
        if edit is not None:
            paths = (write_variant(entry, name, edit),)
        elif into is not None:
            paths, problems = put_texts(entry, name, into)
    except BadEdit as error:
        raise UsageError(f"{entry.name}, variant {name}: {error}", code="bad_variant") from None
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}", code="unreadable") from None
    for path in paths:
        print_line(shown(path))
    problems = problems if into is not None else [*variant_problems(entry, name)]
    for problem in problems:
        print_line(str(problem), to_stderr=True)
    return 1 if problems else 0


# ----------------------------------------------------------------------------------------------------------- dev check


def run_check(names: Sequence[str], courses: Sequence[Path], *, gpu: bool, device: int, minutes: float | None) -> int:
    """Check the course; the exit code is that of `grader.dev.check.run`."""
    from grader.dev.check import run

    catalog = load(courses)
    built_in = built_in_course().exercises
    chosen = [entry for entry in catalog.exercises if not courses or entry.course.exercises != built_in]
    broken = [entry for entry in catalog.broken if not courses or built_in not in entry.path.parents]
    if names:
        chosen, broken = [find(catalog, name) for name in names], []
    return run(chosen, broken, known=catalog.exercises, gpu=gpu, device=device, minutes=minutes)
