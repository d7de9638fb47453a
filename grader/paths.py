"""Where warpgrade keeps what it can make again, and what it cannot."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
"""The folder of the package `grader`; in a wheel the course lies inside, in a clone beside."""


def cache_folder(*parts: str) -> Path:
    """Folder of things that can be made again: compiled programs, native code, measured ceilings.

    ``WARPGRADE_CACHE`` overrides the place; otherwise it is the platform's cache folder (``~/.cache/warpgrade`` on
    Linux). The folder is not created: whoever writes there creates it.
    """
    override = os.environ.get("WARPGRADE_CACHE")
    if override:
        return Path(override).expanduser().absolute().joinpath(*parts)
    # Imported here: most commands never look for the cache.
    from platformdirs import user_cache_path

    return user_cache_path("warpgrade", appauthor=False).joinpath(*parts)


def data_folder(*parts: str) -> Path:
    """Folder of what is a person's own: their progress, and the profiles of their GPUs.

    ``WARPGRADE_DATA`` overrides the place; otherwise it is the platform's data folder (``~/.local/share/warpgrade`` on
    Linux). The folder is not created: whoever writes there creates it.
    """
    override = os.environ.get("WARPGRADE_DATA")
    if override:
        return Path(override).expanduser().absolute().joinpath(*parts)
    from platformdirs import user_data_path

    return user_data_path("warpgrade", appauthor=False).joinpath(*parts)
