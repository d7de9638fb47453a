"""The report as one self-contained page (``--html``): no script, no file but itself, readable on a phone, printable.

    to_html([Graded(verdict, source)], versions={"warpgrade": "0.1.0"}) -> str

A pure function of its arguments. The template escapes everything; before that, `_shown` makes control characters
visible. A page that would be larger than `LARGEST` is made again with less in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from grader.render.host_lines import RUN_TWICE
from grader.render.page import BACKENDS, LEVELS, Graded, section
from grader.text import counted, cut, safe, size_words

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["Graded", "to_html"]

LARGEST = 950_000
"""Bytes of a page at most: 1 MB with room to spare."""

SYMBOLS: Mapping[str, str] = {"passed": "✔", "failed": "✘", "skipped": "–", "not_graded": "○"}
PRINTED_SHOWN = 8000
CASES_SHOWN = 100


def to_html(graded: Sequence[Graded], *, versions: Mapping[str, str | None]) -> str:
    """Return the page of one or more submissions."""
    pages = (_page(graded, versions, level, count) for level, count in _sizes(len(graded)))
    return next(page for page, last in pages if last or len(page.encode("utf-8", "replace")) <= LARGEST)


def _sizes(count: int) -> Iterator[tuple[str, int]]:
    """Ever less of a page: its level, and how many submissions it shows."""
    for level in LEVELS:
        yield level, count
    while count > 1:
        count //= 2
        yield LEVELS[-1], count


def _page(graded: Sequence[Graded], versions: Mapping[str, str | None], level: str, count: int) -> tuple[str, bool]:
    """The page, and whether it can be made no smaller."""
    numbered = len(graded) > 1
    sections = [
        section(one, f"s{i}", level, f"{i}. " * numbered + cut(one.verdict.exercise, 80))
        for i, one in enumerate(graded[:count], start=1)
    ]
    page = _environment().get_template("page.html.j2").render(
        sections=sections, level=level, title=_title(graded), versions=_versions(versions),
        left_out=len(graded) - len(sections),
    )  # fmt: skip
    return page, (level, count) == (LEVELS[-1], 1)


def _title(graded: Sequence[Graded]) -> str:
    if len(graded) == 1:
        verdict = graded[0].verdict
        return f"{verdict.verdict.replace('_', ' ')}: {cut(verdict.exercise, 40)} · warpgrade"
    passed = sum(one.verdict.passed for one in graded)
    return f"{passed} of {counted(len(graded), 'submission')} passed · warpgrade"


def _versions(versions: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version)


# ------------------------------------------------------------------------------------------------------------- template


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("grader.render", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    made.filters |= {"prose": _prose, "sizes": size_words, "dims": _dims, "printed": _printed, "cut": cut}
    made.globals |= {"SYMBOLS": SYMBOLS, "BACKENDS": BACKENDS, "CASES_SHOWN": CASES_SHOWN, "RUN_TWICE": RUN_TWICE}
    return made


def _shown(value: Any) -> Any:
    """Control characters and bidirectional marks of any text, made visible; the escaping comes after this."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return safe(value, lines=True)
    return value


def _prose(text: str) -> Markup:
    """A sentence with its `commands` set as code, and each line of its own in one."""
    from markupsafe import Markup

    parts = re.split(r"`([^`\n]+)`", safe(cut(text), lines=True))
    pieces = (
        Markup("<code>{}</code>").format(part) if i % 2 else Markup("{}").format(part) for i, part in enumerate(parts)
    )
    return Markup("").join(pieces).replace("\n", Markup("<br>"))


def _dims(dims: Sequence[int]) -> str:
    return " × ".join(str(size) for size in dims if size != 1) or "1"


def _printed(text: str) -> str:
    return safe(cut(text.replace("\r\n", "\n"), PRINTED_SHOWN), lines=True).rstrip("\n")
