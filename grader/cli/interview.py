"""``grade interview``: choosing an exercise, preparing an interview for somebody else, reviewing one.

`grader.cli.sitting` holds it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from secrets import randbits

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog, is_number
from grader.catalog.paths import find_path
from grader.catalog.statements import task_in
from grader.cli.course import find, load
from grader.cli.sitting import Sitting, TypedLines, graded_by, print_report
from grader.errors import UsageError
from grader.frozen import dataclass
from grader.output import print_text, say
from grader.practice.after_interview import practise_next
from grader.practice.chosen import chosen_path
from grader.practice.history import gradable_here, key_of, last_interview, passed_names
from grader.practice.interview import CODE_SHARE, MAX_BYTES, Interview, interview_in, interview_text
from grader.render.interview import changes_text, clock, minutes_of
from grader.text import minutes_words
from grader.verdict import SEED_BITS

MINUTES = 45.0
_NAME = re.compile(r"\w+")
SUFFIX = ".json"


def interview(
    target: str | None, courses: Sequence[Path], *, minutes: float | None, path: str | None, prepare: Path | None,
    review: Path | None, answers: bool, backend: str, device: int, no_color: bool,
) -> int:  # fmt: skip
    """Hold, prepare or review an interview. Raises UsageError for options that cannot be used together."""
    if answers:
        hint = f"`grade quiz {target or 'NAME'} --answers` prints them"
        raise UsageError("the questions with their answers are in `grade quiz` now", code="moved_command", hint=hint)
    catalog = load(courses)
    of_a_file = review or (Path(target) if target and target.endswith(SUFFIX) else None)
    if of_a_file is not None and (minutes or path or prepare or (review and target)):
        hint = f"`grade interview {'--review ' if review else ''}{of_a_file}` needs nothing else"
        raise UsageError(f"{of_a_file} has its exercise and its time", code="usage", hint=hint)
    if review is not None:
        return _review(review, catalog, no_color=no_color)
    if of_a_file is not None:
        file, session = of_a_file, read_session(of_a_file)
    else:
        choice = chosen(catalog, target, path, Random(randbits(SEED_BITS)), minutes or MINUTES)
        entry = choice.entry
        session = Interview(
            entry.name, key_of(entry)[2], minutes or MINUTES, randbits(SEED_BITS), choice.variant,
            prepared=prepare is not None,
        )  # fmt: skip
        if prepare is not None:
            return _prepare(prepare, session)
        if choice.note:
            say(choice.note)
        file = _unused(Path(f"interview-{entry.name}{SUFFIX}"))
    graded = graded_by(backend, device)
    return Sitting(catalog, session, file, TypedLines(), time.time, graded, no_color=no_color).hold()


@dataclass(frozen=True)
class Choice:
    """The exercise of an interview, its form ("" for the exercise itself), and a remark."""

    entry: CourseExercise
    variant: str = ""
    note: str = ""


def chosen(
    catalog: Catalog, target: str | None, path: str | None, draw: Random, minutes: float = MINUTES
) -> Choice:  # fmt: skip
    """The exercise for an interview of so many minutes. Raises UsageError.

    ``target`` is an exercise, a ladder, or a chapter's number; without it, any exercise of the path, of the person's
    path while some of it is open, or of the course. Of several, one that this machine can grade and that was not passed
    before, else a variant of one that was, else one that was not passed in an interview. Among these one that can be
    asked alone (`_alone`), and for which the time for the code is enough, else the shortest.
    """
    if target is None:
        among = find_path(catalog, path).exercises if path else _open_path(catalog) or catalog.exercises
    else:
        ladder = tuple(entry for entry in catalog.exercises if entry.exercise.ladder == target.strip())
        chapter = catalog.chapter(int(target)) if is_number(target.strip()) and int(target) < 100 else ()
        among = ladder or chapter or (find(catalog, target),)
    here = [entry for entry in among if gradable_here(entry)] if len(among) > 1 else list(among)
    if not here:
        raise UsageError("this machine can grade none of these exercises", code="unsupported", hint="name another one")
    passed = passed_names(here)
    if new := [entry for entry in here if entry.name not in passed]:
        entry = draw.choice(in_time(_alone(new, catalog), minutes))
        return Choice(entry, note=_more_time(entry, minutes))
    forms = [(entry, variant.name) for entry in here for variant in entry.exercise.variants]
    forms = [*_unasked(forms), *_unasked([(entry, "") for entry in here])] or _longest_ago(here, forms)
    varied = [form for form in forms if form[1]]
    takes = in_time([entry for entry, _ in varied or forms], minutes)
    entry, variant_name = draw.choice([form for form in varied or forms if form[0] in takes])
    note = (
        "It is a variant of an exercise that you have passed."
        if variant_name
        else f"You have passed {entry.name} before."
    )
    return Choice(entry, variant_name, f"{note} {_more_time(entry, minutes)}".rstrip())


Form = tuple[CourseExercise, str]
"""An exercise and the name of its variant, "" for the exercise itself."""


def _unasked(forms: Sequence[Form]) -> list[Form]:
    """Those that were never passed in an interview."""
    return [(entry, variant) for entry, variant in forms if not last_interview(entry, variant)]


def _longest_ago(here: Sequence[CourseExercise], variants: Sequence[Form]) -> list[Form]:
    """The one that was passed in an interview the longest time ago."""
    return [min([*((entry, "") for entry in here), *variants], key=lambda form: last_interview(*form))]


def _open_path(catalog: Catalog) -> Sequence[CourseExercise]:
    """The exercises of the person's path that this machine can grade, if one of them is not passed yet."""
    path = chosen_path(catalog)
    here = [entry for entry in path.exercises if gradable_here(entry)] if path else []
    passed = passed_names(here)
    return here if any(entry.name not in passed for entry in here) else ()


