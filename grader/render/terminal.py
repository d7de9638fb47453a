"""The report on the terminal, made with rich: what is wrong, where, and what to do next, in that order.

    to_terminal(verdict, source) -> str

A pure function: the caller passes the width, and whether the terminal has colours and Unicode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.findings.kinds import kind_of
from grader.render.access import picture_of
from grader.render.console import rendered
from grader.render.evidence import (
    RUN_TWICE,
    SYMBOLS,
    QuotedFiles,
    alike,
    answer_rows,
    base,
    columns_of,
    evidence_rows,
    graded_words,
    host_marks,
    host_rows,
    is_host_finding,
    launch_words,
    marks_of,
    points,
    prediction_rows,
    right_words,
    speed_rows,
    timeline_remark,
)
from grader.render.source import excerpt
from grader.render.timeline_text import INDENT, timeline_text
from grader.text import case_words, counted, listed, safe, values_words
from grader.verdict import COUNTED, CaseResult, Diagnostic, LaunchRecord, StageResult, Verdict

COLOURS: Mapping[str, str] = {
    "pass": "green", "slow": "yellow", "technique": "yellow", "inconclusive": "yellow",
    "unsupported": "magenta", "error": "magenta",
}  # fmt: skip
STATUS_STYLES: Mapping[str, str] = {"passed": "green", "failed": "bold red", "skipped": "dim"}
BACKENDS: Mapping[str, str] = {"sim": "on the simulator", "gpu": "on the GPU", "sim+gpu": "on simulator and GPU"}

CODE_LINE = "// "  # begins a line of code in a next step
PRINTED_LINES = 12
OTHERS_SHOWN = 3
SIZES_SHOWN = 8
NEAREST_SHOWN = 2
DIFFERENCES_SHOWN = 4  # of one case; one with more is another case altogether
LAUNCHES_SHOWN = 4


def to_terminal(
    verdict: Verdict,
    source: str = "",
    *,
    beside: Mapping[str, str] = MappingProxyType({}),
    graded: str = "",
    width: int = 80,
    color: bool = True,
    unicode: bool = True,
) -> str:
    """Return the report; ``source`` is the graded file's text, for the excerpt. ASCII only without ``unicode``.

    ``beside`` has the texts of further files by name: of the host file. ``graded`` says which file was graded, if the
    user may expect another one.
    """
    parts = _parts(verdict, QuotedFiles(verdict.file, source, beside), graded, width)
    return rendered(parts, width=width, color=color, unicode=unicode)


def _parts(verdict: Verdict, texts: QuotedFiles, graded: str, width: int) -> Iterator[RenderableType]:
    yield _headline(verdict)
    yield _stages(verdict.stages)
    if graded:
        yield _labelled("graded:", graded)
    first = next((found for found in verdict.diagnostics if found.severity == "error"), None)
    if first is not None:
        yield from _finding(verdict, first, texts, width)
    yield from _others([found for found in verdict.diagnostics if found is not first], texts)
    yield from _numbers(verdict, width)
    if verdict.printed:
        yield from _printed(verdict, texts)
    yield from _closing(verdict)


def _headline(verdict: Verdict) -> Table:
    word = verdict.verdict.replace("_", " ").upper()
    left = Text(f"{'✔' if verdict.passed else '✘'} {word}", style=f"bold {COLOURS.get(verdict.verdict, 'red')}")
    left.append(f"  {safe(verdict.exercise)}", style="bold default")
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    backend = BACKENDS.get(verdict.backend, verdict.backend)
    grid.add_row(left, Text(f"{points(verdict)} · {backend}", style="dim"))
    return grid


def _stages(stages: Sequence[StageResult]) -> Text:
    line = Text("  ")
    for stage in stages:
        if stage.status != "not_graded":
            line.append(f"{SYMBOLS[stage.status]} {stage.name}   ", style=STATUS_STYLES[stage.status])
    left_out = ", ".join(stage.name for stage in stages if stage.status == "not_graded")
    return line.append(f"{SYMBOLS['not_graded']} not graded: {left_out}" if left_out else "", style="dim")


# ------------------------------------------------------------------------------------------------------------- findings


def _finding(verdict: Verdict, found: Diagnostic, texts: QuotedFiles, width: int) -> Iterator[RenderableType]:
    yield ""
    yield _indented(found.message, "bold")
    if code := _code(found, texts.of(found), width):
        place = safe(base(found.file)) if found.file else "your file"
        yield ""
        yield Text(f"    {place}" + (f", line {found.line}" if found.line else ""), style="dim")
        yield from code
    if rows := evidence_rows(found, _case_words(verdict), verdict.seed):
        yield ""
        yield _rows(rows)
    if is_host_finding(found):
        yield from _timeline(verdict, width, found)
    elif drawn := picture_of(found, verdict.launches, width):
        yield ""
        yield from drawn


def _timeline(verdict: Verdict, width: int, found: Diagnostic | None = None) -> Iterator[RenderableType]:
    """The timeline, with a remark on the finding or the verdict."""
    drawn = timeline_text(verdict.timeline, width, host_marks(found) if found else ())
    if drawn:
        yield ""
        yield from drawn
        if remark := timeline_remark(verdict, found):
            yield _indented(remark, "dim", left=INDENT)


def _code(found: Diagnostic, source: str, width: int) -> list[Text]:
    """The excerpt; if the file's text is not available, the diagnostic's line."""
    marks = marks_of(found)
    caret = (found.line, found.column) if found.line and found.column else None
    if source and marks:
        # the kernel's name of the accessed array, which may differ from the array's name
        names = found.names or ((found.array,) if found.array else ())
        return excerpt(source, marks, caret=caret, width=width, names=names if found.column is None else ())
    if found.source and found.line:
        alone = "\n" * (found.line - 1) + found.source
        return excerpt(alone, {found.line: ""}, caret=caret, width=width)[found.line > 1 :]
    return []


def _case_words(verdict: Verdict) -> str:
    """``n=1000, real values, on the simulator; 3 others passed (right at n=1, 31, 33)``.

    If a size is one number, the sizes that pass are listed: the first size that fails often shows the cause. Else the
    cases most like the failed one are named by what differs: ``(the nearest: causal=0)``.
    """
    failed = verdict.failing_case
    if failed is None or verdict.verdict == "invalid":  # a launch line is wrong at any size
        return ""
    passed = [case for case in verdict.cases if case.status == "passed"]
    words = _case(failed) + (f"; {counted(len(passed), 'other')} passed" if passed else ", the first one")
    if len(failed.size) != 1:
        return words + _nearest(failed, passed)
    ((name, limit),) = failed.size.items()
    sizes = [*dict.fromkeys(case.size[name] for case in passed if case.size.get(name, limit) != limit)]
    left_out = [sizes[0], "…"] if len(sizes) > SIZES_SHOWN else []
    shown = ", ".join(map(str, [*left_out, *sizes[-SIZES_SHOWN:]]))
    return words + (f" (right at {name}={shown})" if sizes else "")


def _nearest(failed: CaseResult, passed: Sequence[CaseResult]) -> str:
    """The cases with the fewest differences, by these: ``(right with causal=0)``; "" if they are too many to help.

    With several: ``(right with m=1 and n=1, or with k=8 and exact values)``.
    """
    differences = dict.fromkeys(filter(None, (_difference(failed, case) for case in passed)))
    least = min(map(len, differences), default=0)
    nearest = [one for one in differences if len(one) == least]
    if not 0 < least <= DIFFERENCES_SHOWN:
        return ""
    return f" (right with {', or with '.join(map(listed, nearest[:NEAREST_SHOWN]))})"


def _difference(failed: CaseResult, passed: CaseResult) -> tuple[str, ...]:
    """What a case that passed has and the failed one has not: ``n_q=5``, ``exact values``, ``no slices``."""
    sizes = [f"{name}={value}" for name, value in passed.size.items() if failed.size.get(name) != value]
    values = [values_words(passed.values)] if passed.values != failed.values else []
    slices = ["other slices" if passed.offsets else "no slices"] if passed.offsets != failed.offsets else []
    backend = [BACKENDS[passed.backend]] if passed.backend != failed.backend else []
    return (*sizes, *values, *slices, *backend)


def _case(case: CaseResult) -> str:
    return f"{case_words(case.size, case.values, case.offsets)}, {BACKENDS[case.backend]}"


def _others(others: Sequence[Diagnostic], texts: QuotedFiles) -> Iterator[RenderableType]:
    """The other findings, one line each: a warning often explains the error."""
    if others:
        yield ""
    for other in others[:OTHERS_SHOWN]:
        there = f"{base(other.file)}, " if other.file and not texts.are_of(other) else ""
        said = kind_of(other.kind).says_place or other.cause == "missed"  # a technique, with its worst lines
        place = "" if other.line is None or said else f" ({there}line {other.line})"
        yield _labelled(f"{other.severity}:", f"{other.message}{place}")
    if len(others) > OTHERS_SHOWN:
        yield _labelled("", f"and {len(others) - OTHERS_SHOWN} more (all of them with --json)")


# ------------------------------------------------------------------------------------------------------------- numbers


def _numbers(verdict: Verdict, width: int) -> Iterator[RenderableType]:
    right_answer = verdict.verdict in COUNTED
    rows = [("right", words)] if (words := right_words(verdict)) else []
    rows += [("graded", words)] if verdict.passed and (words := graded_words(verdict)) else []
    rows += host_rows(verdict) if right_answer else []
    rows += answer_rows(verdict) if right_answer else []
    rows += prediction_rows(verdict)
    if rows:
        yield ""
        yield _rows(rows)
    if right_answer:
        yield from _counter_table(verdict.launches)
        yield from _timeline(verdict, width)
    if verdict.measured is not None:
        yield ""
        yield _rows(speed_rows(verdict.measured))


def _counter_table(launches: Sequence[LaunchRecord]) -> Iterator[RenderableType]:
    """A compact table of the counters in `counters.HEADINGS`, with one row per launch."""
    columns = columns_of(launches)
    if not columns:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  launch", overflow="fold", max_width=36)  # the one that gives way on a narrow terminal
    for heading in columns.values():
        table.add_column(heading, justify="right", no_wrap=True)
    rows = alike(launches, columns)
    for launch, cells, count in rows[:LAUNCHES_SHOWN]:
        table.add_row(Text(f"  {f'{count} × ' * (count > 1)}{launch_words(launch)}"), *cells)
    yield ""
    yield table
    left_out = sum(count for *_, count in rows[LAUNCHES_SHOWN:])
    if left_out:
        yield Text(f"  … {left_out} more launch{'es' * (left_out > 1)} (all of them with --json)", style="dim")


def _printed(verdict: Verdict, texts: QuotedFiles) -> Iterator[RenderableType]:
    case = f" at {_case(verdict.printed_case)}" if verdict.printed_case is not None else ""
    lines = safe(verdict.printed.replace("\r\n", "\n"), lines=True).rstrip("\n").split("\n")
    yield ""
    yield Text(f"  printed by {safe(texts.printer)}{case}", style="dim")
    for line in lines[:PRINTED_LINES]:
        yield Text(f"  │ {line}")
    if len(lines) > PRINTED_LINES:
        yield Text(f"  │ … {counted(len(lines) - PRINTED_LINES, 'more line')} (all of them with --json)", style="dim")
    if texts.beside:
        yield Text(f"  ({RUN_TWICE})", style="dim")


def _closing(verdict: Verdict) -> Iterator[RenderableType]:
    left_out = [stage for stage in verdict.stages if stage.status == "not_graded" and stage.detail]
    reasons = [f"{stage.name} is not graded: {stage.detail}" for stage in left_out if verdict.passed]
    notes = [*verdict.notes, *reasons]
    if notes:
        yield ""
    for note in notes:
        yield _labelled("note:", note)
    if verdict.next_step:
        yield ""
        yield from _next_step(verdict.next_step)


def _next_step(step: str) -> Iterator[RenderableType]:
    """The text, wrapped; lines of code below it are not wrapped, so that they can be copied."""
    lines = step.split("\n")
    code = [line for line in lines if line.startswith(CODE_LINE)]
    yield _labelled("next:", "\n".join(line for line in lines if line not in code), style="bold cyan")
    if code:
        yield ""
    for line in code:  # each in its own group: a console ignores no_wrap when it joins texts
        yield Group(Text(safe(line), no_wrap=True, overflow="ignore", style="cyan"))


def _indented(message: str, style: str, left: int = 2) -> RenderableType:
    return Padding(Text(safe(message, lines=True), style=style), (0, 0, 0, left))


def _labelled(label: str, text: str, style: str = "dim") -> Table:
    return _rows([(label, text)], style=style)


def _rows(rows: Iterable[tuple[str, str]], *, style: str = "dim") -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=10, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(Text(f"  {label}", style=style), Text(safe(text, lines=True)))
    return grid
