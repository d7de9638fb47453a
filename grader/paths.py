"""The folders of warpgrade: the package, the cache, and the user's data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).resolve().parent
"""The folder of the package `grader`; in a wheel the course is inside it, in a clone next to it."""


def cache_folder(*parts: str) -> Path:
    """The folder of data that can be computed again: compiled programs, native code, measured ceilings.

    ``WARPGRADE_CACHE`` overrides it; otherwise it is the platform's cache folder (``~/.cache/warpgrade`` on Linux).
    This function does not create the folder.
    """
    return _folder("WARPGRADE_CACHE", "user_cache_path").joinpath(*parts)


def data_folder(*parts: str) -> Path:
    """The folder of the user's data: the progress, and the profiles of GPUs.

    ``WARPGRADE_DATA`` overrides it; otherwise it is the platform's data folder (``~/.local/share/warpgrade`` on Linux).
    This function does not create the folder.
    """
    return _folder("WARPGRADE_DATA", "user_data_path").joinpath(*parts)


def _folder(variable: str, default: Literal["user_cache_path", "user_data_path"]) -> Path:
    if override := os.environ.get(variable):
        return Path(override).expanduser().absolute()
    # Imported here: most commands need none of these folders.
    from platformdirs import PlatformDirs

    path: Path = getattr(PlatformDirs("warpgrade", appauthor=False), default)
    return path
