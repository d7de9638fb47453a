"""What the page of --html says of one submission, before it is set in a template. Pure.

section(Graded(verdict, source), "s1", "full", "reduce_v3") -> Section
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from grader.counters import HOST_COUNTERS, amount
from grader.render.access_rows import busiest_bank, picture_for, summary, title
from grader.render.drawing import access_svg, speed_bar
from grader.render.evidence import (
    COLUMNS,
    COUNTED,
    OVERLAP_GRADED,
    alike,
    asks_for_overlap,
    evidence_rows,
    marks_of,
    speed_rows,
    telling_counters,
)
from grader.render.host_lines import Texts, base, host_marks, is_host_finding, is_of, order_remark, printer
from grader.render.listing import CHARACTERS_SHOWN, Listing, listing, source_lines
from grader.render.roofline_drawing import Point, roofline_svg
from grader.render.timeline_drawing import TimelinePicture, timeline_picture
from grader.text import counted, cut, size_words
from grader.verdict import CaseResult, Diagnostic, LaunchRecord, StageResult, Verdict, WorstRequest

if TYPE_CHECKING:
    from markupsafe import Markup

LEVELS = ("full", "short", "summary")
"""How much a page tells: everything; without source listings and lists of cases; what was found alone, in words."""

TONES: Mapping[str, str] = {
    "pass": "good", "slow": "warn", "technique": "warn", "inconclusive": "warn", "unsupported": "warn", "error": "warn",
}  # fmt: skip
BACKENDS: Mapping[str, str] = {"sim": "simulator", "gpu": "GPU", "sim+gpu": "simulator and GPU"}

FINDINGS_SHOWN: Mapping[str, int] = {"full": 12, "short": 6, "summary": 2}
PICTURES_SHOWN = 4
LAUNCHES_SHOWN = 24
CONTEXT = 2  # lines around a marked one
GAP = 0  # stands for the lines between two places, in the numbers of an excerpt


@dataclass(frozen=True)
class Graded:
    """One submission of the page: its verdict, the graded text, and what the caller knows besides."""

    verdict: Verdict
    source: str = ""
    idea: str = ""  # the exercise's one idea
    history: tuple[Point, ...] = ()  # earlier runs of the same ladder
    beside: Mapping[str, str] = field(default_factory=dict)  # texts of further files by name: of the host file


@dataclass(frozen=True)
class Picture:
    """A drawing and the words below it."""

    drawing: Markup
    title: str
    words: tuple[str, ...]


Numbered = tuple[int, str, str | None]
"""A line's number and text, and a word beside a marked one."""


@dataclass(frozen=True)
class Excerpt:
    """Lines around the marked ones, with a GAP between places."""

    lines: tuple[Numbered, ...]
    label: str


@dataclass(frozen=True)
class Finding:
    """One finding with everything that explains it."""

    about: Diagnostic
    rows: tuple[tuple[str, str], ...]
    excerpt: Excerpt | None
    picture: Picture | None
    timeline: TimelinePicture | None


@dataclass(frozen=True)
class Section:
    """One submission as the template reads it."""

    id: str
    label: str  # the exercise's name, numbered where the page has several
    verdict: Verdict
    idea: str
    findings: tuple[Finding, ...]
    more_findings: int
    listing: Listing | None
    host_listing: Listing | None
    pictures: tuple[Picture, ...]
    launches: tuple[tuple[LaunchRecord, tuple[str, ...], int], ...]  # with their number, where several look the same
    launch_columns: tuple[tuple[str, str], ...]
    bar: Markup | None
    roofline: Markup | None
    speed: tuple[tuple[str, str], ...]
    timeline: TimelinePicture | None
    host: tuple[tuple[str, str, str], ...]  # what the host file did: counter, value, meaning
    printed_by: str
    beside: tuple[str, ...]  # names of further graded files: the host file's

    @property
    def word(self) -> str:
        return self.verdict.verdict.replace("_", " ")

    @property
    def tone(self) -> str:
        return TONES.get(self.verdict.verdict, "bad")

    @property
    def points(self) -> str:
        verdict = self.verdict
        return f"{verdict.score} of {verdict.max_score} points" if verdict.max_score else "no points graded"

    @property
    def where(self) -> str:
        return BACKENDS.get(self.verdict.backend, self.verdict.backend)

    @property
    def more_launches(self) -> int:
        return len(self.verdict.launches) - sum(count for *_, count in self.launches)

    @property
    def failing(self) -> CaseResult | None:
        return None if self.verdict.verdict == "invalid" else self.verdict.failing_case

    @property
    def stages(self) -> tuple[StageResult, ...]:
        """The stages; a detail that a finding below says again is left out here."""
        said = {found.about.message for found in self.findings}
        return tuple(replace(s, detail="") if s.detail in said else s for s in self.verdict.stages)

    @property
    def what_failed(self) -> str:
        """The failing case's own words, unless a finding has said them."""
        said = {found.about.message for found in self.findings}
        return self.failing.detail if self.failing and self.failing.detail not in said else ""

    @property
    def case_count(self) -> str:
        cases = self.verdict.cases
        passed = sum(case.status == "passed" for case in cases)
        return f"{counted(len(cases), 'case')}, {passed if passed < len(cases) else 'all'} passed"

    @property
    def right(self) -> str:
        """What a pass is worth: how many cases, and how large they were."""
        cases = self.verdict.cases
        if not self.verdict.passed or not cases:
            return ""
        largest = max(cases, key=lambda case: sum(case.size.values()))
        return f"{counted(len(cases), 'case')} right, the largest with {size_words(largest.size)}"

    @property
    def command(self) -> str:
        """The command that repeats this run."""
        verdict = self.verdict
        file = ["--file", verdict.file] if verdict.file else []
        seed = ["--seed", str(verdict.seed)] if verdict.seed is not None else []
        return shlex.join(["grade", verdict.exercise, *file, *seed])


