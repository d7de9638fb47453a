"""From comment lines to a LaunchScript.

A comment is a launch line if it is alone on its line, outside all functions, and has the complete form; prose that
begins with the same word ("// launch one block a row") is not. A line that nearly has the form is an error with a
correct example, because a launch line that is silently ignored would be far harder to find.

The text may be hostile, so the patterns use atomic groups, which take linear time on a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches

from grader.errors import SubmissionError
from grader.expressions import did_you_mean
from grader.frozen import dataclass
from grader.launch.records import (
    ConstantLine,
    LaunchLine,
    LaunchScript,
    Line,
    PassesLine,
    ScratchLine,
    TensorMapLine,
    ZeroLine,
)
from grader.launch.source import LaunchFragment, invalid, read_integers, read_source

MAX_LINE = 1000
"""The maximum number of characters of one launch line."""

MAX_LINES = 200
"""The maximum number of launch lines in one file."""

MAX_RANK = 5
"""The maximum number of dimensions of a tensor map."""


def parse_launches(source: str, *, file: str) -> LaunchScript:
    """Read the launch lines of a .cu file. Raises SubmissionError (``invalid``) for a malformed one."""
    text = read_source(source, file)
    lines: list[Line] = []
    suspects: list[LaunchFragment] = []
    for comment in text.comments:
        lines += _read(comment.fragment, comment.in_function, text.kernels)
        suspects += _suspects(comment.fragment)
        if len(lines) > MAX_LINES:
            raise invalid(f"more than {MAX_LINES} launch lines", comment.fragment)
    return LaunchScript(file, tuple(lines), tuple(suspects), read_integers(text), text)


# ---------------------------------------------------------------------------------------------------- which lines count


@dataclass(frozen=True)
class _Form:
    """One kind of line: its first word, patterns of correct and malformed lines, required tokens, and a reader."""

    word: str
    shape: re.Pattern[str]
    nearly: re.Pattern[str]
    needs: tuple[str, ...]
    example: str
    read: Callable[[LaunchFragment, re.Match[str], _Form], list[Line]]

    def matches(self, text: str) -> bool:
        return bool(self.shape.match(text) or self.nearly.match(text))


_NAME = r"[A-Za-z_]\w*+"
_NAMES = rf"{_NAME}(?:\s*,\s*{_NAME})*+"
_TYPE = r"(?:(?:unsigned|signed|float|double|int|half|char|short|long|bool|__half|u?int\d+_t)\b\s*){1,3}"
_WITHOUT_WORD = re.compile(rf"{_NAME}\s*\((?>.*?\)\s*:)(?>.*?\b(?:grid|block)\s*=)")


def _read(fragment: LaunchFragment, in_function: bool, kernels: Collection[str]) -> list[Line]:
    word = re.split(r"\W", fragment.text, maxsplit=1)[0]
    form = _FORMS.get(word)
    if form is None:
        if not in_function:
            _raise_if_misspelt(fragment, word, kernels)
        return []
    if len(fragment.text) > MAX_LINE:
        raise invalid(f"a launch line of {len(fragment.text)} characters; at most {MAX_LINE} are allowed", fragment)
    if not form.matches(fragment.text):
        return []
    if in_function:  # an ordinary comment, unless it has "="
        if word in ("launch", "passes", "tensor_map") and "=" in fragment.text:
            raise invalid("a launch line inside a function", fragment, hint="write it above the kernel, at file scope")
        return []
    if "\n" in fragment.text:
        raise invalid("a launch line continues on the next line", fragment, hint="write it on one line, without the \\")
    match = form.shape.match(fragment.text)
    if match is None:
        raise _near_miss(fragment, form)
    return form.read(fragment, match, form)


def _raise_if_misspelt(fragment: LaunchFragment, word: str, kernels: Collection[str]) -> None:
    text = fragment.text[:MAX_LINE]
    is_kernel = not kernels or get_close_matches(word, kernels, n=1, cutoff=0.7)
    if is_kernel and _WITHOUT_WORD.match(text):
        raise _near_miss(fragment, _FORMS["launch"])
    meant = _nearest_word(word) if "=" in text or "[" in text else None
    if meant in ("launch", "passes", "scratch", "tensor_map") and _FORMS[meant].matches(meant + text[len(word) :]):
        raise _near_miss(fragment, _FORMS[meant])


def _nearest_word(word: str) -> str | None:
    if not 3 <= len(word) <= 10:
        return None
    return next(iter(get_close_matches(word.casefold(), _FORMS, n=1, cutoff=0.7)), None)


def _suspects(fragment: LaunchFragment) -> list[LaunchFragment]:
    """Comments that may be a misspelt ``zero NAME`` or ``constant SYMBOL = NAME``: they are, if NAME is an array."""
    match = re.fullmatch(rf"(\w+)\s+(?:{_NAME}\s*=\s*)?{_NAME}", fragment.text[:MAX_LINE])
    if match is None or match[1] in _FORMS or _nearest_word(match[1]) not in ("zero", "constant"):
        return []
    return [fragment]


def _near_miss(fragment: LaunchFragment, form: _Form) -> SubmissionError:
    shown = fragment.text if len(fragment.text) <= 100 else f"{fragment.text[:100]}…"
    what = f"this is nearly a launch line{_fault(fragment.text, form)}: {shown!r}"
    return invalid(what, fragment, hint=f"write it like {form.example}")


def _fault(text: str, form: _Form) -> str:
    tokens = re.findall(r"\w+|\S", text)
    if tokens[:1] != [form.word]:
        return f", but its first word is not `{form.word}`"
    if "<<<" in text:
        return ", but grid and block must be after a colon"
    if tokens.count("(") != tokens.count(")"):
        return " with unbalanced parentheses"
    missing = next((need for need in form.needs if need not in tokens), None)
    return f" without `{missing}`" if missing else ""


# ------------------------------------------------------------------------------------------------------- reading a line


def _launch(call: LaunchFragment, at: LaunchFragment, form: _Form) -> LaunchLine:
    """``KERNEL(ARGS): OPTIONS``."""
    opening = call.text.index("(")
    closing = call.closing(opening)
    if closing is None or not call.text[closing + 1 :].lstrip().startswith(":"):
        raise _near_miss(at, form)
    args = call.part(opening + 1, closing)
    options, cooperative = read_options(call.part(call.text.index(":", closing) + 1), at, form.example)
    return LaunchLine(
        kernel=call.part(0, opening),
        args=tuple(args.split(",")) if args.text else (),
        grid=dimensions(options["grid"]),
        block=dimensions(options["block"]),
        shared=options.get("shared"),
        cluster=dimensions(options["cluster"]) if "cluster" in options else (),
        cooperative=cooperative,
        at=at,
    )


def _passes(at: LaunchFragment, match: re.Match[str], form: _Form) -> list[Line]:
    variable, start, until, by, call = (at.group(match, key) for key in ("variable", "start", "until", "by", "call"))
    return [PassesLine(variable, start, until, by, _launch(call, at, form), at)]


def _scratch(at: LaunchFragment, match: re.Match[str], form: _Form) -> list[Line]:
    names, kind, count = (at.group(match, key) for key in ("names", "type", "count"))
    return [ScratchLine(name, kind, count, at) for name in names.split(",")]


def _tensor_map(at: LaunchFragment, match: re.Match[str], form: _Form) -> list[Line]:
    options, _ = read_options(at.part(match.end()), at, form.example, OF_MAP)
    shape, box, strides = (
        dimensions(options[key], MAX_RANK) if key in options else () for key in ("shape", "box", "strides")
    )
    name, array = at.group(match, "name"), at.group(match, "array")
    return [TensorMapLine(name, array, shape, box, strides, options.get("swizzle"), options.get("promotion"), at)]


_FORMS: Mapping[str, _Form] = {
    form.word: form
    for form in (
        _Form(
            "launch",
            re.compile(rf"launch\s+{_NAME}\s*\((?>.*?\)\s*:)"),
            re.compile(rf"launch\b.*\b(?:grid|block)\s*=|launch\s+{_NAME}\s*(?:<<<|\(.*\)\s*\Z)"),
            ("(", ")", ":"),
            "// launch kernel(a, b, n): grid=cdiv(n, 256) block=256",
            lambda at, match, form: [_launch(at.part(len("launch")), at, form)],
        ),
        _Form(
            "passes",
            re.compile(
                rf"passes\s+(?P<variable>{_NAME})\s*=(?>(?P<start>.*?)\buntil\b)(?>(?P<until>.*?)\bby\b)"
                rf"(?>(?P<by>.*?):)\s*(?P<call>{_NAME}\s*\((?>.*?\)\s*:).*)\Z"
            ),
            re.compile(r"passes\b(?=.*=)(?=.*\b(?:until|by|grid|block)\b)"),
            ("=", "until", "by", ":", "(", ")"),
            "// passes m=n until 1 by cdiv(m, 256): kernel(src, dst, m): grid=cdiv(m, 256) block=256",
            _passes,
        ),
        _Form(
            "scratch",
            re.compile(rf"scratch\s+(?P<names>{_NAMES})\s*:(?P<type>[\w\s:]*)\[(?P<count>.*)\]\s*\Z"),
            re.compile(
                rf"scratch\s+{_NAMES}\s*[:=]?\s*{_TYPE}\s*(?:\[.*)?\Z|scratch\s+{_TYPE}{_NAME}\s*\[|scratch\s*:.*\["
            ),
            (":", "[", "]"),
            "// scratch ping, pong: float[cdiv(n, 256)]",
            _scratch,
        ),
        _Form(
            "zero",
            re.compile(rf"zero\s+(?P<names>{_NAMES})\s*\Z"),
            re.compile(rf"zero\s*[:=]\s*{_NAMES}\s*\Z"),
            (),
            "// zero count",
            lambda at, match, form: [ZeroLine(array, at) for array in at.group(match, "names").split(",")],
        ),
        _Form(
            "constant",
            re.compile(rf"constant\s+(?P<symbol>{_NAME})\s*=\s*(?P<array>{_NAME})\s*\Z"),
            re.compile(rf"constant\s+{_NAME}(?:\[\w*\])?\s*(?::?=|<-)\s*{_NAME}\S*\s*\Z"),
            ("=",),
            "// constant WEIGHTS = weights",
            lambda at, match, form: [ConstantLine(at.group(match, "symbol"), at.group(match, "array"), at)],
        ),
        _Form(
            "tensor_map",
            re.compile(rf"tensor_map\s+(?P<name>{_NAME})\s*=\s*(?P<array>{_NAME})\s*:"),
            re.compile(rf"tensor_map\b.*\b(?:shape|box|swizzle)\s*=|tensor_map\s+{_NAME}\s*(?:=|\()"),
            ("=", ":"),
            "// tensor_map a_tiles = a: shape=(rows, cols) box=(64, 32) swizzle=128",
            _tensor_map,
        ),
    )
}


_OPTION = re.compile(r"\b([A-Za-z_]\w*)\s*=(?!=)|\bcooperative\b")


@dataclass(frozen=True)
class LineOptions:
    """The options after a line's colon."""

    line: str  # the kind of line, for messages
    keys: tuple[str, ...]
    required: tuple[str, ...]


