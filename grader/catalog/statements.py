"""A statement's two parts: the task, which `grade show` prints, and the causes of each report, which follow it.

Also the counters that a statement asks to predict.
"""

from __future__ import annotations

import re

CAUSES = "If it does not pass"
"""The heading above a statement's table of reports and their meaning."""

_BELOW = re.compile(rf"^## {CAUSES}[ \t]*$", re.MULTILINE)
_PREDICT = re.compile(r"^## Predict[ \t]*$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_QUESTION, _TASK = (
    re.compile(rf"^## {part}[ \t]*$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL) for part in ("The question", "The task")
)
_CODE = re.compile(r"`([^`\n]+)`")


def parts_of(statement: str) -> tuple[str, str]:
    """Return the text above the causes, and the causes with their heading; "" if there are none."""
    heading = _BELOW.search(statement)
    return (statement[: heading.start()], statement[heading.start() :]) if heading else (statement, "")


def task_in(statement: str, *, answers: bool = False) -> str:
    """Return the title and the part "The task", without the idea; in another form, the text above the causes.

    Where ``answers`` are asked, "The question" comes too: it has the report or the profile that they are about.
    """
    text, _ = parts_of(statement)
    title, _, rest = text.partition("\n")
    task, question = _TASK.search(rest), _QUESTION.search(rest) if answers else None
    if not task:
        return text
    return "\n\n".join([title, *(part[0].strip() for part in (question, task) if part)]) + "\n"


def asked_counters(statement: str) -> list[str]:
    """The counters that the part "Predict" of a statement names as code."""
    from grader.counters import HOST_COUNTERS, KERNEL_COUNTERS

    part = _PREDICT.search(statement)
    names = [word for code in _CODE.findall(part[1] if part else "") for word in re.findall(r"\w+", code)]
    return [name for name in dict.fromkeys(names) if name in KERNEL_COUNTERS or name in HOST_COUNTERS]