def _alone(entries: Sequence[CourseExercise], catalog: Catalog) -> Sequence[CourseExercise]:
    """Those whose task can be read alone: it asks for code, and names no earlier exercise that is still open; else all.

    For a person who has passed anything, also what the exercise builds on is passed, if there is such an exercise.
    """
    number_of = {entry.name: entry.number for entry in catalog.exercises}
    passed = passed_names(catalog.exercises)
    asked = [one for one in entries if not one.exercise.answers] or list(entries)

    def earlier(entry: CourseExercise) -> set[str]:
        words = set(_NAME.findall(task_in(_statement(entry))))
        return {name for name in words & number_of.keys() if number_of[name] < entry.number}

    readable = [one for one in asked if earlier(one) <= passed] or asked
    return [one for one in readable if passed and set(one.exercise.after) <= passed] or readable


def _statement(entry: CourseExercise) -> str:
    try:
        return entry.statement.read_text(encoding="utf-8")
    except OSError:
        return ""


def in_time(entries: Sequence[CourseExercise], minutes: float) -> Sequence[CourseExercise]:
    """Those that take no longer than an interview of ``minutes`` gives for the code, else those that take the least."""
    takes = [entry.exercise.minutes or 0 for entry in entries]
    most = max(minutes * CODE_SHARE, min(takes))
    return [entry for entry, needs in zip(entries, takes, strict=True) if needs <= most]


def _more_time(entry: CourseExercise, minutes: float) -> str:
    """A remark on an exercise that usually takes longer, else ""."""
    needs, has = entry.exercise.minutes or 0, minutes * CODE_SHARE
    if needs <= has:
        return ""
    return (
        f"{entry.name} takes about {minutes_words(needs)} as an exercise, and you have {clock(60 * has)} for the code: "
        "a part of it is a result, too."
    )


def _prepare(file: Path, session: Interview) -> int:
    if file.suffix != SUFFIX:
        raise UsageError(f"{file} must end in {SUFFIX}", code="usage", hint=f"for example {file.stem}{SUFFIX}")
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(interview_text(session))
    except FileExistsError:
        raise UsageError(f"{file} is already here", code="exists", hint="give another name") from None
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}", code="cannot_write") from None
    say(
        f"{file} is an interview of {minutes_of(session)} about {session.exercise}. Send it to the candidate: "
        f"`grade interview {file.name}` begins it. `grade interview --review FILE` shows you what they send back."
    )
    return 0


def _review(file: Path, catalog: Catalog, *, no_color: bool) -> int:
    """Print the report, and the code from attempt to attempt."""
    session = read_session(file)
    entry = next((entry for entry in catalog.exercises if entry.name == session.exercise), None)
    own = entry is not None and session.ended is not None and not session.prepared
    practise = practise_next(catalog, session, file.with_suffix("")) if own else ()
    print_report(session, entry, practise, no_color=no_color)
    if session.attempts:
        print_text("\n" + changes_text(session))
    if session.prepared and session.started:
        say("The file was in the candidate's hands: to be sure of a verdict, grade the code yourself.")
    return 0


def read_session(file: Path) -> Interview:
    """The session of a file. Raises UsageError if it cannot be read, or is none."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        hint = "`grade interview --prepare FILE` writes one" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"cannot read {file}: {error.strerror}", code="cannot_read", hint=hint) from None
    if len(content) > MAX_BYTES:
        raise UsageError(
            f"{file} is larger than {MAX_BYTES >> 20} MiB: it is no interview's file", code="bad_interview"
        )
    return interview_in(content.decode("utf-8", "replace"), str(file))


def _unused(file: Path) -> Path:
    """``file``, or the first of ``file-2.json``, … that is not here."""
    names = (file.with_stem(f"{file.stem}{f'-{number}' if number > 1 else ''}") for number in range(1, 1000))
    free = next((name for name in names if not name.exists() and not name.with_suffix("").exists()), None)
    if free is None:
        raise UsageError("this folder has a thousand interviews", code="exists", hint="go to another folder")
    return free
