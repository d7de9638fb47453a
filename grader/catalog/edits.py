"""Edits of a solution: unified diffs after two lines of comment, applied exactly or not at all. Pure functions.

    // expect: race
    // No barrier between writing and reading the tile.
    --- reduce_v3.cu
    +++ reduce_v3.cu
    @@ -12,5 +12,4 @@
         partial[t] = i < m ? src[i] : 0.0f;
    -    __syncthreads();
    ...

Line numbers and context must fit the solution exactly: an edit applied elsewhere would make another mistake than the
stated one. Each edited file has its section; an empty line is an empty line of context.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from grader.frozen import dataclass

MOST_BYTES = 1 << 20
CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file"
_RANGES = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@.*")


class BadEdit(ValueError):
    """Raised when an edit, or a wrong answer, is not in its form or does not fit the text that it edits."""


@dataclass(frozen=True)
class Hunk:
    """One run of changed lines with its context. Lines end in a newline, except the last one of a file without it."""

    number: int  # from 1
    line: int  # of its @@ in the edit
    at: int  # number of lines of the old text before it
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: int  # lines of context before the first change
    after: int

    def __str__(self) -> str:
        return f"hunk {self.number} (line {self.line})"


@dataclass(frozen=True)
class Edit:
    """The contents of a .diff: its first two lines, and the hunks of each file by name."""

    head: tuple[str, str]
    files: Mapping[str, tuple[Hunk, ...]]


def written(head: Sequence[str], files: Mapping[str, tuple[str, str]]) -> str:
    """The text of an edit that changes the first text of each file into the second; unchanged files are omitted."""
    out = list(head)
    for name, (old, new) in files.items():
        difference = list(difflib.unified_diff(lines_of(old), lines_of(new), n=CONTEXT))
        if difference:
            out += [f"--- {name}", f"+++ {name}"]
            for line in difference[2:]:  # empty context has no blank, because editors remove it
                out.append("" if line == " \n" else line.removesuffix("\n"))
                out += [_NO_NEWLINE] * (not line.endswith("\n"))
    return "\n".join(out) + "\n"


def lines_of(text: str) -> list[str]:
    """The lines with their newlines. Only ``\\n`` ends a line, as in every diff."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


# -------------------------------------------------------------------------------------------------------------- reading


def read_edit(text: str, names: Iterable[str]) -> Edit:
    """Read an edit of the files ``names``. Raises BadEdit, with the line, for any other text."""
    if len(text) > MOST_BYTES:
        raise BadEdit(f"it has {len(text)} characters; an edit has at most {MOST_BYTES}")
    lines, names = text.removesuffix("\n").split("\n"), tuple(names)
    files: dict[str, tuple[Hunk, ...]] = {}
    at = 2
    while at < len(lines):
        name = next((name for name in names if lines[at] == f"--- {name}"), None)
        if name is None:
            raise BadEdit(f"line {at + 1} must be `--- {' or '.join(names)}`, not {lines[at][:80]!r}")
        if lines[at + 1 : at + 2] != [f"+++ {name}"]:
            raise BadEdit(f"line {at + 2} must be `+++ {name}`")
        if name in files:
            raise BadEdit(f"line {at + 1}: a second section of {name}")
        files[name], at = _hunks(lines, at + 2)
    if not files:
        raise BadEdit(f"it edits no file: its third line must be `--- {' or '.join(names)}`")
    return Edit((lines[0], lines[1]), files)


def _hunks(lines: Sequence[str], at: int) -> tuple[tuple[Hunk, ...], int]:
    """The hunks from line ``at`` on, and the line after them. Raises BadEdit if their numbers do not agree."""
    hunks: list[Hunk] = []
    while at < len(lines) and not lines[at].startswith("--- "):
        hunk, new_at, following = _hunk(lines, at, len(hunks) + 1)
        added = sum(len(earlier.new) - len(earlier.old) for earlier in hunks)
        if hunk.at < (hunks[-1].at + len(hunks[-1].old) if hunks else 0):
            raise BadEdit(f"{hunk} begins before the hunk above it ends")
        if new_at != hunk.at + added:
            raise BadEdit(f"{hunk}: its lines begin at {new_at + 1} in the result, not at {hunk.at + added + 1}")
        hunks.append(hunk)
        at = following
    if not hunks:
        raise BadEdit(f"line {at + 1}: a hunk must follow, `@@ -LINE,COUNT +LINE,COUNT @@`")
    return tuple(hunks), at


