"""Grades one submission in an autograder's container: `python -I -m grader.classroom.autograder_run /autograder`.

    source/          assignment.toml, assignment.key      (autograder.py)
    submission/      what the student handed in
    submission_metadata.json ─▶ who, when
    results/results.json     ◀─ points, verdicts, hints

Root runs it, and the submission's processes run as another user (`run_children_as`): what only root may read (the key,
the solutions, the memory of this process) they cannot, even without Landlock. Exit code 0: it has graded.
A failure of the grader writes no results, so that the platform says so instead of giving 0 points.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from grader.catalog.exercises import Catalog, load_catalog
from grader.classroom import key
from grader.classroom.assignment import read_assignment
from grader.classroom.autograder import COURSES, KEY, STUDENTS, USER, digest_of
from grader.classroom.collect.exercises import Assigned, Named
from grader.classroom.engines.base import Outcome
from grader.classroom.facts import facts_of
from grader.classroom.gradebook import gradebook
from grader.classroom.records import Assignment, ClassRecord, ClassSubmission, Result, Student, SubmittedFile
from grader.classroom.run import NEEDS_A_TEACHER, SET_ASIDE, TRIED_AGAIN, TaskMaker, result_of
from grader.classroom.worker import without_run
from grader.errors import GraderFault, Unsupported, UsageError, WarpgradeError
from grader.frozen import dataclass
from grader.paths import PACKAGE
from grader.process.sandbox import available
from grader.render.classroom.platforms import gradescope
from grader.render.json import dumps
from grader.text import listed, safe

NOBODY = 65534
FILES = 5000
LARGEST = 1 << 20
ENDS = (".cu", ".py")
REMARKS = 10


@dataclass(frozen=True)
class Handed:
    """Who submitted, and when; ``due`` is the student's own deadline, if the platform knows one."""

    student: Student
    submitted: datetime | None = None
    due: datetime | None = None
    is_known: bool = True  # False: not in students.json, so that the form may be another than the handout's


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade what is below the folder that is named, by default ``/autograder``."""
    root = Path(*(arguments if arguments is not None else sys.argv[1:]) or ["/autograder"])
    try:
        document = graded(root)
    except WarpgradeError as error:
        print(safe(f"{error.message}. {error.hint}"), file=sys.stderr)
        return error.exit_code
    (root / "results").mkdir(exist_ok=True)
    written = root / "results" / ".results.json"
    written.write_text(dumps(document) + "\n", encoding="ascii")
    written.replace(root / "results" / "results.json")
    return 0


def graded(root: Path) -> dict[str, Any]:
    """Grade each exercise; the platform's document. Raises what keeps the grader from grading."""
    source = root / "source"
    user = submission_user()
    courses = sorted(path for path in (source / COURSES).glob("*") if path.is_dir())
    assignment = read_assignment(source, courses)
    catalog, secret = load_catalog(courses), read_secret(source)
    handed = who_and_when(root / "submission_metadata.json", secret, source / STUDENTS)
    if handed.due is not None and assignment.deadline is not None:
        assignment = replace(assignment, deadline=max(assignment.deadline, handed.due))
    with tempfile.TemporaryDirectory(prefix="warpgrade-autograder-") as folder:
        os.environ["WARPGRADE_CACHE"] = os.environ["WARPGRADE_DATA"] = str(Path(folder) / "own")
        found = collected(root / "submission", Assigned(assignment, catalog), handed, Path(folder))
        maker = _maker(Path(folder), assignment, catalog, secret, courses)
        results = tuple(_result(maker, submission, user) for submission in found.submissions)
    _tell_open(results)
    remarks = [*found.remarks, *other_form(handed, maker)]
    record = ClassRecord(assignment, (handed.student,), found.submissions, results)
    seeds = [str(key.seed(secret, exercise.name)) for exercise in assignment.exercises]
    book = gradebook(record)
    private = [secret.hex(), *seeds, folder, str(source)]
    return gradescope(book.rows[0], book, facts_of(catalog, assignment), private, " ".join(remarks))


# ----------------------------------------------------------------------------------------------------------- before it


def submission_user() -> tuple[int, int] | None:
    """User and group of the submission's processes; None for our own, if Landlock closes the key to them.

    Closes the course inside the installed package to others: it has the solutions. Raises Unsupported if neither works.
    """
    if os.geteuid() != 0:
        if available() == "none":
            hint = "run the autograder as root: submissions then run as another user"
            raise Unsupported("a submission could read the key: there is no Landlock, and no other user", hint=hint)
        return None
    if (PACKAGE / "_course").is_dir():
        (PACKAGE / "_course").chmod(0o700)
    import pwd

    try:
        account = pwd.getpwnam(USER)
    except KeyError:
        return NOBODY, NOBODY
    return account.pw_uid, account.pw_gid


def read_secret(source: Path) -> bytes:
    """The assignment's key. Raises UsageError if it is missing or another user may read it."""
    path = source / KEY
    try:
        text, mode = path.read_text(encoding="ascii"), stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="no_key") from None
    if mode & 0o077:
        raise UsageError(f"others may read {path}", code="exposed_key", hint=f"`chmod 600 {path}`")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise UsageError(f"{path} is no key", code="bad_key", hint="make the zip again") from None


