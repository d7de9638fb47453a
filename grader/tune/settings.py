"""The values to try, and the student's file with them: integers replace integers, and nothing else changes. Pure.

settings = parse_settings(["BM=64,128", "BN=64"])
places = places_of(source, file, settings)           where the file says `#define BM 64`
for choice in combinations(settings): text = rewritten(source, places, choice)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from math import prod

from grader.compile.lexical import Lines
from grader.errors import UsageError
from grader.expressions import did_you_mean
from grader.frozen import dataclass
from grader.launch.source import definitions, read_source

MOST = 256
"""The maximum number of combinations of one sweep, which takes a few minutes."""

Choice = tuple[tuple[str, int], ...]
"""A value for each name, in the order of the command line."""

_SETTING = re.compile(r"\s*([A-Za-z_]\w{0,100})\s*=\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*", re.ASCII)
_LITERAL = r"(0|[1-9]\d{0,8})[uUlL]{0,3}"
_WHOLE = re.compile(rf"\s*(?:{_LITERAL}|\(\s*{_LITERAL}\s*\))\s*", re.ASCII)
_DEFINED = re.compile(
    rf"[ \t]*#[ \t]*define[ \t]+(?u:\w+)[ \t]+\(?[ \t]*{_LITERAL}|\s*(?u:\w+)\s*=\s*\(?\s*{_LITERAL}", re.ASCII
)
_EXAMPLE = "an example: --set BM=64,128"


@dataclass(frozen=True)
class Setting:
    name: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class SettingPlace:
    """The place where a file defines a name's value: the digits ``source[start:stop]`` in line ``line``."""

    name: str
    value: int
    line: int
    start: int
    stop: int


def parse_settings(texts: Iterable[str]) -> tuple[Setting, ...]:
    """Parse the `--set` options. Raises UsageError for an invalid one, none, a repeated name, or too many values."""
    settings: list[Setting] = []
    for text in texts:
        match = _SETTING.fullmatch(text)
        if match is None:
            raise UsageError(f"{text!r} names no values to try", code="bad_setting", hint=f"{_EXAMPLE}; use integers")
        settings.append(Setting(match[1], tuple(dict.fromkeys(int(value) for value in match[2].split(",")))))
    if not settings:
        raise UsageError("there are no values to try", code="no_setting", hint=f"name the values to try; {_EXAMPLE}")
    names = Counter(setting.name for setting in settings)
    if twice := [name for name, times in names.items() if times > 1]:
        raise UsageError(f"{twice[0]} is set twice", code="bad_setting", hint=f"give all values at once; {_EXAMPLE}")
    count = prod(len(setting.values) for setting in settings)
    if count > MOST:
        each = ", ".join(f"{setting.name} has {len(setting.values)}" for setting in settings)
        message = f"these are {count} combinations; one run has at most {MOST}"
        raise UsageError(message, code="too_many_settings", hint=f"drop some values: {each}")
    return tuple(settings)


def combinations(settings: Sequence[Setting]) -> tuple[Choice, ...]:
    """The product of all values; the last name changes fastest."""
    names = [setting.name for setting in settings]
    return tuple(tuple(zip(names, values, strict=True)) for values in product(*(s.values for s in settings)))


def places_of(source: str, file: str, settings: Sequence[Setting]) -> dict[str, SettingPlace]:
    """Where the file defines each of these names. Raises UsageError for a name that cannot be set."""
    defined = definitions(read_source(source, file))
    times, lines = Counter(name for _, name, _ in defined), Lines(source)
    all_places = {
        name: place
        for offset, name, value in defined
        if times[name] == 1 and (place := _place(source, lines, offset, name, value)) is not None
    }
    for setting in settings:
        if setting.name not in all_places:
            raise _unknown(setting.name, file, source, defined, all_places)
    return {setting.name: all_places[setting.name] for setting in settings}


def _place(source: str, lines: Lines, offset: int, name: str, value: str) -> SettingPlace | None:
    """The place of a definition whose value is a single integer; None for other definitions."""
    if _WHOLE.fullmatch(value) is None:
        return None
    match = _DEFINED.match(source, offset)
    if match is None:
        return None
    group = 1 if match[1] is not None else 2
    return SettingPlace(name, int(match[group]), lines.of(match.start(group)), *match.span(group))


def _unknown(
    name: str, file: str, source: str, definitions: Sequence[tuple[int, str, str]], places: Mapping[str, SettingPlace]
) -> UsageError:
    """The error for a name that cannot be set, with the names that can."""
    settable = ", ".join(f"{place.name} = {place.value} (line {place.line})" for place in places.values())
    hint = f"it has {settable}" if settable else "write `#define BM 64` into the file, and use BM in its launch line"
    line_of = Lines(source).of
    lines = [str(line_of(offset)) for offset, defined, _ in definitions if defined == name]
    values = [" ".join(value.split()) for _, defined, value in definitions if defined == name]
    suggestion = did_you_mean(name, islice(places, MOST))
    message = f"{file} defines no integer {name}" + (f"; {suggestion}" if suggestion else "")
    if len(lines) > 1:
        message = f"{file} defines {name} more than once, in lines {' and '.join(lines)}"
    elif lines:
        shown = f" as {values[0]!r}" if 0 < len(values[0]) <= 60 else ""
        message = f"{file} defines {name} in line {lines[0]}{shown}, which is not a plain integer"
    return UsageError(message, code="unknown_setting", hint=hint)


def rewritten(source: str, places: Mapping[str, SettingPlace], choice: Choice) -> str:
    """The file with these values: only the digits change."""
    for name, value in sorted(choice, key=lambda name_and_value: places[name_and_value[0]].start, reverse=True):
        place = places[name]
        source = f"{source[: place.start]}{value}{source[place.stop :]}"
    return source


def is_now(places: Mapping[str, SettingPlace], choice: Choice) -> bool:
    """Whether the file has these values already."""
    return all(places[name].value == value for name, value in choice)


def changed_lines(source: str, places: Mapping[str, SettingPlace], choice: Choice) -> tuple[tuple[int, str], ...]:
    """The lines that these values change, with their numbers and new text."""
    before, after = source.split("\n"), rewritten(source, places, choice).split("\n")
    return tuple((i, new.rstrip()) for i, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new)


def in_words(choice: Choice) -> str:
    return " ".join(f"{name}={value}" for name, value in choice)
