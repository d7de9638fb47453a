"""What a child says of its traced run, as a timeline: hostile data, believed only as a drawing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.backends.gpu.hostfile.trace import MOST_OPERATIONS
from grader.verdict import Operation, Timeline

KINDS = frozenset(("kernel", "to_device", "to_host", "on_device", "peer", "fill", "prefetch"))
NAME_LENGTH = 60
LONGEST_S = 3600.0
_MOST = {"stream": 10_000, "bytes": 1 << 50, "line": 1_000_000, "device": 64}


def timeline_of(told: object, arrays: Sequence[str], device: str) -> Timeline | None:
    """The timeline of ``told``; None where any of it is not as it should be. ``arrays`` are the exercise's names."""
    if not isinstance(told, dict) or not _is_time(told.get("elapsed_s")):
        return None
    bars = told.get("operations")
    if not isinstance(bars, list) or not 0 < len(bars) <= MOST_OPERATIONS:
        return None
    operations = [_operation(bar, arrays) for bar in bars]
    known = tuple(operation for operation in operations if operation is not None)
    return Timeline(known, float(told["elapsed_s"]), False, device) if len(known) == len(bars) else None


def _operation(bar: Any, arrays: Sequence[str]) -> Operation | None:
    if not isinstance(bar, list) or len(bar) != 8:
        return None
    kind, name, stream, start_s, stop_s, size, line, device = bar
    numbers = {"stream": stream, "bytes": size, "line": 0 if line is None else line, "device": device}
    fine = (
        isinstance(kind, str)
        and kind in KINDS
        and all(_is_count(value, _MOST[what]) for what, value in numbers.items())
        and _is_time(start_s)
        and _is_time(stop_s)
        and start_s <= stop_s
    )
    called = _name(name, arrays)
    if not fine or called is None:
        return None
    return Operation(kind, called, stream, float(start_s), float(stop_s), size, line or None, device)


def _name(name: object, arrays: Sequence[str]) -> str | None:
    """A kernel's name, cut; an array's by its number; None where it is neither."""
    if name is None:
        return ""
    if isinstance(name, str):
        return "".join(c for c in name[:NAME_LENGTH] if c.isprintable())
    return arrays[name] if isinstance(name, int) and _is_count(name, len(arrays) - 1) else None


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_time(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 <= value <= LONGEST_S  # which no NaN is
