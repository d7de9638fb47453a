"""No format that people read holds a control character, a bidirectional mark or a character that nobody sees."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest
from verdict_samples import EVIL, HOSTILE, evil_verdict

from grader.practice.history import Run
from grader.practice.standings import COLUMNS, runs_csv, summary
from grader.render.drawing import Point
from grader.render.html import GradedPage, to_html
from grader.render.json import dumps, run_document
from grader.render.junit import to_junit
from grader.render.terminal import to_terminal

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def page(verdict):
    graded = GradedPage(verdict, EVIL, EVIL, (Point(EVIL, 1.0, 1e9),), {EVIL: EVIL})
    return to_html([graded, graded], versions={"x": EVIL})


def report(verdict, *, color):
    cases = tuple(replace(case, backend="sim") for case in verdict.cases)
    return to_terminal(replace(verdict, cases=cases), EVIL, color=color)


def table(verdict):
    values = {"exercise": verdict.exercise, "verdict": verdict.verdict, "backend": verdict.backend}
    texts = {name: EVIL for name, kind in Run.__annotations__.items() if "str" in str(kind)}
    run = Run(**{name: (texts | values).get(name, 1) for name in COLUMNS})
    return runs_csv(summary([], [run], {}), [run])


FORMATS = {
    "terminal": lambda verdict: report(verdict, color=False),
    "coloured terminal": lambda verdict: COLOUR.sub("", report(verdict, color=True)),
    "html": page,
    "junit": lambda verdict: to_junit([verdict], timestamp="2026-01-31T12:00:00+00:00"),
    "json": lambda verdict: dumps(run_document([verdict], versions={"x": EVIL}, elapsed_s=1.0)),
    "csv": table,
}


@pytest.mark.parametrize("verdict", [HOSTILE, evil_verdict()], ids=["hostile", "evil"])
@pytest.mark.parametrize("name", FORMATS)
def test_no_character_that_is_not_seen_is_left(name, verdict):
    made = FORMATS[name](verdict)
    made.encode("utf-8")
    hidden = {c for c in made if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
    assert hidden == {"\n"}
    assert not set(made) & set("\u3164\U000e0100\u034f")
