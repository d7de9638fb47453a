"""``grade words``: the glossary and the counters in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from grader.catalog.words import Word, counters, find_words, glossary
from grader.cli.course import print_paged, shown_statement


def show_words(words: Sequence[str], *, no_color: bool) -> int:
    """Explain a word, which may consist of several, or list all words; ``counters`` lists all counters, too."""
    if words:
        found = find_words(" ".join(words))
        page = "\n\n".join(map(_explained, found))
        closing = "`grade words` lists all words, `grade words counters` all counters."
        if any(word.title == "counter" for word in found):
            page += f"\n\n{_by_section(counters())}"
            closing = "`grade words COUNTER` explains one of them, `grade NAME --predict COUNTER=VALUE` predicts it."
    else:
        page = _by_section(glossary())
        closing = "`grade words WORD` explains one of them. `grade words counters` lists all counters."
    print_paged(shown_statement(page, no_color=no_color) + "\n", closing)
    return 0


def _explained(word: Word) -> str:
    """The word with its meaning, and a counter's name in the profiler."""
    profiler = f"\n\nIn Nsight Compute: {word.profiler}." if word.profiler else ""
    return f"**{word.title}** ({word.section.lower()})\n\n{word.meaning}.{profiler}"


def _by_section(words: Iterable[Word]) -> str:
    sections = groupby(words, key=lambda word: word.section)
    return "\n\n".join(f"**{section}**\n\n{' · '.join(word.title for word in group)}" for section, group in sections)
