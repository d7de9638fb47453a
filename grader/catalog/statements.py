"""A statement's two parts: the task, which `grade show` prints, and the causes of each report, which follow it."""

from __future__ import annotations

import re

CAUSES = "If it does not pass"
"""The heading above a statement's table of reports and their meaning."""

_BELOW = re.compile(rf"^## {CAUSES}[ \t]*$", re.MULTILINE)


def parts_of(statement: str) -> tuple[str, str]:
    """Return the text above the causes, and the causes with their heading; "" if there are none."""
    heading = _BELOW.search(statement)
    return (statement[: heading.start()], statement[heading.start() :]) if heading else (statement, "")
