"""``grade class report`` and ``grade class export``: a class's results as pages, and as files for other systems.

What is written is made by pure functions of the class's records (`grader.render.classroom`); this reads the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from grader.catalog.exercises import Catalog
from grader.classroom import key
from grader.classroom.facts import facts_of
from grader.classroom.folder import read_class
from grader.classroom.gradebook import Gradebook, gradebook
from grader.classroom.records import ClassRecord, ClassSubmission
from grader.classroom.store import Store
from grader.cli.course import load
from grader.cli.deadline import begin, ends_in_time
from grader.errors import UsageError
from grader.expressions import did_you_mean
from grader.frozen import dataclass
from grader.output import print_json, print_line, print_text, say, write_file
from grader.render.classroom.tables import Exported, LeftOut, Missing
from grader.text import counted, listed, safe

TEXT_BYTES = 256 << 10
REPORT = "report"
COLLECT = "`grade class collect {folder} SOURCE…` reads a download of your LMS, a folder, or git repositories"
NOTHING_COLLECTED = f"No submissions were collected yet: {COLLECT}."
LISTED = 12  # of those who are left out


def whole_record(folder: Path, courses: Sequence[Path]) -> ClassRecord:
    """All of a class, with results and the teacher's decisions."""
    record = read_class(folder, courses)
    with Store.open(folder, make=False) as store:
        return replace(record, results=store.results(), overrides=store.overrides())


def with_unchanged(folder: Path, record: ClassRecord, catalog: Catalog) -> ClassRecord:
    """The record that also says which submissions are the stub as it was handed out."""
    from grader.classroom.collect.exercises import Assigned

    assigned = Assigned(record.assignment, catalog)
    unchanged = (
        one.key
        for one in record.submissions
        if one.exercise in assigned.exercises and assigned.is_handout(one.exercise, _contents(folder, one))
    )
    return replace(record, unchanged=frozenset(unchanged))


def private_texts(folder: Path, record: ClassRecord) -> list[str]:
    """What no student may read: where the teacher's files are, and, if the key is here, what follows from it."""
    places = {str(folder.resolve()), str(Path.home()), str(Path.cwd())}
    texts = {place for place in places if place.count("/") > 1}
    if (folder / key.FILE).exists():
        class_key = key.read_key(folder)
        secret = key.assignment_key(class_key, record.assignment.name)
        texts |= {class_key.hex(), secret.hex()}
        texts |= {str(key.seed(secret, exercise.name)) for exercise in record.assignment.exercises}
    return sorted(texts, key=len, reverse=True)


# -------------------------------------------------------------------------------------------------------------- report


@dataclass(frozen=True)
class ReportOptions:
    """The options of ``grade class report``, as click passes them."""

    folder: Path
    to: Path | None = None
    leaderboard: bool = False
    as_json: bool = False
    courses: tuple[Path, ...] = ()


@ends_in_time
def report(**values: Any) -> int:
    """Write the pages; or print the document."""
    from grader.render.classroom.document import class_document
    from grader.render.classroom.leaderboard import boards, no_speed
    from grader.render.classroom.names import pseudonyms
    from grader.render.json import dumps, versions

    options = ReportOptions(**values)
    catalog = load(options.courses)
    record = with_unchanged(options.folder, whole_record(options.folder, options.courses), catalog)
    book, made = gradebook(record), datetime.now().astimezone()
    ids = [row.student.id for row in book.rows]
    who = pseudonyms(ids, key.read_key(options.folder)) if options.leaderboard else {}
    document = class_document(
        book, made=made, versions={"warpgrade": versions()["warpgrade"]}, similar=record.similar, pseudonyms=who
    )
    if options.as_json:
        print_json(document)
        return 0
    to = options.to or options.folder / REPORT
    files = _pages(catalog, options, to, record, book, made, who) | {"class.json": dumps(document) + "\n"}
    for name, text in files.items():
        _write(to / name, text)
    _say_what_was_made(to, book)
    if who and len(boards(book, who)) == 1:
        say(no_speed(book))
    if not record.submissions:
        say(NOTHING_COLLECTED.format(folder=options.folder))
    return 0


