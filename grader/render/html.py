"""The report as one self-contained page (``--html``): no scripts, no other files, readable on a phone, printable.

    to_html([GradedPage(verdict, source)], versions={"warpgrade": "0.1.0"}) -> str

A pure function of its arguments. The template escapes everything; before that, `_shown` makes control characters
visible. A page that is larger than `LARGEST` is made again with less content.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from grader.counters import HOST_COUNTERS, amount
from grader.frozen import dataclass
from grader.render.access import busiest_bank, picture_for, summary, title
from grader.render.drawing import Point, access_svg, roofline_svg, speed_bar, timeline_picture
from grader.render.evidence import (
    RUN_TWICE,
    SYMBOLS,
    QuotedFiles,
    alike,
    answer_rows,
    base,
    columns_of,
    evidence_rows,
    host_marks,
    is_host_finding,
    marks_of,
    points,
    prediction_rows,
    right_words,
    speed_rows,
    telling_counters,
    timeline_remark,
)
from grader.render.source import CHARACTERS_SHOWN, GAP, Listing, lines_around, listing, source_lines
from grader.text import counted, cut, safe, size_words
from grader.verdict import COUNTED, Diagnostic, Verdict, WorstRequest

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

LARGEST = 950_000
"""The maximum size of a page in bytes: a little less than 1 MB."""

LEVELS = ("full", "short", "summary")
"""The content of a page: everything; without source listings and lists of cases; only findings, in words."""

TONES: Mapping[str, str] = {
    "pass": "good", "slow": "warn", "technique": "warn", "inconclusive": "warn", "unsupported": "warn", "error": "warn",
}  # fmt: skip
BACKENDS: Mapping[str, str] = {"sim": "simulator", "gpu": "GPU", "sim+gpu": "simulator and GPU"}

FINDINGS_SHOWN: Mapping[str, int] = {"full": 12, "short": 6, "summary": 2}
PRINTED_SHOWN = 8000
CASES_SHOWN = 100
PICTURES_SHOWN = 4
LAUNCHES_SHOWN = 24
CONTEXT = 2  # lines around a marked one


@dataclass(frozen=True)
class GradedPage:
    """One submission of the page: its verdict, the graded text, and further facts."""

    verdict: Verdict
    source: str = ""
    idea: str = ""  # of the exercise
    history: tuple[Point, ...] = ()  # earlier runs of the same ladder
    beside: Mapping[str, str] = field(default_factory=dict)  # texts of further files by name: of the host file

    @property
    def texts(self) -> QuotedFiles:
        return QuotedFiles(self.verdict.file, self.source, self.beside)


def to_html(graded: Sequence[GradedPage], *, versions: Mapping[str, str | None]) -> str:
    """Return the page of one or more submissions."""
    pages = (_page(graded, versions, level, count) for level, count in _sizes(len(graded)))
    return next(page for page, last in pages if last or len(page.encode("utf-8", "replace")) <= LARGEST)


def _sizes(count: int) -> Iterator[tuple[str, int]]:
    """Yield level and number of submissions of ever smaller pages."""
    for level in LEVELS:
        yield level, count
    while count > 1:
        count //= 2
        yield LEVELS[-1], count


def _page(graded: Sequence[GradedPage], versions: Mapping[str, str | None], level: str, count: int) -> tuple[str, bool]:
    """The page, and whether it is the smallest possible one."""
    numbered = len(graded) > 1
    if numbered:
        passed = sum(one.verdict.passed for one in graded)
        heading = f"{passed} of {counted(len(graded), 'submission')} passed"
    else:
        heading = f"{graded[0].verdict.verdict.replace('_', ' ')}: {cut(graded[0].verdict.exercise, 40)}"
    page = environment().get_template("page.html.j2").render(
        sections=[section(one, f"s{i}", level, f"{i}. " * numbered) for i, one in enumerate(graded[:count], start=1)],
        level=level,
        title=f"{heading} · warpgrade",
        versions=", ".join(f"{name} {version}" for name, version in versions.items() if version),
        left_out=len(graded[count:]),
    )  # fmt: skip
    return page, (level, count) == (LEVELS[-1], 1)


# --------------------------------------------------------------------------------------------------- one submission


def section(graded: GradedPage, name: str, level: str, number: str) -> dict[str, Any]:
    """The template's values for one submission; ``name`` is unique on the page."""
    verdict, measured, brief = graded.verdict, graded.verdict.measured, level == "summary"
    shown = verdict.diagnostics[: FINDINGS_SHOWN[level]]
    findings = [_finding(graded, found, "" if brief else f"{name}-f{i}") for i, found in enumerate(shown)]
    drawn = {found["picture"].title for found in findings if found["picture"]}
    messages = {found.message for found in shown}
    failing = None if verdict.verdict == "invalid" else verdict.failing_case
    columns = columns_of(verdict.launches)
    launches = [] if brief else alike(verdict.launches, columns)[:LAUNCHES_SHOWN]
    passed = sum(case.status == "passed" for case in verdict.cases)
    command = ["grade", verdict.exercise, *(["--file", verdict.file] if verdict.file else [])]
    command += ["--seed", str(verdict.seed)] if verdict.seed is not None else []
    has_timeline = verdict.verdict in COUNTED and not brief
    remark = timeline_remark(verdict) if has_timeline else ""
    timeline = timeline_picture(verdict.timeline, f"{name}-time", remark=remark) if has_timeline else None
    counters = {} if brief else telling_counters(verdict)
    return {
        "id": name,
        "label": number + cut(verdict.exercise, 80),
        "verdict": verdict,
        "word": verdict.verdict.replace("_", " "),
        "tone": TONES.get(verdict.verdict, "bad"),
        "points": points(verdict),
        "where": BACKENDS.get(verdict.backend, verdict.backend),
        "idea": graded.idea,
        "fact": next((found.message for found in verdict.diagnostics if found.severity == "error"), ""),
        "right": right_words(verdict, right=" right"),
        # without details that a finding below repeats
        "stages": [replace(s, detail="") if s.detail in messages else s for s in verdict.stages],
        "findings": findings,
        "more_findings": len(verdict.diagnostics) - len(shown),
        "failing": failing,
        "what_failed": failing.detail if failing and failing.detail not in messages else "",
        "case_count": f"{counted(len(verdict.cases), 'case')}, "
        f"{passed if passed < len(verdict.cases) else 'all'} passed",
        "listings": [*_listings(graded)] if level == "full" else [],
        "pictures": [] if brief else [p for p in _pictures(verdict, name) if p.title not in drawn],
        "launches": launches,  # those with equal cells once, with their number
        "more_launches": len(verdict.launches) - sum(count for *_, count in launches),
        "launch_columns": list(columns.values()),
        "bar": speed_bar(measured, f"{name}-bar") if measured else None,
        "roofline": roofline_svg(measured.roof, graded.history, f"{name}-roof")
        if measured and measured.roof and not brief
        else None,
        "speed": [row for row in speed_rows(measured) if row[0]] if measured else [],
        "predictions": [*answer_rows(verdict), *prediction_rows(verdict)],
        "timeline": timeline,
        "host": [  # counters of the host file: name, value, meaning
            (counter, amount(counter, counters[counter]), known.explained)
            for counter, known in HOST_COUNTERS.items()
            if counters.get(counter)
        ],
        "printed_by": graded.texts.printer,
        "beside": tuple(graded.beside),
        "command": shlex.join(command),  # repeats this run
    }


