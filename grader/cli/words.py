"""``grade words``: the glossary in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from grader.catalog.words import find_words, glossary
from grader.cli.course import print_paged, shown_statement


def show_words(words: Sequence[str], *, no_color: bool) -> int:
    """Explain a word, which may consist of several, or list all words."""
    if words:
        found = find_words(" ".join(words))
        page = "\n\n".join(f"**{word.title}** ({word.section.lower()})\n\n{word.meaning}." for word in found)
        print_paged(shown_statement(page, no_color=no_color) + "\n", "`grade words` lists all words.")
        return 0
    sections = groupby(glossary(), key=lambda word: word.section)
    page = "\n\n".join(f"**{section}**\n\n{' · '.join(word.title for word in found)}" for section, found in sections)
    print_paged(shown_statement(page, no_color=no_color) + "\n", "`grade words WORD` explains one of them.")
    return 0
