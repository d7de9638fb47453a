"""The report on the terminal, made with rich: what is wrong, where, and what to do next, in that order.

    to_terminal(verdict, source) -> str

Nothing here computes a result or looks at the machine; the caller says how wide, whether colours, whether Unicode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader.findings.kinds import kind_of
from grader.render.access_picture import picture_of
from grader.render.evidence import (
    COUNTED,
    OVERLAP_GRADED,
    asks_for_overlap,
    counter_table,
    evidence_rows,
    host_rows,
    marks_of,
    speed_rows,
    telling_counters,
)
from grader.render.excerpt import excerpt
from grader.render.host_lines import (
    RUN_TWICE,
    Texts,
    base,
    host_marks,
    is_host_finding,
    is_of,
    order_remark,
    printer,
)
from grader.render.timeline_text import INDENT, timeline_text
from grader.text import counted, safe, size_words, to_ascii
from grader.verdict import CaseResult, Diagnostic, StageResult, Verdict

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text

COLOURS: Mapping[str, str] = {
    "pass": "green", "slow": "yellow", "technique": "yellow", "inconclusive": "yellow",
    "unsupported": "magenta", "error": "magenta",
}  # fmt: skip
SYMBOLS: Mapping[str, str] = {"passed": "✔", "failed": "✘", "skipped": "–"}
STATUS_STYLES: Mapping[str, str] = {"passed": "green", "failed": "bold red", "skipped": "dim"}
BACKENDS: Mapping[str, str] = {"sim": "on the simulator", "gpu": "on the GPU", "sim+gpu": "on simulator and GPU"}

CODE_LINE = "// "  # begins a line of code in a next step
PRINTED_LINES = 12
OTHERS_SHOWN = 3
SIZES_SHOWN = 8


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

    ``beside`` has the texts of further files by name: of the host file. ``graded`` says which file this is about, where
    a person may not expect it.
    """
    from rich.console import Console

    file = StringIO()
    console = Console(
        file=file, width=width, force_terminal=color, no_color=not color, color_system="standard" if color else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    for part in _parts(verdict, Texts(verdict.file, source, beside), graded, width):
        console.print(part, crop=False)
    text = "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    return text if unicode else to_ascii(text)


def primary(verdict: Verdict) -> Diagnostic | None:
    """Return the one finding that the report is about: the first error."""
    return next((found for found in verdict.diagnostics if found.severity == "error"), None)


def _parts(verdict: Verdict, texts: Texts, graded: str, width: int) -> Iterator[RenderableType]:
    yield _headline(verdict)
    yield _strip(verdict.stages)
    if graded:
        yield _labelled("graded:", graded)
    found = primary(verdict)
    if found is not None:
        yield from _finding(verdict, found, texts, width)
    yield from _others(verdict, found)
    yield from _numbers(verdict, width)
    yield from _printed(verdict, texts)
    yield from _closing(verdict)


def _headline(verdict: Verdict) -> Table:
    from rich.table import Table
    from rich.text import Text

    colour = COLOURS.get(verdict.verdict, "red")
    word = verdict.verdict.replace("_", " ").upper()
    left = Text(f"{'✔' if verdict.passed else '✘'} {word}", style=f"bold {colour}")
    left.append(f"  {safe(verdict.exercise)}", style="bold default")
    points = f"{verdict.score} of {verdict.max_score} points" if verdict.max_score else "no points graded"
    right = Text(f"{points} · {BACKENDS.get(verdict.backend, verdict.backend)}", style="dim")
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(left, right)
    return grid


def _strip(stages: Sequence[StageResult]) -> Text:
    from rich.text import Text

    strip = Text("  ")
    for stage in stages:
        if stage.status != "not_graded":
            strip.append(f"{SYMBOLS[stage.status]} {stage.name}   ", style=STATUS_STYLES[stage.status])
    left_out = ", ".join(stage.name for stage in stages if stage.status == "not_graded")
    return strip.append(f"○ not graded: {left_out}" if left_out else "", style="dim")


def _finding(verdict: Verdict, found: Diagnostic, texts: Texts, width: int) -> Iterator[RenderableType]:
    yield ""
    yield _indented(found.message, "bold")
    code = _code(found, texts.of(found), width)
    if code:
        yield ""
        yield _file_line(found)
        yield from code
    rows = evidence_rows(found, _case_words(verdict))
    if rows:
        yield ""
        yield _rows(rows)
    drawn = picture_of(found, verdict.launches, width)
    if is_host_finding(found):
        drawn = timeline_text(verdict.timeline, width, host_marks(found))
    if drawn:
        yield ""
    yield from drawn
    if drawn and is_host_finding(found) and (remark := order_remark(found, verdict.timeline)):
        yield _indented(remark, "dim", left=INDENT)


def _code(found: Diagnostic, source: str, width: int) -> list[Text]:
    """The excerpt; where the file's text is not at hand, the one line that the diagnostic carries."""
    marks = marks_of(found)
    caret = (found.line, found.column) if found.line and found.column else None
    if source and marks:
        return excerpt(source, marks, caret=caret, width=width, names=_names(found))
    if found.source and found.line:
        alone = "\n" * (found.line - 1) + found.source
        return excerpt(alone, {found.line: ""}, caret=caret, width=width)[1:]
    return []


def _names(found: Diagnostic) -> tuple[str, ...]:
    """What is accessed, as the kernel calls it, which need not be the array's own name."""
    names = found.names or ((found.array,) if found.array else ())
    return names if found.column is None else ()


def _file_line(found: Diagnostic) -> Text:
    from rich.text import Text

    place = safe(base(found.file)) if found.file else "your file"
    return Text(f"    {place}" + (f", line {found.line}" if found.line else ""), style="dim")


def _case_words(verdict: Verdict) -> str:
    failed = verdict.failing_case
    if failed is None or verdict.verdict == "invalid":  # a launch line is wrong at any size
        return ""
    passed = sum(case.status == "passed" for case in verdict.cases)
    others = f"; {counted(passed, 'other')} passed" if passed else ", the first one"
    return f"{_one_case(failed)}{others}{_right_sizes(verdict, failed)}"


def _right_sizes(verdict: Verdict, failed: CaseResult) -> str:
    """`` (right at n=1, 31, 33)``, of sizes that are one number: where it begins to fail says much about the cause."""
    if len(failed.size) != 1:
        return ""
    (name, limit), *_ = failed.size.items()
    passed = dict.fromkeys(case.size[name] for case in verdict.cases if case.status == "passed" and name in case.size)
    passed.pop(limit, None)
    dots = "…, " if len(passed) > SIZES_SHOWN else ""
    return f" (right at {name}={dots}{', '.join(map(str, [*passed][-SIZES_SHOWN:]))})" if passed else ""


def _one_case(case: CaseResult) -> str:
    return f"{size_words(case.size)}, {case.values} values, {BACKENDS[case.backend]}"


def _others(verdict: Verdict, found: Diagnostic | None) -> Iterator[RenderableType]:
    """Whatever else was found, one line each: a warning often explains the error."""
    others = [other for other in verdict.diagnostics if other is not found]
    if others:
        yield ""
    for other in others[:OTHERS_SHOWN]:
        told = other.line is None or kind_of(other.kind).says_place
        there = f"{base(other.file)}, " if other.file and not is_of(other, verdict.file) else ""
        place = "" if told else f" ({there}line {other.line})"
        yield _labelled(f"{other.severity}:", f"{other.message}{place}")
    if len(others) > OTHERS_SHOWN:
        yield _labelled("", f"and {len(others) - OTHERS_SHOWN} more (all of them with --json)")


def _numbers(verdict: Verdict, width: int) -> Iterator[RenderableType]:
    right = [("right", _passed_words(verdict))] if verdict.passed and verdict.cases else []
    counted = verdict.verdict in COUNTED
    rows = [*right, *(host_rows(telling_counters(verdict)) if counted else ())]
    if rows:
        yield ""
        yield _rows(rows)
    if counted:
        yield from counter_table(verdict.launches)
        drawn = timeline_text(verdict.timeline, width)
        if drawn:
            yield ""
        yield from drawn
        if drawn and asks_for_overlap(verdict):
            yield _indented(OVERLAP_GRADED, "dim", left=INDENT)
    if verdict.measured is not None:
        yield ""
        yield _rows(speed_rows(verdict.measured))


def _passed_words(verdict: Verdict) -> str:
    largest = max(verdict.cases, key=lambda case: sum(case.size.values()))
    return f"{counted(len(verdict.cases), 'case')}, the largest with {size_words(largest.size)}"


def _printed(verdict: Verdict, texts: Texts) -> Iterator[RenderableType]:
    from rich.text import Text

    if not verdict.printed:
        return
    case = f" at {_one_case(verdict.printed_case)}" if verdict.printed_case is not None else ""
    lines = safe(verdict.printed.replace("\r\n", "\n"), lines=True).rstrip("\n").split("\n")
    yield ""
    yield Text(f"  printed by {safe(printer(texts))}{case}", style="dim")
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


def _unwrapped(text: Text) -> Group:
    """``text`` with its own word about wrapping, which a console forgets where it joins texts."""
    from rich.console import Group

    return Group(text)


def _next_step(step: str) -> Iterator[RenderableType]:
    """The words wrapped; lines of code below them never, so that they can be copied."""
    from rich.text import Text

    lines = step.split("\n")
    code = [line for line in lines if line.startswith(CODE_LINE)]
    yield _labelled("next:", "\n".join(line for line in lines if line not in code), style="bold cyan")
    if code:
        yield ""
    for line in code:
        yield _unwrapped(Text(safe(line), no_wrap=True, overflow="ignore", style="cyan"))


def _indented(message: str, style: str, left: int = 2) -> RenderableType:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(safe(message, lines=True), style=style), (0, 0, 0, left))


def _labelled(label: str, text: str, style: str = "dim") -> Table:
    return _rows([(label, text)], style=style)


def _rows(rows: Iterable[tuple[str, str]], *, style: str = "dim") -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=10, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(Text(f"  {label}", style=style), Text(safe(text, lines=True)))
    return grid
