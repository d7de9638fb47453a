"""The ``--json`` document, schema ``warpgrade/run/1``: docs/json.md describes it, run.schema.json defines it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grader.verdict import Verdict

SCHEMA = "warpgrade/run/1"
PACKAGES = ("llvmlite", "numpy", "cupy-cuda12x", "cupy-cuda13x", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc")


def run_document(
    verdicts: Sequence[Verdict], *, versions: Mapping[str, str | None], elapsed_s: float
) -> dict[str, Any]:
    """Return the document of graded submissions, with JSON values only."""
    results = [plain(verdict.to_dict()) for verdict in verdicts]
    return {"schema": SCHEMA, "results": results, "versions": dict(versions), "elapsed_s": plain(elapsed_s)}


def error_document(code: str, message: str, hint: str = "") -> dict[str, Any]:
    """Return the document of an error."""
    error = {"code": code, "message": plain(message), "hint": plain(hint)}
    return {"schema": SCHEMA, "error": error}


def dumps(document: Mapping[str, Any]) -> str:
    """Return the text; pure ASCII, so that no control character or bidirectional mark reaches a terminal."""
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)


def versions() -> dict[str, str | None]:
    """Return the versions on which a result depends; None for packages that are not installed."""
    import platform
    from importlib import metadata

    from grader import __version__

    found: dict[str, str | None] = {"warpgrade": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def plain(value: Any) -> Any:
    """Return ``value`` with JSON values only: no NumPy scalar, no NaN or infinity (null instead), no lone surrogate."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return plain(value.item())  # a NumPy scalar
