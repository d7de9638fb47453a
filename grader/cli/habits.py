"""``grade hint``, ``grade reset`` and ``grade solution``: what people ask for between two gradings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from grader.catalog.exercises import Catalog, CourseExercise
from grader.cli.course import find, load
from grader.cli.stubs import files_of, named
from grader.errors import UsageError
from grader.output import print_line, print_text, say, screen
from grader.practice.history import key_of, progress

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
    from grader.practice.hints import hints_in

    try:
        hints = hints_in(entry.hints.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        hints = ()
    if not hints:
        hint = f"`grade show {entry.name}` explains the task"
        raise UsageError(f"{entry.name} has no hints", code="no_hints", hint=hint)
    return hints


def _print_hint(entry: CourseExercise, hints: Sequence[str], number: int, *, no_color: bool) -> None:
    from grader.render.statement import statement_text

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


# --------------------------------------------------------------------------------------------------------------- reset

MOST_KEPT = 1000  # earlier texts of one exercise, beside each other


def reset_exercise(name: str, courses: Sequence[Path]) -> int:
    """Put the stub back over the file here, and a host exercise's Python file; what was there is kept beside it."""
    entry = find(load(courses), name)
    for path in files_of(entry):
        _check_resettable(entry, path)
    for path in files_of(entry):
        print_line(_reset(path))
    return 0


def _check_resettable(entry: CourseExercise, source: Path) -> None:
    here = Path(source.name)
    if not here.exists():
        kept = named(path for path in files_of(entry) if Path(path.name).exists())
        hint = f"`grade start {entry.name}` puts the stub here" + (f", and keeps your {kept}" if kept else "")
        raise UsageError(f"there is no {here} in this folder", code="no_submission", hint=hint)
    if not here.is_file():
        raise UsageError(f"./{here} is no file", code="is_a_directory")
    if here.samefile(source):
        raise UsageError(
            f"./{here} is the course's own stub", code="is_the_stub", hint=f"`git checkout {here}` brings it back"
        )


def _reset(source: Path) -> str:
    """Reset one file, and return what was done in words."""
    here = Path(source.name)
    try:
        stub, mine = source.read_bytes(), here.read_bytes()
        if mine == stub:
            return f"./{here} is the untouched stub already."
        kept = _keep(here, mine)
        here.write_bytes(stub)
    except OSError as error:
        where = error.filename or here
        raise UsageError(f"cannot write {where}: {error.strerror}", code="cannot_write") from None
    return f"./{here} is the stub again; what you wrote is in ./{kept}."


def _keep(path: Path, content: bytes) -> Path:
    """Write ``content`` beside ``path``, under a name that is free: ``.bak``, ``.bak.2`` …"""
    for number in range(1, MOST_KEPT):
        kept = path.with_name(f"{path.name}.bak" + (f".{number}" if number > 1 else ""))
        try:
            with kept.open("xb") as file:
                file.write(content)
        except FileExistsError:
            continue
        return kept
    raise UsageError(f"{MOST_KEPT - 1} earlier texts are kept beside {path}", code="exists", hint="delete some *.bak")


# ------------------------------------------------------------------------------------------------------------ solution


def show_solution(name: str, courses: Sequence[Path], *, spoil: bool, output: Path | None, no_color: bool) -> int:
    """Print the course's solution, or write it to ``output``, once the exercise was passed."""
    entry = find(load(courses), name)
    if entry.solution is None:
        raise UsageError(f"the course has no solution of {entry.name}", code="no_solution")
    if not spoil and key_of(entry) not in progress().passed():
        raise UsageError(
            f"you have not passed {entry.name} yet, and the solution is worth more afterwards", code="not_passed",
            hint=f"`grade hint {entry.name}` helps; `grade solution {entry.name} --spoil` shows it all the same",
        )  # fmt: skip
    files = [path for path in (entry.solution, entry.solution_host_file) if path is not None]
    if output is not None:
        for source, path in zip(files, (output, output.with_name(f"{output.stem}_host.py")), strict=False):
            _write_new(path, source)
    else:
        _print_sources(files, no_color=no_color)
    return 0


def _write_new(path: Path, source: Path) -> None:
    try:
        with path.open("xb") as file:
            file.write(source.read_bytes())
    except FileExistsError:
        raise UsageError(f"{path} is already here", code="exists", hint="give --output another name") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
    print_line(f"The solution is in {path}.")


def _print_sources(files: Sequence[Path], *, no_color: bool) -> None:
    """Each file as it is where a program reads it; coloured, with control characters made visible, for people."""
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(files) > 1:
            comment = "#" if path.suffix == ".py" else "//"
            text = f"{comment} {path.name}\n\n{text}" + ("" if path == files[-1] else "\n")
        print_text(_for_people(text, path, no_color=no_color) if sys.stdout.isatty() else text)


def _for_people(text: str, path: Path, *, no_color: bool) -> str:
    from grader.render.source import source_text
    from grader.render.text import safe

    shown = screen(no_color=no_color)
    return source_text(text, path.suffix) if shown.color else safe(text, lines=True)
