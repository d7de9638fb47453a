"""Machine code of simulated kernels, kept on disk between runs by the parent; the child has no files."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from grader.paths import cache_folder

_KEY = re.compile(r"[0-9a-f]{64}")
LARGEST = 64 << 20


def load(keys: Iterable[str]) -> dict[str, bytes]:
    """What was kept under these keys."""
    found = {}
    for key in keys:
        if _KEY.fullmatch(key):
            with contextlib.suppress(OSError):
                found[key] = (cache_folder("sim") / key).read_bytes()
    return found


def save(codes: Mapping[str, bytes]) -> None:
    """Keep machine code; a folder that cannot be written is no error."""
    folder = cache_folder("sim")
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for key, code in codes.items():
            if _KEY.fullmatch(key) and len(code) <= LARGEST:
                with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                    file.write(code)
                Path(file.name).replace(folder / key)
