"""How commands are declared: the group, the options that several of them have, and `command`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

import click

from grader import __version__
from grader.cli.routing import (
    GradeGroup,
    complete_names,
)
from grader.verdict import BACKENDS

Declared = Callable[[Callable[..., Any]], Callable[..., Any]]
"""A decorator that declares an option or an argument of a command."""


def path_option(*names: str, metavar: str = "FILE", **more: Any) -> Declared:
    return click.option(*names, type=click.Path(path_type=Path), metavar=metavar, **more)


def path_argument(name: str, *, metavar: str, **more: Any) -> Declared:
    return click.argument(name, type=click.Path(path_type=Path), metavar=metavar, **more)


def graded_file(verb: str) -> Declared:
    """The options that name the file: the user's own, or the course's solution."""
    file = path_option("--file", metavar="PATH", help=f"{verb} this file.")
    solution = click.option("--solution", is_flag=True, help=f"{verb} the course's own solution.")
    return lambda command: file(solution(command))


def _finite(_: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse ``nan`` and ``inf``, which are numbers to Python."""
    if value is not None and not isfinite(value):
        raise click.BadParameter(f"it must be a positive number of seconds, not {value}", param=option)
    return value


COURSE = path_option(
    "--course", "courses", multiple=True, metavar="DIR",
    help="Also use the exercises in this folder; may be given several times.",
)  # fmt: skip
NAME = click.argument("name", shell_complete=complete_names)
OPTIONAL_NAME = click.argument("name", required=False, metavar="[NAME]", shell_complete=complete_names)
NAMES = click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_names)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
NO_COLOR = click.option("--no-color", is_flag=True, help="Print without colours (also: NO_COLOR=1).")
MINUTES = click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), metavar="N",
    help="Run a slice: continue where the last run stopped, changed exercises first; exit 3 while some are left.",
)  # fmt: skip
DEVICE = click.option("--device", type=click.IntRange(min=0), default=0, metavar="N", help="Which GPU, from 0.")
BACKEND = click.option("--backend", type=click.Choice(BACKENDS), default="auto", help="Where it runs.")
TIMEOUT = click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), callback=_finite, metavar="SECONDS",
    help="Stop a submission after this long.",
)  # fmt: skip
NO_SANDBOX = click.option(
    "--no-sandbox", is_flag=True, help="Run a host file with your own rights where the kernel has no Landlock."
)
OUTPUT = path_option("--output", help="Also write the table as Markdown, and FILE.json.")


NEW_HERE = "New here? `grade next` says where to start, and `grade list` shows all exercises."


@click.group(cls=GradeGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=NEW_HERE)
@click.version_option(__version__, prog_name="warpgrade")
def cli() -> None:
    """Grade a CUDA kernel: is it correct, does it use the technique of the step, how close is it to the peak?

    NAME is an exercise, its number, a part of its name, or a file with its name. The graded file is --file, else
    ./NAME.cu, else, in a clone of warpgrade, the stub in its exercises/.
    """


def command(runs: str, *options: Declared, name: str | None = None, group: click.Group = cli) -> Declared:
    """Declare a command: the decorated function has only its help; ``runs`` gets the values of its options, by name.

    ``runs`` is ``module.function`` in `grader.cli`, imported when the command is called.
    """
    module, _, function = runs.partition(".")

    def declared(documented: Callable[..., Any]) -> click.Command:
        @wraps(documented)
        def call(**values: Any) -> int:
            code: int = getattr(import_module(f"grader.cli.{module}"), function)(**values)
            return code

        callback: Callable[..., Any] = call
        for option in reversed(options):
            callback = option(callback)
        return group.command(name)(callback)

    return declared


VARIANT = click.option(
    "--variant", metavar="M", help="This form of the exercise; without it, the one that ./NAME.cu names."
)
