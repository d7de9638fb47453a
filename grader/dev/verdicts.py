"""The verdicts of an exercise's files, compared with the expected ones; figures of its statement, counted again.

    <!-- claim: stub excess_wavefronts per rows = 39 -->
    <!-- claim: wrong/modulo.diff shared_requests per n <= 150/256 -->

A claim is a comment in README.md, which readers do not see. It names a file (``stub``, ``solution`` or a wrong answer),
a counter of docs/counters.md at the simulated size, and its value. The file must run, so that it has counters.

Exercises that need a newer GPU than the simulated one are only compiled, assembled and checked for their launch lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from grader.catalog.courses import CourseExercise
from grader.dev.report import Problem
from grader.dev.wrong import WrongAnswer
from grader.errors import GraderFault, SubmissionError, Unsupported
from grader.expressions import ExpressionError
from grader.expressions import evaluate as value_of
from grader.frozen import dataclass
from grader.gpus.models import capability
from grader.grading.technique import Miss, Shaped, evaluate, in_words, is_in_code, launches_in_code, total
from grader.launch import DeviceLimits, parse_launches, resolve_launches
from grader.simt.occupancy import MULTIPROCESSORS
from grader.verdict import LaunchRecord, Verdict

if TYPE_CHECKING:
    from grader.grading.records import CompiledSubmission

FAILING = 2
"""The minimum number of wrong answers that the simulator (or the required GPU) must reject in an exercise."""


@dataclass(frozen=True)
class GradedSubmission:
    """The verdicts of one exercise's files on one backend. ``mutants`` are the wrong answers that have an expectation
    for it, each with the expected verdict.
    """

    backend: str
    stub: Verdict | None = None
    solution: Verdict | None = None
    mutants: Mapping[Path, tuple[str, Verdict]] = field(default_factory=dict)

    @property
    def by_name(self) -> Mapping[str, Verdict]:
        """The verdicts by the names that claims use: ``stub``, ``solution``, ``wrong/copy.diff``."""
        named = {"stub": self.stub, "solution": self.solution}
        mutants = {f"wrong/{path.name}": verdict for path, (_, verdict) in self.mutants.items()}
        return {name: verdict for name, verdict in named.items() if verdict is not None} | mutants

    def summary(self) -> str:
        """E.g. "sim: stub wrong, solution pass, 12 of 12 wrong answers as stated"."""
        as_stated = sum(verdict.verdict == word for word, verdict in self.mutants.values())
        stub = self.stub.verdict if self.stub else "missing"
        solution = self.solution.verdict if self.solution else "none"
        mutants = f"{as_stated} of {len(self.mutants)} wrong answers as stated"
        return f"{self.backend}: stub {stub}, solution {solution}, {mutants}"


def form_verdict_problems(entry: CourseExercise, graded: GradedSubmission) -> Iterator[Problem]:
    """Yield a problem for every unexpected verdict of stub and solution."""
    stub, solution = graded.stub, graded.solution
    if stub is not None and stub.stage("compiles").status != "passed":
        yield Problem(entry.stub.name, f"the stub does not compile: {one_line(stub)}")
    elif stub is not None and stub.exit_code != 1:
        yield Problem(entry.stub.name, f"the untouched stub must not pass: {one_line(stub)}")
    if solution is not None:
        place = f"solution {entry.name}.cu"
        slow = solution.verdict in ("slow", "inconclusive")
        if not (solution.passed or (slow and _is_provisional(solution))):
            yield Problem(place, f"the solution does not pass: {one_line(solution)}")
        else:
            for diagnostic in solution.diagnostics:
                yield Problem(place, f"{diagnostic.severity}: {diagnostic.message}")
            yield from (Problem(place, note) for note in solution.notes)


def verdict_problems(entry: CourseExercise, graded: GradedSubmission) -> Iterator[Problem]:
    """Yield a problem for every unexpected verdict."""
    yield from form_verdict_problems(entry, graded)
    for path, (word, verdict) in graded.mutants.items():
        if verdict.verdict != word and not (word == "slow" and _is_provisional(verdict)):
            yield Problem(f"wrong/{path.name}", f"expected {word} on {verdict.backend}, got {one_line(verdict)}")
    if graded.backend == "sim":
        failing = sum(verdict.exit_code == 1 for _, verdict in graded.mutants.values())
        if failing < FAILING:
            yield Problem("wrong/", f"the simulator rejects {failing} wrong answers; it must reject {FAILING} or more")
        yield from _never_missed(entry, graded)


def _is_provisional(verdict: Verdict) -> bool:
    """Whether its pass line was measured on another GPU model."""
    return verdict.measured is not None and verdict.measured.provisional


def _never_missed(entry: CourseExercise, graded: GradedSubmission) -> Iterator[Problem]:
    """Yield the expectations that no wrong answer misses: nothing tests that they hold."""
    counted = [(v.launches, v.host_counters) for v in graded.by_name.values() if v.verdict == "technique"]
    for expect in entry.exercise.technique:
        if not any(evaluate(expect, launches, entry.exercise.simulated, host) for launches, host in counted):
            yield Problem("wrong/", f"no wrong answer misses the expectation on {expect.counter}: add one that does")


def one_line(verdict: Verdict) -> str:
    """The verdict and its first diagnostic, in one line."""
    first = verdict.diagnostics[0] if verdict.diagnostics else None
    if first is None:
        return verdict.verdict
    place = f" (line {first.line})" if first.line else ""
    return f"{verdict.verdict}: {shorten(first.message, 300, placeholder=' …')}{place}"


# -------------------------------------------------------------------------------------------------------------- claims

_COMMENT = re.compile(r"<!--\s*claim:(.*?)-->", re.DOTALL)
_CLAIM = re.compile(r"(?P<file>\S+) (?P<counter>\w+)(?: per (?P<per>.+?))? (?P<sign>=|<=|>=) (?P<value>.+)")
_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "=": lambda counted, claimed: math.isclose(counted, claimed, rel_tol=1e-9, abs_tol=1e-12),
    "<=": lambda counted, claimed: counted <= claimed * (1 + 1e-9),
    ">=": lambda counted, claimed: counted >= claimed * (1 - 1e-9),
}


def claim_problems(entry: CourseExercise, verdicts: Mapping[str, Verdict]) -> Iterator[Problem]:
    """Yield the claims of the statement that are false. ``verdicts`` are the simulator's, by the names in claims."""
    place = entry.statement.name
    text = entry.statement.read_text(encoding="utf-8") if entry.statement.is_file() else ""
    for comment in _COMMENT.findall(text):
        claim = " ".join(comment.split())
        match = _CLAIM.fullmatch(claim)
        if match is None:
            yield Problem(place, f"this is not a valid claim: {comment.strip()!r}")
        elif wrong := _why_wrong(entry, match, verdicts):
            yield Problem(place, f"the claim `{claim}` is false: {wrong}")