def _pages(
    catalog: Catalog,
    options: ReportOptions,
    to: Path,
    record: ClassRecord,
    book: Gradebook,
    made: datetime,
    who: Mapping[str, str],
) -> dict[str, str]:
    """All pages by their paths in the report."""
    from grader.render.classroom.leaderboard import leaderboard_page
    from grader.render.classroom.names import file_names
    from grader.render.classroom.student import student_page
    from grader.render.classroom.teacher import teacher_page
    from grader.render.json import versions

    facts, private = facts_of(catalog, record.assignment), private_texts(options.folder, record)
    shown = {"warpgrade": versions()["warpgrade"]}
    paths = {student: f"students/{name}.html" for student, name in file_names(r.student.id for r in book.rows).items()}
    pages = {
        "index.html": teacher_page(
            book, made=made, versions=shown, similar=record.similar, pages=paths,
            leaderboard="leaderboard.html" if who else "",
            compared="similar.html" if (to / "similar.html").exists() else "",
        )
    }  # fmt: skip
    if who:
        pages["leaderboard.html"] = leaderboard_page(book, who, made=made)
    for number, row in enumerate(book.rows):
        begin(number)
        counting = [grade.attempt.submission for grade in row.grades if grade.attempt]
        pages[paths[row.student.id]] = student_page(
            row, book, made=made, texts={one.key: _texts(options.folder, one) for one in counting}, facts=facts,
            private=private, versions=shown, pseudonym=who.get(row.student.id, ""),
        )  # fmt: skip
    return pages


def _texts(folder: Path, submission: ClassSubmission) -> dict[str, str]:
    """The submitted files as text."""
    contents = _contents(folder, submission)
    return {name: content[:TEXT_BYTES].decode("utf-8", "replace") for name, content in contents.items()}


def _contents(folder: Path, submission: ClassSubmission) -> dict[str, bytes]:
    """The submitted files by the names that findings use; one that is gone, or was changed since, is left out."""
    found = {}
    for file in submission.files:
        try:
            content = (folder / file.path).read_bytes()
        except OSError:
            continue
        if sha256(content).hexdigest() == file.sha256:
            name = submission.exercise + ("_host.py" if file.path.endswith(".py") else ".cu")
            found[name] = content
    return found


