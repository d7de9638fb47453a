"""``grade dev new``: where a new exercise goes, and what to do with it."""

from __future__ import annotations

from pathlib import Path

from grader.catalog.courses import exercise_files
from grader.catalog.exercises import Course, built_in_course, course_at, load_catalog
from grader.cli.output import print_line, screen, wrapped
from grader.errors import UsageError
from grader.grading.advice import shown


def make_exercise(name: str, chapter: str, folder: Path | None) -> int:
    """Write a new exercise into ``folder``, else into the clone that this package stands in."""
    from grader.dev.new import new_exercise

    _refuse_commands(name)
    course = _course(folder)
    catalog = load_catalog((folder,) if folder is not None and exercise_files(course.exercises) else ())
    existing = [one for one in catalog.exercises if one.course == course]
    files = new_exercise(name, chapter, course, existing)
    for path in files:
        print_line(f"  {shown(path)}")
    option = f" --course {shown(folder)}" if folder is not None else ""
    closing = (
        "It adds two arrays, and everything in it holds together. Change it into yours; "
        f"`grade dev check {name}{option}` says whether it still does."
    )
    print_line("\n" + wrapped(closing, width=screen().width))
    return 0


def _refuse_commands(name: str) -> None:
    from grader.cli.commands import cli
    from grader.cli.routing import HELP

    if name in {*cli.commands, HELP}:
        raise UsageError(f"{name!r} is a command", code="bad_name", hint="give the exercise another name")


def _course(folder: Path | None) -> Course:
    """The course at ``folder``, which may be new or empty; without one, the built-in course of a clone."""
    if folder is None:
        return _clone()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", code="bad_course", hint="--course names a folder")
    if exercise_files(folder) or exercise_files(folder / "exercises"):
        return course_at(folder)
    root = folder.resolve()
    return Course(root / "exercises", root / "solutions", root / "kernels_ref")


def _clone() -> Course:
    course = built_in_course()
    if "_course" in course.exercises.parts:
        raise UsageError(
            "the built-in course is inside the installed package", code="bad_course",
            hint="--course DIR makes the exercise in a folder of yours",
        )  # fmt: skip
    return course