def _why_wrong(entry: CourseExercise, claim: re.Match[str], verdicts: Mapping[str, Verdict]) -> str:
    """Return why a claim is false; "" if it is true."""
    verdict = verdicts.get(claim["file"])
    if verdict is None:
        return f"there is no {claim['file']}; the files are {', '.join(verdicts)}"
    if not verdict.launches:
        return f"it is {verdict.verdict}, so nothing was counted"
    try:
        counted = total(claim["counter"], verdict.launches, verdict.host_counters or None)
        counted /= float(value_of(claim["per"] or "1", dict(entry.exercise.simulated)))
        claimed = float(Fraction(claim["value"]))
    except (ExpressionError, GraderFault) as error:
        return error.message
    except ValueError:
        return f"{claim['value']!r} is neither a number nor a fraction like 150/256"
    return "" if _HOLDS[claim["sign"]](counted, claimed) else f"it is {in_words(counted)}"


# --------------------------------------------------------------------------------- exercises that need a newer GPU

_REFUSED = {"compile_error", "invalid", "limit", "policy"}
"""Verdicts of wrong answers that never run."""

_RIGHT = {"pass", "slow", "technique"}
"""Verdicts of answers with correct results."""


def assembly_problems(entry: CourseExercise, answers: Sequence[WrongAnswer]) -> Iterator[Problem]:
    """Yield the files of an exercise that do not compile, assemble or launch for the required architecture; code that
    meets or misses the technique against the expected verdict; register spills of the solution; too few wrong answers.
    """
    failing = sum(answer.expectation.words.get("gpu", "pass") not in _RIGHT for answer in answers)
    if failing < FAILING:
        yield Problem("wrong/", f"{failing} wrong answers fail on a GPU; {FAILING} or more must fail")
    words = {f"wrong/{answer.path.name}": answer.expectation.words.get("gpu") for answer in answers}
    missed = set[str]()
    for place, name, source in _files_to_compile(entry, answers):
        try:
            spilled, launches = _assembled(entry, name, source)
        except (SubmissionError, Unsupported) as error:
            word = error.verdict if isinstance(error, SubmissionError) else "unsupported"
            yield Problem(place, f"for {entry.exercise.requires}: {word}: {error.message}")
            continue
        if spilled and place.startswith("solution"):
            yield Problem(place, f"{spilled} bytes of registers are spilled to local memory")
        misses = missed_in_code(entry, launches)
        if words.get(place) == "technique":
            missed |= {miss.expect.counter for miss in misses}
        yield from _code_problems(place, words.get(place), misses)
    for expect in filter(is_in_code, entry.exercise.technique):
        if expect.counter not in missed:
            yield Problem("wrong/", f"no wrong answer misses the expectation on {expect.counter}: add one that does")


