"""The form of a statement: five parts in order, few words, few values, and no measured value typed by hand.

    ## The question  ## Before and after  ## Predict  ## The task  ## If it does not pass

Words and values are those of the prose before "If it does not pass". Code, tables, comments and what `scripts/docs`
writes are not prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from grader.catalog.statements import CAUSES, parts_of, task_in
from grader.text import counted

PARTS = ("The question", "Before and after", "Predict", "The task", CAUSES)
MOST_WORDS = 650
MOST_VALUES = 8
MOST_DIFF_LINES = 12

_GENERATED = re.compile(r"^<!-- (?:measured|generated): [^>\n]+ -->$.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"^(```+)(?P<kind>[^\n`]*)\n(?P<code>.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)

_VALUE = re.compile(
    r"(?<![\w.,^/-])(?P<number>\d+(?: \d{3})*(?:[.,]\d+)*)(?!\w)"
    r"(?P<unit>\s?(?:%|per\s?cent)|\s(?:"
    r"(?:[nµμum]?s|(?:milli|micro|nano)?seconds?|minutes?|cycles?|clocks?)(?!\w)"
    r"|[kMGTP]?i?(?:B|bit|FLOP|OP)/s|[MGT]Hz"
    r"|(?:times|×)\s(?:as\s(?!many|much)|the\s(?:speed|time|rate)|faster|slower|longer)))?"
)
_DATA = re.compile(r"\s(?:[kMGTP]i?B\b(?!/)|[·×]\s10)")
"""After a number with decimals: the size of data, or a power of ten, which are the task's."""
_VERSION = re.compile(r"(?:CUDA|CuPy|PyTorch|Python|PTX|PCIe|ptxas|nvcc|NVRTC|capability|version)`?\s$")
_GUESS = re.compile(r"\b[Pp]robably\b")

_MEASURED = re.compile(r"\b(?:[Mm]easured|trials?|took|reached|[Pp]rofiled|comes\sout)\b")
_COMPARED = re.compile(r"\b(?:faster|slower|longer|less\stime|more\stime)\b")
"""Words that tell a measurement, the second with a unit; without one, a value may be computed, or from a datasheet."""
_MEASURED_COLUMN = re.compile(r"\b(?:rate|measured|bandwidth)\b|= 1\b")
_SENTENCE_END = re.compile(r"[.!?;]\*{0,2}\s|\n\s*\n|\n[-*] ")


_POINTS_UP = re.compile(
    r"\b(?:formulas?|picture|drawing|diff)\s(?:from\s)?above\b|\b(?:see|in)\sthe\s(?:picture|drawing|diff)\b"
)
"""What is not there in an interview, which shows the task alone."""


class Form(NamedTuple):
    """What is counted in a statement's prose, and what the form does not allow."""

    words: int
    values: tuple[str, ...]
    too_many: tuple[str, ...]  # words or values
    parts: tuple[str, ...]
    unproven: tuple[str, ...]  # measured values that nothing generated, and guesses

    def counts(self) -> str:
        """``412 words, 1 value``."""
        return f"{counted(self.words, 'word')}, {counted(len(self.values), 'value')}"


def has_form(text: str) -> bool:
    """Whether the statement is written in the five parts, or begun to be."""
    return PARTS[0] in _HEADING.findall(text)


def form_of(text: str) -> Form:
    """Count a statement's words and values, and compare it with the form."""
    before, _ = parts_of(text)
    pages = _blank(_GENERATED, before)
    prose = _blank(_TABLE, _blank(_COMMENT, _blank(_FENCE, pages)))
    words = sum(any(map(str.isalnum, word)) for word in prose.split())
    plain = _blank(_CODE, prose)
    values = [match for match in _VALUE.finditer(plain) if _is_value(match, before)]
    unproven = (
        *(f"{_at(plain, match)} is measured, but typed by hand" for match in values if _is_measured(match)),
        *_tables(_blank(_COMMENT, _blank(_FENCE, pages))),
        *(f"{_at(plain, match)}: measure it, or leave it out" for match in _GUESS.finditer(plain)),
    )
    shown = tuple(" ".join(match[0].split()) for match in values)
    return Form(words, shown, tuple(_too_many(words, len(values))), tuple(_parts(text)), unproven)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """The text with blanks instead of what the pattern finds: every other character stays where it was."""
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _is_value(match: re.Match[str], text: str) -> bool:
    """Whether a number is a time, a rate, a share or a ratio of times, or has decimals and is no size or version."""
    if match["unit"]:
        return True
    return "." in match["number"] and not _DATA.match(text, match.end()) and not _VERSION.search(text[: match.start()])


def _is_measured(match: re.Match[str]) -> bool:
    """Whether the sentence around a value says that it was measured."""
    begin = max((end.end() for end in _SENTENCE_END.finditer(match.string, 0, match.start())), default=0)
    end = _SENTENCE_END.search(match.string, match.end())
    sentence = match.string[begin : end.end() if end else len(match.string)]
    return bool(_MEASURED.search(sentence) or (match["unit"] and _COMPARED.search(sentence)))


def _at(text: str, match: re.Match[str]) -> str:
    return f"line {text.count(chr(10), 0, match.start()) + 1}: {' '.join(match[0].split())!r}"


def _too_many(words: int, values: int) -> Iterator[str]:
    if words > MOST_WORDS:
        yield f'{words} words before "{CAUSES}"; at most {MOST_WORDS} are read'
    if values > MOST_VALUES:
        yield f"{values} measured or computed values in its prose; at most {MOST_VALUES} are remembered"


def _parts(text: str) -> Iterator[str]:
    """The parts are the second-level headings, all five, in order; the loop before and after is a short diff."""
    headings = tuple(_HEADING.findall(_blank(_FENCE, text)))
    if headings != PARTS:
        yield f"its parts are {_quoted(headings)}, not {_quoted(PARTS)}"
        return
    shown = text.split(f"\n## {PARTS[1]}", 1)[1].split(f"\n## {PARTS[2]}", 1)[0]
    blocks = list(_FENCE.finditer(shown))
    if not blocks:
        yield f'"{PARTS[1]}" shows no code'
    for block in blocks:
        if (lines := block["code"].count("\n")) > MOST_DIFF_LINES:
            yield f'the code of "{PARTS[1]}" has {lines} lines; at most {MOST_DIFF_LINES} are one idea'
    for match in _POINTS_UP.finditer(task_in(text)):
        yield f'"{PARTS[3]}" is shown alone in an interview: what is {" ".join(match[0].split())!r}?'


def _quoted(titles: tuple[str, ...]) -> str:
    return ", ".join(f'"{title}"' for title in titles) or "none"


def _tables(pages: str) -> Iterator[str]:
    """A table with a measured column is written by `scripts/docs`."""
    for table in _TABLE.finditer(pages):
        head = table[0].split("\n", 1)[0]
        if _MEASURED_COLUMN.search(head):
            yield f"line {pages.count(chr(10), 0, table.start()) + 1}: a table of measured values, typed by hand"