OF_LAUNCH = LineOptions("launch line", ("grid", "block", "shared", "cluster", "cooperative"), ("grid", "block"))
OF_MAP = LineOptions("tensor_map line", ("shape", "box", "swizzle", "strides", "promotion"), ("shape", "box"))


def read_options(
    text: LaunchFragment, at: LaunchFragment, example: str, allowed: LineOptions = OF_LAUNCH
) -> tuple[dict[str, LaunchFragment], bool]:
    """The options by key, and whether ``cooperative`` is one of them. Raises SubmissionError (``invalid``)."""
    depth = dict(text.depths())
    found = [match for match in _OPTION.finditer(text.text) if depth[match.start()] == 0]
    if lead := text.part(0, found[0].start() if found else None).text:
        raise invalid(f"cannot read {lead!r} after the colon", text, hint=f"write it like {example}")
    ends = [*(match.start() for match in found[1:]), len(text.text)]
    options: dict[str, LaunchFragment] = {}
    for match, end in zip(found, ends, strict=False):
        place, key, value = text.group(match, 0), match[1] or match[0], text.part(match.end(), end)
        value = value.part(0, -1) if value.text.endswith(",") else value
        if key not in allowed.keys:
            hint = did_you_mean(key, allowed.keys) or f"the options are {', '.join(allowed.keys)}"
            raise invalid(f"a {allowed.line} has no option {key!r}", place, hint=hint)
        if key in options:
            raise invalid(f"{key} is given twice", place)
        if key == "cooperative" and (match[1] or value.text):
            raise invalid("cooperative has no value", place, hint="write it as the last word")
        if key != "cooperative" and not value.text:
            raise invalid(f"{key}= has no value", place)
        options[key] = value
    for key in allowed.required:
        if key not in options:
            raise invalid(f"the {allowed.line} has no {key}=", at, hint=f"write it like {example}")
    return options, options.pop("cooperative", None) is not None


def dimensions(value: LaunchFragment, most: int = 3) -> tuple[LaunchFragment, ...]:
    """``256``, ``(x, y)``, ``(x, y, z)`` or ``dim3(x, y)``; at most ``most`` numbers. Raises SubmissionError."""
    match = re.match(r"(dim3\s*)?\(", value.text)
    if match is None or value.closing(match.end() - 1) != len(value.text) - 1:
        return (value,)
    parts = value.part(match.end(), -1).split(",")
    if len(parts) == 1 and match[1] is None:
        return (value,)
    if len(parts) > most or not all(part.text for part in parts):
        count = {3: "three", 5: "five"}[most]
        raise invalid(
            f"{value.text!r} is not a list of one to {count} numbers", value, hint="write (x, y) or (x, y, z)"
        )
    return tuple(parts)
