"""The catalog of exercises: the built-in course and every ``--course DIR``, one folder per exercise.

    course folder ──load_catalog──▶ Catalog ──find("103" | "reduce_v3" | "v3")──▶ CourseExercise

The error of a broken ``exercise.py`` is kept, so that the others can still be listed and graded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from grader.catalog.courses import (
    Broken,
    CourseExercise,
    built_in_course,
    course_at,
    exercise_files,
    read_exercise,
)
from grader.catalog.versions import in_version, versions_at
from grader.errors import UsageError
from grader.frozen import dataclass


@dataclass(frozen=True)
class Catalog:
    """All exercises by number; if two courses have the same name, that of the later one on the command line."""

    exercises: tuple[CourseExercise, ...]
    broken: tuple[Broken, ...] = ()

    def ladder(self, entry: CourseExercise) -> tuple[CourseExercise, ...]:
        """All steps of the exercise's ladder, in order; the exercise alone if it is in no ladder.

        A variant's is that of the exercise itself: its own files are in a course of the cache.
        """
        own = next((other for other in self.exercises if other.name == entry.name), entry)
        return tuple(other for other in self.exercises if other is own or same_ladder(own, other))

    def find(self, text: str) -> CourseExercise:
        """The exercise for ``text``: its name, its number, or a unique part of its name.

        A number is the one that `list` shows (``Exercise.order``: 403), and never a part of a name. Raises UsageError
        with the candidates; for an unknown number these are the exercises of its chapter.
        """
        for broken in self.broken:
            if broken.name == text and all(entry.name != text for entry in self.exercises):
                raise broken.error
        wanted = text.strip()
        part = "" if is_number(wanted) else wanted.casefold()
        if all(wanted not in (entry.name, str(entry.number)) for entry in self.exercises):
            self.refuse_old_name(wanted)
        rules: tuple[Callable[[CourseExercise], bool], ...] = (
            lambda entry: entry.name == wanted,
            lambda entry: str(entry.number) == wanted,
            lambda entry: bool(part) and part in entry.name.casefold(),
        )
        matches = next((entries for rule in rules if (entries := list(filter(rule, self.exercises)))), [])
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise self._unknown(text)
        names = ", ".join(entry.name for entry in matches)
        message = f"{text!r} may mean {len(matches)} exercises: {names}"
        raise UsageError(message, code="ambiguous_exercise", hint="write one of these names")

    def refuse_old_name(self, name: str) -> None:
        """Raise UsageError if an older version of a course had a step of this name, with its current name."""
        for course in dict.fromkeys(entry.course for entry in self.exercises):
            versions = versions_at(course.exercises)
            version = versions.last_version(name)
            if version is not None:
                now = versions.now(name, version)
                hint = f"`grade show {now}` explains it; `grade {now} --file {name}.cu` grades a file of the old name"
                message = f"{name} is {in_version(name, version, now, versions.version)}"
                raise UsageError(
                    message, code="moved_exercise", hint=hint if now else "`grade list` shows the exercises"
                )

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.exercises] + [broken.name for broken in self.broken]

    def _unknown(self, text: str) -> UsageError:
        from grader.expressions import did_you_mean

        if is_number(text.strip()):
            hint = self._in_chapter(text.strip()) or "`grade list` shows the numbers"
            return UsageError(f"there is no exercise {text.strip()}", code="unknown_exercise", hint=hint)
        hint = did_you_mean(text, self.names) or "`grade list` shows all exercises"
        return UsageError(f"there is no exercise {text!r}", code="unknown_exercise", hint=hint)

    def copied_in(self, path: Path) -> str:
        """The exercise of a copy such as ``tries/layernorm_2.cu``, whose name begins with the exercise's; else ""."""
        begun = (name for name in self.names if path.stem.startswith(f"{name}_"))
        return max(begun, key=len, default="") if path.suffix == ".cu" else ""

    def chapter(self, number: int) -> tuple[CourseExercise, ...]:
        """The exercises of a chapter, by its number (4) or an exercise's (499); empty if there is no such chapter."""
        chapter = number // 100 or number
        return tuple(entry for entry in self.exercises if entry.number // 100 == chapter)

    def _in_chapter(self, number: str) -> str:
        """``4 is the chapter reduction: 403 reduce_v3``, for 4 and for 499; "" if there is no such chapter."""
        members = self.chapter(int(number))
        if not members:
            return ""
        chapter = members[0].number // 100
        title = members[0].chapter.partition("_")[2].replace("_", " ") or members[0].chapter
        return f"{chapter} is the chapter {title}: " + ", ".join(f"{entry.number} {entry.name}" for entry in members)


def load_catalog(courses: Sequence[Path] = ()) -> Catalog:
    """The built-in course and the given ones. Raises UsageError for a folder that is not a course."""
    by_name: dict[str, CourseExercise] = {}
    broken: list[Broken] = []
    for course in (built_in_course(), *map(course_at, courses)):
        loaded = [read_exercise(path, course) for path in exercise_files(course.exercises)]
        unique, duplicates = _without_duplicates([entry for entry in loaded if isinstance(entry, CourseExercise)])
        by_name |= {entry.name: entry for entry in unique}
        broken += [entry for entry in loaded if isinstance(entry, Broken)] + duplicates
    exercises = sorted(by_name.values(), key=lambda entry: (entry.number, entry.name))
    inheriting = []
    for at, entry in enumerate(exercises):  # a step of a ladder inherits the technique of earlier steps, nearest first
        earlier = [other for other in reversed(exercises[:at]) if same_ladder(entry, other)]
        inherited = tuple(expect for other in earlier for expect in other.exercise.technique)
        inheriting.append(replace(entry, inherited=inherited))
    return Catalog(tuple(inheriting), tuple(broken))


def same_ladder(entry: CourseExercise, other: CourseExercise) -> bool:
    ladder = entry.exercise.ladder
    return bool(ladder) and entry.course == other.course and ladder == other.exercise.ladder


def _without_duplicates(loaded: Sequence[CourseExercise]) -> tuple[list[CourseExercise], list[Broken]]:
    """The first exercise of each name, and the others of the same course as broken."""
    first: dict[str, CourseExercise] = {}
    duplicates = []
    for entry in loaded:
        other = first.setdefault(entry.name, entry)
        if other is not entry:
            path = entry.folder / "exercise.py"
            error = UsageError(f"{path}: {entry.name!r} is also the exercise in {other.folder}", code="bad_exercise")
            duplicates.append(Broken(entry.name, path, None, error))
    return list(first.values()), duplicates


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9  # no chapter has more digits
