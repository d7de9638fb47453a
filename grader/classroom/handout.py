"""What a student gets: the stubs, the statements, and a page about the assignment.

    assignment + roster ──handouts──▶ Handout (a student's files) ──write_handout──▶ DIR/ada/README.md, vector_add.cu …

Nothing in it is secret: neither the class's key nor what is derived from it. A student's form of an exercise with
variants is chosen as a run chooses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.variants import chosen, entry_with
from grader.classroom.folder import safe_name
from grader.classroom.key import variant_seed
from grader.classroom.records import Assignment, LateRule, Student
from grader.errors import UsageError
from grader.exercise import PLAIN
from grader.frozen import dataclass
from grader.text import counted, listed, minutes_words, safe

README = "README.md"
_RELATIVE = re.compile(r"\[([^][]*)\]\(\.\.?/[^()\s]*\)")  # a link to another page of the course


@dataclass(frozen=True)
class Handout:
    """The files of one student by name; ``folder`` is "" for files that are the same for everybody."""

    folder: str
    files: Mapping[str, bytes]


def handouts(
    assignment: Assignment, entries: Sequence[CourseExercise], students: Sequence[Student], key: bytes
) -> list[Handout]:
    """The files of each student; without students those for everybody. ``key`` is the assignment's."""
    people = students or [Student("")]
    return [_handout(assignment, [_form(assignment, one, who, key) for one in entries], who) for who in people]


def _form(assignment: Assignment, entry: CourseExercise, student: Student, key: bytes) -> CourseExercise:
    """The exercise as this student gets it."""
    if not entry.exercise.variants:
        return entry
    seed = variant_seed(key, student.id, entry.name)
    return entry_with(entry, chosen(entry.exercise, seed) if assignment.variants else PLAIN)


def _handout(assignment: Assignment, entries: Sequence[CourseExercise], student: Student) -> Handout:
    files = {README: about(assignment, entries, student).encode()}
    for entry in entries:
        files |= {path.name: path.read_bytes() for path in entry.given}
        if entry.statement.is_file():
            files[f"{entry.name}.md"] = without_relative_links(entry.statement.read_text(encoding="utf-8")).encode()
    return Handout(safe_name(student.id) if student.id else "", files)


def without_relative_links(markdown: str) -> str:
    """A page without links to pages that a student does not have; their words stay."""
    return _RELATIVE.sub(r"\1", markdown)


def write_handout(to: Path, handout: Handout) -> tuple[int, list[Path]]:
    """Write the files that are not there: how many were written, and which are there with other contents."""
    written, other = 0, []
    for name, content in handout.files.items():
        path = to / handout.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
            written += 1
        except FileExistsError:
            if path.read_bytes() != content:
                other.append(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
    return written, other


# ---------------------------------------------------------------------------------------------- about the assignment


def about(assignment: Assignment, entries: Sequence[CourseExercise], student: Student) -> str:
    """The page that explains the assignment, for GitHub, an LMS or an editor."""
    by_name = {entry.name: entry for entry in entries}
    rows = [_row(by_name[each.name], each.points) for each in assignment.exercises]
    total = sum(each.points for each in assignment.exercises)
    whose = f" These are the files of {safe(student.name or student.id)}." if student.id else ""
    first = entries[0].name
    return f"""\
# {assignment.title}

{_deadline(assignment)}{whose}

| exercise | what it is about | time | hand in | points |
|---|---|---|---|---|
{chr(10).join(rows)}
| | | | | {total:g} |

The statements are beside this page. Write your code where a file says YOUR CODE, keep the file's name, and hand in the
files of the table.{_variants(assignment, entries)}

## Grade it yourself

```
pip install 'warpgrade[cuda12]'       # a machine without a GPU will do
grade {first:<31} # in this folder, as often as you want
grade hint {first}
```

If pip does not find warpgrade, ask your teacher for its wheel: `pip install './FILE.whl[cuda12]'`.

{_backend(assignment)}

## What counts

- Points are for the stages that a file passes: it runs, is correct, uses the technique, and is fast.
- {_COUNTS[assignment.counts]}
- {_late(assignment.late) if assignment.deadline else "There is no deadline, so nothing is late."}
- Your file is graded with inputs that you do not know, and also at sizes that no statement names.
  {_HIDDEN[assignment.hidden]}
- What your own `grade` says is nearly always what you get. Only times differ between machines.
"""


def _row(entry: CourseExercise, points: float) -> str:
    minutes = minutes_words(entry.exercise.minutes) if entry.exercise.minutes else ""
    files = listed(f"`{path.name}`" for path in (entry.stub, entry.host_file) if path is not None)
    idea = entry.exercise.idea.replace("|", "\\|")
    return f"| [{entry.name}]({entry.name}.md) | {idea} | {minutes} | {files} | {points:g} |"


def _deadline(assignment: Assignment) -> str:
    if assignment.deadline is None:
        return "There is no deadline."
    return f"**Hand in by {time_words(assignment.deadline)}.**"


def time_words(time: datetime) -> str:
    """``Sunday, 6 December 2026, 23:59 (UTC+01:00)``."""
    return f"{time:%A}, {time.day} {time:%B %Y, %H:%M} ({time.tzname()})"


def _variants(assignment: Assignment, entries: Sequence[CourseExercise]) -> str:
    own = [entry.name for entry in entries if entry.exercise.variants] if assignment.variants else []
    return f" Your form of {listed(own)} may differ from that of others: read the statement here." if own else ""


_COUNTS: Mapping[str, str] = {
    "last": "You may hand in as often as you want: the last submission of an exercise counts.",
    "best": "You may hand in as often as you want: the submission of an exercise with most points counts.",
    "first": "The first submission of an exercise counts: grade it yourself before you hand it in.",
}
_HIDDEN: Mapping[str, str] = {
    "all": "If such a case fails, you are told its sizes, the wrong value and where it is.",
    "sizes": "If such a case fails, you are told its sizes and what kind of mistake it is.",
    "verdict": "If such a case fails, you are told the verdict and nothing else.",
}


def _backend(assignment: Assignment) -> str:
    return {
        "sim": "Submissions are graded on the simulator, without times: `grade NAME --backend sim` does the same.",
        "gpu": "Submissions are graded on a GPU. Without one, `grade` uses the simulator and gives no points for time.",
        "auto": "Submissions are graded on the simulator, and on a GPU if there is one, for the times.",
    }[assignment.backend]  # fmt: skip


def _late(late: LateRule) -> str:
    grace = f" (after {counted(late.grace_minutes, 'minute')} of grace)" if late.grace_minutes else ""
    if late.days == 0:
        return f"After the deadline{grace} a submission gets no points."
    until = f" After {counted(late.days, 'day')} it gets none." if late.days is not None else ""
    if not late.percent_per_day:
        return f"A submission after the deadline{grace} loses nothing.{until}"
    return (
        f"A submission after the deadline{grace} loses {late.percent_per_day:g} % for each day that has begun.{until}"
    )