@dataclass(frozen=True)
class Picture:
    """A drawing and the words below it."""

    drawing: Markup
    title: str
    words: tuple[str, ...]


def _finding(graded: GradedPage, found: Diagnostic, name: str) -> dict[str, Any]:
    """The template's values for a finding; without a name for its pictures, only text."""
    verdict = graded.verdict
    request = picture_for(found, verdict.launches) if name else None
    drawn = verdict.timeline if name and is_host_finding(found) and found.severity == "error" else None
    remark = timeline_remark(verdict, found)
    return {
        "about": found,
        "rows": evidence_rows(found),
        "excerpt": _excerpt(graded, found) if name else None,
        "picture": _picture(request, name) if request else None,
        "timeline": timeline_picture(drawn, f"{name}-time", host_marks(found), remark),
    }


def _excerpt(graded: GradedPage, found: Diagnostic) -> dict[str, Any] | None:
    """The marked lines with their neighbours; if the file's text is not available, the finding's line."""
    marks, lines = marks_of(found), source_lines(graded.texts.of(found))
    rows = [
        (n, cut(lines[n - 1], CHARACTERS_SHOWN), marks.get(n)) if n != GAP else (GAP, "⋮", None)
        for n in lines_around(marks, len(lines), CONTEXT)
    ]
    if not rows and found.source and found.line:
        rows = [(found.line, cut(found.source, CHARACTERS_SHOWN), "")]
    file = base(found.file or graded.verdict.file or "your file")
    return {"lines": rows, "label": f"{file}, lines around {found.line}"} if rows else None


