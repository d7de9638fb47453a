"""The ``--json`` document, schema ``warpgrade/run/1``: docs/json.md describes it, run.schema.json defines it."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from grader import verdict as records
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


# ------------------------------------------------------------------------------------------------------- reading it


def read_verdict(document: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a document: an entry of ``results``, perhaps by another version of warpgrade.

    Keys that this version does not know are ignored, and keys that are missing have their default. Raises ValueError if
    it is no verdict.
    """
    try:
        verdict: Verdict = _record(Verdict, document)
    except (TypeError, AttributeError, KeyError) as error:
        raise ValueError(f"this is no verdict: {error}") from None
    return verdict


def _record(made: Any, values: Mapping[str, Any]) -> Any:
    types_of = _types(made)
    return made(**{name: _read(types_of[name], value) for name, value in values.items() if name in types_of})


@cache
def _types(made: type) -> Mapping[str, Any]:
    hints = get_type_hints(made, vars(records))
    return {field.name: hints[field.name] for field in fields(made)}


def _read(wanted: Any, value: Any) -> Any:
    """The value as the type ``wanted``, the reverse of `plain`; a number that was not finite is NaN."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted is float and value is None:
        return math.nan
    if origin in (Union, types.UnionType):
        return None if value is None else _read(inner[0], value)
    if is_dataclass(wanted):
        return _record(wanted, value)
    if origin is tuple:
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        return tuple(_read(kind, item) for kind, item in zip(kinds, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {str(key): _read(inner[1], item) for key, item in value.items()}
    if wanted in (str, int, float, bool) and not isinstance(value, wanted | (int if wanted is float else wanted)):
        raise TypeError(f"{value!r:.80} is not {wanted.__name__}")
    return value
