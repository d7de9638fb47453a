"""``grade class similar``: the submissions of a class that are close to one another, and a page with both files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.classroom.folder import read_class
from grader.classroom.records import ClassRecord, ComparedExercise, SimilarPair, Student
from grader.classroom.similar_class import SubmittedText, compare_exercise, texts_of
from grader.classroom.similar_store import FILE, document, read_compared
from grader.classroom.submissions import replace_file
from grader.cli.course import find, load
from grader.cli.deadline import begin, ends_in_time
from grader.errors import UsageError
from grader.output import print_json, print_line, say, waiting, write_file
from grader.render.json import dumps
from grader.text import counted, listed, percent, safe

SHOWN = 10  # pairs of an exercise in the terminal
NO_LANDLOCK = (
    "This system cannot close its files to a submission's code (no Landlock), so nothing is compiled: only tokens are \
compared, not PTX."
)


@ends_in_time
def similar(folder: Path, exercise: str | None, output: Path | None, courses: Sequence[Path], *, as_json: bool) -> int:
    """Compare every exercise, or one; keep the result in similar.json, and write the page."""
    from grader.process.sandbox import available

    catalog, record = load(courses), read_class(folder, courses)
    entries = [find(catalog, one.name) for one in record.assignment.exercises]
    if exercise is not None:
        chosen = find(catalog, exercise)
        if chosen.name not in [entry.name for entry in entries]:
            hint = f"its exercises are {', '.join(entry.name for entry in entries)}"
            raise UsageError(f"this assignment has no {chosen.name}", code="unknown_exercise", hint=hint)
        entries = [chosen]
    with_ptx = available() != "none"
    if not with_ptx:
        print_line(NO_LANDLOCK, to_stderr=True)
    found: dict[str, ComparedExercise] = {}
    texts: dict[str, SubmittedText] = {}
    for number, entry in enumerate(entries):
        begin(number)
        submitted = texts_of(folder, record.submissions, entry, _tell_missing)
        texts |= {one.key: one for one in submitted}
        with waiting(entry.name, quiet=as_json) as tell:
            tell(f"comparing {counted(len(submitted), 'submission')}")
            found[entry.name] = compare_exercise(catalog, entry, submitted, with_ptx=with_ptx)
    kept = {one.exercise: one for one in read_compared(folder)} | found
    replace_file(folder / FILE, (dumps(document(kept.values())) + "\n").encode())
    page = output or folder / "report" / "similar.html"
    _write_page(page, record, list(found.values()), texts)
    if as_json:
        print_json(document(found.values()))
        return 0
    for one in found.values():
        _print(record, one)
    say(f"Close is not copied: look at both files before you talk to anybody. The page is in {page}.")
    return 0


def _tell_missing(path: str) -> None:
    print_line(
        f"{safe(path)} cannot be read, and is not compared: `grade class collect` collects it again", to_stderr=True
    )


def _write_page(
    path: Path, record: ClassRecord, found: Sequence[ComparedExercise], texts: dict[str, SubmittedText]
) -> None:
    from grader.render.classroom.similar import ComparedText, similar_page

    students = {student.id: student for student in record.roster}
    shown = {
        key: ComparedText(
            students.get(one.submission.student, Student(one.submission.student)), one.submission.number, one.text
        )
        for key, one in texts.items()
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
    write_file(path, similar_page(record.assignment.title, found, shown))


def _print(record: ClassRecord, one: ComparedExercise) -> None:
    names = {submission.key: submission.student for submission in record.submissions}
    compared = one.submissions - len(one.too_small)
    print_line(f"\n{one.exercise}: {counted(one.submissions, 'submission')} of {counted(one.students, 'student')}")
    if one.too_small:
        from grader.render.classroom.similar import too_small_words

        print_line(f"  {too_small_words(one)}")
    for group in one.identical:
        print_line(f"  the same file: {listed(safe(names[key]) for key in group)}")
    if compared > 1:
        print_line(f"  {counted(len(one.pairs), 'pair')} of students with similar files{':' if one.pairs else ''}")
    for pair in one.pairs[:SHOWN]:
        print_line(f"  {_pair_line(pair, names)}")
    if len(one.pairs) > SHOWN:
        print_line(f"  and {len(one.pairs) - SHOWN} more on the page")


def _pair_line(pair: SimilarPair, names: dict[str, str]) -> str:
    lines = ", ".join(f"{_range(one.first)} and {_range(one.second)}" for one in pair.shared[:3])
    more = " …" if len(pair.shared) > 3 else ""
    words = "tokens" if pair.by == "tokens" else "PTX"
    people = f"{safe(names[pair.first])} and {safe(names[pair.second])}"
    return f"{percent(pair.similarity):>8} by {words:6}  {people}" + (f", lines {lines}{more}" if lines else "")


def _range(lines: tuple[int, int]) -> str:
    return f"{lines[0]}–{lines[1]}" if lines[1] > lines[0] else str(lines[0])
