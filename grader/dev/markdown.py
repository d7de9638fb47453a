"""Where Markdown cuts a text that was not meant as Markdown: `a*b - c*d` loses its stars, a line that begins with `+ a`
or `- 1` becomes an item of a list. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_WORD_ENDS, _WORD_BEGINS = re.compile(r"[\w)\]]$"), re.compile(r"[\w(\[]")
_LISTS = ("bullet_list_open", "ordered_list_open")


def cuts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and what happens there, for each place where Markdown cuts a text."""
    from markdown_it import MarkdownIt

    lines, paragraph_end = text.splitlines(), -1
    for token in MarkdownIt().enable("table").parse(text):
        begin, end = token.map or (0, 0)
        in_a_sentence = begin == paragraph_end and not lines[begin - 1].rstrip().endswith(":")
        if token.type in _LISTS and token.level == 0 and in_a_sentence:
            yield begin + 1, f"{lines[begin].strip()[:30]!r} goes on with the line before, and Markdown makes it a list"
        if token.type == "paragraph_open":
            paragraph_end = end
        for before, after in pairwise(token.children or ()):
            opens = after.type in ("em_open", "strong_open") and before.type == "text"
            if opens and _WORD_ENDS.search(before.content):
                yield (
                    begin + 1,
                    f"Markdown takes a star after {before.content[-20:]!r} away: put the code into backticks",
                )
            closes = before.type in ("em_close", "strong_close") and after.type == "text"
            if closes and _WORD_BEGINS.match(after.content):
                yield (
                    begin + 1,
                    f"Markdown takes a star before {after.content[:20]!r} away: put the code into backticks",
                )
