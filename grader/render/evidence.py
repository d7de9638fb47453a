"""The evidence of a finding: its lines in the file, its place, the accesses of a race, counters, speed. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from grader.counters import HEADINGS, HOST_COUNTERS, in_words
from grader.findings.kinds import kind_of
from grader.frozen import dataclass
from grader.render.timeline import Marked
from grader.text import counted, duration, index_words, number, percent, rate, safe, size_words, subscripts
from grader.verdict import Access, AnswerResult, Diagnostic, LaunchRecord, Measurement, Place, Prediction, Verdict

Row = tuple[str, str]

SYMBOLS: Mapping[str, str] = {"passed": "✔", "failed": "✘", "skipped": "–", "not_graded": "○"}
"""A mark for each status of a stage or a case."""

ROLES: Mapping[str, str] = {"exit": "not there", "barrier": "waits"}
"""Words for a thread's role in a finding, if the kind of its access is not a plain word."""

BAR = 40  # characters of the bar; its full width is the peak


def points(verdict: Verdict) -> str:
    return f"{verdict.score} of {verdict.max_score} points" if verdict.max_score else "no points graded"


def right_words(verdict: Verdict, right: str = "") -> str:
    """The number of cases of a pass, and the largest of them; "" for other verdicts."""
    if not verdict.passed or not verdict.cases:
        return ""
    largest = max(verdict.cases, key=lambda case: math.prod(max(1, value) for value in case.size.values()))
    part = f" ({largest.detail})" if largest.detail else ""
    return f"{counted(len(verdict.cases), 'case')}{right}, the largest with {size_words(largest.size)}{part}"


def graded_words(verdict: Verdict) -> str:
    """The figures that the technique of a pass was graded by."""
    return next(
        (stage.detail for stage in verdict.stages if stage.name == "technique" and stage.status == "passed"), ""
    )


def evidence_rows(found: Diagnostic, case: str = "", seed: int | None = None) -> list[Row]:
    """Return labels and texts of the evidence; ``case`` is the size at which it happened, with inputs of ``seed``."""
    of_block, of_grid = found.axes
    thread = [
        f"thread {index_words(found.thread, of_block)}" if found.thread and not found.accesses else "",
        f"block {index_words(found.block, of_grid)}" if found.block and not found.accesses else "",
        f"kernel {found.kernel}" if found.kernel else "",
    ]
    rows = [
        ("where", ", ".join(filter(None, thread))),
        ("launched", f"at {found.launch}" if found.launch else ""),
        ("memory", _memory_words(found) if found.kind != "wrong" else ""),  # the message begins with it
        *((_role(access), _access_words(access, *found.axes)) for access in found.accesses),
        ("seen", "more than once; this is the first" if found.count > 1 else ""),
        ("case", case),
        ("repeat", f"--seed {seed}" if case and seed is not None else ""),
    ]
    return [(label, text) for label, text in rows if text]


def _role(access: Access) -> str:
    return ROLES.get(access.kind, access.kind)


def _access_words(access: Access, of_block: int, of_grid: int) -> str:
    line = f", line {access.line}" if access.line is not None else ""
    return f"thread {index_words(access.thread, of_block)}, block {index_words(access.block, of_grid)}{line}"


def _memory_words(found: Diagnostic) -> str:
    """``global x[3]``; for memory without a name a description: ``memory allocated at line 24, element 3``."""
    name = found.array or ""
    if " " in name:
        name = name.strip("()") + (f", element {found.index}" if found.index is not None else "")
    elif name and found.index is not None:
        name += subscripts(found.index, found.indices)
    known = " ".join(filter(None, [found.space, name]))
    if found.address is None:
        return known
    at = f"byte {found.address} of it" if found.array else f"address 0x{found.address & (2**64 - 1):x}"
    return f"{known}, {at}" if known else at


# ----------------------------------------------------------------------------------------------- the lines in the file


def marks_of(found: Diagnostic) -> dict[int, str]:
    """Return the lines to show, each with a word: those of the accesses of a race, else the finding's line."""
    if not found.accesses and is_host_finding(found):
        return marked_lines(found)
    marks: dict[int, str] = {}
    for access in found.accesses:
        if access.line is not None:
            marks[access.line] = " and ".join(dict.fromkeys([*filter(None, [marks.get(access.line)]), _role(access)]))
    if found.line is not None:
        marks.setdefault(found.line, "")
    return marks


def is_host_finding(found: Diagnostic) -> bool:
    return kind_of(found.kind).of_host


EITHER = ("writes it", "writes it too")
"""Words for the lines of two writes, of which neither is too early."""

BOTH = "queues both"
WHEN: Mapping[str, str] = {"earlier_run": "of an earlier run", "setup": "in setup()"}


