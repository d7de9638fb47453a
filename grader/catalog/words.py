"""The glossary: the words of docs/words.md and the counters of docs/counters.md, and finding one; and whole pages.

These pages are also in the installed package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from grader.catalog.courses import built_in_course
from grader.counters import HEADINGS
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
    others: tuple[str, ...] = ()  # names that the title does not have
    profiler: str = ""  # of a counter: its name in Nsight Compute, "" if it has none

    @property
    def names(self) -> tuple[str, ...]:
        return self.others + tuple(name.strip(" `)") for name in re.split(r", | \(", self.title))

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of functions and of parts that the meaning mentions: ``__syncthreads``, ``phase``."""
        return tuple((code or emphasis).removesuffix("()") for code, emphasis in _TERM.findall(self.meaning))


def glossary() -> Iterator[Word]:
    """The words, in the order of the page. Raises UsageError if it cannot be read."""
    for section, title, meaning in _rows("words.md"):
        yield Word(section, title, meaning)


def counters() -> Iterator[Word]:
    """The counters that can be predicted, in the order of their page; a heading of a report's table is a name, too."""
    full = ""
    for section, title, cells in _rows("counters.md"):
        name = title.strip("`")
        others = (name.replace("_", " "), HEADINGS.get(name, ""))
        meaning, _, profiler = cells.partition(" | ")
        full, same = (full, f"{full}, {profiler}") if profiler.startswith("the same") else (profiler, profiler)
        yield Word(section, title, meaning.removesuffix("."), (*filter(None, others),), same.strip("–"))


def _rows(page: str) -> Iterator[tuple[str, str, str]]:
    """The section and the cells of each row of a table."""
    section = ""
    for line in _LINK.sub(r"\1", _text_of(page)).splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif (row := _ROW.fullmatch(line)) and not row[2].startswith("meaning"):
            yield section, row[1], row[2]


GUIDES = ("counters", "launch-lines")
"""Pages for learners that `grade show` prints."""


def guide(name: str) -> str:
    """The page with this name, in one of the forms in which people type it; "" if there is none."""
    wanted = re.sub(r"[\s_-]+", "-", name.strip().casefold())
    page = next((page for page in GUIDES if wanted in (page, page.removesuffix("s"))), None)
    return _LINK.sub(r"\1", _text_of(f"{page}.md")) if page else ""


def _text_of(page: str) -> str:
    """A page of the documentation. Raises UsageError if it cannot be read."""
    path = built_in_course().exercises.parent / "docs" / page
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", code="unreadable") from None


def find_words(text: str) -> list[Word]:
    """The words that ``text`` may mean: by name, else by a part of a name, else by a term of a meaning.

    A counter is found by its name, and by a part of it if no word is found.
    Raises UsageError with the nearest word.
    """
    wanted = " ".join(text.casefold().removesuffix("()").split())
    forms = _forms(wanted) | _forms(wanted.removeprefix("//").strip())  # `// zero` is a line
    rules: tuple[Callable[[Word], bool], ...] = (
        lambda word: bool(forms & {name.casefold() for name in word.names}),
        lambda word: any(forms & _forms(name.casefold()) for name in word.names),
        lambda word: any(forms & set(re.split(r"[\s-]+", name.casefold())) for name in word.names),
        lambda word: bool(forms & {term.casefold() for term in word.terms}),
    )
    words, named = [*glossary()], [*counters()]
    exact, alike, part, term = rules
    for rule, among in ((exact, words + named), (alike, words + named), (part, words), (term, words), (part, named)):
        if found := [*filter(rule, among)]:
            return found
    from grader.expressions import did_you_mean

    hint = (
        did_you_mean(text, (name for word in words + named for name in word.names)) or "`grade words` lists all words"
    )
    raise UsageError(f"the glossary has no word {text!r}", code="unknown_word", hint=hint)


def _forms(text: str) -> set[str]:
    """A word, and without the ending of a plural."""
    return {text, text.removesuffix("s"), text.removesuffix("es")} - {""}
