"""The notebook magic: a cell that begins with ``%%grade reduce_v3`` is graded, and its page appears below.

    %load_ext grader

    %%grade reduce_v3 --backend sim
    // passes m=n until 1 by cdiv(m, 256): …

From IPython it needs only the registration of the magic: the result is an object with a representation in HTML.
"""

from __future__ import annotations

import argparse
import shlex
from html import escape
from pathlib import Path
from typing import Any, NoReturn

from grader.errors import UsageError, WarpgradeError
from grader.frozen import dataclass
from grader.verdict import BACKENDS, Verdict

HEIGHT = "70vh"
USAGE = (
    "%%grade NAME [--backend auto|gpu|sim] [--seed N] [--timeout SECONDS] [--device N] [--course DIR] "
    "[--save FILE] [--predict COUNTER=VALUE]"
)


@dataclass(frozen=True, repr=False)
class GradedCell:
    """The result of a graded cell: the page in a frame, or the terminal's report if HTML cannot be shown."""

    verdict: Verdict
    page: str
    text: str

    def _repr_html_(self) -> str:
        """The page in a frame, which separates its styles from the notebook's."""
        style = f"width: 100%; height: {HEIGHT}; border: 1px solid #8888; resize: vertical; overflow: auto"
        title = escape(f"{self.verdict.exercise}: {self.verdict.verdict}", quote=True)
        return f'<iframe title="{title}" style="{style}" sandbox srcdoc="{escape(self.page, quote=True)}"></iframe>'

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Refused:
    """The result of a cell whose first line is wrong: the error."""

    error: WarpgradeError

    def __repr__(self) -> str:
        hint = f"\n{self.error.hint}" if self.error.hint else ""
        return f"grade: {self.error.message}{hint}"


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext grader``."""
    shell.register_magic_function(grade_cell, "cell", "grade")


def grade_cell(line: str, cell: str) -> GradedCell | Refused:
    """Grade the cell's text for the exercise that the line names. For a wrong line it returns the error."""
    try:
        return _graded(_options(line), cell)
    except WarpgradeError as error:
        return Refused(error)


class _MagicParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, code="usage", hint=USAGE)


def _options(line: str) -> argparse.Namespace:
    parser = _MagicParser(prog="%%grade", add_help=False)
    parser.add_argument("name")
    parser.add_argument("--backend", choices=BACKENDS, default="auto")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--timeout", type=float)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--course", type=Path, action="append", default=[])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--predict", action="append", default=[])
    try:
        return parser.parse_args(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"{error} in {line!r}", code="usage", hint=USAGE) from None


def _graded(options: argparse.Namespace, cell: str) -> GradedCell:
    from grader.api import grade
    from grader.grading.predictions import split
    from grader.render import html, terminal
    from grader.render.json import versions

    verdict = grade(
        options.name, source=cell, backend=options.backend, device=options.device, seed=options.seed,
        timeout_s=options.timeout, predict=dict(map(split, options.predict)), courses=options.course, record=True,
    )  # fmt: skip
    if options.save is not None:
        from grader.output import write_file

        write_file(options.save, cell)
    page = html.to_html([html.GradedPage(verdict, cell)], versions=versions())
    return GradedCell(verdict, page, terminal.to_terminal(verdict, cell, width=80, color=False, unicode=True))
