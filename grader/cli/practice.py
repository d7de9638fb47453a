"""Commands between two gradings: start, reset, solution, hint, next and progress."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.cli.course import (
    chapter_title,
    files_of,
    find,
    form_of,
    load,
    missing_here,
    named,
    needed_by,
    shown_statement,
    to_edit,
)
from grader.cli.paths import choose_path, finished, path_standing
from grader.errors import UsageError
from grader.output import NO_BREAK, print_json, print_line, print_text, say, screen, wrapped, write_file
from grader.practice.chosen import chosen_name, chosen_path
from grader.practice.history import (
    Following,
    gone_keys,
    gradable_here,
    hints_seen,
    is_passed,
    key_of,
    keys_of,
    next_exercise,
    passed_names,
    progress,
)
from grader.practice.moved import old_here, old_step, refuse_old
from grader.practice.pages import hints_in
from grader.practice.progress import local_day
from grader.practice.standings import (
    PlacedExercise,
    moved_sentences,
    named_in,
    path_lines,
    prediction_lines,
    progress_document,
    runs_csv,
    summary,
    table_lines,
)
from grader.render.json import dumps
from grader.text import counted, listed, safe

# --------------------------------------------------------------------------------------------------------------- start


def start_exercise(name: str, courses: Sequence[Path], *, force: bool, variant: str | None = None) -> int:
    """Copy the stub, and what belongs to it, into this folder."""
    catalog = load(courses)
    entry = find(catalog, name)
    entry = form_of(entry, variant) if variant else entry
    files, missing = files_of(entry), missing_here(entry)
    headers = [path for path in entry.headers if force or not os.path.lexists(path.name)]
    if not force:
        refuse_old(catalog, entry, *(Path(path.name) for path in files))
    if not missing and not headers and not force:
        hint = f"`grade reset {entry.name}` restores the stub and keeps your version; --force overwrites it"
        if len(files) > 1:
            hint = (
                f"`grade reset {entry.name}` restores both stubs and keeps your versions; to restore only one, rename "
                f"your file and run `grade start {entry.name}`; --force overwrites both"
            )
        message = f"{named(files)} {'is' if len(files) == 1 else 'are'} already here"
        raise UsageError(message, code="exists", hint=hint)
    for path in (*(files if force else missing), *headers):
        try:
            shutil.copyfile(path, path.name)
        except OSError as error:
            hint = "go to a folder in which you may write"
            message = f"cannot write ./{path.name}: {error.strerror}"
            raise UsageError(message, code="cannot_write", hint=hint) from None
    if not force and 0 < len(missing) < len(files):
        unchanged = named(path for path in files if path not in missing)
        say(f"{unchanged} was here and was not changed; {named(missing)} was missing, and is the stub now.")
    complete = "".join(
        f"\n     ./{path.name} belongs to it. It is complete, but you may change it."
        for path in files
        if path not in to_edit(entry)
    )
    complete += "".join(
        f"\n     ./{path.name} is given: include it and read it. `grade` always takes the course's own."
        for path in entry.headers
    )
    say(f"{entry.name}: {entry.exercise.idea}.")
    if variant is not None:
        from grader.catalog.variants import task_of

        say(f"The variant {variant}: {task_of(entry.exercise) or 'the exercise itself'}.")
    if new := needed_by(entry, catalog)[1]:
        names = listed(other.name for other in new)
        say(f"It builds on {names}, which you have not passed yet; `grade start {new[0].name}` would come first.")
    print_line(
        f"  1. `grade show {entry.name}` explains the task.\n"
        f"  2. Open {named(to_edit(entry))} and write your code where it says YOUR CODE.{complete}\n"
        f"  3. `grade {entry.name}` grades it."
    )
    return 0


# --------------------------------------------------------------------------------------------------------------- reset

MOST_KEPT = 1000  # backup files of one exercise


def reset_exercise(name: str, courses: Sequence[Path]) -> int:
    """Restore the stub, and a host exercise's Python file; the user's files are kept as backups next to them."""
    catalog = load(courses)
    entry = form_of(find(catalog, name))
    for path in files_of(entry):
        _check_resettable(entry, path)
    for path in files_of(entry):
        old = old_step(catalog, entry, Path(path.name))
        print_line(_reset(path))
        if old is not None:
            say(f"Your version {old.message}.")
    return 0


def _check_resettable(entry: CourseExercise, source: Path) -> None:
    here = Path(source.name)
    if not here.exists():
        kept = named(path for path in files_of(entry) if Path(path.name).exists())
        hint = f"`grade start {entry.name}` copies the stub here" + (f", and keeps your {kept}" if kept else "")
        raise UsageError(f"there is no {here} in this folder", code="no_submission", hint=hint)
    if not here.is_file():
        raise UsageError(f"./{here} is not a file", code="is_a_directory")
    if here.samefile(source):
        hint = f"`git checkout {here}` restores it"
        raise UsageError(f"./{here} is the course's own stub", code="is_the_stub", hint=hint)


def _reset(source: Path) -> str:
    """Reset one file; returns a sentence that says what was done. Raises UsageError."""
    here = Path(source.name)
    try:
        stub, current = source.read_bytes(), here.read_bytes()
        if current == stub:
            return f"./{here} is the unchanged stub already."
        backup = _back_up(here, current)
        here.write_bytes(stub)
    except OSError as error:
        path = error.filename or here
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
    return f"./{here} is the stub again; your version is in ./{backup}."


def _back_up(path: Path, content: bytes) -> Path:
    """Write ``content`` next to ``path``, under an unused name: ``.bak``, ``.bak.2`` … Raises UsageError."""
    for number in range(1, MOST_KEPT):
        backup = path.with_name(f"{path.name}.bak" + (f".{number}" if number > 1 else ""))
        try:
            with backup.open("xb") as file:
                file.write(content)
        except FileExistsError:
            continue
        return backup
    raise UsageError(f"{path} has {MOST_KEPT - 1} backups", code="exists", hint="delete some of its *.bak files")


# ------------------------------------------------------------------------------------------------------------ solution


def show_solution(name: str, courses: Sequence[Path], *, spoil: bool, output: Path | None, no_color: bool) -> int:
    """Print the course's solution, or write it to ``output``. Raises UsageError if it was not passed (``spoil``)."""
    entry = form_of(find(load(courses), name))
    if entry.solution is None:
        raise UsageError(f"the course has no solution of {entry.name}", code="no_solution")
    if not spoil and not is_passed(entry):
        raise UsageError(
            f"you have not passed {entry.name} yet, and you learn more if you see the solution afterwards",
            code="not_passed",
            hint=f"`grade hint {entry.name}` helps; `grade solution {entry.name} --spoil` shows it anyway",
        )  # fmt: skip
    files = [path for path in (entry.solution, entry.solution_host_file) if path is not None]
    if output is not None:
        for source, path in zip(files, (output, output.with_name(f"{output.stem}_host.py")), strict=False):
            content = source.read_bytes()
            try:
                with path.open("xb") as file:
                    file.write(content)
            except FileExistsError:
                raise UsageError(f"{path} is already here", code="exists", hint="give --output another name") from None
            except OSError as error:
                raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
            print_line(f"The solution is in {path}.")
        return 0
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(files) > 1:
            comment = "#" if path.suffix == ".py" else "//"
            text = f"{comment} {path.name}\n\n{text}" + ("" if path == files[-1] else "\n")
        print_text(_for_people(text, path, no_color=no_color) if sys.stdout.isatty() else text)
    return 0


