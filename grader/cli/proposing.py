"""``grade next``: which exercise comes next. The report of a pass and the key ``n`` of ``grade watch`` ask here too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.catalog.exercises import Catalog
from grader.cli.course import load, start_exercise
from grader.cli.stubs import missing_here, named, to_edit
from grader.output import say
from grader.practice.following import Following, gradable_here, next_exercise


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
