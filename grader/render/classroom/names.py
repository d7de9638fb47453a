"""Names of a class: people, files for them, pseudonyms. Pure."""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256

from grader.classroom.records import Student
from grader.text import cut

_COLOURS = (
    "amber", "azure", "bronze", "copper", "coral", "crimson", "cyan", "ebony", "emerald", "golden", "green", "indigo",
    "ivory", "jade", "lilac", "lime", "magenta", "mint", "ochre", "olive", "orange", "pearl", "purple", "red", "ruby",
    "scarlet", "silver", "teal", "turquoise", "violet", "white", "yellow",
)  # fmt: skip
_ANIMALS = (
    "badger", "beaver", "bison", "cheetah", "crane", "dolphin", "eagle", "falcon", "ferret", "finch", "fox", "gecko",
    "gibbon", "heron", "ibex", "jaguar", "kestrel", "koala", "lemur", "lynx", "marten", "newt", "ocelot", "otter",
    "owl", "panda", "puffin", "raven", "seal", "swift", "tapir", "wolf",
)  # fmt: skip
LONGEST = 60


def shown_name(student: Student) -> str:
    """The name, or the id if there is none."""
    return cut(student.name.strip() or student.id, 80)


def file_names(ids: Iterable[str]) -> Mapping[str, str]:
    """A file name without an ending for each id: letters, digits, ``-``, ``_`` and ``.``, and no two alike.

    An id that cannot be a file name, or differs from another only in case, gets a part of its digest.
    """
    every = list(dict.fromkeys(ids))
    plain = {one: re.sub(r"[^A-Za-z0-9_.-]+", "_", one).strip("._-")[:LONGEST] for one in every}
    alike = Counter(name.lower() for name in plain.values())

    def name(one: str) -> str:
        if plain[one] == one and alike[one.lower()] == 1:
            return one
        digest = sha256(one.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        return f"{plain[one] or 'student'}-{digest}"

    return {one: name(one) for one in every}


def pseudonyms(ids: Iterable[str], key: bytes) -> Mapping[str, str]:
    """A pseudonym for each id, e.g. ``amber otter 42``: nobody without the class's key can tell whose it is.

    It stays the same when others join or leave, unless two would have the same one: both then get a longer number.
    """
    every = list(dict.fromkeys(ids))
    digests = {
        one: hmac.digest(key, b"warpgrade pseudonym\0" + one.encode("utf-8", "surrogatepass"), "sha256")
        for one in every
    }
    short = {one: _pseudonym(digest, 100) for one, digest in digests.items()}
    alike = Counter(short.values())
    return {one: name if alike[name] == 1 else _pseudonym(digests[one], 10**12) for one, name in short.items()}


def _pseudonym(digest: bytes, numbers: int) -> str:
    number = int.from_bytes(digest[2:10], "big") % numbers
    return f"{_COLOURS[digest[0] % len(_COLOURS)]} {_ANIMALS[digest[1] % len(_ANIMALS)]} {number:02}"