def _for_people(text: str, path: Path, *, no_color: bool) -> str:
    """The text for a terminal: with colours, or else with control characters made visible."""
    from grader.render.console import source_text

    return source_text(text, path.suffix) if screen(no_color=no_color).color else safe(text, lines=True)


# ---------------------------------------------------------------------------------------------------------------- hint


def show_hint(name: str | None, courses: Sequence[Path], *, again: bool, no_color: bool) -> int:
    """Print the next hint, by default of the exercise graded last; with ``again``, the hints shown before."""
    catalog = load(courses)
    entry = find(catalog, name) if name is not None else _graded_last(catalog)
    if not again:
        give_hint(entry, no_color=no_color)
        return 0
    hints = _hints_of(entry)
    seen = min(hints_seen(entry), len(hints))
    for number in range(1, seen + 1):
        _print_hint(entry, hints, number, no_color=no_color)
        progress().saw_hint(key_of(entry), number)  # the report of an interview counts it
    none_yet = f"{entry.name}: no hint yet; `grade hint {entry.name}` shows one."
    say(_after_hint(entry, seen, len(hints)) if seen else none_yet)
    return 0


def give_hint(entry: CourseExercise, *, no_color: bool) -> None:
    """Print the next hint of an exercise and remember it; after the last, say so."""
    hints = _hints_of(entry)
    seen = min(hints_seen(entry), len(hints))
    if seen == len(hints):
        say(
            f"{entry.name}: {'you have seen its only hint' if seen == 1 else f'you have seen all {seen} hints'}. "
            f"`grade hint {entry.name} --again` repeats {'it' if seen == 1 else 'them'}, {_to_the_solution(entry)}."
        )
        return
    number = seen + 1
    _print_hint(entry, hints, number, no_color=no_color)
    remembered = progress().saw_hint(key_of(entry), number)
    say(_after_hint(entry, number, len(hints)) if remembered else f"All hints are in {entry.hints}.")


