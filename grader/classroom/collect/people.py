"""Which student of the roster is meant: by an id, a login, a mail address or a name, each as an LMS writes it."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from grader.classroom.records import Student
from grader.classroom.roster import ALIASES, EMAILS, IDS
from grader.frozen import dataclass

PART = 3  # letters of a part of a word that may be near a name


@dataclass(frozen=True)
class Unknown:
    """Somebody who is not on the roster, or may be several of it; ``near`` are their ids and names."""

    word: str
    near: tuple[str, ...] = ()
    is_ambiguous: bool = False


class People:
    """The students of a class by all that names them; without a roster everybody is a student by their label."""

    def __init__(self, roster: Sequence[Student]) -> None:
        self.roster = tuple(roster)
        self._unknown: dict[tuple[str, ...], Unknown] = {}
        self._ids: dict[str, dict[str, Student]] = defaultdict(dict)
        self._names: dict[str, dict[str, Student]] = defaultdict(dict)
        for student in roster:
            for word in _ids_of(student):
                self._ids[word.casefold()][student.id] = student
            for word in _names_of(student):
                self._names[word][student.id] = student

    def knows(self, word: str) -> bool:
        """Whether the word means one student of the roster."""
        return len(self._meant((word,))) == 1

    def near(self, word: str) -> tuple[str, ...]:
        """Up to three students whom the word may mean: ``g2 (Hopper, Grace)``."""
        return tuple(map(_shown, self._meant((word,))))[:3] or self._near((word,))

    def who(self, words: Sequence[str], label: str) -> Student | Unknown:
        """The student whom the words mean, the best word first."""
        if not self.roster:
            return Student(label)
        meant = self._meant(words)
        if len(meant) == 1:
            return meant[0]
        if meant:
            return Unknown(words[0], tuple(map(_shown, meant)), is_ambiguous=True)
        key = tuple(words)
        if key not in self._unknown:
            self._unknown[key] = Unknown(words[-1] if words[0].isdigit() else words[0], self._near(words))
        return self._unknown[key]

    def _meant(self, words: Sequence[str]) -> list[Student]:
        """The student; several if no word means one alone; none if no word is known."""
        several: list[Student] = []
        for index, key in ((self._ids, str.casefold), (self._names, squashed)):
            for word in words:
                found = list(index.get(key(word.strip()), {}).values())
                if len(found) == 1:
                    return found
                several = several or found
        return several

    def _near(self, words: Sequence[str]) -> tuple[str, ...]:
        """Up to three students with a similar id or name, also to a part of a word: of ``cs101-hw4-adda``."""
        near: dict[str, Student] = {}
        parts = [part for word in words for part in re.split(r"[-_.\s]+", word.partition("@")[0])]
        for word in dict.fromkeys((*words, *(part for part in parts if len(part) >= PART))):
            plain = squashed(word)
            for match in get_close_matches(plain, [*self._names], n=3, cutoff=0.75):
                near |= self._names[match]
            for match in get_close_matches(word.casefold(), [*self._ids], n=3, cutoff=0.75):
                near |= self._ids[match]
            near |= {one.id: one for one in self.roster if plain in map(squashed, _parts(one.name))}
            for name in self._names:
                near |= self._names[name] if len(plain) >= PART and name.startswith(plain) else {}
        return tuple(_shown(student) for student in list(near.values())[:3])


def _shown(student: Student) -> str:
    return f"{student.id} ({student.name})" if student.name else student.id


def _ids_of(student: Student) -> Iterator[str]:
    """The id, and every cell of a column that names people."""
    yield student.id
    if student.email:
        yield student.email
    for heading, cell in student.columns.items():
        kind = heading.strip().casefold()
        if kind in ALIASES:
            yield from filter(None, map(str.strip, re.split("[;,|]", cell)))
        elif cell and kind in (*IDS, *EMAILS) and kind != "student":
            yield cell


def _names_of(student: Student) -> Iterator[str]:
    """The name in every order of its words: Canvas writes ``lovelaceada``; and what is before the @ of an address."""
    parts = [part for part in map(squashed, _parts(student.name)) if part]
    yield from ("".join(parts[at:] + parts[:at]) for at in range(len(parts)))
    yield from (squashed(word.partition("@")[0]) for word in _ids_of(student) if "@" in word)
    yield squashed(student.id)


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\s,]+", name) if part]


def squashed(text: str) -> str:
    """Letters and digits alone, without accents and capitals: ``Dvořák, Antonín`` is ``dvorakantonin``."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(filter(str.isalnum, plain)).casefold()
