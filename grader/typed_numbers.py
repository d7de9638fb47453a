"""Numbers as people type them, in a prediction of a counter and in an answer to a question.

typed_value("2^20")                    -> 1048576.0      also 8*n, cdiv(n, 256), 4 MiB, 1 048 576, 3/4
typed_rounding("0.18")                 -> 0.005          half a unit of the last digit that was typed
values_in_unit("12.5 MB", "GB")        -> (0.0125,)      one for each way to read it; () if it cannot be read
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader.expressions import ExpressionError, Number, evaluate

_INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_BYTES = re.compile(r"([\d.]+)\s*([KMG])iB")  # as reports print them
_DECIMAL = re.compile(r"-?\d*\.(?P<digits>\d+)(?:e(?P<exponent>[+-]?\d{1,3})|\s*(?P<unit>[KMG])iB)?", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:[ ,]\d{3})+")  # as people write large numbers, and as statements print them
_NUMBER_AND_UNIT = re.compile(r"[≈~]?(?P<number>.*[\d).])\s*(?P<unit>[^\d().]*)", re.DOTALL)

_BEFORE = re.compile(r"^(?:(?:it is|it's|is|about|roughly|ca\.?|=)\s*)+", re.IGNORECASE)
_REASON = re.compile(r"\s*[;:(]|,(?!\d{3}\b)|\s(?:because|since|as|for|so|from|due|with|[-–—])\s", re.IGNORECASE)

_PREFIXES = {
    "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip
_PREFIXED = re.compile(r"(?P<prefix>[KMGT]i|[kKMGTmµμun]?)(?P<base>B|B/s|FLOP|FLOP/s|s|Hz)")
_SPELLINGS = (
    (re.compile(r"\s*(?:/|\bper\b)\s*"), "/"), (re.compile(r"bytes?\b"), "B"), (re.compile(r"sec(?:onds?)?\b"), "s"),
    (re.compile(r"FLOPS\b"), "FLOP/s"), (re.compile(r"^[x×]$"), "times"),
)  # fmt: skip


def typed_value(text: str, names: Mapping[str, Number] | None = None) -> float | None:
    """A number, or arithmetic with ``names``: ``2^20``, ``4 MiB``, ``8*n``, ``cdiv(n, 256)``; ``1/8`` is 0.125.

    None if the text is neither.
    """
    text = text.strip()
    powers = re.sub("[ ,]", "", text) if _GROUPED.fullmatch(text) else text.replace("^", "**")
    powers = _BYTES.sub(lambda amount: f"{amount[1]}*2**{10 * ' KMG'.index(amount[2])}", powers)
    for form in (_INTEGER.sub(r"\g<0>.0", powers), powers):  # cdiv takes integers alone
        try:
            return float(evaluate(form, names or {}))
        except ExpressionError:
            continue
    return None


def typed_rounding(text: str) -> float:
    """Half a unit of the last digit of a number with a decimal point: 0.005 for ``0.18``, 50 000 for ``8.3e6``."""
    typed = _DECIMAL.fullmatch(text.strip())
    if not typed:
        return 0.0
    unit = 2.0 ** (10 * " KMG".index(typed["unit"])) if typed["unit"] else 1.0
    return 0.5 * unit * 10.0 ** (int(typed["exponent"] or 0) - len(typed["digits"]))


def values_in_unit(text: str, unit: str) -> tuple[float, ...]:
    """The typed number in ``unit``, which may be left out, typed, or replaced by a larger or smaller one.

    ``3/4`` and ``75 %`` are the same share, whether the unit is ``%`` or none; without a sign, 0.5 may be either.
    A reason may stand beside the number: ``8, because 256/32 = 8``, ``4 * 32 = 128``, ``about 8``.
    """
    for part in _with_reasons(text):
        if values := _values(part, unit):
            return values
    return ()


def _with_reasons(text: str) -> Iterator[str]:
    """The text, then what of it may be the number: without words before and a reason after it; after its last ``=``."""
    yield text
    head = _REASON.split(_BEFORE.sub("", text.strip()), maxsplit=1)[0].strip(" .")
    yield head
    if "=" in head:
        yield head.rpartition("=")[2]


def _values(text: str, unit: str) -> tuple[float, ...]:
    typed = _NUMBER_AND_UNIT.fullmatch(text.strip())
    value = typed_value(typed["number"]) if typed else None
    if typed is None or value is None:
        return ()
    word = typed["unit"].strip()
    if not word:
        return (value, 100 * value) if unit == "%" else (value,)
    if not unit and word in ("%", "x", "×", "times"):
        return (value / 100 if word == "%" else value,)
    factor = _factor(word, unit)
    return () if factor is None else (value * factor,)


def _factor(word: str, unit: str) -> float | None:
    """How many ``unit`` one ``word`` is; None if they measure different things."""
    for pattern, spelling in _SPELLINGS:
        word, unit = pattern.sub(spelling, word), pattern.sub(spelling, unit)
    typed, wanted = _PREFIXED.fullmatch(word), _PREFIXED.fullmatch(unit)
    if typed and wanted:
        same = typed["base"] == wanted["base"]
        return _PREFIXES[typed["prefix"]] / _PREFIXES[wanted["prefix"]] if same else None
    word, unit = (re.sub(r"s\b", "", text.casefold()) for text in (word, unit))
    return 1.0 if word in (unit, unit.partition("/")[0]) else None
