from __future__ import annotations

from dataclasses import replace

import pytest

from grader.dev.facts import fact_problems
from grader.exercise import Expect, Target, Tolerance

GOOD = Expect("sector_efficiency", at_least=0.99, why="waste", hint="do not")
TARGET = Target(unit="bandwidth", fraction=0.5, note="tests")


def problems(one, **changes) -> list[str]:
    changed = replace(one, exercise=replace(one.exercise, **changes))
    return [str(problem) for problem in fact_problems(changed)]


def test_the_exercises_of_the_miniature_course_are_in_order(exercise):
    assert problems(exercise("scale")) == []
    assert problems(exercise("total")) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"idea": ""}, "0 words"),
        ({"idea": "word " * 16}, "16 words"),
        ({"points": (60, 20, 10)}, "add up to 90"),
        ({"technique": (replace(GOOD, counter="sector_eficiency"),)}, "no counter 'sector_eficiency'"),
        ({"technique": (replace(GOOD, counter="host_waits"),)}, "host_waits counts what a host file does"),
        ({"technique": (replace(GOOD, at_most=1.0),)}, "one of them"),
        ({"technique": (replace(GOOD, at_least=None),)}, "one of them"),
        ({"technique": (replace(GOOD, hint=""),)}, "has no hint"),
        ({"technique": (replace(GOOD, why="", hint=""),)}, "neither why"),
        ({"oracle": "mini:nothing"}, "nothing"),
        ({"tolerance": Tolerance(absolute=1e9), "exact": False}, "passes although it holds zeros"),
        ({"target": replace(TARGET, note="")}, "does not say where the pass line comes from"),
        ({"target": replace(TARGET, fraction=0.0, note="to be measured")}, "it has no pass line"),
        ({"target": replace(TARGET, of="ceiling")}, "names none"),
        ({"target": replace(TARGET, ceiling="nowhere")}, "no ceiling 'nowhere'"),
        ({"target": TARGET, "timed": {"n": 2**24}}, "no trusted check on the device for 'mini:scale'"),
        ({"target": TARGET}, "no timed size"),
    ],
)
def test_a_fact_that_cannot_be_is_a_problem(scale, changes, words):
    assert any(words in problem for problem in problems(scale, **changes)), problems(scale, **changes)
