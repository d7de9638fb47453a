"""The page of similar submissions: both files side by side, with the lines that are alike marked. Pure.

    similar_page("Week 4", compared, texts) -> str

``texts`` are the compared texts by `ClassSubmission.key`. The page names students: it is for the teacher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.classroom.records import ComparedExercise, SimilarPair, Student
from grader.frozen import dataclass
from grader.render.classroom.names import shown_name
from grader.render.html import environment
from grader.render.source import GAP, lines_around, source_lines
from grader.text import counted, cut, listed, percent

PAIRS_SHOWN = 40
LINES_SHOWN = 400  # of a file
CHARACTERS_SHOWN = 160
CONTEXT = 3  # lines around shared ones
COLOURS = 4  # the classes h1 … h4


@dataclass(frozen=True)
class ComparedText:
    """A submission as the page shows it."""

    student: Student
    number: int
    text: str


@dataclass(frozen=True)
class _Line:
    """A line of a file; ``number`` is `GAP` for lines that are left out, ``run`` that of the shared run, 0 for none."""

    number: int
    text: str = ""
    run: int = 0

    @property
    def tone(self) -> str:
        return f"h{(self.run - 1) % COLOURS + 1}" if self.run else ""


def similar_page(title: str, compared: Sequence[ComparedExercise], texts: Mapping[str, ComparedText]) -> str:
    """Return the page."""
    return environment().get_template("class_similar.html.j2").render(
        title=f"{cut(title, 40)} · similar submissions",
        heading=title,
        exercises=[(one, _words(one), _identical(one, texts), _pairs(one, texts)) for one in compared],
        percent=percent, name=shown_name, GAP=GAP,
        pairs_shown=PAIRS_SHOWN,
    )  # fmt: skip


def _words(one: ComparedExercise) -> str:
    words = f"{counted(one.submissions, 'submission')} of {counted(one.students, 'student')}"
    return f"{words}; {too_small_words(one)}" if one.too_small else words


def _identical(one: ComparedExercise, texts: Mapping[str, ComparedText]) -> list[str]:
    """Who submitted the same file: names, for each group."""
    groups = ([shown_name(texts[key].student) for key in group if key in texts] for group in one.identical)
    return [listed(names) for names in groups if len(names) > 1]


def too_small_words(one: ComparedExercise) -> str:
    """What to say of submissions that are too small to compare."""
    few = "all" if len(one.too_small) == one.submissions else len(one.too_small)
    return f"{few} too small to compare: too little is left of them without what stub and statement contain"


def _pairs(
    one: ComparedExercise, texts: Mapping[str, ComparedText]
) -> list[tuple[SimilarPair, list[tuple[ComparedText, list[_Line]]]]]:
    """Each pair with, for both sides, who submitted it and its lines."""
    shown = []
    for pair in one.pairs[:PAIRS_SHOWN]:
        if pair.first in texts and pair.second in texts:
            first, second = texts[pair.first], texts[pair.second]
            ranges = [shared.first for shared in pair.shared], [shared.second for shared in pair.shared]
            shown.append((pair, [(first, _lines(first.text, ranges[0])), (second, _lines(second.text, ranges[1]))]))
    return shown


def _lines(text: str, ranges: Sequence[tuple[int, int]]) -> list[_Line]:
    """The shared lines and their neighbours; all lines if none is known."""
    lines = source_lines(text)
    runs = {line: at for at, (first, last) in enumerate(ranges, 1) for line in range(first, min(last, len(lines)) + 1)}
    numbers = lines_around(runs, len(lines), CONTEXT) or range(1, len(lines) + 1)
    return [
        _Line(number, cut(lines[number - 1], CHARACTERS_SHOWN), runs.get(number, 0)) if number != GAP else _Line(GAP)
        for number in [*numbers][:LINES_SHOWN]
    ]
