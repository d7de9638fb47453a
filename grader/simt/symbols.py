"""Names of C++ symbols as people wrote them. Pure."""

from __future__ import annotations

import re

LONGEST = 1000
_COPY = re.compile(r"@\d+\.")
"""What marks the names of an inlined copy of a function, and of an inner scope."""


def plain_name(symbol: str) -> str:
    """A C++ symbol's own name: ``_ZZ6reducePKfE7partial`` is ``partial``."""
    if len(symbol) > LONGEST:  # nobody's name; and the search below takes the square of it
        return symbol[:LONGEST] + "…"
    symbol = _COPY.sub("", symbol)
    if not symbol.startswith("_Z"):
        return symbol
    plain = re.match(r"_Z(\d+)", symbol)  # a function of no namespace: its parameters' types follow
    if plain:
        return symbol[plain.end() :][: int(plain.group(1))]
    best = symbol
    for match in re.finditer(r"(\d+)(?=[A-Za-z_])", symbol):
        for start in range(match.start(1), match.end(1)):
            size, name = int(symbol[start : match.end(1)]), symbol[match.end(1) :]
            if len(name) >= size > 0 and name[size:] in ("", "E", "_0", "_1", "_2", "_3"):
                best = name[:size]
    return best if best != symbol else _last_of_nested(symbol)


_NESTED = re.compile(r"N[KVRO]*(?=\d)")


def _last_of_nested(symbol: str) -> str:
    """A member function's own name, behind which its parameters' types stand: ``_ZN1A1fEi`` is ``f``."""
    for match in _NESTED.finditer(symbol):
        name, at = "", match.end()
        while size := re.compile(r"\d{1,4}").match(symbol, at):
            at = size.end() + int(size[0])
            name = symbol[size.end() : at]
        if name and symbol[at : at + 1] == "E":
            return name
    return symbol
