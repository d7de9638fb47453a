"""A submission that starts no kernel: say so, and show the stub's own launch lines to copy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import SubmissionError
from grader.launch import LaunchScript, parse_launches, resolve_launches

if TYPE_CHECKING:
    from grader.grading.records import Request

STUB_LIMIT = 1 << 20  # bytes; no stub is longer
COPY = (
    "copy the stub's launch lines, and put them above your kernel. They name the kernel, the arguments in its order, "
    "the blocks of the grid, the threads of a block, and with shared= the bytes of its shared memory{constants}:"
)


def require_launch(request: Request, script: LaunchScript) -> None:
    """Raises SubmissionError (``invalid``) where no line starts a kernel; what is nearly such a line is named first."""
    if script.starts_a_kernel or request.exercise.host:
        return
    try:
        resolve_launches(script, request.exercise, request.exercise.simulated)
    except SubmissionError as error:
        stub = _script(request.submission.stub)
        if stub is None or not stub.starts_a_kernel or error.diagnostics[0].line is not None:
            raise
        lines = tuple(dict.fromkeys(line.at.source.strip() for line in stub.lines))
        hint = "\n".join([COPY.format(constants=_constants(stub, lines)), *lines])
        found = tuple(replace(one, hint=hint) for one in error.diagnostics)
        raise SubmissionError(error.verdict, error.message, diagnostics=found, hint=hint) from None


def _script(stub: Path | None) -> LaunchScript | None:
    """The launch lines of the stub; None where it cannot be read."""
    if stub is None:
        return None
    try:
        with stub.open("rb") as file:
            return parse_launches(file.read(STUB_LIMIT).decode("utf-8", "replace"), file=stub.name)
    except (OSError, SubmissionError):
        return None


def _constants(script: LaunchScript, lines: Iterable[str]) -> str:
    """The constants of the stub that its launch lines use: they must be copied, too."""
    used = {word for line in lines for word in re.findall(r"\w+", line)}
    words = [f"{name} is {value}" for name, value in script.integers.values.items() if name in used]
    return f" (in the stub, {', '.join(words)})" if words else ""
