"""`submission_metadata.yml` of a Gradescope export: whose `submission_<id>/` is, and when it was submitted.

    submission_123:
      :submitters:
      - :name: Ada Lovelace
        :sid: '77'
        :email: ada@example.org
      :created_at: 2026-12-06 21:04:05.123456000 Z

Read as a stream of events: no object is made, no alias is followed, and what nobody asked for is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from grader.errors import UsageError
from grader.frozen import dataclass

MOST_EVENTS = 3_000_000
DEEPEST = 5  # submission, :submitters, entry, :name
KEPT = (":submitters", ":created_at")


@dataclass(frozen=True)
class Submitted:
    """One submission of the export; ``submitters`` are several where a group submitted."""

    submitters: tuple[Mapping[str, str], ...]
    at: datetime | None


def read_metadata(content: bytes, origin: str) -> dict[str, Submitted]:
    """The submissions by the names of their folders. Raises UsageError if the file is not what Gradescope writes."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        events = (event for _, event in zip(range(MOST_EVENTS), yaml.parse(content, Loader=loader), strict=False))
        document = _document(events, yaml)
    except (yaml.YAMLError, ValueError, StopIteration, RecursionError) as error:
        raise UsageError(f"{origin} cannot be read: {error}", code="bad_metadata") from None
    if not isinstance(document, dict):
        raise UsageError(f"{origin} does not name submissions", code="bad_metadata")
    return {name: _submitted(value) for name, value in document.items() if isinstance(value, dict)}


def _document(events: Iterator[Any], yaml: Any) -> Any:
    """The value of the first document."""
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            return _value(next(events), events, yaml, 0, keep=True)
    return None


def _value(event: Any, events: Iterator[Any], yaml: Any, depth: int, *, keep: bool) -> Any:
    """The value that begins with an event; None if it is not kept, too deep, or an alias."""
    if isinstance(event, yaml.ScalarEvent):
        return event.value if keep else None
    if isinstance(event, yaml.AliasEvent):
        return None
    if not keep or depth >= DEEPEST:
        _skip(events, yaml)
        return None
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_value(event, events, yaml, depth + 1, keep=True))
        return items
    table = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        name = _value(event, events, yaml, depth + 1, keep=True)
        wanted = isinstance(name, str) and (depth != 1 or name in KEPT)
        value = _value(next(events), events, yaml, depth + 1, keep=wanted)
        if wanted:
            table[name] = value
    return table


def _skip(events: Iterator[Any], yaml: Any) -> None:
    """Go past the end of a collection whose start was read."""
    depth = 1
    while depth:
        event = next(events)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)


def _submitted(table: Mapping[str, Any]) -> Submitted:
    entries = table.get(":submitters")
    people = [
        {name.lstrip(":"): value for name, value in entry.items() if isinstance(value, str)}
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
    ]
    return Submitted(tuple(people), _time(table.get(":created_at")))


def _time(text: object) -> datetime | None:
    """``2026-12-06 21:04:05.123456000 Z``; a time without a zone says nothing."""
    match = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)", text if isinstance(text, str) else ""
    )
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    try:
        return datetime.fromisoformat(
            f"{day}T{clock}{(fraction or '')[:7]}{'+00:00' if zone in ('Z', 'UTC') else zone}"
        )
    except ValueError:
        return None