def _code_problems(place: str, word: str | None, misses: Sequence[Miss]) -> Iterator[Problem]:
    """Yield a problem for a file whose code meets or misses the technique against its expected verdict."""
    passes = place.startswith("solution") or word in ("pass", "slow")
    if passes and misses:
        yield Problem(place, f"it misses the technique: {misses[0].expect.counter} is {in_words(misses[0].found)}")
    elif word == "technique" and not misses:
        yield Problem(place, "expected technique on gpu, and its code has all that is asked for")


def missed_in_code(entry: CourseExercise, launches: Sequence[LaunchRecord]) -> list[Miss]:
    """The expectations on code that these launches miss, those of a ladder's earlier steps too."""
    asked = filter(is_in_code, entry.graded.technique)
    misses = (evaluate(expect, launches, entry.exercise.simulated) for expect in asked)
    return [miss for miss in misses if miss is not None]


def code_launches(entry: CourseExercise) -> tuple[LaunchRecord, ...]:
    """The solution's launches with the counters of its code; none if there is no solution, or it does not compile."""
    if entry.solution is None:
        return ()
    try:
        return _compiled(entry, entry.solution.name, entry.solution.read_bytes())[1]
    except (SubmissionError, Unsupported):
        return ()


def _files_to_compile(entry: CourseExercise, answers: Sequence[WrongAnswer]) -> Iterator[tuple[str, str, bytes]]:
    """Yield each file: its name in problems, its file name, and its source."""
    if entry.stub.is_file():
        yield entry.stub.name, entry.stub.name, entry.stub.read_bytes()
    if entry.solution is not None:
        yield f"solution {entry.name}.cu", entry.solution.name, entry.solution.read_bytes()
    for answer in answers:
        name, text = next(iter(answer.texts.items()))
        if not _REFUSED & set(answer.expectation.words.values()) and name.endswith(".cu"):
            yield f"wrong/{answer.path.name}", name, text.encode()


def _compiled(entry: CourseExercise, name: str, source: bytes) -> tuple[CompiledSubmission, tuple[LaunchRecord, ...]]:
    """Compile; returns also the launches with the counters of the code."""
    from grader.compile import compile_source
    from grader.grading.records import CompiledSubmission

    exercise, requires = entry.exercise, entry.exercise.requires
    program = compile_source(source, name, target=requires, headers=entry.header_texts)
    compiled = CompiledSubmission(program, parse_launches(program.source, file=name))
    return compiled, launches_in_code(Shaped(exercise, compiled, exercise.simulated, limits_of(requires)))


def _assembled(entry: CourseExercise, name: str, source: bytes) -> tuple[int, tuple[LaunchRecord, ...]]:
    """Compile, resolve the launch lines at every size, and assemble; returns the bytes of spilled registers, and the
    launches with the counters of the code.
    """
    from grader.compile import assembly

    compiled, launches = _compiled(entry, name, source)
    exercise, requires, program = entry.exercise, entry.exercise.requires, compiled.program
    timed = () if exercise.timed is None else (exercise.timed, *(also.size for also in exercise.also_timed))
    for size in (*exercise.small, exercise.simulated, *timed):
        resolve_launches(compiled.script, exercise, size, limits_of(requires), program)
    resources = assembly(program, requires).resources.values()
    return max((needs.spill_store_bytes for needs in resources), default=0), launches


def limits_of(architecture: str) -> DeviceLimits:
    """The launch limits of an architecture, where they differ from the simulated device's."""
    major, minor = capability(architecture)
    has = MULTIPROCESSORS.get(f"sm_{major}{minor}")
    most = 99 << 10 if has is None else has.shared_bytes_per_block  # every GPU from 8.0 on has at least 99 KiB
    return DeviceLimits(name=f"GPU of capability {major}.{minor}", max_shared_bytes=most)
