"""One interview on the terminal: the task and the clock, then the questions, then the report.

    code ──d, or its time is over──▶ questions ──all asked, or the time is over──▶ report

Each event is in the session's file before the next begins, so that a session goes on where it was when its terminal is
closed; the clock runs on. The clock and the keyboard are parameters, for tests.
"""

from __future__ import annotations

import select
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.statements import task_in
from grader.catalog.variants import entry_with
from grader.cli import ctrl_c_ends_at_once
from grader.cli.course import files_of, shown_statement, to_edit
from grader.cli.quiz import not_a_number
from grader.errors import UsageError, WarpgradeError
from grader.frozen import dataclass
from grader.gpus.models import simulable
from grader.output import print_line, print_text, say, screen, wrapped
from grader.practice.after_interview import asked_in, grade_of, practise_next
from grader.practice.follow_up import FollowUp
from grader.practice.history import hints_since, key_of, progress, recorder
from grader.practice.interview import Answer, Interview, attempt_of, interview_text
from grader.practice.quiz import keep_answer
from grader.render.interview import clock, interview_report, minutes_of
from grader.simt.occupancy import SIMULATED
from grader.text import listed, safe
from grader.verdict import Verdict

if TYPE_CHECKING:
    from grader.compile.ptxas import Resources

KEYS = """
  Enter  grade your file
  s      show the task again
  t      how much time is left
  d      done: go on to the questions; what was not graded yet is graded
  q      leave; go on with `grade interview {file}`
  ?      this list"""

NO_ANSWER, LEAVE, TIME = "-", "q", "t"  # instead of an answer
WITHOUT_ANSWER = f"`{NO_ANSWER}` leaves a question out, `{TIME}` shows the time, `{LEAVE}` leaves the interview."

OWN_VIEW = "\nYour answer: 1 missed it, 2 had a part of it, 3 had it > "

Graded = Callable[[CourseExercise, Path, int], tuple[Verdict, "Mapping[str, Resources]"]]
"""Grades a file with a seed: its verdict, and the resources of its kernels, {} if they are not known."""


class TimeOver(Exception):
    """Raised when no line was typed in time."""


class Keyboard(Protocol):
    """Where typed lines come from."""

    def line(self, prompt: str, seconds: float) -> str | None:
        """The next line; None at the end of the input. Raises TimeOver after ``seconds`` without one."""

    def forget(self) -> None:
        """Throw away what was typed before it was asked for: it is no answer to the next question."""

    def ready(self, prompt: str) -> bool:
        """Whether the person wants to begin; True without a terminal, where nobody is asked."""


class TypedLines:
    """The lines of standard input."""

    def ready(self, prompt: str) -> bool:
        if not sys.stdin.isatty():
            return True
        print_text(prompt)
        line = sys.stdin.readline()
        return bool(line) and line.strip().casefold()[:1] not in (LEAVE, "n")

    def line(self, prompt: str, seconds: float) -> str | None:
        print_text(prompt)
        if sys.stdin.isatty() and not select.select([sys.stdin], [], [], max(0.0, seconds))[0]:
            print_text("\n")
            raise TimeOver
        text = sys.stdin.readline()
        return text.rstrip("\n") if text else None

    def forget(self) -> None:
        if sys.stdin.isatty():
            import termios

            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def graded_by(backend: str, device: int) -> Graded:
    """How an attempt is graded."""

    def graded(entry: CourseExercise, path: Path, seed: int) -> tuple[Verdict, Mapping[str, Resources]]:
        from grader.grading.grade import grade
        from grader.grading.services import Hardware, Task
        from grader.output import waiting

        request = Hardware.found(backend, device).request(Task(entry, path), seed=seed)
        with waiting(entry.name) as show_step:
            verdict = grade(replace(request, tell=show_step))
            return verdict, resources_of(entry, path) if verdict.launches else {}

    return graded


def resources_of(entry: CourseExercise, path: Path) -> Mapping[str, Resources]:
    """What ptxas says of each kernel of a file; {} if it cannot be compiled or assembled here."""
    from grader.compile import assembly, compile_source, read_submission

    needs = entry.exercise.requires
    target = SIMULATED if simulable(needs) else needs
    try:
        program = compile_source(read_submission(path), path.name, target=target, headers=entry.header_texts)
        return assembly(program, target).resources
    except WarpgradeError:
        return {}


