"""The click group: ``grade NAME…`` grades, and any first word that is a command is that command.

Modules that a command needs are imported inside it: ``grade --help`` and ``grade list`` must start at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from grader import __version__
from grader.cli.routing import GradeGroup

COURSE = click.option(
    "--course", "courses", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
    help="Also use the exercises in this folder; may be given several times.",
)  # fmt: skip
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
NO_COLOR = click.option("--no-color", is_flag=True, help="Print without colours (also: NO_COLOR=1).")
DEVICE = click.option("--device", type=click.IntRange(min=0), default=0, metavar="N", help="Which GPU, from 0.")
MAX_SEED = 2**53 - 1  # what every reader of JSON keeps exactly


@click.group(cls=GradeGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="warpgrade")
def cli() -> None:
    """Grade a CUDA kernel: is it right, does it use the technique of the step, how close is it to the peak?

    NAME is an exercise, its number, or a part of its name. The file graded is --file, else ./NAME.cu,
    else, in a clone of warpgrade, the stub in its exercises/.
    """


@cli.command("grade", hidden=True)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--file", type=click.Path(path_type=Path), metavar="PATH", help="Grade this file.")
@click.option("--solution", is_flag=True, help="Grade the course's own solution.")
@click.option("--backend", type=click.Choice(["auto", "gpu", "sim"]), default="auto", help="Where it runs.")
@DEVICE
@click.option("--seed", type=click.IntRange(0, MAX_SEED), metavar="N", help="Use the inputs of an earlier run.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop a submission after this long.",
)
@click.option("--no-sandbox", is_flag=True, help="Run a host file with your own rights where files cannot be closed.")
@AS_JSON
@NO_COLOR
@COURSE
def grade(**options: Any) -> int:
    """Grade one or more exercises."""
    from grader.cli.grading import Options, grade_all

    return grade_all(Options(**options))


@cli.command("list")
@AS_JSON
@COURSE
def list_exercises(as_json: bool, courses: tuple[Path, ...]) -> int:
    """List the exercises in order, each with its one idea."""
    from grader.cli.course import show_list

    return show_list(courses, as_json=as_json)


@cli.command()
@click.argument("name")
@NO_COLOR
@COURSE
def show(name: str, no_color: bool, courses: tuple[Path, ...]) -> int:
    """Show what an exercise asks for."""
    from grader.cli.course import show_statement

    return show_statement(name, courses, no_color=no_color)


@cli.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Overwrite a file that is already here.")
@COURSE
def start(name: str, force: bool, courses: tuple[Path, ...]) -> int:
    """Copy the stub of an exercise into this folder."""
    from grader.cli.course import start_exercise

    return start_exercise(name, courses, force=force)


@cli.command()
@NO_COLOR
def doctor(no_color: bool) -> int:
    """Say what is installed, which GPU is here, and what installs the rest."""
    from grader.cli.doctor import show_doctor

    return show_doctor(no_color=no_color)


@cli.command()
@DEVICE
@AS_JSON
def device(device: int, as_json: bool) -> int:
    """Show a GPU's peaks and what the simplest kernels reach on it."""
    from grader.cli.machine import show_device

    return show_device(device, as_json=as_json)


@cli.command()
@click.argument("names", nargs=-1, metavar="[NAME…]")
@DEVICE
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Also write the table as Markdown.")
@COURSE
def bench(names: tuple[str, ...], device: int, output: Path | None, courses: tuple[Path, ...]) -> int:
    """Time the solutions on this GPU, with the library's time beside each."""
    from grader.cli.machine import run_bench

    return run_bench(names, courses, device=device, output=output)


@cli.group()
def dev() -> None:
    """For people who write exercises."""


@dev.command()
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--gpu", is_flag=True, help="Also check what is expected on a GPU.")
@DEVICE
@COURSE
def check(names: tuple[str, ...], gpu: bool, device: int, courses: tuple[Path, ...]) -> int:
    """Check the course itself: stubs fail, solutions pass, mutants get their stated verdict.

    With --course and no name, the exercises of those folders alone are checked.
    """
    from grader.cli.machine import run_check

    return run_check(names, courses, gpu=gpu, device=device)
