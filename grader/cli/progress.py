"""``grade progress``: what is passed, how well and when, on the screen or in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from grader.catalog.exercises import Catalog
from grader.cli.course import chapter_title, load
from grader.errors import UsageError
from grader.output import print_json, print_line, screen, wrapped, write_file
from grader.practice.export import progress_document, runs_csv
from grader.practice.history import key_of, progress
from grader.practice.progress import Run, local_day
from grader.practice.standings import Place, Summary, summary
from grader.practice.table import table_lines


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