def section(graded: Graded, name: str, level: str, label: str) -> Section:
    verdict, brief = graded.verdict, level == "summary"
    shown = verdict.diagnostics[: FINDINGS_SHOWN[level]]
    findings = [_finding(graded, found, "" if brief else f"{name}-f{i}") for i, found in enumerate(shown)]
    drawn_there = {found.picture.title for found in findings if found.picture}
    measured = verdict.measured
    drawn = measured.roof if measured and not brief else None
    counted_ones = [launch for launch in verdict.launches if launch.counters]
    columns = tuple((key, head) for key, head in COLUMNS.items() if any(key in x.counters for x in verdict.launches))
    return Section(
        id=name,
        label=label,
        verdict=verdict,
        idea=graded.idea,
        findings=tuple(findings),
        more_findings=len(verdict.diagnostics) - len(shown),
        listing=_listing(graded) if level == "full" else None,
        host_listing=_host_listing(graded) if level == "full" else None,
        pictures=() if brief else tuple(p for p in _pictures(graded, name) if p.title not in drawn_there),
        launches=() if brief else tuple(alike(counted_ones, [key for key, _ in columns])[:LAUNCHES_SHOWN]),
        launch_columns=columns,
        bar=speed_bar(measured, f"{name}-bar") if measured else None,
        roofline=roofline_svg(drawn, graded.history, f"{name}-roof") if drawn else None,
        speed=tuple(row for row in speed_rows(measured) if row[0]) if measured else (),
        timeline=_timeline(verdict, name) if verdict.verdict in COUNTED and not brief else None,
        host=() if brief else tuple(_host(telling_counters(verdict))),
        printed_by=printer(Texts(verdict.file, graded.source, graded.beside)),
        beside=tuple(graded.beside),
    )


def _timeline(verdict: Verdict, name: str) -> TimelinePicture | None:
    remark = OVERLAP_GRADED if asks_for_overlap(verdict) else ""
    return timeline_picture(verdict.timeline, f"{name}-time", remark=remark)


def _host(counters: Mapping[str, float]) -> Iterator[tuple[str, str, str]]:
    for name, known in HOST_COUNTERS.items():
        if counters.get(name):
            yield name, amount(name, counters[name]), known.explained


def _finding(graded: Graded, found: Diagnostic, name: str) -> Finding:
    """A finding; without a name for its picture, the words alone."""
    request = picture_for(found, graded.verdict.launches) if name else None
    drawn = graded.verdict.timeline if name and is_host_finding(found) and found.severity == "error" else None
    return Finding(
        found,
        tuple(evidence_rows(found)),
        _excerpt(graded, found) if name else None,
        _picture(request, name) if request else None,
        timeline_picture(drawn, f"{name}-time", host_marks(found), order_remark(found, drawn)),
    )


def _excerpt(graded: Graded, found: Diagnostic) -> Excerpt | None:
    """The marked lines with their neighbours; where the file's text is not at hand, the line that the finding has."""
    marks = marks_of(found)
    lines = source_lines(Texts(graded.verdict.file, graded.source, graded.beside).of(found))
    shown = sorted({n for at in marks for n in range(at - CONTEXT, at + CONTEXT + 1) if 1 <= n <= len(lines)})
    label = f"{base(found.file or graded.verdict.file or 'your file')}, lines around {found.line}"
    if shown and any(at in shown for at in marks):
        return Excerpt(
            tuple(_with_gaps([(n, cut(lines[n - 1], CHARACTERS_SHOWN), marks.get(n)) for n in shown])), label
        )
    if found.source and found.line:
        return Excerpt(((found.line, cut(found.source, CHARACTERS_SHOWN), ""),), label)
    return None


def _with_gaps(lines: Sequence[Numbered]) -> Iterator[Numbered]:
    before = lines[0][0] - 1
    for line in lines:
        if line[0] != before + 1:
            yield GAP, "⋮", None
        before = line[0]
        yield line


def _listing(graded: Graded) -> Listing | None:
    marks: dict[int, str] = {}
    for found in graded.verdict.diagnostics:
        if is_of(found, graded.verdict.file):
            marks = marks_of(found) | marks
    return listing(graded.source, graded.verdict.launches, marks) if graded.source.strip() else None


def _host_listing(graded: Graded) -> Listing | None:
    """The host file, with marks at what was found there; nothing is counted by its lines."""
    for name, text in graded.beside.items():
        marks: dict[int, str] = {}
        for found in graded.verdict.diagnostics:
            if found.file and base(found.file) == name:
                marks = marks_of(found) | marks
        return listing(text, (), marks) if text.strip() else None
    return None


def _pictures(graded: Graded, name: str) -> Iterator[Picture]:
    """The most wasteful requests of all launches, those first; one for each line, kind and space."""
    known: dict[tuple[object, ...], WorstRequest] = {}
    requests = [request for launch in graded.verdict.launches for request in launch.worst]
    for request in sorted(requests, key=lambda r: (r.least - r.taken, r.line)):
        known.setdefault((request.kernel, request.line, request.kind, request.space), request)
    for i, request in enumerate(list(known.values())[:PICTURES_SHOWN]):
        yield _picture(request, f"{name}-p{i}")


def _picture(request: WorstRequest, name: str) -> Picture:
    busiest = busiest_bank(request)
    words = (*((busiest[1],) if busiest else ()), summary(request))
    unbroken = tuple(sentence.replace(" %", "\N{NO-BREAK SPACE}%") for sentence in words)
    return Picture(access_svg(request, name), title(request), unbroken)
