"""`grade dev new NAME`: the files of a new exercise, complete and small, which pass `grade dev check` at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.catalog.courses import Course, CourseExercise
from grader.errors import UsageError

SKELETON = Path(__file__).parent / "skeleton"
FIRST_CHAPTER = "01_first"
MOST_IN_A_CHAPTER = 99
_NAME = re.compile(r"[a-z][a-z0-9_]{1,40}")
_CHAPTER = re.compile(r"(\d{1,2})_[a-z0-9_]+")
_WORD_OF_C = re.compile(
    "alignas|alignof|and|and_eq|asm|auto|bitand|bitor|bool|break|case|catch|char|class|compl|concept|const|consteval|"
    "constexpr|constinit|const_cast|continue|decltype|default|delete|do|double|dynamic_cast|else|enum|explicit|export|"
    "extern|false|float|for|friend|goto|if|inline|int|long|main|mutable|namespace|new|noexcept|not|not_eq|nullptr|"
    "operator|or|or_eq|private|protected|public|register|reinterpret_cast|requires|return|short|signed|sizeof|static|"
    "static_assert|static_cast|struct|switch|template|this|thread_local|throw|true|try|typedef|typeid|typename|union|"
    "unsigned|using|virtual|void|volatile|wchar_t|while|xor|xor_eq"
)
"""Words of C++, which cannot be a kernel's name."""


def new_exercise(name: str, chapter: str, course: Course, existing: Sequence[CourseExercise]) -> tuple[Path, ...]:
    """Write the exercise's files and return their paths. No existing file is overwritten.

    ``chapter`` "" means the course's last one. Raises UsageError for an invalid name or chapter, and for a folder that
    exists or cannot be written.
    """
    check_name(name, existing)
    if not chapter:  # chapters without a number, as in a plain course, do not count
        numbered = [(int(match[1]), match[0]) for entry in existing if (match := _CHAPTER.fullmatch(entry.chapter))]
        chapter = max(numbered, default=(0, FIRST_CHAPTER))[1]
    facts = {"name": name, "order": _order(chapter, existing)}
    files = dict(_files(name, chapter, course, facts))
    for path in (course.exercises / chapter / name, *files):
        with writing(path):
            if path.exists() or path.is_symlink():  # a broken link, too
                raise UsageError(f"{path} already exists", code="exists", hint="choose another name")
    for path, text in files.items():
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    return tuple(files)


def check_name(name: str, existing: Sequence[CourseExercise]) -> None:
    """Raise UsageError if no new exercise beside the existing ones can have this name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"an exercise cannot be called {name!r}", code="bad_name",
            hint="use lower-case letters, digits and _, as in coalescing_stride",
        )  # fmt: skip
    if _WORD_OF_C.fullmatch(name):
        raise UsageError(
            f"an exercise cannot be called {name!r}: its kernel has the same name, which is a keyword of C++",
            code="bad_name", hint="choose another name",
        )  # fmt: skip
    same_name = next((entry for entry in existing if entry.name == name), None)
    if same_name is not None:
        raise UsageError(f"{same_name.folder} already exists", code="exists", hint="choose another name")


def _order(chapter: str, existing: Sequence[CourseExercise]) -> int:
    """Chapter × 100 + the first row after the chapter's last."""
    number = _CHAPTER.fullmatch(chapter)
    if number is None:
        hint = "a chapter is a number and a name: 02_memory"
        raise UsageError(f"{chapter!r} is not a chapter", code="bad_chapter", hint=hint)
    first = 100 * int(number[1])
    rows = [entry.number - first for entry in existing if 0 <= entry.number - first <= MOST_IN_A_CHAPTER]
    if max(rows, default=0) == MOST_IN_A_CHAPTER:
        raise UsageError(f"chapter {chapter} is full", code="bad_chapter", hint="start another with --chapter")
    return first + max(rows, default=0) + 1


def _files(name: str, chapter: str, course: Course, facts: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(SKELETON), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True,
        autoescape=False,  # source code and Markdown, with a name that `new_exercise` has checked
    )  # fmt: skip
    folder = course.exercises / chapter / name
    for template in sorted(path.relative_to(SKELETON) for path in SKELETON.rglob("*.j2")):
        target = f"{name}.cu" if template.name == "kernel.cu.j2" else template.with_suffix("").as_posix()
        text = environment.get_template(template.as_posix())
        yield folder / target, text.render(facts, solution=False)
        if template.name == "kernel.cu.j2":
            yield course.solutions / chapter / f"{name}.cu", text.render(facts, solution=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise UsageError instead of an OSError, with the path that cannot be written."""
    try:
        yield
    except OSError as error:
        hint = "--course DIR names another folder"
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write", hint=hint) from None
