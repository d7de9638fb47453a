"""``grade hint``, ``grade reset`` and ``grade solution``: what people ask for between two gradings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.cli.course import (
    chapter_title,
    find,
    load,
    missing_here,
    named,
    print_paged,
    to_edit,
)
from grader.cli.files import start_exercise
from grader.errors import UsageError
from grader.output import print_json, print_line, print_text, say, screen, wrapped, write_file
from grader.practice.history import Following, gradable_here, key_of, next_exercise, progress
from grader.practice.progress import Run, local_day
from grader.practice.standings import Place, Summary, progress_document, runs_csv, summary, table_lines

# ---------------------------------------------------------------------------------------------------------------- hint


def show_hint(name: str | None, courses: Sequence[Path], *, again: bool, no_color: bool) -> int:
    """Print the next hint; with ``again``, those that were shown."""
    catalog = load(courses)
    entry = find(catalog, name) if name is not None else _graded_last(catalog)
    (repeat_hints if again else give_hint)(entry, no_color=no_color)
    return 0


def give_hint(entry: CourseExercise, *, no_color: bool) -> None:
    """Print the next hint of an exercise and remember it; after the last, say so."""
    hints = _hints_of(entry)
    history, key = progress(), key_of(entry)
    seen = min(history.hints_seen().get(key, 0), len(hints))
    if seen == len(hints):
        say(
            f"{entry.name}: {'that was the only hint' if seen == 1 else f'you have seen all {seen} hints'}. "
            f"`grade hint {entry.name} --again` repeats {'it' if seen == 1 else 'them'}, {_to_the_solution(entry)}."
        )
        return
    number = seen + 1
    _print_hint(entry, hints, number, no_color=no_color)
    kept = history.saw_hint(*key, number)
    say(_after_hint(entry, number, len(hints)) if kept else f"All hints are in {entry.hints}.")


def repeat_hints(entry: CourseExercise, *, no_color: bool) -> None:
    """Print the hints of an exercise that were shown before."""
    hints = _hints_of(entry)
    seen = min(progress().hints_seen().get(key_of(entry), 0), len(hints))
    for number in range(1, seen + 1):
        _print_hint(entry, hints, number, no_color=no_color)
    say(
        _after_hint(entry, seen, len(hints))
        if seen
        else f"{entry.name}: no hint yet; `grade hint {entry.name}` shows one."
    )


def _hints_of(entry: CourseExercise) -> tuple[str, ...]:
    from grader.practice.pages import hints_in

    try:
        hints = hints_in(entry.hints.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        hints = ()
    if not hints:
        hint = f"`grade show {entry.name}` explains the task"
        raise UsageError(f"{entry.name} has no hints", code="no_hints", hint=hint)
    return hints


def _print_hint(entry: CourseExercise, hints: Sequence[str], number: int, *, no_color: bool) -> None:
    from grader.render.console import statement_text

    shown = screen(no_color=no_color)
    print_line(f"{entry.name}, hint {number} of {len(hints)}\n")
    print_text(statement_text(hints[number - 1], width=shown.width, color=shown.color, unicode=shown.unicode) + "\n")


def _after_hint(entry: CourseExercise, number: int, count: int) -> str:
    earlier = f"; `grade hint {entry.name} --again` repeats all so far" if number > 1 else ""
    if number < count:
        return f"`grade hint {entry.name}` gives the next one{earlier}."
    return f"That was the last hint: {_to_the_solution(entry)}{earlier}."


def _to_the_solution(entry: CourseExercise) -> str:
    if entry.solution is None:
        return f"`grade show {entry.name}` explains the task"
    spoil = "" if key_of(entry) in progress().passed() else " --spoil"
    return f"`grade solution {entry.name}{spoil}` shows the solution"


def _graded_last(catalog: Catalog) -> CourseExercise:
    last = progress().last()
    found = [entry for entry in catalog.exercises if last is not None and key_of(entry) == (last.course, last.exercise)]
    if not found:
        what = (
            "nothing was graded yet" if last is None else f"{last.exercise}, graded last, is in a course not named here"
        )
        raise UsageError(f"a hint for which exercise? {what}", code="usage", hint="`grade hint NAME` says which")
    return found[0]


def show_next(courses: Sequence[Path], *, start: bool) -> int:
    """Print which exercise comes next and why; with ``start``, copy its stub here unless it is here."""
    catalog = load(courses)
    entry, found = next_exercise(catalog)
    if entry is None:
        say(all_passed(catalog))
        return 0
    here = not missing_here(entry)
    if start and not here:
        say(why_next(found))
        return start_exercise(entry.name, courses, force=False)
    say(f"{entry.number}  {entry.name}: {entry.exercise.idea}.")
    say(why_next(found))
    if here:
        edit = named(to_edit(entry))
        say(f"You have {edit} here: `grade {entry.name}` grades it, `grade show {entry.name}` explains the task.")
    else:
        say(f"`grade start {entry.name}` puts its stub here, and so does `grade next --start`.")
    return 0


def why_next(found: Following) -> str:
    """Why an exercise is the next one, in a sentence or two."""
    from grader.practice.progress import local_day

    if found.after is None:
        return "Next is the first exercise that you have not passed."
    words = f"Next after {found.after.exercise}, which you passed on {local_day(found.after.at)}."
    if found.open_before:
        before = "1 exercise before it is" if found.open_before == 1 else f"{found.open_before} exercises before it are"
        words += f" {before} still open: `grade progress` shows which."
    return words


def all_passed(catalog: Catalog) -> str:
    """What is said to who has passed everything that can be graded here."""
    if all(gradable_here(entry) for entry in catalog.exercises):
        return f"You have passed all {len(catalog.exercises)} exercises."
    return "You have passed every exercise that needs no GPU; `grade list` marks those that need one."


def show_interview(name: str, courses: Sequence[Path], *, answers: bool, no_color: bool) -> int:
    """Print the questions of one exercise, numbered; with ``answers``, each with its answer."""
    from grader.practice.pages import questions_in
    from grader.render.console import statement_text

    entry = find(load(courses), name)
    try:
        questions = questions_in(entry.interview.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        questions = ()
    if not questions:
        hint = f"`grade show {entry.name}` explains the task"
        raise UsageError(f"{entry.name} has no interview questions", code="no_questions", hint=hint)
    shown = screen(no_color=no_color)
    page = "\n\n".join(
        f"**{number}.** {question.text}" + (f"\n\n{question.answer}" if answers else "")
        for number, question in enumerate(questions, start=1)
    )
    title = f"# {entry.name}: interview\n\n"
    text = statement_text(title + page, width=shown.width, color=shown.color, unicode=shown.unicode)
    closing = (
        "" if answers else f"Answer aloud first; `grade interview {entry.name} --answers` shows what a good answer has."
    )
    print_paged(text, wrapped(closing, width=shown.width))
    return 0


def show_progress(courses: Sequence[Path], *, as_json: bool, export: Path | None) -> int:
    """Print the progress as a table or as one JSON document, or write it to a file."""
    catalog, history = load(courses), progress()
    runs = history.runs()
    found = summary(_places(catalog), runs, history.hints_seen())
    if export is not None:
        _export(export, found, runs)
    if as_json:
        print_json(progress_document(found, runs))
    elif export is not None:
        count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
        print_line(f"{count} written to {export}.")
    else:
        _print_table(found, history.path, any_runs=bool(runs))
    return 0


def _places(catalog: Catalog) -> list[Place]:
    return [Place(*key_of(entry), number=entry.number, chapter=entry.chapter) for entry in catalog.exercises]


def _print_table(found: Summary, path: Path, *, any_runs: bool) -> None:
    for line in table_lines(found, title=chapter_title, day=local_day):
        print_line(line)
    closing = (
        f"Kept in {path}." if any_runs else "`grade start NAME` begins with an exercise; `grade next` proposes one."
    )
    print_line(wrapped(closing, width=screen().width))


def _json_text(found: Summary, runs: Sequence[Run]) -> str:
    from grader.render.json import dumps

    return dumps(progress_document(found, runs)) + "\n"


_FORMATS: Mapping[str, Callable[[Summary, Sequence[Run]], str]] = {
    ".json": _json_text,
    ".csv": lambda found, runs: runs_csv(runs),
}


def _export(path: Path, found: Summary, runs: Sequence[Run]) -> None:
    """Write the file in the format that its name ends with; an earlier export is replaced."""
    make = _FORMATS.get(path.suffix.lower())
    if make is None:
        raise UsageError(
            f"--export writes JSON or CSV, and {str(path)!r} does not say which", code="usage",
            hint="end the name with .json (everything) or .csv (every run)",
        )  # fmt: skip
    write_file(path, make(found, runs))