def _hunk(lines: Sequence[str], at: int, number: int) -> tuple[Hunk, int, int]:
    """The hunk whose @@ is line ``at``, the number of lines before it in the result, and the line after it."""
    ranges = _RANGES.fullmatch(lines[at])
    if ranges is None:
        raise BadEdit(f"line {at + 1} must be `@@ -LINE,COUNT +LINE,COUNT @@`, not {lines[at][:80]!r}")
    (old_at, olds), (new_at, news) = _range(ranges[1], ranges[2]), _range(ranges[3], ranges[4])
    old: list[str] = []
    new: list[str] = []
    signs: list[str] = []
    end = at + 1
    while len(old) < olds or len(new) < news:
        sign, content = (lines[end][:1] or " ", lines[end][1:] + "\n") if end < len(lines) else ("", "")
        if sign not in ("+", "-", " "):
            raise BadEdit(f"line {end + 1}: the hunk of line {at + 1} has fewer lines than its @@ says")
        end += 1
        if lines[end : end + 1] == [_NO_NEWLINE]:
            content, end = content[:-1], end + 1
        old += [content] * (sign != "+")
        new += [content] * (sign != "-")
        signs.append(sign)
    if len(old) > olds or len(new) > news:
        raise BadEdit(f"line {end}: the hunk of line {at + 1} has other lines than its @@ says")
    changed = [index for index, sign in enumerate(signs) if sign != " "]
    if not changed:
        raise BadEdit(f"line {at + 1}: the hunk changes nothing")
    before, after = changed[0], len(signs) - 1 - changed[-1]
    return Hunk(number, at + 1, old_at, tuple(old), tuple(new), before, after), new_at, end


def _range(line: str, count: str | None) -> tuple[int, int]:
    """The number of lines before a hunk, and in it. ``-7,0`` is the place after line 7, ``-7,1`` is line 7."""
    number = 1 if count is None else int(count)
    return int(line) - (number > 0), number


# ------------------------------------------------------------------------------------------------------------- applying


def applied(hunks: Sequence[Hunk], text: str) -> str:
    """The text after all hunks. Raises BadEdit for the first that does not fit its lines exactly."""
    lines, out, done = lines_of(text), list[str](), 0
    for hunk in hunks:
        for offset, line in enumerate(hunk.old):
            actual = lines[hunk.at + offset] if 0 <= hunk.at + offset < len(lines) else None
            if actual != line:
                shown = "the end" if actual is None else repr(actual.strip()[:80])
                number = hunk.at + offset + 1
                raise BadEdit(f"{hunk} does not apply: line {number} is {shown}, not {line.strip()[:80]!r}")
        if not 0 <= hunk.at <= len(lines):
            raise BadEdit(f"{hunk} does not apply: it begins after line {hunk.at}, and there are {len(lines)}")
        out += [*lines[done : hunk.at], *hunk.new]
        done = hunk.at + len(hunk.old)
    return "".join([*out, *lines[done:]])


def at_their_places(hunks: Sequence[Hunk], text: str) -> str:
    """The text after the hunks: at their line numbers if all fit there, else at the only place where each fits."""
    try:
        return applied(hunks, text)
    except BadEdit:
        return moved(hunks, text)


def moved(hunks: Sequence[Hunk], text: str) -> str:
    """The text after all hunks, each at the only place after the hunk before it that has its old lines.

    If there is none, with less and less context. Raises BadEdit for a hunk that fits no place, or several.
    """
    lines, out, done = lines_of(text), list[str](), 0
    for hunk in hunks:
        at, old, new = _place(hunk, lines, done)
        out += [*lines[done:at], *new]
        done = at + len(old)
    return "".join([*out, *lines[done:]])


def _place(hunk: Hunk, lines: Sequence[str], start: int) -> tuple[int, Sequence[str], Sequence[str]]:
    for less in range(max(hunk.before, hunk.after) + 1):
        first, last = min(less, hunk.before), min(less, hunk.after)
        old, new = (part[first : len(part) - last] for part in (hunk.old, hunk.new))
        places = [at for at in range(start, len(lines) - len(old) + 1) if tuple(lines[at : at + len(old)]) == old]
        if old and len(places) == 1:
            return places[0], old, new
        if places:
            raise BadEdit(f"{hunk} fits {len(places)} places: edit it by hand")
    raise BadEdit(f"{hunk} no longer fits: the lines that it changes have changed")
