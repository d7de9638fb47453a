"""The click group: ``grade NAME…`` grades, unless the first word is a command.

Modules that a command needs are imported inside it, so that ``grade --help`` and ``grade list`` start fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from grader.cli.class_commands import class_
from grader.cli.declaring import (
    AS_JSON,
    BACKEND,
    COURSE,
    DEVICE,
    MINUTES,
    NAME,
    NAMES,
    NO_COLOR,
    NO_SANDBOX,
    OPTIONAL_NAME,
    OUTPUT,
    TIMEOUT,
    VARIANT,
    cli,
    command,
    graded_file,
    path_option,
)
from grader.cli.dev_commands import dev
from grader.cli.routing import (
    SHELLS,
    complete_names,
    complete_paths,
    complete_words,
    completion_script,
)
from grader.verdict import MAX_SEED

__all__ = ["cli"]


@cli.command("grade", hidden=True)
@click.argument("names", nargs=-1, required=True, metavar="NAME…", shell_complete=complete_names)
@graded_file("Grade")
@BACKEND
@DEVICE
@click.option("--seed", type=click.IntRange(0, MAX_SEED), metavar="N", help="Use the inputs of an earlier run.")
@TIMEOUT
@NO_SANDBOX
@path_option("--junitxml", "junit", help="Also write the results as JUnit XML, for continuous integration.")
@path_option(
    "--html",
    help="Also write the report as a web page: the source with its counters, pictures, the roofline.",
)
@click.option(
    "--predict",
    "predictions",
    multiple=True,
    metavar="COUNTER=VALUE",
    help="Say what the simulator will count; the report compares. Right is the count exactly, or rounded to the digits "
    "of your number (0.18). May be given several times.",
)
@VARIANT
@click.option("--no-record", is_flag=True, help="Leave this run out of your progress.")
@AS_JSON
@NO_COLOR
@COURSE
def grade(**options: Any) -> int:
    """Grade one or more exercises."""
    from grader.cli.grading import GradeOptions, grade_all

    return grade_all(GradeOptions(**options))


@command(
    "course.show_list", click.argument("chapter", required=False, metavar="[CHAPTER]"),
    click.option(
        "--path", metavar="[NAME]", is_flag=False, flag_value="", shell_complete=complete_paths,
        help="List a path, in its order; without NAME, list the paths.",
    ),
    AS_JSON, COURSE, name="list",
)  # fmt: skip
def list_exercises() -> None:
    """List the exercises in order, each with its idea, and the minutes that it takes.

    CHAPTER is a chapter's number: `grade list 9` lists only chapter 9. A path is a part of the course for one purpose:
    `grade list --path interview` lists about twelve exercises.
    """


@command(
    "course.show_statement", NAME,
    click.option("--full", is_flag=True, help="Also show what to do about each report."), VARIANT, NO_COLOR,
    COURSE,
)  # fmt: skip
def show() -> None:
    """Show the statement of an exercise, or the page of a ladder.

    It ends with the task. The table of reports and their causes, which a submission that does not pass needs, is shown
    with --full. Two more pages are `launch-lines` and `counters`.
    """


@command(
    "practice.start_exercise", NAME, click.option("--force", is_flag=True, help="Overwrite what is already here."),
    click.option("--variant", metavar="M", help="The stub of this variant; `grade show NAME` names them."), COURSE,
)  # fmt: skip
def start() -> None:
    """Copy the stub of an exercise into this folder.

    A host exercise has two files: a missing one is copied, an existing one is not changed.
    """


@command(
    "practice.show_next", click.option("--start", is_flag=True, help="Also copy its stub into this folder."),
    click.option(
        "--path", metavar="NAME", shell_complete=complete_paths,
        help="Choose a path, which is remembered; `all` leaves it.",
    ),
    COURSE, name="next",
)  # fmt: skip
def next_exercise() -> None:
    """Say which exercise comes next.

    It is the first exercise after the one you passed last that you have not passed and that this machine can grade. If
    you have chosen a path, it is the first such exercise of the path.
    """


@command(
    "practice.show_hint", OPTIONAL_NAME,
    click.option("--again", is_flag=True, help="Repeat the hints that were shown."), NO_COLOR, COURSE,
)  # fmt: skip
def hint() -> None:
    """Show a hint, one more each time.

    Without NAME, for the exercise graded last.
    """


@command(
    "quiz.show_quiz", NAMES,
    click.option(
        "--topic", metavar="TOPIC", help="Ask about a chapter (4, reduction), a ladder (reduce), a path, or a word."
    ),
    click.option("--answers", is_flag=True, help="Print the questions with their answers instead."), NO_COLOR, COURSE,
)  # fmt: skip
def quiz() -> None:
    """Ask interview questions, one at a time; what you did not know comes back on another day.

    Without NAME, about the whole course: what is due first, then new questions. Numbers are checked, with new values
    each time; other answers you compare with a model answer.
    """


@command(
    "interview.interview",
    click.argument("target", required=False, metavar="[NAME]", shell_complete=complete_names),
    click.option("--minutes", type=click.FloatRange(1, 600), metavar="N", help="The time; 45 minutes by default."),
    click.option("--path", metavar="NAME", shell_complete=complete_paths, help="An exercise of this path."),
    path_option("--prepare", help="Write an interview for somebody else, and do not begin it."),
    path_option("--review", help="Show the report of a session's file, with the code from attempt to attempt."),
    click.option("--answers", is_flag=True, hidden=True), BACKEND, DEVICE, NO_COLOR, COURSE,
)  # fmt: skip
def interview() -> None:
    """Practise an interview: an exercise against the clock, then questions.

    NAME is an exercise, a ladder (reduce), a chapter's number, or the file of a session, which then begins or goes on.
    Without NAME it is an exercise that you have not passed. There are no hints and no solution; you grade as often as
    you want. The report at the end has the time line, your attempts, and model answers beside yours.
    """


@command(
    "practice.show_solution", NAME, click.option("--spoil", is_flag=True, help="Show it before you have passed."),
    path_option("--output", help="Write it to a new file instead."), NO_COLOR, COURSE,
)  # fmt: skip
def solution() -> None:
    """Show the solution of an exercise that you have passed."""


@command("practice.reset_exercise", NAME, COURSE)
def reset() -> None:
    """Restore the stub, and keep your version as NAME.cu.bak."""


@command("watching.watch_files", OPTIONAL_NAME, BACKEND, DEVICE, TIMEOUT, NO_SANDBOX, NO_COLOR, COURSE)
def watch() -> None:
    """Grade a file each time it is saved.

    Without NAME, it grades any exercise's file in this folder when it is saved. Keys: h shows a hint, n goes to the
    next exercise, l lists them, Enter grades again, ? explains the keys, q quits.
    """


@command(
    "words.show_words",
    click.argument("words", nargs=-1, metavar="[WORD]", shell_complete=complete_words), NO_COLOR,
)  # fmt: skip
def words() -> None:
    """Explain a word of statements and reports, or a counter; without WORD, list all words."""


@command(
    "practice.show_progress",
    click.option("--all", "whole", is_flag=True, help="Show the whole course, not only your path."),
    path_option("--export", help="Write it to a .json or .csv file."), AS_JSON, COURSE,
)  # fmt: skip
def progress() -> None:
    """Show which exercises you have passed, with scores and dates."""


@cli.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print a script that lets your shell complete names and options."""
    from grader.output import print_text

    print_text(completion_script(shell, cli))
    return 0