def _write(path: Path, text: str) -> None:
    """Write one file of a report, which only its owner can read: it has names and grades."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"cannot write {path.parent}: {error.strerror}", code="cannot_write") from None
    write_file(path, text)


def _say_what_was_made(to: Path, book: Gradebook) -> None:
    print_line(f"The report of {counted(len(book.rows), 'student')} is in {to}: open {to / 'index.html'} in a browser.")
    say(f"The page of each student is in {to / 'students'}: send each student only their own.")
    if left := sum(row.open for row in book.rows):
        say(f"{counted(left, 'grade')} without points: the report begins with what to do.")


# -------------------------------------------------------------------------------------------------------------- export


@dataclass(frozen=True)
class ExportOptions:
    """The options of ``grade class export``, as click passes them."""

    folder: Path
    system: str
    into: Path | None = None
    column: str | None = None
    exercise: str | None = None
    output: Path | None = None
    match: str = "idnumber"
    missing: Missing = "zero"
    courses: tuple[Path, ...] = ()


def export(**values: Any) -> int:
    """Write the file or files for one system."""
    options = ExportOptions(**values)
    record = whole_record(options.folder, options.courses)
    _require_fitting(options, record)
    book = gradebook(record)
    if options.into is not None:
        return _fill(options, options.into, book)
    if options.system in _FOLDERS:
        return _write_each(options, record, book)
    made = _EXPORTS[options.system](options, book)
    if options.output is None:
        print_text(made.text)
    else:
        write_file(options.output, made.text)
        print_line(f"The grades are in {options.output}.", to_stderr=True)
    _say_left_out(made.left_out, made.remarks)
    return 0


def _require_fitting(options: ExportOptions, record: ClassRecord) -> None:
    """Raise UsageError for options that do not fit together."""
    names = [exercise.name for exercise in record.assignment.exercises]
    if options.exercise is not None and options.exercise not in names:
        hint = did_you_mean(options.exercise, names) or f"the assignment has {', '.join(names)}"
        raise UsageError(f"{options.exercise!r} is not assigned", code="unknown_exercise", hint=hint)
    if (options.into or options.column) and options.system != "canvas":
        raise UsageError(
            "--into and --column are for canvas", code="usage", hint="other systems import a file of their own"
        )
    if options.column and not options.into:
        raise UsageError("--column needs --into", code="usage", hint="--into FILE is your export of Canvas's gradebook")
    if options.system in _FOLDERS and options.output is None:
        raise UsageError(f"{options.system} gets a file for each student", code="usage", hint="--output DIR says where")


def _csv(options: ExportOptions, book: Gradebook) -> Exported:
    from grader.render.classroom.tables import to_csv

    return to_csv(book, exercise=options.exercise, missing=options.missing)


def _canvas(options: ExportOptions, book: Gradebook) -> Exported:
    from grader.render.classroom.canvas import to_canvas

    return to_canvas(book, exercise=options.exercise, missing=options.missing)


def _moodle(options: ExportOptions, book: Gradebook) -> Exported:
    from grader.render.classroom.moodle import MATCHES, to_moodle, working_matches

    match = MATCHES[options.match]
    made = to_moodle(book, match=match, exercise=options.exercise, missing=options.missing)
    if not made.is_empty:
        return made
    working = working_matches(book)
    if match in working:
        message, hint = "nobody has a grade to export", f"`grade class status {options.folder}` says what is open"
    else:
        others = listed(f"--match {name} names {counted(count, 'student')}" for name, count in working.items())
        message = f"roster.csv has no {options.match} of any student"
        hint = f"{others or 'add the column to roster.csv'}; a match must be what Moodle knows the students by"
    raise UsageError(f"nothing was written: {message}", code="nobody_exported", hint=hint)


def _junit(options: ExportOptions, book: Gradebook) -> Exported:
    from grader.render.classroom.platforms import class_junit

    return Exported(class_junit(book, made=datetime.now().astimezone()))


_EXPORTS: Mapping[str, Callable[[ExportOptions, Gradebook], Exported]] = {
    "csv": _csv, "canvas": _canvas, "moodle": _moodle, "junit": _junit,
}  # fmt: skip
_FOLDERS = {"gradescope": "results.json", "classroom50": "result.json"}


def _fill(options: ExportOptions, into: Path, book: Gradebook) -> int:
    """Fill a column of the instructor's file; without --output the new file is beside it."""
    from grader.render.classroom.canvas import fill_canvas

    try:
        content = into.read_bytes()
    except OSError as error:
        raise UsageError(f"{into} cannot be read: {error.strerror}", code="unreadable") from None
    filled = fill_canvas(content, book, column=options.column, exercise=options.exercise, missing=options.missing)
    output = options.output or into.with_name(f"{into.stem}-filled{into.suffix or '.csv'}")
    try:
        output.write_bytes(filled.content)
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}", code="cannot_write") from None
    print_line(f"{counted(filled.filled, 'cell')} filled: import {output} in Canvas. {into} is unchanged.")
    _say_left_out(filled.left_out, filled.remarks)
    return 0


