"""Device `printf`: the records that generated code wrote, as text. Formats as C does, with bounded widths. Pure."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from grader.simt.engine.printing import HEADER

_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d*)(?:\.(\*|\d*))?(hh|h|ll|l|z|j|t|L)?([diouxXcsfFeEgGaAp%])")
WIDEST = 256


def render(printed: bytes, text_at: Callable[[int], str], limit: int) -> str:
    """All records in order, up to one character more than ``limit``. ``text_at(address)`` reads a C string."""
    out = []
    at = length = 0
    while at + HEADER <= len(printed) and length <= limit:
        address, _, _, size = struct.unpack_from("<QQII", printed, at)
        arguments = printed[at + HEADER : at + HEADER + size]
        out.append(format_one(text_at(address), arguments, text_at))
        length += len(out[-1])
        at += HEADER + size
    return "".join(out)[: limit + 1]


class _Arguments:
    """Packed as a C struct: each value aligned to its size."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw + bytes(16)
        self.at = 0

    def take(self, code: str) -> int | float:
        size = struct.calcsize(code)
        self.at = (self.at + size - 1) // size * size
        if self.at + size > len(self.raw):
            return 0
        (value,) = struct.unpack_from("<" + code, self.raw, self.at)
        self.at += size
        assert isinstance(value, int | float)
        return value


def format_one(text: str, raw: bytes, text_at: Callable[[int], str]) -> str:
    """One call's output. Unknown conversions stand as they are."""
    arguments = _Arguments(raw)

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        wide = (
            str(min(WIDEST, abs(int(arguments.take("i"))))) if width == "*" else str(min(WIDEST, int(width or 0)) or "")
        )
        digits = (
            None
            if precision is None
            else min(WIDEST, int(arguments.take("i")) if precision == "*" else int(precision or 0))
        )
        spec = f"%{flags}{wide}" + ("" if digits is None else f".{digits}")
        return _one(spec, kind, length in ("l", "ll", "z", "j", "t"), arguments, text_at)

    return _CONVERSION.sub(convert, text)


def _one(spec: str, kind: str, long: bool, arguments: _Arguments, text_at: Callable[[int], str]) -> str:
    if kind in "fFeEgG":
        return (spec + kind) % arguments.take("d")
    if kind in "aA":
        return float(arguments.take("d")).hex()
    if kind == "s":
        return (spec + "s") % text_at(int(arguments.take("Q")))
    if kind == "c":
        return (spec + "c") % chr(int(arguments.take("i")) & 0x7F)
    if kind == "p":
        return f"{int(arguments.take('Q')):#x}"
    signed = kind in "di"
    return (spec + ("d" if kind in "diu" else kind)) % int(
        arguments.take(("q" if signed else "Q") if long else ("i" if signed else "I"))
    )
