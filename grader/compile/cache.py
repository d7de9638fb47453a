"""A cache on disk, by content: one file per key, with a checksum, replaced atomically."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from grader.paths import cache_folder

ENTRY_LIMIT = 4096  # files in one folder; beyond it the older half is deleted
_DIGEST = 64  # hexadecimal digits of a SHA-256


def digest(*parts: str | bytes) -> str:
    """SHA-256 of ``parts``, each after its length, in hexadecimal."""
    total = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(len(content).to_bytes(8, "little") + content)
    return total.hexdigest()


def load(kind: str, key: str) -> Any:
    """The value that was stored under ``key``; None if there is none or the file is damaged."""
    text = read(_path(kind, key))
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return None


def store(kind: str, key: str, value: Any) -> None:
    """Store ``value`` (JSON) under ``key``; nothing, and without an error, if the cache cannot be written."""
    path = _path(kind, key)
    with contextlib.suppress(OSError):
        write(path, json.dumps(value).encode())
        _prune(path.parent)


def read(path: Path) -> bytes | None:
    """The content that `write` stored; None if the file is missing, damaged, or a copy of another file."""
    try:
        kept = path.read_bytes()
    except OSError:
        return None
    checksum, content = kept[:_DIGEST], kept[_DIGEST:]
    return content if digest(path.name, content).encode() == checksum else None


def write(path: Path, content: bytes) -> None:
    """Store ``content`` after its checksum, atomically. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp")
    try:
        with open(handle, "wb") as file:
            file.write(digest(path.name, content).encode() + content)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _path(kind: str, key: str) -> Path:
    return cache_folder(kind, key + ".json")


def _prune(folder: Path) -> None:
    with os.scandir(folder) as scan:
        entries = list(scan)
    if len(entries) <= ENTRY_LIMIT:
        return
    aged = sorted(entries, key=lambda entry: entry.stat().st_mtime)
    for entry in aged[: len(aged) // 2]:
        with contextlib.suppress(OSError):  # another process may prune too
            Path(entry).unlink()
