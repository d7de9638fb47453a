"""Which lines of a host file a finding is about, with a word for each; the text of the file that a finding names. Pure.

The operations of a host file have no threads: a finding names them in its message, each with its place
(``the copy on stream 1 (streams_host.py:38)``). The first is the one that the finding accuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from grader.findings.kinds import kind_of
from grader.render.timeline import Marked
from grader.verdict import Diagnostic, Timeline

EITHER_LAST = "either may come last"
EITHER = ("writes it", "writes it too")
"""Where both write, neither is too early: what the message then says, and the words for the lines."""


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
    """The operations that the message names, the accused first; each line and stream once."""
    if not is_host_finding(found) or not found.file:
        return []
    accused, other = EITHER if EITHER_LAST in found.message else kind_of(found.kind).roles
    named = re.finditer(
        r"(?:\bon (?:stream (?P<stream>\d{1,9})|the (?P<default>default stream))(?: of device (?P<device>\d{1,3}))? )?"
        rf"\(?{re.escape(base(found.file))}:"
        rf"(?P<line>\d{{1,7}})(?:, the (?P<turn>\d{{1,7}})[a-z]{{2}} time)?\)?(?P<earlier>{EARLIER}|{IN_SETUP})?",
        found.message,
    )
    places = list(dict.fromkeys(map(_place, named)))
    if found.line is not None and all(place.line != found.line for place in places):
        places.insert(0, Marked(found.line, ""))
    places.sort(key=lambda place: place.line != found.line)  # stable: as the message names them
    return [replace(place, word=place.word or (other if i else accused)) for i, place in enumerate(places)]


EARLIER, IN_SETUP = ", of an earlier run", r", in setup\(\)"


def _place(match: re.Match[str]) -> Marked:
    """A place in a message; it has a word already where the operation is none of this run."""
    stream = 0 if match["default"] else int(match["stream"]) if match["stream"] else None
    word = (match["earlier"] or "")[2:]
    turn = int(match["turn"]) if match["turn"] else None
    return Marked(int(match["line"]), word, stream, int(match["device"] or 0), turn, drawn=not word)


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
