"""The first two lines of a wrong answer: the verdict that it must get, and why it is wrong.

// expect: wrong                    on the simulator and on a GPU
// expect: sim=technique gpu=slow   on each as it says; a backend that is not named is not checked
// Why it is wrong, in a sentence.

An edit, wrong/M.diff, has these lines before its first ``---``. A whole host file, wrong/M_host.py, has them in
Python's comments: ``# expect: race``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.verdict import VERDICTS

BACKENDS = ("sim", "gpu")
_LINE = re.compile(r"expect: (\S.*)")
_PAIR = re.compile(r"(\w+)=(\w+)")


class BadExpectation(ValueError):
    """Raised when a wrong answer does not say which verdict it must get."""


@dataclass(frozen=True)
class Expectation:
    """The verdict word for each backend that is checked, and the reason on the second line."""

    words: Mapping[str, str]
    reason: str


def comment_mark(name: str) -> str:
    """What begins a comment in a file of that name."""
    return "#" if name.endswith(".py") else "//"


def read_expectation(lines: Sequence[str], mark: str = "//") -> Expectation:
    """Read the first two lines of a wrong answer, comments after ``mark``. Raises BadExpectation."""
    first, second, *_ = [*lines, "", ""]
    match = _LINE.fullmatch(first.rstrip().removeprefix(f"{mark} "))
    if match is None or not first.startswith(f"{mark} "):
        raise BadExpectation(f"the first line is no `{mark} expect: WORD`: {first[:60]!r}")
    reason = second.removeprefix(mark).strip() if second.startswith(mark) else ""
    if not reason:
        raise BadExpectation("the second line is no comment that says why it is wrong")
    return Expectation(_words(match[1]), reason)


def _words(text: str) -> Mapping[str, str]:
    if text in VERDICTS:
        return dict.fromkeys(BACKENDS, text)
    pairs = [_PAIR.fullmatch(part) for part in text.split()]
    words = {pair[1]: pair[2] for pair in pairs if pair}
    if (
        not all(pairs)
        or len(words) < len(pairs)
        or not set(words) <= set(BACKENDS)
        or not set(words.values()) <= set(VERDICTS)
    ):
        raise BadExpectation(
            f"{text!r} is neither a verdict word nor `sim=WORD gpu=WORD`; docs/verdicts.md has the words"
        )
    return words
