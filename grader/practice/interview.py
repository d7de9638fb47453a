"""A practised interview as one frozen record: the task, every attempt with its code, every answer. Pure.

    interview = replace(interview, attempts=(*interview.attempts, attempt))     # each event makes a new record
    text = interview_text(interview)                                            # the session's file, after every event
    interview_in(text)                                                          # and back: to continue, to review

The clock runs on while nobody watches: times are seconds since the beginning, and whoever opens the file again finds
the time that is left. A file that somebody else wrote is read with types and limits checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from datetime import datetime
from math import prod
from typing import TYPE_CHECKING, Literal, NoReturn

from grader.errors import UsageError
from grader.frozen import dataclass
from grader.reading import NotThatRecord, from_json
from grader.verdict import VERDICTS, Verdict

if TYPE_CHECKING:
    from grader.compile.ptxas import Resources

SCHEMA = "warpgrade/interview/1"
MAX_BYTES = 16 << 20
"""Of a session's file: a thousand attempts with the longest kernels of the course have a tenth of that."""

CODE_SHARE = 0.75
"""The share of the time that is for the code; the rest is for the questions."""


@dataclass(frozen=True)
class Attempt:
    """One grading: its verdict, and the files as they were."""

    at_s: float
    verdict: str
    score: int
    max_score: int
    backend: str
    message: str = ""  # the first error
    fraction_of_peak: float | None = None  # None if it was not timed
    kernel: str = ""  # the first launch's, "" without a launch; with its block and its resources
    threads: int = 0
    shared_bytes: int = 0  # dynamic, and static if the resources are known
    registers: int = 0  # of a thread, by ptxas; 0 if they are not known
    files: Mapping[str, str] = field(default_factory=dict)  # texts by name

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"


@dataclass(frozen=True)
class Answer:
    """One question, the typed answer, and the model answer with what an interviewer listens for.

    ``right`` is None for a question that no program can judge; ``judged`` is then the candidate's own word.
    """

    at_s: float
    took_s: float
    question: str
    typed: str
    model: str
    listens_for: str = ""
    right: bool | None = None
    judged: Literal["", "missed", "partly", "well"] = ""


@dataclass(frozen=True)
class Interview:
    """The whole session. ``started`` and ``ended`` are None until then.

    ``prepared``: an interviewer made it, and model answers are for the review. ``seed`` decides the questions and the
    inputs of each grading.
    """

    exercise: str
    course_version: int
    minutes: float
    seed: int
    variant: str = ""  # the exercise's form, "" for the exercise itself
    prepared: bool = False
    started: datetime | None = None
    ended: datetime | None = None
    code_ended_s: float | None = None
    attempts: tuple[Attempt, ...] = ()
    answers: tuple[Answer, ...] = ()
    interruptions: tuple[float, ...] = ()  # when it was opened again
    hints_read: int = 0  # with `grade hint`, in the meantime

    @property
    def seconds(self) -> float:
        return self.minutes * 60

    @property
    def code_seconds(self) -> float:
        """When the time for the code is over."""
        return self.seconds * CODE_SHARE

    @property
    def best(self) -> Attempt | None:
        """The attempt with the most points, of several the fastest and then the last."""
        ranked = sorted(self.attempts, key=lambda one: (one.score, one.fraction_of_peak or 0.0, one.at_s))
        return ranked[-1] if ranked else None


def attempt_of(
    verdict: Verdict, at_s: float, files: Mapping[str, str], resources: Mapping[str, Resources] | None = None
) -> Attempt:
    """The attempt that a verdict is about. ``resources`` are those of its kernels, as far as they are known."""
    message = next((found.message for found in verdict.diagnostics if found.severity == "error"), "")
    attempt = Attempt(
        at_s, verdict.verdict, verdict.score, verdict.max_score, verdict.backend, message,
        verdict.measured.fraction_of_peak if verdict.measured else None, files=dict(files),
    )  # fmt: skip
    first = next(iter(verdict.launches), None)
    if first is None:
        return attempt
    attempt = replace(attempt, kernel=first.kernel, threads=prod(first.block), shared_bytes=first.shared_bytes)
    needs = (resources or {}).get(first.kernel)
    if needs is None:
        return attempt
    shared = needs.static_shared_bytes + first.shared_bytes
    return replace(attempt, shared_bytes=shared, registers=max(1, needs.registers))


# ---------------------------------------------------------------------------------------------------------- the file


def interview_text(interview: Interview) -> str:
    """The session's file: JSON, schema ``warpgrade/interview/1``."""
    document = {"schema": SCHEMA, **asdict(interview)}
    return json.dumps(document, indent=1, allow_nan=False, default=datetime.isoformat) + "\n"


def interview_in(text: str, name: str) -> Interview:
    """The session in a file's ``text``. Raises UsageError, with ``name``, if it is none."""

    def refused(why: str) -> NoReturn:
        hint = "`grade interview --prepare FILE` writes such a file"
        raise UsageError(f"{name} is not an interview's file: {why}", code="bad_interview", hint=hint)

    try:
        data = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        refused("it is not JSON")
    if not isinstance(data, dict) or data.pop("schema", None) != SCHEMA:
        refused(f'its "schema" is not "{SCHEMA}"')
    try:
        interview = from_json(Interview, data)
    except NotThatRecord as error:
        refused(str(error))
    if unknown := next((one.verdict for one in interview.attempts if one.verdict not in VERDICTS), None):
        refused(f"there is no verdict {unknown!r}")
    if not interview.exercise or interview.minutes <= 0:
        refused("it has no exercise, or no time")
    return interview


def _finite(text: str) -> float:
    """A number of the file. Raises ValueError for NaN and infinity, which no time is."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
