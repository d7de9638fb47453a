"""Names that the real packages have (names.txt): what is not among them is no matter of a GPU, but written wrongly.

The list is read when this module is imported, before the host file's process loses sight of files.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from pathlib import Path

FEW = 6
"""A class with no more public names than this is told as a whole, where nothing is alike."""


def _read(text: str) -> Mapping[str, frozenset[str]]:
    parts = re.split(r"^\[(.+)\]$", text, flags=re.MULTILINE)[1:]
    found = {owner: frozenset(names.split()) for owner, names in zip(parts[::2], parts[1::2], strict=True)}
    below = {one.removeprefix(f"{BINDINGS}.") for one in found["modules"] if one.startswith(f"{BINDINGS}.")}
    return {**found, BINDINGS: frozenset(below)}


BINDINGS = "cuda.bindings"
NAMES = _read((Path(__file__).parent / "names.txt").read_text(encoding="utf-8"))
"""Public names by the full name of their module or class; ``modules`` has the full names of all modules."""


def is_known(owner: str, name: str) -> bool:
    """Whether the real module or class has the name, as far as that can be told."""
    return name.startswith("_") or owner not in NAMES or name in NAMES[owner] or is_module(f"{owner}.{name}")


def is_module(name: str) -> bool:
    """Whether there is a module of that full name; those of ``cuda`` differ between releases."""
    return name in NAMES["modules"] or "._" in name or (name.startswith("cuda.") and name.count(".") == 1)


def advice(owner: str, name: str, own: Collection[str]) -> str:
    """``: did you mean synchronize?``; ``own`` are the names that the stand-in has. "" where nothing is alike."""
    public = [one for one in own if not one.startswith("_")]
    for names, alike in ((public, 0.75), (NAMES.get(owner, ()), 0.7), (public, 0.6)):
        near = difflib.get_close_matches(name, names, 1, alike)
        if near:
            return f": did you mean {near[0]}?"
    if 1 < len(public) <= FEW:
        *most, last = sorted(public)
        return f": it has {', '.join(most)} and {last}"
    return ""
