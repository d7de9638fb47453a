"""``grade list`` and ``grade show``: the exercises, finding one by its name, and its files in the current folder."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from grader.catalog.courses import ALL_PATHS, CourseExercise, built_in_course
from grader.catalog.exercises import Catalog, is_number, load_catalog
from grader.catalog.paths import CoursePath, find_path, path_in, path_names, sentences
from grader.catalog.statements import asked_counters, parts_of
from grader.catalog.words import guide
from grader.cli.routing import COMMANDS, HELP, reserved
from grader.errors import UsageError, WarpgradeError
from grader.output import print_json, print_line, print_text, say, screen, wrapped
from grader.paths import data_folder
from grader.text import listed, minutes_words

LIST_SCHEMA = "warpgrade/list/1"


def load(courses: Sequence[Path]) -> Catalog:
    """All exercises. Raises UsageError for a folder that is not a course, or an exercise named like a command."""
    catalog = load_catalog(courses)
    _tell_whose_rights(courses)
    taken = reserved()
    clash = next((entry for entry in catalog.exercises if entry.name in taken), None)
    if clash is not None:
        message = f"the exercise in {clash.folder} is called {clash.name!r}, which is a command"
        raise UsageError(message, code="bad_exercise", hint="give it another name")
    return catalog


RIGHTS = "the Python files of {} run with your rights: use courses of people whom you trust"


def _tell_whose_rights(courses: Sequence[Path]) -> None:
    """Say it once of each course: the folder of a person's own data keeps the list. A document is alone."""
    context = click.get_current_context(silent=True)
    if not courses or (context is not None and context.params.get("as_json")):
        return
    known = data_folder("courses")
    try:
        told = known.read_text().splitlines()
    except OSError:
        told = []
    new = [folder for course in courses if (folder := str(course.resolve())) not in told]
    for folder in new:
        print_line(f"grade: {RIGHTS.format(folder)}", to_stderr=True)
    if new:
        with suppress(OSError, UnicodeError):
            known.parent.mkdir(parents=True, exist_ok=True)
            known.write_text("".join(f"{folder}\n" for folder in (*told, *new)))


def find(catalog: Catalog, text: str) -> CourseExercise:
    """The exercise for ``text``, as in `Catalog.find`, or for one of its files, which the Tab key completes.

    Raises UsageError, with a command of a similar name as the hint if there is one.
    """
    from difflib import get_close_matches

    from grader.expressions import did_you_mean

    if (owner := of_a_file(catalog, Path(text))) is not None:
        return owner
    try:
        return catalog.find(text)
    except UsageError as error:
        word = text.strip().lower()
        if error.code == "unknown_exercise" and word in path_names(catalog):
            hint = f"`grade list --path {word}` lists the exercises of the path {word}"
            raise UsageError(error.message, code=error.code, hint=hint) from None
        visible = [name for name, command in COMMANDS.items() if not command.hidden] + [HELP]
        synonym = word if word in visible else OTHER_WORDS.get(word)
        command = synonym or "".join(get_close_matches(word, visible, n=1))
        if error.code == "unknown_exercise" and command and (synonym or not did_you_mean(text, catalog.names)):
            raise UsageError(error.message, code=error.code, hint=f"did you mean `grade {command}`?") from None
        raise


OTHER_WORDS = {
    "version": "--version", "man": HELP, "usage": HELP, "commands": HELP, "ls": "list", "exercises": "list",
    "explain": "show", "begin": "start", "init": "start", "status": "progress", "questions": "quiz", "ask": "quiz",
    "glossary": "words", "define": "words", "paths": "list --path",
}  # fmt: skip
"""Command names of other tools, which people may try, and ours for them."""


# ---------------------------------------------------------------------------------------------------------------- list


