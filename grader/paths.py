"""Where warpgrade keeps what it can make again, and what it cannot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).resolve().parent
"""The folder of the package `grader`; in a wheel the course lies inside, in a clone beside."""


def cache_folder(*parts: str) -> Path:
    """Folder of things that can be made again: compiled programs, native code, measured ceilings.

    ``WARPGRADE_CACHE`` overrides the place; otherwise it is the platform's cache folder (``~/.cache/warpgrade`` on
    Linux). The folder is not created: whoever writes there creates it.
    """
    return _folder("WARPGRADE_CACHE", "user_cache_path").joinpath(*parts)


def data_folder(*parts: str) -> Path:
    """Folder of what is a person's own: their progress, and the profiles of their GPUs.

    ``WARPGRADE_DATA`` overrides the place; otherwise it is the platform's data folder (``~/.local/share/warpgrade`` on
    Linux). The folder is not created: whoever writes there creates it.
    """
    return _folder("WARPGRADE_DATA", "user_data_path").joinpath(*parts)


def _folder(variable: str, default: Literal["user_cache_path", "user_data_path"]) -> Path:
    if override := os.environ.get(variable):
        return Path(override).expanduser().absolute()
    # Imported here: most commands need none of these folders.
    from platformdirs import PlatformDirs

    path: Path = getattr(PlatformDirs("warpgrade", appauthor=False), default)
    return path