def _listings(graded: GradedPage) -> Iterator[tuple[str, str, Listing]]:
    """The kernel's file with its counters, and the host file, which has no counters: key, heading, listing."""
    verdict = graded.verdict
    if graded.source.strip():
        findings = [diagnostic for diagnostic in verdict.diagnostics if graded.texts.are_of(diagnostic)]
        yield "source", "Source", listing(graded.source, verdict.launches, _marks(findings))
    for name, text in list(graded.beside.items())[:1]:
        if text.strip():
            findings = [d for d in verdict.diagnostics if d.file and base(d.file) == name]
            yield "hostsource", "The host file", listing(text, (), _marks(findings))


def _marks(findings: Sequence[Diagnostic]) -> dict[int, str]:
    """The marks of all findings; the first finding of a line gives its word."""
    return {line: word for found in reversed(findings) for line, word in marks_of(found).items()}


def _pictures(verdict: Verdict, name: str) -> Iterator[Picture]:
    """The most wasteful requests of all launches, in this order; one for each line, kind and space."""
    known: dict[tuple[object, ...], WorstRequest] = {}
    requests = [request for launch in verdict.launches for request in launch.worst]
    for request in sorted(requests, key=lambda r: (r.least - r.taken, r.line)):
        known.setdefault((request.kernel, request.line, request.kind, request.space), request)
    for i, request in enumerate(list(known.values())[:PICTURES_SHOWN]):
        yield _picture(request, f"{name}-p{i}")


def _picture(request: WorstRequest, name: str) -> Picture:
    busiest = busiest_bank(request)
    words = (*((busiest[1],) if busiest else ()), summary(request))
    unbroken = tuple(sentence.replace(" %", "\N{NO-BREAK SPACE}%") for sentence in words)
    return Picture(access_svg(request, name), title(request), unbroken)


# ------------------------------------------------------------------------------------------------------------- template


@cache
def environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("grader.render", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    made.filters |= {"prose": _prose, "sizes": size_words, "dims": _dims, "printed": _printed, "cut": cut}
    made.globals |= {"SYMBOLS": SYMBOLS, "BACKENDS": BACKENDS, "CASES_SHOWN": CASES_SHOWN, "RUN_TWICE": RUN_TWICE}
    return made


def _shown(value: Any) -> Any:
    """Make control characters and bidirectional marks of any text visible; escaping comes after this."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return safe(value, lines=True)
    return value


def _prose(text: str) -> Markup:
    """A text with its `commands` as code, and its line breaks."""
    from markupsafe import Markup

    parts = re.split(r"`([^`\n]+)`", safe(cut(text), lines=True))
    pieces = (
        Markup("<code>{}</code>").format(part) if i % 2 else Markup("{}").format(part) for i, part in enumerate(parts)
    )
    return Markup("").join(pieces).replace("\n", Markup("<br>"))


def _dims(dims: Sequence[int]) -> str:
    return " × ".join(str(size) for size in dims if size != 1) or "1"


def _printed(text: str) -> str:
    return safe(cut(text.replace("\r\n", "\n"), PRINTED_SHOWN), lines=True).rstrip("\n")