def host_marks(found: Diagnostic) -> list[Marked]:
    """The operations of the finding, the accused first; each line and stream once."""
    if not is_host_finding(found) or not found.file:
        return []
    accused, other = kind_of(found.kind).roles
    if any(place.role == "either" for place in found.places):
        accused, other = EITHER
    marks = list(dict.fromkeys(_mark(place) for place in found.places if place.line))
    if found.line is not None and all(mark.line != found.line for mark in marks):
        marks.insert(0, Marked(found.line, ""))
    marks.sort(key=lambda mark: mark.line != found.line)  # stable: otherwise in the finding's order
    return [replace(mark, word=mark.word or (other if i else accused)) for i, mark in enumerate(marks)]


def _mark(place: Place) -> Marked:
    """The mark of a place; it has a word already if the operation is not of this run."""
    word = WHEN.get(place.when, "")
    return Marked(place.line or 0, word, place.stream, place.device, place.occurrence, drawn=not word)


def marked_lines(found: Diagnostic) -> dict[int, str]:
    """The lines for the excerpt; in a loop both operations may be queued by one line."""
    words: dict[int, list[str]] = {}
    for mark in host_marks(found):
        words.setdefault(mark.line, []).append(mark.word)
    return {line: known[0] if len(known) == 1 else BOTH for line, known in words.items()}


def base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


@dataclass(frozen=True)
class QuotedFiles:
    """The texts that a report may quote: ``source`` is that of the file ``graded``, ``beside`` has others by name."""

    graded: str | None
    source: str
    beside: Mapping[str, str] = field(default_factory=dict)

    def are_of(self, found: Diagnostic) -> bool:
        """Whether the finding is about the graded file itself."""
        return found.file is None or self.graded is None or base(found.file) == base(self.graded)

    def of(self, found: Diagnostic) -> str:
        """The text of the finding's file; "" if it is not available."""
        return self.source if self.are_of(found) else self.beside.get(base(found.file or ""), "")

    @property
    def printer(self) -> str:
        """The origin of printed text: the kernel, or the host file, and its kernels if they can print."""
        host = ", ".join(name for name in self.beside if name.endswith(".py"))
        if not host:
            return "the kernel"
        return f"{host} and its kernels" if "printf" in self.source else host


RUN_TWICE = "run() is called twice in a case, first on other inputs"


# ------------------------------------------------------------------------------------------------------------ counters

OVERLAP = "modelled_overlap"


def prediction_rows(verdict: Verdict) -> list[Row]:
    """Return a row for each prediction: the value beside what was counted, or why nothing was."""
    return [("predicted", prediction_words(prediction)) for prediction in verdict.predictions]


def answer_rows(verdict: Verdict) -> list[Row]:
    """Return a row for each graded comment: ``// bug: 31 (line 3): right``, with a count that differs a little."""
    return [(f"// {one.key}:", f"{one.given} (line {one.line}): {_how_right(one)}") for one in verdict.answers]


def _how_right(answer: AnswerResult) -> str:
    if not answer.right:
        return "not right"
    exact = answer.counted is None or f"{answer.counted:.15g}" == answer.given
    return "right" if exact else f"right, {number(answer.counted)} was counted"


def prediction_words(prediction: Prediction) -> str:
    """``sectors_per_request = 8, counted 4: your prediction is 2 times the count``."""
    per = f" per {prediction.per}" if prediction.per else ""
    value = prediction.predicted
    asked = f"{prediction.counter}{per} = {number(value if abs(value) < 1000 else round(value))}"
    if prediction.counted is None:
        return f"{asked}, not counted: {prediction.why_not}"
    how = "right" if prediction.right else _difference(prediction, prediction.counted)
    return f"{asked}, counted {number(prediction.counted)}: {how}"


def _difference(prediction: Prediction, counted: float) -> str:
    predicted = prediction.predicted
    if predicted < 0:
        return "a count is never negative"
    if not counted:
        return "your prediction is too high, the count is 0"
    if not predicted:
        return "your prediction is too low, the count is not 0"
    factor = predicted / counted
    if 0.5 < factor < 2:
        off = f"{_percent_off(abs(factor - 1) * 100)} too {'high' if factor > 1 else 'low'}"
        return f"close: {off}" if prediction.close else f"your prediction is {off}"
    if factor >= 2:
        return f"your prediction is {factor:.3g} times the count"
    return f"the count is {1 / factor:.3g} times your prediction"


def _percent_off(off: float) -> str:
    """``12.5 %``, ``3 %``, ``less than 0.01 %``."""
    if off < 0.01:
        return "less than 0.01 %"
    return f"{off:.2g} %" if off < 10 else f"{off:.3g} %"


def asks_for_overlap(verdict: Verdict) -> bool:
    """Whether the verdict is about too little overlap."""
    return any(found.counter == OVERLAP for found in verdict.diagnostics)


