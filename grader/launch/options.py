"""What stands behind a line's colon: ``KEY=VALUE`` pairs, and dimensions in brackets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.expressions import did_you_mean
from grader.launch.text import Fragment, invalid

_OPTION = re.compile(r"\b([A-Za-z_]\w*)\s*=(?!=)|\bcooperative\b")


@dataclass(frozen=True)
class Options:
    """What may stand behind a line's colon."""

    line: str  # what the line is called
    keys: tuple[str, ...]
    required: tuple[str, ...]


OF_LAUNCH = Options("launch line", ("grid", "block", "shared", "cluster", "cooperative"), ("grid", "block"))
OF_MAP = Options("tensor_map line", ("shape", "box", "swizzle", "strides", "promotion"), ("shape", "box"))


def read_options(
    text: Fragment, at: Fragment, example: str, allowed: Options = OF_LAUNCH
) -> tuple[dict[str, Fragment], bool]:
    """The options by key, and whether ``cooperative`` is among them."""
    depth = dict(text.depths())
    found = [match for match in _OPTION.finditer(text.text) if depth[match.start()] == 0]
    if lead := text.part(0, found[0].start() if found else None).text:
        raise invalid(f"cannot read {lead!r} after the colon", text, hint=f"write it like {example}")
    ends = [*(match.start() for match in found[1:]), len(text.text)]
    options: dict[str, Fragment] = {}
    for match, end in zip(found, ends, strict=False):
        key, value = match[1] or match[0], text.part(match.end(), end)
        value = value.part(0, -1) if value.text.endswith(",") else value
        _check_option(text.group(match, 0), key, value, options, allowed, with_equals=match[1] is not None)
        options[key] = value
    for key in allowed.required:
        if key not in options:
            raise invalid(f"the {allowed.line} has no {key}=", at, hint=f"write it like {example}")
    return options, options.pop("cooperative", None) is not None


def _check_option(
    place: Fragment,
    key: str,
    value: Fragment,
    before: Mapping[str, Fragment],
    allowed: Options,
    *,
    with_equals: bool,
) -> None:
    if key not in allowed.keys:
        hint = did_you_mean(key, allowed.keys) or f"the options are {', '.join(allowed.keys)}"
        raise invalid(f"a {allowed.line} has no option {key!r}", place, hint=hint)
    if key in before:
        raise invalid(f"{key} is given twice", place)
    if key == "cooperative":
        if with_equals or value.text:
            raise invalid("cooperative stands alone, without a value", place, hint="write it as the last word")
    elif not value.text:
        raise invalid(f"{key}= has no value", place)


def dimensions(value: Fragment, most: int = 3) -> tuple[Fragment, ...]:
    """``256``, ``(x, y)``, ``(x, y, z)`` or ``dim3(x, y)``; ``most`` numbers at most."""
    match = re.match(r"(dim3\s*)?\(", value.text)
    if match is None or value.closing(match.end() - 1) != len(value.text) - 1:
        return (value,)
    parts = value.part(match.end(), -1).split(",")
    if len(parts) == 1 and match[1] is None:
        return (value,)
    if len(parts) > most or not all(part.text for part in parts):
        count = {3: "three", 5: "five"}[most]
        raise invalid(f"{value.text!r} is no list of one to {count} numbers", value, hint="write (x, y) or (x, y, z)")
    return tuple(parts)
