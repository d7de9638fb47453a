"""x"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.cli.course import files_of, find, load, missing_here, named, to_edit
from grader.errors import UsageError
from grader.output import print_line, print_text, say, screen, wrapped
from grader.practice.history import key_of, progress

# --------------------------------------------------------------------------------------------------------------- start


def start_exercise(name: str, courses: Sequence[Path], *, force: bool) -> int:
    """Copy the stub, and a host exercise's Python file, into this folder."""
    entry = find(load(courses), name)
    missing = missing_here(entry)
    if not missing and not force:
        raise _all_here(entry)
    for path in files_of(entry) if force else missing:
        _copy(path)
    if not force and len(missing) < len(files_of(entry)):
        kept = named(path for path in files_of(entry) if path not in missing)
        say(f"{kept} was here and stays as it is; {named(missing)} was missing, and is the stub.")
    print_line(_started(entry, files_of(entry)))
    return 0


def _all_here(entry: CourseExercise) -> UsageError:
    files = files_of(entry)
    if len(files) == 1:
        again = f"`grade reset {entry.name}` puts the stub back and keeps what you wrote; --force overwrites it"
        return UsageError(f"{named(files)} is already here", code="exists", hint=again)
    again = (
        f"`grade reset {entry.name}` puts both stubs back and keeps what you wrote; for one stub alone, rename your "
        f"file and run `grade start {entry.name}`; --force overwrites both"
    )
    return UsageError(f"{named(files)} are already here", code="exists", hint=again)


def _copy(source: Path) -> None:
    try:
        shutil.copyfile(source, source.name)
    except OSError as error:
        raise UsageError(
            f"cannot write ./{source.name}: {error.strerror}", code="cannot_write", hint="go to a folder of your own"
        ) from None


def _started(entry: CourseExercise, sources: Sequence[Path]) -> str:
    files = named(to_edit(entry))
    beside = [f"./{path.name}" for path in sources if path not in to_edit(entry)]
    complete = f"\n     {beside[0]} belongs to it; it is complete, and you may change it." if beside else ""
    return (
        wrapped(f"{entry.name}: {entry.exercise.idea}.", width=screen().width) + "\n"
        f"  1. `grade show {entry.name}` explains the task.\n"
        f"  2. Open {files} and do that where it says YOUR CODE.{complete}\n"
        f"  3. `grade {entry.name}` grades it."
    )


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
    from grader.render.console import source_text
    from grader.text import safe

    shown = screen(no_color=no_color)
    return source_text(text, path.suffix) if shown.color else safe(text, lines=True)