def print_report(
    session: Interview, entry: CourseExercise | None, practise: Sequence[str], *, no_color: bool
) -> None:  # fmt: skip
    shown, idea = screen(no_color=no_color), "" if entry is None else entry.exercise.idea
    print_text(interview_report(session, idea, practise, width=shown.width, color=shown.color, unicode=shown.unicode))


# --------------------------------------------------------------------------------------------------------- the session


@dataclass(frozen=True)
class Left:
    """The seconds that are left for the code, and for everything; not less than 0."""

    code: float
    all: float


class Sitting:
    """One session, from where its file is to its report."""

    def __init__(
        self, catalog: Catalog, session: Interview, file: Path, keyboard: Keyboard, now: Callable[[], float],
        grade_one: Graded, *, no_color: bool = False,
    ) -> None:  # fmt: skip
        self.catalog, self.session, self.file, self.keyboard, self.now = catalog, session, file, keyboard, now
        self.plain = catalog.find(session.exercise)
        self.entry = entry_with(self.plain, session.variant) if session.variant else self.plain
        self.grade_one, self.no_color = grade_one, no_color
        self.folder = file.with_suffix("")

    @property
    def at_s(self) -> float:
        """Seconds since the session began."""
        return max(0.0, self.now() - (self.session.started or self._time()).timestamp())

    @property
    def left(self) -> Left:
        return Left(max(0.0, self.session.code_seconds - self.at_s), max(0.0, self.session.seconds - self.at_s))

    def hold(self) -> int:
        """Everything that is still to be done; 0 if the exercise was passed, else 1."""
        if self.session.ended:
            say("This interview is over. Its report:")
            return self._report()
        if not self.session.started and not self._is_wanted():
            return 1
        goes_on = f"The clock runs on: `grade interview {self.file}` goes on with it."
        with ctrl_c_ends_at_once(wrapped(f"grade: interrupted. {safe(goes_on)}", width=screen().width, indent=" " * 7)):
            self._open()
            if (self.session.code_ended_s is None and not self._code()) or not self._questions():
                say(goes_on)
                return 1
        self._keep(replace(self.session, ended=self._time()))
        return self._report()

    def _keep(self, session: Interview) -> None:
        """What the session is now, in its file. Raises UsageError where that cannot be written."""
        if session.started:
            session = replace(session, hints_read=hints_since(self.plain, session.started))
        part = self.file.with_name(f"{self.file.name}.part")
        try:
            part.write_text(interview_text(session), encoding="utf-8")
            part.replace(self.file)
        except OSError as error:
            raise UsageError(f"cannot write {self.file}: {error.strerror}", code="cannot_write") from None
        self.session = session

    def _time(self) -> datetime:
        return datetime.fromtimestamp(self.now(), UTC)

    # ------------------------------------------------------------------------------------------------ the beginning

    def _is_wanted(self) -> bool:
        """Whether to begin, with the time and the rules said before the clock starts; nothing is written for a no."""
        say(f"An interview of {minutes_of(self.session)}, with no hints and no solution. {self._times()}")
        return self.keyboard.ready("The clock starts with the task. Enter begins, q leaves > ")

    def _open(self) -> None:
        """Begin, or go on: the files, the task, the time."""
        if self.session.started:
            self._keep(replace(self.session, interruptions=(*self.session.interruptions, self.at_s)))
            say(f"The interview goes on; the clock ran on. {self._times()}")
        else:
            self._copy_stubs()
            self._keep(replace(self.session, started=self._time()))
            self._show_task()
            say(f"{self._times()} Grade as often as you want.")
        if self.session.code_ended_s is None:
            say(f"Write your code in {listed(map(str, self._paths()))}, where it says YOUR CODE.")
            print_line(KEYS.format(file=self.file).lstrip("\n"))

    def _copy_stubs(self) -> None:
        """The stub, and what belongs to it, in a folder of the session's own."""
        try:
            self.folder.mkdir()
            for path in self.entry.given:
                shutil.copyfile(path, self.folder / path.name)
        except OSError as error:
            hint = f"{self.folder} is for this session's files: give it another name, or go to another folder"
            raise UsageError(f"cannot make {self.folder}: {error.strerror}", code="exists", hint=hint) from None

    def _paths(self) -> list[Path]:
        return [self.folder / path.name for path in to_edit(self.entry)]

    def _times(self) -> str:
        left = self.left
        if self.session.code_ended_s is not None:
            return f"{clock(left.all)} left."
        return f"{clock(left.code)} for the code, then {clock(left.all - left.code)} for questions."

    def _show_task(self) -> None:
        text = self.entry.statement.read_text(encoding="utf-8", errors="replace")
        task = task_in(text, answers=bool(self.entry.exercise.answers))
        print_text(shown_statement(task, no_color=self.no_color) + "\n")

    # ----------------------------------------------------------------------------------------------------- the code

    def _code(self) -> bool:
        """Grade until the candidate is done or the time for the code is over; False if they leave.

        A version that was not graded by then is graded once more, unless the time was over before the session went on.
        """
        in_time, sure = self.left.code > 0, False
        while (left := self.left.code) > 0:
            try:
                line = self.keyboard.line(f"[{clock(left)} for the code] Enter, s, t, d, q or ? > ", left)
            except TimeOver:
                break
            key = "q" if line is None else line.strip().casefold()[:1]
            if key == "q":
                return False
            if key == "d" and (sure or any(attempt.passed for attempt in self.session.attempts)):
                break
            sure = key == "d"
            if sure:
                say(f"No attempt has passed yet, and {clock(self.left.code)} are left for the code. `d` again ends it.")
            elif key == "s":
                self._show_task()
            elif key == TIME:
                say(self._times())
            elif key == "":
                self._grade(self.at_s)
                if self.session.attempts and self.session.attempts[-1].passed:
                    say("Passed: `d` goes on to the questions.")
            else:
                print_line(KEYS.format(file=self.file).lstrip("\n"))
        ended_s = self.at_s
        if self.left.code <= 0:
            say("The time for the code is over.")
        if in_time and self._is_ungraded():
            say("Your last version is graded.")
            self._grade(ended_s)
        self._keep(replace(self.session, code_ended_s=ended_s))
        say(f"Now the questions; {self._times()} {WITHOUT_ANSWER}")
        return True

    def _texts(self) -> dict[str, str]:
        """The graded files as they are now, by name."""
        return {path.name: _text_of(self.folder / path.name) for path in files_of(self.entry)}

    def _is_ungraded(self) -> bool:
        """Whether the candidate has changed the files since the last attempt, or since the beginning."""
        attempts = self.session.attempts
        known = attempts[-1].files if attempts else {path.name: _text_of(path) for path in files_of(self.entry)}
        return self._texts() != dict(known)

    def _grade(self, at_s: float) -> None:
        """Grade the files as they are now, and log it. An attempt counts if it began in time."""
        from grader.render.terminal import to_terminal

        path = self.folder / self.entry.stub.name
        if not path.is_file():
            say(f"There is no {path}: it is the file that is graded.")
            return
        texts = self._texts()
        record = recorder(self.plain, path)  # a pass counts as any other
        graded, resources = self.grade_one(self.entry, path, self.session.seed)
        verdict = without_hints(graded)
        attempt = attempt_of(verdict, at_s, texts, resources)
        self._keep(replace(self.session, attempts=(*self.session.attempts, attempt)))
        record(graded)
        if graded.passed:
            progress().passed_in_interview(key_of(self.plain), self.session.variant)
        shown = screen(no_color=self.no_color)
        print_text(
            to_terminal(
                verdict, texts[path.name], beside=texts, width=shown.width, color=shown.color, unicode=shown.unicode
            )
        )

    # ------------------------------------------------------------------------------------------------ the questions

    def _questions(self) -> bool:
        """Ask what was not asked yet, as long as there is time; False if the candidate leaves."""
        asked, over = asked_in(self.catalog, self.session), False
        for number, question in enumerate(asked, start=1):
            if number <= len(self.session.answers):
                continue
            if self.left.all <= 0:
                rest = len(asked) - number + 1
                said = "" if over else "The time is over; "
                say(f"{said}{rest} of {len(asked)} questions {'was' if rest == 1 else 'were'} not asked.")
                return True
            at_s = self.at_s
            print_text("\n" + shown_statement(f"**{number} of {len(asked)}.** {question.text}", no_color=self.no_color))
            self.keyboard.forget()
            try:
                typed = self._typed(question)
            except TimeOver:
                typed, over = "", True
                self.keyboard.forget()
                say("The time is over.")
            if typed is None:
                return False
            answer = self._answer(question, typed, at_s)
            self._keep(replace(self.session, answers=(*self.session.answers, answer)))
            grade = grade_of(answer)
            if grade is not None and question.card and not self.session.prepared:
                keep_answer(self.plain, question.card, grade, progress(), self._time())
        return True

    def _typed(self, question: FollowUp) -> str | None:
        """The typed answer; "" for none, None if the candidate leaves. Raises TimeOver.

        After a line that is no answer to the question it is asked again.
        """
        while True:
            line = self.keyboard.line(f"\n[{clock(self.left.all)}] your answer > ", self.left.all)
            typed = None if line is None else line.strip()
            if typed is None or typed.casefold() == LEAVE:
                return None
            if typed == NO_ANSWER:
                return ""
            if typed.casefold() == TIME:
                say(self._times())
                continue
            problem = _unreadable(question, typed) if typed else ""
            if typed and not problem:
                return typed
            say(f"{problem} {WITHOUT_ANSWER}".lstrip())

    def _answer(self, question: FollowUp, typed: str, at_s: float) -> Answer:
        """The answer for the log. The candidate sees the model answer at once, unless an interviewer will review it."""
        right = question.is_right(typed)
        answer = Answer(
            at_s, self.at_s - at_s, question.text, typed, question.model, question.listens_for, right
        )  # fmt: skip
        if self.session.prepared:
            return answer
        verdict = {True: "Right.", False: "Not right.", None: "Model answer:"}[right] if typed else "Model answer:"
        print_text("\n" + shown_statement(f"**{verdict}** {question.model}", no_color=self.no_color))
        if question.listens_for:
            say(f"An interviewer listens for: {question.listens_for}")
        return replace(answer, judged=self._own_view()) if typed and right is None else answer

    def _own_view(self) -> Literal["", "missed", "partly", "well"]:
        """What the candidate thinks of an answer that no program can judge."""
        views: dict[str, Literal["missed", "partly", "well"]] = {"1": "missed", "2": "partly", "3": "well"}
        with suppress(TimeOver):
            while (line := self.keyboard.line(OWN_VIEW, self.left.all)) is not None:
                if line.strip() in views:
                    return views[line.strip()]
                say("Type 1, 2 or 3.")
        return ""

    # --------------------------------------------------------------------------------------------------- the report

    def _report(self) -> int:
        if self.session.prepared:
            say(f"That was the interview. Send {self.file} to your interviewer.")
        else:
            print_text("\n")
            practise = practise_next(self.catalog, self.session, self.folder)
            print_report(self.session, self.entry, practise, no_color=self.no_color)
            say(f"`grade interview --review {self.file}` shows it again, with your code from attempt to attempt.")
        best = self.session.best
        return 0 if best is not None and best.passed else 1


def _unreadable(question: FollowUp, typed: str) -> str:
    """What to say to a line that is no answer to the question; "" for an answer."""
    if question.number is not None:
        return "" if question.number.is_right(typed) is not None else not_a_number(question.number)
    if question.words and not any(typed.casefold().startswith(word[:3]) for word in question.words):
        return f"Type {' or '.join(question.words)}."
    return ""


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def without_hints(verdict: Verdict) -> Verdict:
    """The verdict as an interviewer would give it: what is wrong and where, and not what to do about it."""
    found = tuple(replace(one, hint="") for one in verdict.diagnostics)
    return replace(verdict, next_step="", diagnostics=found)