def _hints_of(entry: CourseExercise) -> tuple[str, ...]:
    hints = hints_in(_page(entry.hints))
    if not hints:
        raise UsageError(f"{entry.name} has no hints", code="no_hints", hint=_EXPLAINED.format(entry.name))
    return hints


_EXPLAINED = "`grade show {}` explains the task"


def _page(path: Path) -> str:
    """The text of a page; "" if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _print_hint(entry: CourseExercise, hints: Sequence[str], number: int, *, no_color: bool) -> None:
    print_line(f"{entry.name}, hint {number} of {len(hints)}\n")
    print_text(shown_statement(hints[number - 1], no_color=no_color) + "\n")


def _after_hint(entry: CourseExercise, number: int, count: int) -> str:
    earlier = f"; `grade hint {entry.name} --again` repeats all hints so far" if number > 1 else ""
    if number < count:
        return f"`grade hint {entry.name}` gives the next hint{earlier}."
    return f"That was the last hint: {_to_the_solution(entry)}{earlier}."


def _to_the_solution(entry: CourseExercise) -> str:
    if entry.solution is None:
        return _EXPLAINED.format(entry.name)
    spoil = "" if is_passed(entry) else " --spoil"
    return f"`grade solution {entry.name}{spoil}` shows the solution"


def _graded_last(catalog: Catalog) -> CourseExercise:
    last = progress().last()
    if last is None:
        why = "nothing was graded yet"
    else:
        for entry in catalog.exercises:
            if last.key in keys_of(entry):
                return entry
        here = any(key_of(entry)[0] == last.course for entry in catalog.exercises)
        place = "no longer in the course" if here else "in a course that needs --course"
        why = f"{last.exercise}, graded last, is {place}"
    raise UsageError(f"a hint for which exercise? {why}", code="usage", hint="name it: `grade hint NAME`")


# ------------------------------------------------------------------------------------------------------------ progress


def show_next(courses: Sequence[Path], *, start: bool, path: str | None = None) -> int:
    """Print which exercise comes next and why; with ``start``, copy its stub here if it is missing.

    ``path`` chooses a path first.
    """
    catalog = load(courses)
    if path is not None:
        say(choose_path(catalog, path))
    entry, reason = next_exercise(catalog)
    if reason.path is None and (unknown := chosen_name()):
        say(f"No course here has your path {unknown}: --course DIR adds a course, `grade next --path all` leaves it.")
    if entry is None:
        say(all_passed(catalog, reason))
        return 0
    here = not missing_here(entry)
    if start and not here:
        say(why_next(reason))
        return start_exercise(entry.name, courses, force=False)
    say(f"{entry.number}  {entry.name}: {entry.exercise.idea}.")
    say(why_next(reason))
    if here:
        edit = named(to_edit(entry))
        yours = f"You have {edit} here: `grade {entry.name}` grades it, `grade show {entry.name}` explains the task."
        say(old_here(catalog, entry) or yours)
    else:
        say(f"`grade start {entry.name}` or `grade next --start` copies its stub here.")
    return 0


def why_next(reason: Following) -> str:
    """Why an exercise is the next one, in a sentence or two."""
    if reason.path is not None:
        count = len(passed_names(reason.path.exercises))
        return f"Next in the path {reason.path.name}, {count} of {len(reason.path.exercises)} passed."
    if reason.after is None:
        return "Next is the first exercise that you have not passed."
    former = f" as {named_in(reason.after)}" if reason.after.exercise != reason.name else ""
    sentence = f"Next after {reason.name}, which you passed on {local_day(reason.after.at)}{former}."
    if reason.open_before:
        count = reason.open_before
        before = "1 exercise before it is" if count == 1 else f"{count} exercises before it are"
        sentence += f" {before} not passed yet: `grade progress` shows them."
    return sentence


def all_passed(catalog: Catalog, reason: Following) -> str:
    """The message for a student who has passed every exercise of the path, or all, that can be graded here."""
    if reason.path is not None:
        return finished(catalog, reason.path)
    if all(gradable_here(entry) for entry in catalog.exercises):
        return f"You have passed all {len(catalog.exercises)} exercises."
    return "You have passed every exercise that needs no GPU; `grade list` marks those that need one."


def prediction_line(line: str, width: int) -> str:
    """A prediction; if it needs a second line, this has the count and what it says of the prediction."""
    predicted, comma, count = line.partition(", ")
    return wrapped(f"{predicted}{comma}{count.replace(' ', NO_BREAK)}", width=width, indent=" " * 4)


def show_progress(courses: Sequence[Path], *, as_json: bool, export: Path | None, whole: bool = False) -> int:
    """Print the progress as a table or as one JSON document, or write it to a file: JSON or CSV, by its suffix.

    The table has the exercises of the chosen path, and others that were tried; all of the course if ``whole``.
    """
    from grader.practice.quiz import due_today, utc_now

    catalog, history = load(courses), progress()
    runs, predictions = history.runs(), history.predictions()
    places = [PlacedExercise(keys_of(entry), entry.number, entry.chapter) for entry in catalog.exercises]
    overview = summary(places, runs, history.hints_seen(), gone=gone_keys(catalog))
    document = progress_document(overview, runs, predictions)
    if export is not None and export.suffix.lower() not in (".json", ".csv"):
        raise UsageError(
            f"--export writes JSON or CSV, and {str(export)!r} ends in neither .json nor .csv", code="usage",
            hint="use a name that ends in .json (everything) or .csv (every run)",
        )  # fmt: skip
    if export is not None:
        write_file(export, runs_csv(overview, runs) if export.suffix.lower() == ".csv" else dumps(document) + "\n")
    if as_json:
        print_json(document)
    elif export is not None:
        print_line(f"{counted(len(runs), 'run')} written to {export}.")
    else:
        path = chosen_path(catalog)
        if path is not None and not whole:
            heading = f"Your path {path.name}: {path_standing(path, passed_names(path.exercises))}"
            table = path_lines(overview, heading, [entry.name for entry in path.exercises], day=local_day)
        else:
            table = table_lines(overview, title=chapter_title, day=local_day)
        for line in table:
            print_line(line)
        for line in prediction_lines(predictions, overview.names(), day=local_day):
            print_line(prediction_line(line, screen().width))
        for sentence in moved_sentences(overview):
            say(sentence)
        if path is not None and whole:
            say(f"Your path {path.name}: {path_standing(path, passed_names(path.exercises))}")
        elif path is not None:
            say("`grade progress --all` shows the whole course.")
        if due := due_today(catalog.exercises, history, utc_now):
            say(f"{counted(due, 'question')} {'is' if due == 1 else 'are'} due today: `grade quiz` asks.")
        none_yet = "`grade start NAME` starts an exercise; `grade next` proposes one."
        say(f"Stored in {history.path}." if runs else none_yet)
    return 0
