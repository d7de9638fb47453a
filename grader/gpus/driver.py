"""NVIDIA's kernel module, as its own file tells: read before anything of CUDA is imported."""

from __future__ import annotations

import re
from pathlib import Path

FILE = Path("/proc/driver/nvidia/version")


def is_loaded() -> bool:
    """Whether the driver shows itself. WSL and some sandboxes have GPUs, and no such file."""
    return FILE.is_file()


def driver_version(file: Path = FILE) -> str:
    """The driver's own version, e.g. ``580.95.05``; "" where the kernel module does not tell."""
    try:
        text = file.read_text()
    except OSError:
        return ""
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", text)
    return found[1] if found else ""
