"""Which lines of a host file a finding is about, with a word for each; the text of the file that it names. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from grader.findings.kinds import kind_of
from grader.render.timeline import Marked
from grader.verdict import Diagnostic, Place, Timeline

EITHER = ("writes it", "writes it too")
"""Words for the lines where both write: neither is too early."""


ONE_ORDER = (
    "The drawing shows one order that is possible, in which it may go well by luck. Nothing forces it: the grader runs "
    "each operation as late as is allowed, which is possible, too."
)


def order_remark(found: Diagnostic, timeline: Timeline | None) -> str:
    """What must be said below a drawing of operations that nothing orders; "" where it shows what did happen."""
    return ONE_ORDER if timeline is not None and timeline.modelled and kind_of(found.kind).unordered else ""


def is_host_finding(found: Diagnostic) -> bool:
    return kind_of(found.kind).of_host


def host_marks(found: Diagnostic) -> list[Marked]:
    """The operations that the finding is about, the accused first; each line and stream once."""
    if not is_host_finding(found) or not found.file:
        return []
    accused, other = kind_of(found.kind).roles
    if any(place.role == "either" for place in found.places):
        accused, other = EITHER
    marks = list(dict.fromkeys(_mark(place) for place in found.places if place.line))
    if found.line is not None and all(mark.line != found.line for mark in marks):
        marks.insert(0, Marked(found.line, ""))
    marks.sort(key=lambda mark: mark.line != found.line)  # stable: as the finding has them
    return [replace(mark, word=mark.word or (other if i else accused)) for i, mark in enumerate(marks)]


_WHEN = {"earlier_run": "of an earlier run", "setup": "in setup()"}


def _mark(place: Place) -> Marked:
    """The mark of a place; it has a word already where the operation is not of this run."""
    word = _WHEN.get(place.when, "")
    return Marked(place.line or 0, word, place.stream, place.device, place.occurrence, drawn=not word)


def marked_lines(found: Diagnostic) -> dict[int, str]:
    """The lines for the excerpt; in a loop both operations may be queued by one line."""
    words: dict[int, list[str]] = {}
    for mark in host_marks(found):
        words.setdefault(mark.line, []).append(mark.word)
    return {line: told[0] if len(told) == 1 else BOTH for line, told in words.items()}


BOTH = "queues both"


def base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def is_of(found: Diagnostic, graded: str | None) -> bool:
    """Whether the finding is about the graded file itself."""
    return found.file is None or graded is None or base(found.file) == base(graded)


@dataclass(frozen=True)
class Texts:
    """The texts that a report may quote: ``source`` of the file ``graded``, ``beside`` of others, by name."""

    graded: str | None
    source: str
    beside: Mapping[str, str] = field(default_factory=dict)

    def of(self, found: Diagnostic) -> str:
        """The text of the file that the finding is about; "" where it is not at hand."""
        if is_of(found, self.graded):
            return self.source
        return self.beside.get(base(found.file or ""), "")


def printer(texts: Texts) -> str:
    """Who printed: the kernel; of a host exercise the host file, and its kernels where they can."""
    host = ", ".join(name for name in texts.beside if name.endswith(".py"))
    if not host:
        return "the kernel"
    return f"{host} and its kernels" if "printf" in texts.source else host


RUN_TWICE = "run() is called twice in a case, first on other inputs"
