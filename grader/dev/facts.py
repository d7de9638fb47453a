"""exercise.py against what it names: counters, oracles, trusted checks, ceilings, and its own comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.catalog.courses import CourseExercise
from grader.dev.problem import Problem
from grader.errors import WarpgradeError

if TYPE_CHECKING:
    from grader.exercise import Expect

PLACE = "exercise.py"
OWN_YARDSTICK = ("overlap", "launches")
"""Units of host exercises whose ceiling is measured with the exercise's own kernel; see `baselines`."""

MOST_WORDS = 15  # of the one idea, which has to fit into a line of `grade list`


def fact_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield what is wrong with the exercise's literal, beyond what loading it has checked."""
    for check in (_idea, _technique, _target, _comparison):
        try:
            yield from (Problem(PLACE, message) for message in check(entry))
        except WarpgradeError as error:
            yield Problem(PLACE, error.message)


def _idea(entry: CourseExercise) -> Iterator[str]:
    words = entry.exercise.idea.split()
    if not 1 <= len(words) <= MOST_WORDS:
        yield f"the idea has {len(words)} words; it is one line of a list"
    if sum(entry.exercise.points) != 100:
        yield f"the points add up to {sum(entry.exercise.points)}, not 100"


def _technique(entry: CourseExercise) -> Iterator[str]:
    from grader.counters import HOST_COUNTERS, KERNEL_COUNTERS

    for expect in entry.exercise.technique:
        if expect.counter not in KERNEL_COUNTERS and expect.counter not in HOST_COUNTERS:
            yield f"there is no counter {expect.counter!r}"
        elif expect.counter in HOST_COUNTERS and not entry.exercise.host:
            yield f"{expect.counter} counts what a host file does, and the exercise has none"
        yield from (f"the expectation on {expect.counter} {words}" for words in _expectation(expect))


def _expectation(expect: Expect) -> Iterator[str]:
    if (expect.at_least is None) == (expect.at_most is None):
        yield "needs at_least or at_most, one of them"
    if not expect.why or not expect.hint:
        yield "says neither why it matters nor what to do next" if not expect.why else "has no hint"


def _target(entry: CourseExercise) -> Iterator[str]:
    from grader.backends.gpu.hostfile.baselines import LINKS
    from grader.backends.gpu.reference import find

    exercise, target = entry.exercise, entry.exercise.target
    if target is None:
        return
    if exercise.timed is None:
        yield "it has a target, but no timed size"
    if target.fraction and not target.note:
        yield "the target's note does not say where the pass line comes from"
    yield from _line(entry)
    if target.of == "ceiling" and not target.ceiling and target.unit not in OWN_YARDSTICK:
        yield "the target is a fraction of a ceiling, but names none"
    links = LINKS if exercise.host else ()
    if target.ceiling not in ("", *links) and find(entry.course, "ceilings", "CEILINGS", target.ceiling) is None:
        yield f"there is no ceiling {target.ceiling!r}"
    if not exercise.host and find(entry.course, "device", "CHECKS", exercise.checker or exercise.oracle) is None:
        yield f"no trusted check on the device for {exercise.checker or exercise.oracle!r}"


def _line(entry: CourseExercise) -> Iterator[str]:
    """A pass line somewhere: in a profile, else in the target; and a solution that reaches what it has to."""
    from grader.gpus.pass_lines import REFERENCE, lines_on

    target = entry.exercise.target
    assert target is not None
    line = lines_on(REFERENCE).get(entry.name)
    if line is None and not target.fraction and not target.unlined:
        yield "it has no pass line: `grade calibrate` on a GPU, or a fraction in its target"
    if line is not None and line.of != target.of:
        yield f"its line is a fraction of the {line.of}, its target one of the {target.of}: calibrate it again"
    if line is not None and line.solution < target.reach and not target.note:
        yield f"the solution reached {line.solution:g} of {target.reach:g}, and the target's note does not say why"


def _comparison(entry: CourseExercise) -> Iterator[str]:
    """The oracle exists, and the comparison rejects what other courses accept."""
    from grader.catalog.references import resolve_reference
    from grader.compare import self_test

    oracle = resolve_reference(entry.exercise.oracle, entry.course)
    yield from self_test(entry.exercise, entry.exercise.simulated, oracle)
