"""Compiled kernels, in memory and as bytes that a caller may keep.

The key covers everything that the machine code depends on: the PTX, the entry, the observers, this package's version of
the engine, and the processor. The caller's store (`load`, `save`) decides where bytes live; None keeps them nowhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from grader.simt.engine.codegen import Kernel, generate
from grader.simt.engine.jit import Compiled, compile_module, host_key, load_object
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


class CodeCache:
    """Finds or makes an entry's machine code. ``load(key)`` gives bytes or None; ``save(key, bytes)`` keeps them."""

    def __init__(
        self,
        text_key: str,
        load: Callable[[str], bytes | None] | None = None,
        save: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self.text_key = text_key
        self._load = load
        self._save = save
        self._kept: dict[tuple[str, frozenset[str]], Loaded] = {}

    def get(self, module: Module, entry: str, observed: frozenset[str]) -> Loaded:
        """The code of ``entry``. Raises UnsupportedPtx, with the source line."""
        place = (entry, observed)
        if place not in self._kept:
            self._kept[place] = self._from_store(module, entry, observed)
        return self._kept[place]

    def _from_store(self, module: Module, entry: str, observed: frozenset[str]) -> Loaded:
        text = "\n".join((self.text_key, entry, *sorted(observed), engine_key(), host_key()))
        key = hashlib.sha256(text.encode()).hexdigest()
        kept = self._load(key) if self._load else None
        if kept is not None:
            return _decode(kept)
        ir_text, kernel = generate(module, entry, observer_set(observed))
        code = compile_module(ir_text)
        if self._save:
            self._save(key, _encode(kernel, code.object_code))
        return Loaded(kernel, code)


def _encode(kernel: Kernel, code: bytes) -> bytes:
    head = json.dumps(asdict(kernel)).encode()
    return len(head).to_bytes(8, "little") + head + code


def _decode(kept: bytes) -> Loaded:
    size = int.from_bytes(kept[:8], "little")
    fields = json.loads(kept[8 : 8 + size])
    fields["sites"] = tuple(Site(**site) for site in fields["sites"])
    for name in ("parameters", "shared", "block_lines", "block_ops"):
        fields[name] = tuple(tuple(item) for item in fields[name])
    for name in ("lines", "symbols"):
        fields[name] = tuple(fields[name])
    return Loaded(Kernel(**fields), load_object(kept[8 + size :]))