def telling_counters(verdict: Verdict) -> Mapping[str, float]:
    """The counters of the host file; the overlap only if there was something to overlap, or it is graded."""
    counters = verdict.host_counters
    overlap_too = counters.get("streams", 0) > 1 or asks_for_overlap(verdict)
    return counters if overlap_too else {name: value for name, value in counters.items() if name != OVERLAP}


ONE_ORDER = (
    "The drawing shows one possible order, which may give the right result by luck. Nothing guarantees this order: the "
    "grader runs each operation as late as is allowed, which is possible, too."
)
OVERLAP_GRADED = "The overlap is graded: this step requires it (technique)."


def timeline_remark(verdict: Verdict, found: Diagnostic | None = None) -> str:
    """The sentence below the timeline of a finding, or of a verdict without one; "" if none is needed.

    For operations that nothing orders, a drawing shows one order, which may not be the one that went wrong.
    """
    if found is None:
        return OVERLAP_GRADED if asks_for_overlap(verdict) else ""
    modelled = verdict.timeline is not None and verdict.timeline.modelled
    return ONE_ORDER if modelled and kind_of(found.kind).unordered else ""


def host_rows(verdict: Verdict) -> list[Row]:
    """Return the counters of the host file in one row; empty if there are none."""
    counters = telling_counters(verdict)
    known = {name: in_words(name, counters[name]) for name in HOST_COUNTERS if counters.get(name)}
    if "copies" in known and "copied_bytes" in known:
        known["copies"] += f" ({known.pop('copied_bytes').removesuffix(' copied')})"
    return [("host file", ", ".join(known.values()))] if known else []


def columns_of(launches: Iterable[LaunchRecord]) -> dict[str, str]:
    """Return the counters that at least one launch has, with their headings."""
    return {name: heading for name, heading in HEADINGS.items() if any(name in x.counters for x in launches)}


def alike(launches: Iterable[LaunchRecord], columns: Iterable[str]) -> list[tuple[LaunchRecord, tuple[str, ...], int]]:
    """Launches with counters, and their cells: the first of those with the same cells, with their number."""
    rows: dict[tuple[str, tuple[str, ...]], tuple[LaunchRecord, int]] = {}
    for launch in (launch for launch in launches if launch.counters):
        looks = launch_words(launch), tuple(number(launch.counters.get(name)) for name in columns)
        first, count = rows.get(looks, (launch, 0))
        rows[looks] = first, count + 1
    return [(launch, cells, count) for (_, cells), (launch, count) in rows.items()]


def launch_words(launch: LaunchRecord) -> str:
    return f"{safe(launch.kernel)}<<<{_shape(launch.grid)}, {_shape(launch.block)}>>>"


def _shape(sizes: Sequence[int]) -> str:
    """``4096``, ``1×256``: without the axes at the end that are 1."""
    used = next((axis for axis in range(len(sizes), 1, -1) if sizes[axis - 1] != 1), 1)
    return "×".join(map(str, sizes[:used]))


# --------------------------------------------------------------------------------------------------------------- speed


def speed_rows(measured: Measurement) -> list[Row]:
    """Return time, rate, and the bar with the pass line in it."""
    low, high = (duration(bound) for bound in measured.interval_s)
    limits = (
        ("peak", measured.peak, measured.fraction_of_peak),
        ("ceiling", measured.ceiling, measured.fraction_of_ceiling),
    )
    rates = [rate(measured.achieved, measured.unit)]
    rates += [
        f"{percent(fraction)} of the {name} {rate(limit, measured.unit)}"
        for name, limit, fraction in limits
        if limit is not None and fraction is not None
    ]
    rows = [
        ("time", f"{duration(measured.median_s)} (95 % interval {low} – {high}, {measured.samples} samples)"),
        ("rate", ", ".join(rates)),
        ("", _bar(measured)),
        ("line", measured.line + (" (provisional: this GPU has no profile)" if measured.provisional else "")),
    ]
    return [(label, text) for label, text in rows if text]


def _bar(measured: Measurement) -> str:
    """The fraction of the peak or ceiling as a bar; ``┃`` marks the pass line."""
    _, fraction = lined_fraction(measured)
    if fraction is None:
        return ""
    filled = min(BAR, round(BAR * fraction))
    cells = ["█"] * filled + ["░"] * (BAR - filled)
    if measured.line_fraction is not None:
        cells[min(BAR - 1, round(BAR * measured.line_fraction))] = "┃"
    return "".join(cells) + f" {percent(fraction)}"


def lined_fraction(measured: Measurement) -> tuple[str, float | None]:
    """Return the reference of the pass line, ``ceiling`` or ``peak``, and the fraction of it that was reached."""
    if "ceiling" in measured.line:
        return "ceiling", measured.fraction_of_ceiling
    return "peak", measured.fraction_of_peak
