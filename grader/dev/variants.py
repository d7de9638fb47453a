"""The variants of an exercise, for its author: their texts in a folder, the edit made from them, and their checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.edits import BadEdit, at_their_places, read_edit, written
from grader.catalog.variants import edit_path, entry_with, plain_texts
from grader.dev.report import Problem
from grader.dev.static import fact_problems, source_problems, text_problems
from grader.errors import UsageError


def put_texts(entry: CourseExercise, name: str, folder: Path) -> tuple[list[Path], list[Problem]]:
    """Write a variant's texts into a folder, and name the hunks of its edit that fit no place any more.

    A file with such a hunk is the exercise's own, and so are all files if the variant has no edit yet. Raises BadEdit,
    OSError.
    """
    texts, problems = plain_texts(entry), []
    path = edit_path(entry, name)
    edit = read_edit(path.read_bytes().decode(), texts).files if path.is_file() else {}
    for file, hunks in edit.items():
        try:
            texts[file] = at_their_places(hunks, texts[file])
        except BadEdit as error:
            problems.append(Problem(file, f"{error}; the text is the exercise's own"))
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (folder / file).write_bytes(text.encode())
    return [folder / file for file in texts], problems


def write_variant(entry: CourseExercise, name: str, folder: Path) -> Path:
    """Write ``variants/NAME.diff`` from the texts in a folder. Raises BadEdit, OSError."""
    plain = plain_texts(entry)
    variant = next((variant for variant in entry.exercise.variants if variant.name == name), None)
    if variant is None:
        raise BadEdit(f"exercise.py has no Variant({name!r}, …): write it first")
    changed = {
        file: (text, (folder / file).read_bytes().decode()) for file, text in plain.items() if (folder / file).is_file()
    }
    text = written((f"// variant: {name}", f"// {variant.task}"), changed)
    read_edit(text, plain)
    target = edit_path(entry, name)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(text.encode())
    return target


def variant_problems(entry: CourseExercise, name: str) -> Iterator[Problem]:
    """Problems of a variant that show without grading."""
    place = f"variants/{name}.diff"
    try:
        form = entry_with(entry, name)
    except UsageError as error:
        yield Problem(place, error.message)
        return
    if form.stub.read_bytes() == entry.stub.read_bytes():
        yield Problem(place, "the stub does not differ from the exercise's")
    for problem in (*source_problems(form), *text_problems(form), *fact_problems(form)):
        yield Problem(place, str(problem))