def who_and_when(path: Path, secret: bytes, students: Path) -> Handed:
    """What the platform says about the submission; an unnamed student without a time if it says nothing."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        users = [one for one in document.get("users") or [] if isinstance(one, Mapping)]
        submitted = _time(document.get("created_at"))
        dues = [_time((one.get("assignment") or {}).get("due_date")) for one in users]
    except (OSError, ValueError, AttributeError):
        return Handed(Student("student"), is_known=not students.exists())
    known = json.loads(students.read_text(encoding="utf-8")) if students.exists() else {}
    emails = [str(one.get("email") or "") for one in users]
    ids = [known[digest] for email in emails if (digest := digest_of(secret, email)) in known]
    first = users[0] if users else {}
    name = next(filter(None, [*ids, *emails, str(first.get("id") or "")]), "student")
    student = Student(name, str(first.get("name") or ""))
    return Handed(student, submitted, max(filter(None, dues), default=None), bool(ids) or not students.exists())


def _time(text: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo else None


def other_form(handed: Handed, maker: TaskMaker) -> Iterator[str]:
    """What a student is told whose form cannot be known; teachers are told it on standard error."""
    if maker.forms and not handed.is_known:
        print(
            safe(f"{handed.student.id} is not in {STUDENTS}: complete roster.csv and make the zip again"),
            file=sys.stderr,
        )
        names = listed(sorted(maker.forms))
        yield f"You are not on the class's list, so you may have been given another form of {names}: tell your teacher."


@dataclass(frozen=True)
class Found:
    """The submissions, whose files are copied; and for the student what is no part of them."""

    submissions: tuple[ClassSubmission, ...]
    remarks: tuple[str, ...] = ()


def collected(place: Path, assigned: Assigned, handed: Handed, folder: Path) -> Found:
    """The submission of each exercise, copied into ``folder``.

    Of several files for one exercise that counts whose own name says so, that is no copy, that is nearest to the top.
    """
    named: dict[tuple[str, bool], list[tuple[Named, Path]]] = defaultdict(list)
    remarks = []
    for path in _regular(place):
        said = assigned.named(path.relative_to(place).parts)
        if isinstance(said, Named):
            named[said.exercise, said.is_host].append((said, path))
        elif path.suffix == ".cu":
            remarks.append(f"Not graded: {path.name}: {said}.")
    submissions = []
    for exercise in assigned.exercises:
        files = []
        for is_host, end in ((False, ".cu"), (True, "_host.py")):
            ordered = sorted(named[exercise, is_host], key=lambda one: (not one[0].is_sure, one[0].copy))
            files += [_copied(path, folder, f"{exercise}{end}") for _, path in ordered[:1]]
            remarks += [f"Not graded: {path.name}: there is another file for {exercise}." for _, path in ordered[1:]]
        if files:
            submissions.append(ClassSubmission(handed.student.id, exercise, 1, tuple(files), handed.submitted, "lms"))
    return Found(tuple(submissions), tuple(remarks[:REMARKS]))


def _regular(place: Path) -> Iterator[Path]:
    """The regular files below a folder, those at the top first; links are not followed."""
    found = []
    for folder, folders, names in os.walk(place):
        folders.sort()
        found += [Path(folder) / name for name in sorted(names)]
        if len(found) > FILES:
            break
    for path in sorted(found[:FILES], key=lambda path: len(path.parts)):
        status = path.lstat()
        if path.suffix.lower() in ENDS and stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST:
            yield path


def _copied(path: Path, folder: Path, name: str) -> SubmittedFile:
    content = path.read_bytes()
    (folder / name).write_bytes(content)
    return SubmittedFile(name, sha256(content).hexdigest())


# -------------------------------------------------------------------------------------------------------------- grading


def _maker(folder: Path, assignment: Assignment, catalog: Catalog, secret: bytes, courses: Sequence[Path]) -> TaskMaker:
    from grader.catalog.variants import forms
    from grader.classroom.engines.local import visible_gpus

    entries = [catalog.find(exercise.name) for exercise in assignment.exercises]
    has_gpu = bool(visible_gpus(assignment.backend))
    return TaskMaker(
        folder, assignment, secret,
        {entry.name: forms(entry.exercise) for entry in entries if entry.exercise.variants},
        {entry.name: max(1, entry.exercise.gpus) for entry in entries} if has_gpu else {},
        tuple(map(str, courses)),
    )  # fmt: skip


def _result(maker: TaskMaker, submission: ClassSubmission, user: tuple[int, int] | None) -> Result:
    """Grade one exercise, again if that may help; one that ends all its workers is set aside for the teacher."""
    from grader.classroom.engines.launch import Launcher
    from grader.classroom.engines.local import processors, visible_gpus

    task = maker.task(submission)
    gpus = visible_gpus(maker.assignment.backend)[: task.gpus]
    with Launcher(threads=processors(), user=user) as launcher:
        for attempt in range(1, maker.assignment.attempts + 1):
            outcome = launcher.run(task, gpus)
            result = result_of(outcome, attempt) if outcome.document else _set_aside(outcome)
            if result.verdict not in (*TRIED_AGAIN, SET_ASIDE):
                break
    # a submission that failed before its process was closed in does not say so itself
    return replace(result, sandbox="none" if available() == "none" else result.sandbox)


def _tell_open(results: Sequence[Result]) -> None:
    """Say on standard error, which the platform shows to teachers alone, why a result has no points."""
    for result in results:
        if result.verdict in NEEDS_A_TEACHER:
            words = "; ".join(str(found["message"]) for found in result.run.get("diagnostics", ()))
            print(safe(f"{result.submission}: {result.verdict}: {words}"), file=sys.stderr)


def _set_aside(outcome: Outcome) -> Result:
    run = without_run(outcome.task.exercise, SET_ASIDE, GraderFault(outcome.reason)).to_dict()
    return Result(outcome.task.submission, SET_ASIDE, None, None, run, outcome.started, outcome.ended)


if __name__ == "__main__":
    sys.exit(main())
