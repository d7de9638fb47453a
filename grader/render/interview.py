"""The report of a practised interview on the terminal: the result, the time line, each question with its answers.

interview_report(interview, idea) -> str        changes_text(interview) -> str: the code from attempt to attempt

Pure functions of the record. A candidate's file is somebody else's text: all of it passes `safe`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import pairwise

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.practice.interview import Answer, Attempt, Interview
from grader.render.console import rendered, statement_text
from grader.render.terminal import COLOURS
from grader.text import counted, percent, safe

STYLES = {True: "green", False: "red", None: "default"}


def clock(seconds: float) -> str:
    """``4:05``, minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def minutes_of(interview: Interview) -> str:
    """``45 minutes``, the whole time."""
    return f"{interview.minutes:g} minute{'' if interview.minutes == 1 else 's'}"


def interview_report(
    interview: Interview, idea: str = "", practise: Sequence[str] = (), *, width: int = 80, color: bool = True,
    unicode: bool = True,
) -> str:  # fmt: skip
    """The report; ``idea`` is the exercise's, "" if no course at hand has it; ``practise`` is what to practise next."""
    return rendered(_parts(interview, idea, practise, width), width=width, color=color, unicode=unicode)


def _parts(interview: Interview, idea: str, practise: Sequence[str], width: int) -> Iterator[RenderableType]:
    yield Text(safe(interview.exercise), style="bold").append(f"  {idea}" if idea else "", style="default")
    yield Padding(Text(_summary(interview)), (0, 0, 0, 2))
    yield Padding(Text(_notes(interview), style="dim"), (0, 0, 0, 2))
    if not interview.started:
        return
    yield Text("\ntime line", style="bold")
    yield Padding(_time_line(interview), (0, 0, 0, 2))
    if interview.answers:
        yield Text("\nquestions", style="bold")
    for number, answer in enumerate(interview.answers, start=1):
        yield from _question(number, answer, width)
    if practise:
        yield Text("\npractise next", style="bold")
    for line in practise:
        yield Padding(Text(safe(line)), (0, 0, 0, 2))


def _summary(interview: Interview) -> str:
    """``passed after 12:30, in attempt 4 of 4; 3 of 4 checked answers right, 2 answers to read``."""
    attempts = interview.attempts
    if not interview.started:
        return "not begun yet"
    first = next((at for at, one in enumerate(attempts, start=1) if one.passed), None)
    if first is not None:
        code = f"passed after {clock(attempts[first - 1].at_s)}, in attempt {first} of {len(attempts)}"
    elif interview.best is not None:
        best = interview.best
        code = (
            f"not passed in {counted(len(attempts), 'attempt')}; the best has {best.score} of {best.max_score} points"
        )
    else:
        code = "no attempt was graded"
    judged = [answer.right for answer in interview.answers if answer.typed and answer.right is not None]
    open_ones = sum(answer.right is None and bool(answer.typed) for answer in interview.answers)
    words = [f"{sum(judged)} of {counted(len(judged), 'checked answer')} right"] if judged else []
    words += [f"{counted(open_ones, 'answer')} to read"] if open_ones else []
    left_out = sum(not answer.typed for answer in interview.answers)
    words += [f"{counted(left_out, 'question')} not answered"] if left_out else []
    return "; ".join([code, ", ".join(words)] if words else [code])


def _notes(interview: Interview) -> str:
    notes = [minutes_of(interview)] + ([f"begun {interview.started:%Y-%m-%d %H:%M} UTC"] if interview.started else [])
    if interview.interruptions:
        notes.append(f"interrupted {counted(len(interview.interruptions), 'time')}; the clock ran on")
    if interview.hints_read:
        notes.append(f"{counted(interview.hints_read, 'hint')} read in the meantime")
    return " · ".join(notes)


def _time_line(interview: Interview) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    events = [(one.at_s, _word(one), _words(one)) for one in interview.attempts]
    events += [(at, Text("opened again", style="dim"), "") for at in interview.interruptions]
    if interview.code_ended_s is not None:
        over = interview.code_ended_s >= interview.code_seconds
        words = "the time for the code was over" if over else "the candidate had finished"
        events.append((interview.code_ended_s, Text("end of the code"), words))
    for number, answer in enumerate(interview.answers, start=1):
        words = f"answered in {clock(answer.took_s)}" if answer.typed else "not answered"
        events.append((answer.at_s, Text(f"question {number}"), words))
    for at_s, word, words in sorted(events, key=lambda event: event[0]):
        grid.add_row(clock(at_s), word, Text(words))
    return grid


def _word(attempt: Attempt) -> Text:
    return Text(attempt.verdict.replace("_", " ").upper(), style=COLOURS.get(attempt.verdict, "red"))


def _words(attempt: Attempt) -> str:
    points = f"{attempt.score} of {attempt.max_score} points"
    if attempt.fraction_of_peak is not None:
        points += f", {percent(attempt.fraction_of_peak)} of peak"
    return points if attempt.passed or not attempt.message else safe(attempt.message)


def _question(number: int, answer: Answer, width: int) -> Iterator[RenderableType]:
    asked = statement_text(f"**{number}.** {safe(answer.question)}", width=width - 2, color=False).strip()
    yield Padding(Text(asked, style="bold"), (1, 0, 0, 2))
    verdict = {True: " (right)", False: " (not right)", None: ""}[answer.right] if answer.typed else ""
    verdict = f" ({answer.judged}, in the candidate's own view)" if answer.judged else verdict
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    grid.add_row("answer", Text(safe(answer.typed or "not answered") + verdict, style=STYLES[answer.right]))
    model = statement_text(answer.model, width=max(30, width - 22), color=False).strip()
    grid.add_row("model answer", Text(model))
    if answer.listens_for:
        grid.add_row("listen for", Text(safe(answer.listens_for)))
    yield Padding(grid, (0, 0, 0, 5))


def changes_text(interview: Interview) -> str:
    """The code: the first attempt's files, then what each attempt changed, as unified diffs."""
    parts = []
    for name, text in interview.attempts[0].files.items() if interview.attempts else ():
        parts.append(f"attempt 1: {name}\n\n{text.rstrip()}\n")
    for number, (before, after) in enumerate(pairwise(interview.attempts), start=2):
        for name, text in after.files.items():
            old = before.files.get(name, "").splitlines()
            changed = "\n".join(list(unified_diff(old, text.splitlines(), lineterm="", n=2))[2:])
            if changed:
                parts.append(f"attempt {number}: {name}\n\n{changed}\n")
    return safe("\n".join(parts), lines=True)
