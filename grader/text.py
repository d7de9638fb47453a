"""Text and numbers in reports: escaping of hostile text, units, sizes, plain ASCII.

Renderers pass text that a student controls (messages, printf output, names, paths) through `safe`, except JSON, which
has its own escapes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

_HIDDEN = frozenset(
    {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
)  # control, format (bidi, zero width), surrogate, private, separators

_IGNORABLE = (
    (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0x3164, 0x3164),
    (0xFE00, 0xFE0D), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Further characters that nobody sees: Unicode's property Default_Ignorable_Code_Point, but for emojis' selectors."""

_ASCII = {
    "✔": "+", "✘": "x", "–": "-", "—": "-", "−": "-", "…": "...", "≥": ">=", "≤": "<=", "×": "x", "·": "-", "│": "|",
    "▶": ">", "→": "->", "█": "#", "▒": "+", "░": ".", "┃": "|", "µ": "u", "⋮": ":", "─": "-", "√": "sqrt", "±": "+-",
    "’": "'", "▲": "^", "┊": "|", "“": '"', "”": '"', "≠": "!=", "○": "o", "³": "^3", "²": "^2",
    "»": ">", "«": "<", "≈": "~", "↔": "x", "├": "+", "┤": "+", "┬": "+", "└": "+", "┘": "+", "┼": "+", "┴": "+",
}  # fmt: skip

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SIZES = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def safe(text: str, *, lines: bool = False) -> str:
    """Return ``text`` with every control character, bidirectional mark and invisible character made visible.

    A tab becomes four spaces; a newline is kept with ``lines=True``, and becomes a space otherwise.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character, lines) for character in text)


def _visible(character: str, lines: bool) -> str:
    if character == "\n":
        return "\n" if lines else " "
    if character == "\t":
        return "    "
    hidden = unicodedata.category(character) in _HIDDEN or any(a <= ord(character) <= b for a, b in _IGNORABLE)
    if not hidden:
        return character
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{{{ord(character):x}}}"


def to_ascii(text: str) -> str:
    """Return ``text`` for a terminal that shows only ASCII; escape sequences of colours are kept."""
    folded = "".join(_ASCII.get(character, character) for character in text)
    return folded.encode("ascii", "backslashreplace").decode("ascii")


def rate(value: float, unit: str) -> str:
    """Return e.g. ``3.41 TB/s``; ``value`` is in ``unit`` (``B``, ``FLOP``, ``OP`` or ``launch``) per second."""
    scale, prefix = _scale(value)
    per_s = f"{prefix} launches".strip() if unit == "launch" else f"{prefix}{unit}"
    return f"{value / scale:.3g} {per_s}/s"


def amount(value: float, unit: str) -> str:
    """Return e.g. ``268 MFLOP``; ``value`` is in ``unit`` (``B`` or ``FLOP``)."""
    scale, prefix = _scale(value)
    return f"{figure(value / scale)} {prefix}{unit}"


def _scale(value: float) -> tuple[float, str]:
    return next(((scale, prefix) for scale, prefix in _PREFIXES if abs(value) >= scale), (1.0, ""))


def figure(value: float) -> str:
    """Return e.g. ``0.25``, ``20.6`` or ``1365``: three significant digits, or an integer, and never an exponent."""
    return f"{value:.3g}" if abs(value) < 999.5 else grouped(value)


def grouped(value: float) -> str:
    """Return the integer that is nearest: ``4096``, ``1 048 576``."""
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 10_000 else f"{value:.0f}"


def duration(seconds: float) -> str:
    """Return e.g. ``0.213 ms``, with three significant digits."""
    scale, unit = next(((s, u) for s, u in _TIMES if abs(seconds) >= s), _TIMES[-1])
    return f"{seconds / scale:.3g} {unit}"


def bytes_words(count: float) -> str:
    """Return e.g. ``64 MiB``, with three significant digits."""
    scale, unit = next(((s, u) for s, u in _SIZES if abs(count) >= s), _SIZES[-1])
    return f"{count / scale:.4g} {unit}" if abs(count) >= 1000 * scale else f"{count / scale:.3g} {unit}"


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


_GROUP = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")


def glued(text: str, glue: str) -> str:
    """The text with ``glue`` at the spaces inside numbers, ``1 000 000``, where no line may break."""
    return _GROUP.sub(glue, text)


def size_words(size: Mapping[str, int]) -> str:
    """Return e.g. ``rows=33, cols=1000``."""
    return ", ".join(f"{name}={value}" for name, value in size.items())


def values_words(kind: str) -> str:
    """``exact values``, ``unusual values (the third kind)``: the values of a case's inputs in a sentence."""
    name, _, number = kind.partition("_")
    which = {"2": "second", "3": "third", "4": "fourth"}.get(number)
    return f"{name} values (the {which} kind)" if which else f"{kind} values"


def case_words(size: Mapping[str, int], values: str, offsets: Mapping[str, int]) -> str:
    """Return e.g. ``n=7, exact values, slices a[1:], b[1:]``."""
    slices = ", ".join(f"{name}[{offset}:]" for name, offset in offsets.items())
    words = f"{size_words(size)}, {values_words(values)}"
    return f"{words}, slice{'s' * (len(offsets) > 1)} {slices}" if slices else words


def counted(count: int, noun: str) -> str:
    """Return e.g. ``1 case`` or ``3 cases``."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def minutes_words(minutes: int) -> str:
    """Return e.g. ``40 min``, ``2 h`` or ``2 h 30 min``."""
    hours, rest = divmod(minutes, 60)
    return " ".join(words for count, words in ((hours, f"{hours} h"), (rest, f"{rest} min")) if count) or "0 min"


def listed(words: Iterable[str]) -> str:
    """Return e.g. ``a, b and c``."""
    *most, last = [*words] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def index_words(index: Sequence[int], axes: int = 1) -> str:
    """Return a 3-D index: ``7``, ``(7, 1)``; with more than ``axes`` numbers only if they are not 0."""
    used = max([axes, *(axis for axis, number in enumerate(index, start=1) if number)])
    return str(index[0]) if used == 1 else "({})".format(", ".join(map(str, index[:used])))


def subscripts(index: int, indices: Sequence[int] = ()) -> str:
    """``[49]``, or ``[1][17]`` for the same element of an array with several dimensions."""
    return "".join(f"[{one}]" for one in indices or (index,))


def number(value: float | None) -> str:
    """Return a counter's value: integers in full, others with four significant digits, None and NaN as ``–``."""
    if value is None or value != value:
        return "–"
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"


def cut(text: str, most: int = 4000) -> str:
    """Return at most ``most`` characters, and an … if there were more."""
    return text if len(text) <= most else text[:most] + "…"


def ordinal(number: int) -> str:
    """``1st``, ``12th``, ``23rd``."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
