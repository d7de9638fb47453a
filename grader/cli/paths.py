"""Paths through the course on the command line: the list of one, an exercise's line in lists, `next --path`."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from grader.catalog.courses import ALL_PATHS, CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.paths import CoursePath, find_path, path_in, path_names, sentences
from grader.errors import UsageError
from grader.output import wrapped
from grader.practice.chosen import choose, chosen_name
from grader.practice.history import gradable_here, passed_names
from grader.text import counted, listed, minutes_words


def path_lines(path: CoursePath, sentence: str, width: int, passed: Collection[str]) -> Iterator[str]:
    """Yield a path as text: its exercises in order, ✔ on passed ones, and what is missing."""
    yield wrapped(f"{path.name}: {sentence}" if sentence else path.name, width=width)
    widest = max(len(entry.name) for entry in path.exercises)
    yield from (exercise_line(entry, widest, width, passed=entry.name in passed) for entry in path.exercises)
    yield ""
    yield wrapped(path_standing(path, passed), width=width)
    members = {entry.name for entry in path.exercises}
    if outside := dict.fromkeys(
        name for entry in path.exercises for name in entry.exercise.after if name not in members
    ):
        yield wrapped(f"It also builds on {listed(outside)}.", width=width)
    if chosen_name() == path.name:
        closing = f"This is your path: `grade next` says what comes next, `grade next --path {ALL_PATHS}` leaves it."
    else:
        closing = f"`grade next --path {path.name}` makes it your path: `grade next` then follows it."
    yield wrapped(closing, width=width)


def paths_lines(catalog: Catalog, width: int) -> Iterator[str]:
    """Yield the names of all paths, each with its sentence and its number of exercises."""
    known = sentences(catalog)
    names = path_names(catalog)
    widest = max(map(len, names), default=0)
    for path in filter(None, (path_in(catalog, name) for name in names)):
        start = f"{path.name:<{widest}}  "
        about = "; ".join(filter(None, (known.get(path.name, ""), counted(len(path.exercises), "exercise"))))
        yield wrapped(f"{start}{about}", width=width, indent=" " * len(start))
    yield ""
    if names:
        closing = (
            f"`grade list --path {names[0]}` lists the exercises of one, `grade next --path {names[0]}` follows it."
        )
        yield wrapped(closing, width=width)
    else:
        yield "The course has no paths."


def needs_note(entry: CourseExercise) -> str:
    """The GPU that an exercise needs, in brackets; "" if the simulator can run it."""
    from grader.gpus.models import capability, simulable

    if not simulable(entry.exercise.requires):
        return " (needs a GPU of compute capability {}.{})".format(*capability(entry.exercise.requires))
    return ""


def exercise_line(entry: CourseExercise, widest: int, width: int, *, passed: bool) -> str:
    """An exercise's line in a list whose widest name has ``widest`` characters."""
    minutes = f"{entry.exercise.minutes} min" if entry.exercise.minutes else ""
    start = f"{'✔' if passed else ' '} {entry.number:>4}  {entry.name:<{widest}}  {minutes:>7}  "
    return wrapped(f"{start}{entry.exercise.idea}{needs_note(entry)}", width=width, indent=" " * len(start))


def path_standing(path: CoursePath, passed: Collection[str]) -> str:
    """``2 of 12 exercises passed; the other 10 take about 5 h of 6 h.``"""
    missing = [entry for entry in path.exercises if entry.name not in passed]
    total, left = _minutes(path.exercises), _minutes(missing)
    count = f"{len(path.exercises) - len(missing)} of {counted(len(path.exercises), 'exercise')} passed"
    if not total:
        return f"{count}."
    if len(missing) == len(path.exercises):
        return f"{count}; together about {minutes_words(total)}."
    others = "; the other takes about" if len(missing) == 1 else f"; the other {len(missing)} take about"
    return f"{count}{others} {minutes_words(left)} of {minutes_words(total)}." if missing else f"{count}."


def _minutes(exercises: Collection[CourseExercise]) -> int:
    return sum(entry.exercise.minutes or 0 for entry in exercises)


def choose_path(catalog: Catalog, text: str) -> str:
    """Choose a path, or with ``all`` none; returns a sentence about it. Raises UsageError."""
    before = chosen_name()
    path = None if text.strip().casefold() == ALL_PATHS else find_path(catalog, text)
    try:
        choose("" if path is None else path.name)
    except OSError as error:
        message = f"your path cannot be remembered: cannot write {error.filename}: {error.strerror}"
        raise UsageError(message, code="cannot_write") from None
    if path is None:
        return f"You have left the path {before}: the whole course comes next." if before else "You follow no path."
    sentence = sentences(catalog).get(path.name, "")
    return (
        f"Your path is now {path.name}"
        + (f": {sentence}. " if sentence else ". ")
        + f"`grade list --path {path.name}` "
        f"shows it, `grade next --path {ALL_PATHS}` leaves it."
    )


def finished(catalog: Catalog, path: CoursePath) -> str:
    """What to say to a student for whom nothing is left in the path, and what could follow."""
    passed = passed_names(catalog.exercises)
    if all(entry.name in passed for entry in path.exercises):
        done = f"You have passed all {counted(len(path.exercises), 'exercise')} of the path {path.name}."
        done += " `grade interview` practises an interview, `grade quiz` asks questions."
    else:
        done = f"You have passed every exercise of the path {path.name} that this machine can grade."
    others = (path_in(catalog, name) for name in path_names(catalog) if name != path.name)
    left, about = {other.name: _open(other, passed) for other in others if other}, sentences(catalog)
    open_paths = [
        f"{name} ({count} left){f': {about[name]}' if name in about else ''}" for name, count in left.items() if count
    ]
    if not open_paths:
        return f"{done} `grade next --path {ALL_PATHS}` goes on with the whole course."
    return (
        f"{done} Other paths: {'; '.join(open_paths)}. `grade next --path NAME` chooses one, and `grade next --path "
        f"{ALL_PATHS}` goes on with the whole course."
    )


def _open(path: CoursePath, passed: Collection[str]) -> int:
    return sum(entry.name not in passed and gradable_here(entry) for entry in path.exercises)
