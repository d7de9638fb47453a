"""The glossary, docs/words.md, which is also in the installed package: its words, and finding one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from grader.catalog.courses import built_in_course
from grader.errors import UsageError
from grader.frozen import dataclass

_ROW = re.compile(r"\| (.+?) \| (.+) \|")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TERM = re.compile(r"`([^`]+)`|\*([^*]+)\*")  # code and emphasis in a meaning


@dataclass(frozen=True)
class Word:
    """A row of the glossary. ``title`` may have several names: ``host, device``, ``multiprocessor (SM)``."""

    section: str
    title: str
    meaning: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name.strip(" `)") for name in re.split(r", | \(", self.title))

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of functions and of parts that the meaning mentions: ``__syncthreads``, ``phase``."""
        return tuple((code or emphasis).removesuffix("()") for code, emphasis in _TERM.findall(self.meaning))


def glossary() -> Iterator[Word]:
    """The words, in the order of the page. Raises UsageError if it cannot be read."""
    page = built_in_course().exercises.parent / "docs" / "words.md"
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {page}: {error.strerror}", code="unreadable") from None
    section = ""
    for line in _LINK.sub(r"\1", text).splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif (row := _ROW.fullmatch(line)) and row[2] != "meaning":
            yield Word(section, row[1], row[2])


def find_words(text: str) -> list[Word]:
    """The words that ``text`` may mean: by name, else by a part of a name, else by a term of a meaning.

    Raises UsageError with the nearest word.
    """
    wanted = " ".join(text.casefold().removesuffix("()").split())
    forms = {wanted, wanted.removesuffix("s"), wanted.removesuffix("es")} - {""}  # of a plural, too
    rules: tuple[Callable[[Word], bool], ...] = (
        lambda word: bool(forms & {name.casefold() for name in word.names}),
        lambda word: any(forms & set(re.split(r"[\s-]+", name.casefold())) for name in word.names),
        lambda word: bool(forms & {term.casefold() for term in word.terms}),
    )
    words = [*glossary()]
    for rule in rules:
        if found := [*filter(rule, words)]:
            return found
    from grader.expressions import did_you_mean

    hint = did_you_mean(text, (name for word in words for name in word.names)) or "`grade words` lists all words"
    raise UsageError(f"the glossary has no word {text!r}", code="unknown_word", hint=hint)