def _write_each(options: ExportOptions, record: ClassRecord, book: Gradebook) -> int:
    """A folder for each student of the roster, with the file that the system reads."""
    from grader.render.classroom.names import file_names
    from grader.render.classroom.platforms import classroom50, gradescope
    from grader.render.classroom.tables import unknown_students
    from grader.render.json import dumps

    assert options.output is not None
    facts, private = facts_of(load(options.courses), record.assignment), private_texts(options.folder, record)
    classroom, made = options.folder.resolve().name, datetime.now().astimezone()
    rows = [row for row in book.rows if row.known]
    names = file_names(row.student.id for row in rows)
    for row in rows:
        document = (
            gradescope(row, book, facts, private)
            if options.system == "gradescope"
            else classroom50(row, book, classroom=classroom, made=made)
        )
        _write(options.output / names[row.student.id] / _FOLDERS[options.system], dumps(document) + "\n")
    print_line(f"The results of {counted(len(rows), 'student')} are in {options.output}.")
    _say_left_out(unknown_students(book), ())
    return 0


def _say_left_out(left_out: Sequence[LeftOut], remarks: Sequence[str]) -> None:
    """What the teacher must know about an export, on standard error."""
    for one in left_out[:LISTED]:
        print_line(f"left out: {one.who}: {one.why}", to_stderr=True)
    if len(left_out) > LISTED:
        print_line(f"left out: {len(left_out) - LISTED} more; `grade class report` shows all", to_stderr=True)
    for remark in remarks:
        print_line(remark, to_stderr=True)


# ---------------------------------------------------------------------------------------------------------- autograder


def autograder(folder: Path, output: Path, cuda: str, wheel: Path | None, courses: tuple[Path, ...]) -> int:
    """Write the zip that Gradescope's containers grade with."""
    from grader.classroom.autograder import autograder_zip

    record = read_class(folder, courses)
    secret = key.assignment_key(key.read_key(folder), record.assignment.name)
    unmatched = _without_address(folder, record, courses)
    content = autograder_zip(
        record.assignment, secret, extra=f"cuda{cuda}", wheel=wheel, courses=courses, roster=record.roster
    )
    try:
        output.touch(mode=0o600)
        output.write_bytes(content)
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}", code="cannot_write") from None
    print_line(f"The autograder of {record.assignment.title} is in {output}: upload it as the zip of a new autograder.")
    say(AUTOGRADER + ("" if wheel else FROM_INDEX))
    if unmatched:
        more = [f"{len(unmatched) - LISTED} more"] if len(unmatched) > LISTED else []
        say(safe(f"Warning: {NO_ADDRESS.format(who=listed([*unmatched[:LISTED], *more]))} {ADD_ADDRESS}."))
    return 0


def _without_address(folder: Path, record: ClassRecord, courses: tuple[Path, ...]) -> list[str]:
    """The students whose form Gradescope cannot know. Raises UsageError if it knows that of none."""
    from grader.classroom.autograder import address_of

    catalog = load(courses)
    varied = [each.name for each in record.assignment.exercises if catalog.find(each.name).exercise.variants]
    if not record.assignment.variants or not varied:
        return []
    unmatched = [student.id for student in record.roster if not address_of(student)]
    if len(unmatched) == len(record.roster):
        message = f"variants are on, and {folder}/roster.csv has no email address"
        raise UsageError(f"{message}: {NO_FORMS.format(listed(varied))}", code="no_emails", hint=ADD_ADDRESS)
    return unmatched


NO_FORMS = "Gradescope would not know which form of {} each student has"
NO_ADDRESS = "{who} may get another form than that of the handout, because the roster has no email address for them."
ADD_ADDRESS = (
    "Add a column `email` to roster.csv with the addresses that students have in Gradescope, and make the zip again"
)
FROM_INDEX = " setup.sh installs this warpgrade from the package index: if it is not there, give a wheel with --wheel."
AUTOGRADER = (
    "It has a key for this assignment alone: give the zip to nobody. Its setup.sh is for images with Debian or Ubuntu; "
    "submissions run as a user who cannot read the key."
)
