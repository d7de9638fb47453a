"""Variants: other forms of an exercise, so that a file copied from somebody with another form is wrong.

    exercise.py      variants=(Variant("reversed", task="…", oracle="elementwise:saxpy_reversed"), …)
    variants/M.diff  edits of the stub, the statement, the solution (NAME.solution.cu), hints.md and interview.md

    entry + "reversed" ──entry_with──▶ an entry whose files are the edited ones, in a folder of the cache

Everything else works on that entry as on any other. The stub of a variant begins with ``// variant: reversed``. That
line decides how a file is graded by itself; a class decides from its secret (`chosen`) and says which it asks for:
then a file with another name on that line is wrong, and one without the line is graded as what was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp

from grader.catalog.courses import Course, CourseExercise
from grader.catalog.edits import BadEdit, applied, read_edit
from grader.errors import UsageError
from grader.exercise import PLAIN, Exercise, Variant
from grader.paths import cache_folder

_LINE = re.compile(rb"^[ \t]*//[ \t]*variant:[ \t]*(\S+)", re.MULTILINE)
READ_BYTES = 1 << 16  # of a file, for its line


def forms(exercise: Exercise) -> tuple[str, ...]:
    """The names of all forms of an exercise: ``plain`` and its variants."""
    return (PLAIN, *(variant.name for variant in exercise.variants))


def chosen(exercise: Exercise, seed: int) -> str:
    """The form that a student gets, from a seed that only the class can compute."""
    names = forms(exercise)
    return names[seed % len(names)]


def task_of(exercise: Exercise) -> str:
    """What this form asks for, in a sentence; "" for the plain exercise."""
    return next((variant.task for variant in exercise.variants if variant.name == exercise.variant), "")


def written_in(source: bytes) -> tuple[str, int]:
    """The name on a file's line ``// variant: NAME``, and the number of the line; ("", 0) without such a line."""
    match = _LINE.search(source[:READ_BYTES])
    return (match[1].decode("utf-8", "replace"), source.count(b"\n", 0, match.start()) + 1) if match else ("", 0)


def entry_for(entry: CourseExercise, source: bytes) -> CourseExercise:
    """The form in which a file is graded: the one that was asked for, else the one that the file names, else plain.

    A name that does not exist is no form: then grading says so (`grader.grading.grade`).
    """
    exercise = entry.exercise
    if not exercise.variants or exercise.variant:
        return entry
    name = written_in(source)[0]
    return entry_with(entry, name if name in forms(exercise) else PLAIN)


def entry_with(entry: CourseExercise, name: str) -> CourseExercise:
    """The exercise in one of its forms. Raises UsageError if it has no such variant, or if its edit does not fit."""
    exercise = entry.exercise
    if name == PLAIN:
        return replace(entry, exercise=replace(exercise, variant=PLAIN))
    variant = next((variant for variant in exercise.variants if variant.name == name), None)
    if variant is None:
        has = f"it has {', '.join(forms(exercise))}" if exercise.variants else "it has no variants"
        raise UsageError(f"{entry.name} has no variant {name!r}", code="unknown_variant", hint=has)
    try:
        texts = texts_with(entry, variant)
    except (BadEdit, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{edit_path(entry, name)}: {error}", code="bad_variant") from None
    root = _kept(entry, texts)
    folder = root / "exercises" / entry.chapter / entry.name
    course = Course(root / "exercises", root / "solutions", entry.course.kernels_ref)
    return replace(entry, exercise=varied(exercise, variant), folder=folder, course=course)


def varied(exercise: Exercise, variant: Variant) -> Exercise:
    """The exercise with the fields of a variant."""
    return replace(
        exercise,
        variant=variant.name,
        arrays=variant.arrays or exercise.arrays,
        scalars=exercise.scalars if variant.scalars is None else variant.scalars,
        oracle=variant.oracle or exercise.oracle,
        # the trusted check and the library's call are those of the oracle, unless they are named
        checker=variant.checker or ("" if variant.oracle else exercise.checker),
        baseline=variant.baseline or ("" if variant.oracle else exercise.baseline),
        rivals=() if variant.oracle else exercise.rivals,
        compared=(),  # a variant has no wrong answers
        technique=exercise.technique if variant.technique is None else variant.technique,
        tolerance=variant.tolerance or exercise.tolerance,
    )


# -------------------------------------------------------------------------------------------------------------- texts


def edit_path(entry: CourseExercise, name: str) -> Path:
    return entry.folder / "variants" / f"{name}.diff"


def plain_texts(entry: CourseExercise) -> dict[str, str]:
    """The texts that a variant edits, by their names in its edit."""
    paths = {
        entry.stub.name: entry.stub, f"{entry.name}.solution.cu": entry.solution,
        "README.md": entry.statement, "hints.md": entry.hints, "interview.md": entry.interview,
    }  # fmt: skip
    return {name: path.read_bytes().decode() for name, path in paths.items() if path is not None and path.is_file()}


def edited_texts(entry: CourseExercise, name: str) -> dict[str, str]:
    """All texts after a variant's edit, by their names there. Raises BadEdit, OSError or UnicodeDecodeError."""
    texts = plain_texts(entry)
    edit = read_edit(edit_path(entry, name).read_bytes().decode(), texts)
    return texts | {file: applied(hunks, texts[file]) for file, hunks in edit.files.items()}


def texts_with(entry: CourseExercise, variant: Variant) -> dict[str, str]:
    """The texts of a variant: the sources name it on their first line, the statement below its title."""
    texts = edited_texts(entry, variant.name)
    title, rest = texts.get("README.md", "").split("\n", 1) if "README.md" in texts else ("", "")
    page = f"{title}\n\nThis is the variant `{variant.name}`: {variant.task}.\n{rest}"
    line = f"// variant: {variant.name}\n"
    sources = {file: line + text for file, text in texts.items() if file.endswith(".cu")}
    return texts | sources | ({"README.md": page} if title else {})


def _kept(entry: CourseExercise, texts: Mapping[str, str]) -> Path:
    """The folder of the cache that has these texts, laid out like a course. Raises UsageError if it has no room."""
    key = sha256(repr((entry.chapter, entry.name, sorted(texts.items()))).encode()).hexdigest()[:32]
    root = cache_folder("variants", key)
    solution = f"{entry.name}.solution.cu"
    for name, text in texts.items():
        above = root / ("solutions" if name == solution else "exercises") / entry.chapter
        path = above / f"{entry.name}.cu" if name == solution else above / entry.name / name
        try:
            _put(path, text.encode())
        except OSError as error:
            hint = "a variant's files are kept in the cache: WARPGRADE_CACHE names a folder for it"
            raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write", hint=hint) from None
    return root


def _put(path: Path, content: bytes) -> None:
    """Write a file, unless it has that content; other processes never see a part of it."""
    with suppress(OSError):
        if path.read_bytes() == content:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = mkstemp(dir=path.parent, prefix=".tmp")
    with open(handle, "wb") as file:
        file.write(content)
    Path(temporary).replace(path)