def show_list(courses: Sequence[Path], *, chapter: str | None = None, path: str | None = None, as_json: bool) -> int:
    """Print all exercises, or those of a chapter or of a path (not ``all``); for the path "", the paths themselves."""
    catalog = load(courses)
    path = None if path == ALL_PATHS else path
    if chapter is not None and path is not None:
        raise UsageError("CHAPTER and --path cannot be used together", code="usage", hint="use one of them")
    shown_path = find_path(catalog, path) if path else None
    if chapter is not None:
        members = catalog.chapter(int(chapter)) if is_number(chapter) else ()
        if not members:
            numbers = dict.fromkeys(entry.number // 100 for entry in catalog.exercises)
            hint = f"the chapters are {', '.join(map(str, numbers))}; `grade list` shows them all"
            if chapter in path_names(catalog):
                hint = f"{chapter} is a path: `grade list --path {chapter}`; {hint}"
            raise UsageError(f"there is no chapter {chapter!r}", code="unknown_chapter", hint=hint)
        catalog = Catalog(members)
    if as_json:
        print_json(list_document(catalog, shown_path))
        return 0
    from grader.practice.history import passed_names

    passed, width = passed_names(catalog.exercises), screen().width
    if path == "":
        from grader.cli.paths import paths_lines

        lines = paths_lines(catalog, width)
    elif shown_path is not None:
        from grader.cli.paths import path_lines

        lines = path_lines(shown_path, sentences(catalog).get(shown_path.name, ""), width, passed)
    else:
        lines = list_lines(catalog, width, passed=passed, whole=chapter is None)
    for line in lines:
        print_line(line)
    return 0


def list_document(catalog: Catalog, path: CoursePath | None = None) -> dict[str, Any]:
    """Return the document ``warpgrade/list/1``; with ``path`` its exercises are those of the path, in their order."""
    what_for = sentences(catalog)
    paths = [found for name in path_names(catalog) if (found := path_in(catalog, name)) is not None]
    return {
        "schema": LIST_SCHEMA,
        "exercises": [
            {
                "name": entry.name,
                "number": entry.number,
                "chapter": entry.chapter,
                "idea": entry.exercise.idea,
                "requires": entry.exercise.requires,
                "host": entry.exercise.host,
                "timed": entry.exercise.timed is not None and entry.exercise.target is not None,
                "technique": bool(entry.graded.technique),
                "points": dict(zip(("correct", "technique", "fast"), entry.exercise.points, strict=True)),
                "has_solution": entry.solution is not None,
                "minutes": entry.exercise.minutes,
                "after": list(entry.exercise.after),
                "paths": list(entry.exercise.paths),
            }
            for entry in (catalog.exercises if path is None else path.exercises)
        ],
        "paths": [
            {
                "name": found.name,
                "sentence": what_for.get(found.name, ""),
                "exercises": [entry.name for entry in found.exercises],
            }
            for found in (paths if path is None else [path])
        ],
        "broken": [
            {"name": entry.name, "path": str(entry.path), "message": entry.error.message} for entry in catalog.broken
        ],
    }


def list_lines(catalog: Catalog, width: int = 80, *, passed: Collection[str] = (), whole: bool = True) -> Iterator[str]:
    """Yield the list as text: number, name, minutes and idea, by chapter; ✔ marks passed exercises.

    ``whole`` is False for a part of the course: then a missing chapter needs no explanation.
    """
    from grader.cli.paths import exercise_line

    widest = max((len(entry.name) for entry in catalog.exercises), default=0)
    for at, (chapter, members) in enumerate(groupby(catalog.exercises, key=lambda entry: entry.chapter)):
        if at:
            yield ""
        yield chapter_title(chapter)
        yield from (exercise_line(entry, widest, width, passed=entry.name in passed) for entry in members)
    if catalog.broken:
        yield from ("", "cannot be read:")
    yield from (f"  {entry.name}: {entry.error.message}" for entry in catalog.broken)
    yield ""
    closing = "`grade show NAME` explains an exercise, `grade start NAME` copies its stub here, `grade NAME` grades it."
    yield wrapped(closing, width=width)
    if whole and (names := path_names(catalog)):
        yield wrapped(f"Paths through the course: {', '.join(names)}; `grade list --path` explains them.", width=width)
    if whole and (missing := missing_chapters(catalog)):
        yield wrapped(missing, width=width)
    if passed:
        yield "✔ marks the exercises that you have passed; `grade next` says which comes next."


def missing_chapters(catalog: Catalog) -> str:
    """A sentence on missing chapter numbers, so that nobody takes them for a broken installation; "" if none."""
    built_in = built_in_course()
    numbers = (entry.chapter.partition("_")[0] for entry in catalog.exercises if entry.course == built_in)
    existing = {int(number) for number in numbers if number.isdigit()}
    gaps = [str(number) for number in range(1, max(existing, default=0)) if number not in existing]
    if not gaps:
        return ""
    which = f"Chapter {gaps[0]} is" if len(gaps) == 1 else f"Chapters {listed(gaps)} are"
    return f"{which} not written yet: nothing is missing from your installation."


def chapter_title(chapter: str) -> str:
    number, _, title = chapter.partition("_")
    return f"{int(number)} · {title.replace('_', ' ')}" if number.isdigit() and title else chapter or "exercises"


# ---------------------------------------------------------------------------------------------------------------- show


def show_statement(
    name: str, courses: Sequence[Path], *, full: bool, no_color: bool, variant: str | None = None, paged: bool = True
) -> int:
    """Print the rendered statement of an exercise, or a page about several, and the next commands.

    The causes of each report, at a statement's end, are for somebody who has one: they are printed if it is ``full``,
    and the given headers below them.
    """
    from grader.gpus.models import simulable

    catalog = load(courses)
    if (page_text := guide(name)) and all(entry.name != name.strip() for entry in catalog.exercises):
        print_paged(shown_statement(page_text, no_color=no_color), "`grade words` explains the words of reports.")
        return 0
    steps = [entry for entry in catalog.exercises if entry.shared_page and entry.shared_page.stem == name.strip()]
    entry = steps[0] if steps else form_of(find(catalog, name), variant)
    page = entry.shared_page if steps else entry.statement
    if page is None or not page.is_file():
        raise UsageError(f"{entry.name} has no statement at {entry.statement}", code="bad_exercise")
    text = page.read_text(encoding="utf-8", errors="replace")
    task, causes = (text, "") if full or steps else parts_of(text)
    if full and not steps:
        task += "".join(f"\n## {name}\n\n```c\n{header}```\n" for name, header in entry.header_texts.items())
    closing = f"`grade show {entry.name}` explains its first step." if steps else _next_commands(catalog, entry)
    if (asked := asked_counters(task)) and simulable(entry.exercise.requires):
        closing += f" `grade {entry.name} --predict {asked[0]}=…` compares your prediction with the count."
    if causes:
        more = f"also explains each report{f' and prints {listed(entry.exercise.headers)}' if entry.headers else ''}"
        closing += f" `grade show {entry.name}{variant_words(entry)} --full` {more}."
    if others := [one.name for one in entry.exercise.variants if not entry.exercise.variant and not steps]:
        closing += f" Variants of it, which are other tasks for the same idea: {listed(others)}; "
        closing += f"`grade start {entry.name} --variant {others[0]}` starts one."
    page_text = task if steps else _with_facts(task, entry, catalog)
    shown = shown_statement(page_text, no_color=no_color)
    if paged:
        print_paged(shown, closing)
    else:
        print_text(shown)
        say(closing)
    return 0


def _with_facts(markdown: str, entry: CourseExercise, catalog: Catalog) -> str:
    """The statement with its time, what it builds on and what it comes with, in a line below the title."""
    about = f"about {minutes_words(entry.exercise.minutes)}" if entry.exercise.minutes else ""
    builds = builds_on(entry, catalog)
    given = f"comes with {listed(entry.exercise.headers)}" if entry.headers else ""
    facts = "; ".join(filter(None, (about, builds, given)))
    title, line, rest = markdown.partition("\n")
    return f"{title}\n\n*{facts[:1].upper()}{facts[1:]}.*\n{line}{rest}" if facts else markdown


def builds_on(entry: CourseExercise, catalog: Catalog) -> str:
    """``builds on reduce_v1 and reduce_v3, which you have not passed``; "" if it builds on no exercise."""
    needed, new = [[other.name for other in entries] for entries in needed_by(entry, catalog)]
    known = [name for name in needed if name not in new]
    not_passed = f"{listed(new)}, which you have not passed" if new else ""
    return f"builds on {', and on '.join(filter(None, (listed(known), not_passed)))}" if needed else ""


def needed_by(entry: CourseExercise, catalog: Catalog) -> tuple[list[CourseExercise], list[CourseExercise]]:
    """The exercises on which this one builds (`Exercise.after`), and those of them that the user has not passed."""
    from grader.practice.history import passed_names

    needed = [other for other in catalog.exercises if other.name in entry.exercise.after]
    passed = passed_names(needed)
    return needed, [other for other in needed if other.name not in passed]


def shown_statement(markdown: str, *, no_color: bool) -> str:
    """Return a text of the course, rendered for standard output."""
    from grader.render.console import statement_text

    shown = screen(no_color=no_color)
    return statement_text(markdown, width=shown.width, color=shown.color, unicode=shown.unicode)


def print_paged(text: str, closing: str) -> None:
    """Print both; through the user's pager if they do not fit on the terminal's screen."""
    import click

    closing = wrapped(closing, width=screen().width)
    lines = text.count("\n") + closing.count("\n") + 1
    if sys.stdin.isatty() and sys.stdout.isatty() and lines >= shutil.get_terminal_size((80, 24)).lines:
        # The text stays on the screen after the pager has ended; its last line says how to end it.
        os.environ.setdefault("LESS", "FRX-Psspace\\: on   b\\: back   q\\: end$")
        click.echo_via_pager(f"{text}{closing}\n")  # click strips colours that the pager cannot show
    else:
        print_text(text)
        print_line(closing)


def _next_commands(catalog: Catalog, entry: CourseExercise) -> str:
    from grader.practice.moved import old_here

    copies = f"`grade start {entry.name}{variant_words(entry)}` copies the stub here"
    first = copies if missing_here(entry) else f"Edit {named(to_edit(entry))}"
    sentences = old_here(catalog, entry) or f"{first}; `grade {entry.name}` grades it."
    if entry.hints.is_file():
        sentences += f" `grade hint {entry.name}` gives a hint."
    if entry.interview.is_file():
        sentences += f" `grade quiz {entry.name}` asks interview questions."
    if entry.shared_page is None:
        return sentences
    steps = "the ladder" if entry.exercise.ladder else "all steps"
    return f"{sentences} `grade show {entry.shared_page.stem}` explains {steps}."


def of_a_file(catalog: Catalog, path: Path) -> CourseExercise | None:
    """The exercise of a file in this folder: of ``pinned_copy_host.py`` as well as ``pinned_copy.cu``."""
    return next((entry for entry in catalog.exercises if str(path) in (file.name for file in files_of(entry))), None)


def form_of(entry: CourseExercise, variant: str | None = None) -> CourseExercise:
    """The variant that was asked for, else the one that ./NAME.cu names, else the exercise itself.

    Raises UsageError for a name that the exercise does not have.
    """
    if variant is None and not entry.exercise.variants:
        return entry
    from grader.catalog.variants import entry_for, entry_with
    from grader.compile import read_submission
    from grader.exercise import PLAIN

    if variant is not None:
        form = entry_with(entry, variant)
    else:
        source = b""
        with suppress(WarpgradeError):
            source = read_submission(Path(f"{entry.name}.cu"))
        form = entry_for(entry, source)
    return entry if form.exercise.variant == PLAIN and variant is None else form


def variant_words(entry: CourseExercise) -> str:
    """`` --variant NAME`` for commands about this form of an exercise; "" for the exercise itself."""
    named = entry.exercise.variant in [variant.name for variant in entry.exercise.variants]
    return f" --variant {entry.exercise.variant}" if named else ""


def files_of(entry: CourseExercise) -> list[Path]:
    """The files that `grade start` copies: the stub, and for a host exercise the Python file, too."""
    return [path for path in (entry.stub, entry.host_file) if path is not None]


def missing_here(entry: CourseExercise) -> list[Path]:
    """The exercise's files whose names do not exist in this folder (a broken link exists)."""
    return [path for path in files_of(entry) if not os.path.lexists(path.name)]


def named(paths: Iterable[Path]) -> str:
    """``./pinned_copy.cu and ./pinned_copy_host.py``: the paths of the files in this folder."""
    return listed(f"./{path.name}" for path in paths)


def to_edit(entry: CourseExercise) -> list[Path]:
    """The stubs that the student has to change: for a host exercise one of the two files, or both."""
    stubs = files_of(entry)
    return [path for path in stubs if path.is_file() and b"YOUR CODE" in path.read_bytes()] or stubs
