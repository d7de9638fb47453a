"""Frozen records from JSON that somebody else may have written: the annotations say what is allowed.

    from_json(Attempt, {"at_s": 1.5, "verdict": "pass"}) -> Attempt(at_s=1.5, verdict="pass")

`dataclasses.asdict` is the way there. Known annotations: str, int, float (also NaN and infinity), bool, None, Any,
Literal, datetime (ISO, with its zone), unions, tuples, Mapping[str, T], and records. A field with a default may be
missing; an unknown field is an error, so that nothing is lost in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class NotThatRecord(ValueError):
    """Raised when data do not fit the annotations; the message begins with the place: ``attempts[2].at_s``."""


def from_json(kind: type[T], data: Any) -> T:
    """The record, or the tuple of records, of type ``kind`` that JSON values describe. Raises NotThatRecord."""
    return cast(T, _read(kind, data, ""))


def _read(kind: Any, value: Any, at: str) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin is UnionType:
        return _one_of(get_args(kind), value, at)
    if origin is tuple:
        return tuple(_items(get_args(kind), value, at))
    if origin in (Mapping, dict):
        return {name: _read(get_args(kind)[1], item, f"{at}[{name!r}]") for name, item in _is(dict, value, at).items()}
    if origin is Literal:
        if not (isinstance(value, str) and value in get_args(kind)):
            raise NotThatRecord(f"{at} must be one of {', '.join(map(repr, get_args(kind)))}")
        return value
    return _record(kind, _is(dict, value, at), at) if is_dataclass(kind) else _plain(kind, value, at)


def _record(kind: Any, data: Mapping[str, Any], at: str) -> Any:
    hints = _hints(kind)
    dot = f"{at}." if at else ""
    if unknown := next((name for name in data if name not in hints), None):
        raise NotThatRecord(f"{dot}{unknown} is not known")
    if missing := next((name for name in _needed(kind) if name not in data), None):
        raise NotThatRecord(f"{dot}{missing} is missing")
    return kind(**{name: _read(hints[name], value, dot + name) for name, value in data.items()})


def _items(kinds: Sequence[Any], value: Any, at: str) -> Iterator[Any]:
    items = list(value) if isinstance(value, tuple) else _is(list, value, at)
    expected = [kinds[0]] * len(items) if kinds[1:] == (...,) else kinds
    if len(expected) != len(items):
        raise NotThatRecord(f"{at} must have {len(expected)} items")
    for number, (kind, item) in enumerate(zip(expected, items, strict=True)):
        yield _read(kind, item, f"{at}[{number}]")


def _one_of(kinds: Sequence[Any], value: Any, at: str) -> Any:
    """The first alternative that fits; if none does, the error of the last that is not None."""
    if value is None and NoneType in kinds:
        return None
    *others, last = (kind for kind in kinds if kind is not NoneType)
    for kind in others:
        try:
            return _read(kind, value, at)
        except NotThatRecord:
            continue
    return _read(last, value, at)


WORDS: Mapping[Any, str] = {
    str: "a text", int: "a whole number", bool: "true or false", dict: "an object", list: "a list",
}  # fmt: skip


def _plain(kind: Any, value: Any, at: str) -> Any:
    if kind is datetime:
        return _time(value, at)
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise NotThatRecord(f"{at} must be a number")
        return value
    return _is(kind, value, at)


def _is(kind: Any, value: Any, at: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise NotThatRecord(f"{at or 'the document'} must be {WORDS[kind]}")
    return value


def _time(value: Any, at: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        time = None
    if time is None or time.tzinfo is None:
        raise NotThatRecord(f"{at} must be a time with its zone, like 2026-03-01T23:59:00+01:00")
    return time


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _needed(kind: Any) -> tuple[str, ...]:
    """The fields without a default."""
    return tuple(one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING)