@command("machine.show_doctor", NO_COLOR)
def doctor() -> None:
    """Say what is installed, which GPU this machine has, and how to install the rest."""


@cli.command()
@DEVICE
@click.option("--block", type=click.IntRange(min=1), metavar="THREADS", help="How many blocks of so many threads fit?")
@click.option("--registers", type=click.IntRange(min=1), metavar="N", help="Registers of each thread; default: 32.")
@click.option("--shared", type=click.IntRange(min=0), metavar="BYTES", help="Shared memory of each block; default: 0.")
@click.option("--arch", metavar="sm_XY", help="Answer for this architecture instead of this machine's GPU.")
@AS_JSON
def device(
    device: int, block: int | None, registers: int | None, shared: int | None, arch: str | None, as_json: bool
) -> int:
    """Show a GPU's peaks and what the simplest kernels reach on it; with --block, how many blocks fit."""
    if any(value is not None for value in (block, registers, shared, arch)):
        from grader.cli.machine import OccupancyQuestion, show_occupancy

        question = OccupancyQuestion(arch, block or 256, registers or 32, shared or 0)
        return show_occupancy(question, device, as_json=as_json)
    from grader.cli.machine import show_device

    return show_device(device, as_json=as_json)


@command(
    "bench.show_profile", NAME, graded_file("Profile"),
    click.option("--ncu", metavar="PATH", help="The path of Nsight Compute, if it is not found."),
    DEVICE, AS_JSON, COURSE,
)  # fmt: skip
def profile() -> None:
    """Compare the simulator's counters with Nsight Compute's."""


@cli.command()
@NAME
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=V,V…",
    help="Try these values of an integer of the file; given several times, all combinations.",
)  # fmt: skip
@graded_file("Tune")
@DEVICE
@click.option("--arch", metavar="sm_XY", help="Only compute what fits on this architecture; needs no GPU.")
@click.option("--write", is_flag=True, help="Write the fastest values into the file.")
@OUTPUT
@AS_JSON
@COURSE
def tune(**options: Any) -> int:
    """Time a file with other tile sizes, and name the fastest.

    `grade tune sgemm_v5 --set BM=64,128 --set BN=64,128` tries the four combinations of two `#define`s (or `constexpr
    int`s). Each is compiled, checked and timed; those that cannot run are shown with the reason. Ctrl-C shows the
    results so far.
    """
    from grader.cli.tune import TuneOptions, tune

    return tune(TuneOptions(**options))


@command("bench.run_bench", NAMES, DEVICE, OUTPUT, MINUTES, COURSE)
def bench() -> None:
    """Time the solutions on this GPU, each with the library's time."""


@cli.command()
@NAMES
@DEVICE
@path_option("--output", help="Write the profile here instead.")
@path_option("--use", "profile", help="Install this profile.")
@COURSE
def calibrate(
    names: tuple[str, ...], device: int, output: Path | None, profile: Path | None, courses: tuple[Path, ...]
) -> int:
    """Time the solutions on this GPU and compute its pass lines from them."""
    from grader.cli import bench as calibration

    if profile is not None and (names or output is not None):
        raise click.UsageError("--use installs a whole profile: do not give NAME or --output with it")
    if profile is not None:
        return calibration.use_profile(profile)
    return calibration.calibrate(names, courses, device=device, output=output)


cli.add_command(dev)
cli.add_command(class_)
