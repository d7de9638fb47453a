"""Compiled kernels, in memory and as bytes that a caller may keep.

The key covers everything that the machine code depends on: the PTX, the entry, the observers, this package's version of
the engine, and the processor. Outlined functions, of which most of a kernel's code consists, have keys of their own,
made from their IR: most of what an edited kernel needs was compiled for others. The caller's store (`load`, `save`)
decides where bytes live; None keeps them nowhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path

from grader.simt.engine.codegen import Kernel, generate
from grader.simt.engine.ir import units
from grader.simt.engine.jit import Compiled, compile_text, host_key, link
from grader.simt.engine.sites import Site
from grader.simt.observers import observer_set
from grader.simt.ptx import Module


@dataclass(frozen=True)
class Loaded:
    kernel: Kernel
    code: Compiled


@cache
def engine_key() -> str:
    """A hash of this package's sources: a changed engine makes new code."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


UNIT_LINES = 2_000
"""Of IR that LLVM gets at once, about: its time grows faster than the text."""

Load = Callable[[Sequence[str]], Mapping[str, bytes]]
Save = Callable[[Mapping[str, bytes]], None]


class CodeCache:
    """Finds or makes an entry's machine code. ``load(keys)`` gives what is kept of these, ``save`` keeps more."""

    def __init__(self, text_key: str, load: Load | None = None, save: Save | None = None) -> None:
        self.text_key = text_key
        self._load = load or (lambda keys: {})
        self._save = save or (lambda codes: None)
        self._kept: dict[tuple[str, frozenset[str]], Loaded] = {}

    def get(self, module: Module, entry: str, observed: frozenset[str]) -> Loaded:
        """The code of ``entry``. Raises UnsupportedPtx, with the source line."""
        place = (entry, observed)
        if place not in self._kept:
            self._kept[place] = self._from_store(module, entry, observed)
        return self._kept[place]

    def _from_store(self, module: Module, entry: str, observed: frozenset[str]) -> Loaded:
        key = _key("kernel", self.text_key, entry, *sorted(observed))
        kept = self._load([key]).get(key)
        if kept is not None:
            return _decode(kept)
        made, kernel = generate(module, entry, observer_set(observed))
        own, outlined = units(made, UNIT_LINES)
        shared = {_key("function", text): text for text in outlined}
        codes = _COMPILED | dict(self._load([key for key in shared if key not in _COMPILED]))
        fresh = {key: compile_text(text) for key, text in shared.items() if key not in codes}
        codes |= fresh
        objects = [*(compile_text(text, quick=True) for text in own), *(codes[key] for key in shared)]
        _COMPILED.update((key, codes[key]) for key in shared)
        self._save(fresh | {key: _encode(kernel, objects)})
        return Loaded(kernel, link(objects))


_COMPILED: dict[str, bytes] = {}
"""Outlined functions of all kernels of this process, by what they are made from."""


def _key(*parts: str) -> str:
    return hashlib.sha256("\n".join((*parts, engine_key(), host_key())).encode()).hexdigest()


def _encode(kernel: Kernel, objects: Sequence[bytes]) -> bytes:
    head = json.dumps([asdict(kernel), [len(code) for code in objects]]).encode()
    return b"".join((len(head).to_bytes(8, "little"), head, *objects))


def _decode(kept: bytes) -> Loaded:
    at = 8 + int.from_bytes(kept[:8], "little")
    fields, sizes = json.loads(kept[8:at])
    fields["sites"] = tuple(Site(**site) for site in fields["sites"])
    for name in ("parameters", "shared", "block_lines", "block_ops"):
        fields[name] = tuple(tuple(item) for item in fields[name])
    for name in ("lines", "symbols"):
        fields[name] = tuple(fields[name])
    ends = list(accumulate(sizes, initial=at))
    return Loaded(Kernel(**fields), link([kept[start:end] for start, end in pairwise(ends)]))
