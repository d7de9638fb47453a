"""Where warpgrade keeps what it can make again."""

from __future__ import annotations

import os
from pathlib import Path


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
