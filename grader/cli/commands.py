"""The click group: ``grade NAME…`` grades, unless the first word is a command.

Modules that a command needs are imported inside it, so that ``grade --help`` and ``grade list`` start fast.
"""

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
    SHELLS,
    GradeGroup,
    InOrder,
    complete_names,
    complete_paths,
    complete_words,
    completion_script,
)
from grader.verdict import BACKENDS, MAX_SEED

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


@click.group(cls=GradeGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="warpgrade")
def cli() -> None:
    """Grade a CUDA kernel: is it correct, does it use the technique of the step, how close is it to the peak?

    New here? `grade next` says where to start, and `grade list` shows all exercises.

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
    with --full.
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


@command("practice.show_progress", path_option("--export", help="Write it to a .json or .csv file."), AS_JSON, COURSE)
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


@cli.group()
def dev() -> None:
    """For people who write exercises."""


@command(
    "authoring.make_exercise", click.argument("name"),
    click.option(
        "--chapter", default="", metavar="NN_NAME", help="The folder above it; default: the course's last one."
    ),
    path_option("--course", "folder", metavar="DIR", help="The course; default: this clone's."), group=dev,
)  # fmt: skip
def new() -> None:
    """Make the folder of a new exercise: a small, complete one that you change into yours."""


@command(
    "authoring.run_check", NAMES, click.option("--gpu", is_flag=True, help="Also check what is expected on a GPU."),
    MINUTES, DEVICE, COURSE, group=dev,
)  # fmt: skip
def check() -> None:
    """Check the course itself: stubs fail, solutions pass, wrong answers get their stated verdict.

    With --course and no name, only the exercises of those folders are checked.
    """


@command(
    "authoring.move_exercise", NAME, click.argument("to", required=False, metavar="[NEW]"),
    click.option("--gone", is_flag=True, help="The course no longer has this step: delete its files yourself."),
    click.option(
        "--version", type=click.IntRange(min=2), required=True, metavar="N",
        help="The version that the course gets by this, or already has by an earlier move.",
    ),
    COURSE, group=dev,
)  # fmt: skip
def move() -> None:
    """Rename a step in a new version of its course.

    Its folder, its files and the name in them are renamed, and course.toml remembers the old name and the old stub: a
    pass of the old step counts for the new name, and a file that was begun from the old stub is recognised. Move a step
    before you change its stub, and the last step of a ladder first.
    """


@dev.command()
@NAME
@click.argument("answer", required=False, metavar="[M]")
@path_option("--edit", "files", multiple=True, help="Write M.diff.")
@path_option("--into", metavar="DIR", help="Write the result into DIR, so that you can change it.")
@click.option("--refresh", is_flag=True, help="Adapt all edits to the changed solution.")
@COURSE
def wrong(
    name: str, answer: str | None, files: tuple[Path, ...], into: Path | None, refresh: bool, courses: tuple[Path, ...]
) -> int:
    """List an exercise's wrong answers; with M, print the solution with the edit wrong/M.diff applied.

    --edit FILE writes wrong/M.diff from a whole wrong answer: M.cu, M_host.py, or both, each after its own --edit. The
    file's first line is `// expect: WORD`, its second says why it is wrong. A whole file in wrong/ is replaced.
    """
    from grader.cli import authoring
    from grader.cli.course import find, load

    if refresh + bool(files) + (into is not None) > 1 or (refresh and answer) or (not answer and (files or into)):
        raise click.UsageError(
            "--edit and --into need M and cannot be used together; --refresh takes neither, and no M"
        )
    entry = find(load(courses), name)
    if refresh:
        return authoring.refresh_wrong(entry)
    if answer is None:
        return authoring.list_wrong(entry)
    return authoring.edit_wrong(entry, answer, files) if files else authoring.print_wrong(entry, answer, into)


EXPORTS = ("csv", "canvas", "moodle", "junit", "gradescope", "classroom50")


@dev.command()
@NAME
@click.argument("variant", required=False, metavar="[M]")
@path_option("--into", metavar="DIR", help="Write its texts into DIR, so that you can change them.")
@path_option("--edit", metavar="DIR", help="Write variants/M.diff from the texts in DIR.")
@COURSE
def variant(name: str, variant: str | None, into: Path | None, edit: Path | None, courses: tuple[Path, ...]) -> int:
    """List an exercise's variants; with M, check what shows without grading.

    Write Variant("M", task=…) into exercise.py first. --into DIR writes the stub, the solution (NAME.solution.cu),
    README.md, hints.md and interview.md; --edit DIR makes the edit from them when you have changed them.
    """
    from grader.cli import authoring
    from grader.cli.course import find, load

    if (into or edit) and (variant is None or (into and edit)):
        raise click.UsageError("--into and --edit need M and cannot be used together")
    return authoring.author_variant(find(load(courses), name), variant, into, edit)


CLASS_FOLDER = path_argument("folder", metavar="FOLDER")


@cli.group("class", cls=InOrder)
def class_() -> None:
    """For teachers: hand out an assignment, collect the submissions of a class, grade and report them.

    A class is a folder; docs/classes.md leads through it. The first command is `grade class init FOLDER`.
    """


@command(
    "classroom.init", CLASS_FOLDER,
    click.option("--exercises", default="", metavar="NAME,NAME…", help="The exercises of the assignment."),
    click.option("--title", default="", metavar="TEXT", help="What people read; default: the folder's name."),
    click.option("--deadline", metavar="TIME", help="With its time zone: 2026-12-06T23:59:00+01:00."),
    COURSE, group=class_,
)  # fmt: skip
def init() -> None:
    """Make a class: assignment, secret key, roster.

    These are the files assignment.toml, class.key and roster.csv. One that is there is not changed. FOLDER may be new.
    """


@command(
    "classroom.handout", CLASS_FOLDER,
    path_option("--to", metavar="DIR", required=True, help="Write into this folder."),
    click.option("--common", is_flag=True, help="Write one folder for everybody; needs no roster."),
    COURSE, group=class_,
)  # fmt: skip
def handout() -> None:
    """Write what students get: stubs and statements.

    Each student of roster.csv gets a folder in DIR, with a page about the assignment. A file that is there is not
    changed, so that the command can be given again for students who came later.
    """


@command(
    "collecting.collect_class", CLASS_FOLDER, path_argument("sources", metavar="SOURCE…", nargs=-1, required=True),
    click.option(
        "--form", type=click.Choice(("auto", "flat", "tree", "canvas", "moodle", "gradescope", "git")), default="auto",
        help="How the names in it say whose a file is; auto tries each.",
    ),
    path_option("--roster", help="Make this CSV the roster of the class, for example an export of your LMS."),
    path_option("--times", help="A CSV that says who submitted when: `student,exercise,submitted`."),
    click.option(
        "--name", "names", multiple=True, metavar="FILE=EXERCISE",
        help="Files of this name are this exercise: `--name hw4.cu=vector_add`. May be given several times.",
    ),
    AS_JSON, COURSE, group=class_, name="collect",
)  # fmt: skip
def collect_class() -> None:
    """Collect submissions from folders, an LMS or git.

    The downloads of Canvas, Moodle and Gradescope (zip or tar) are read as they are, zips in them included. Collecting
    again adds what is new, and never loses or repeats a submission. The time of a submission comes from Gradescope,
    nbgrader, git or --times, never from a file's date: the downloads of Canvas and Moodle have none.
    """


@command(
    "classroom_run.run", CLASS_FOLDER,
    click.option(
        "--jobs", type=click.IntRange(1, 1024), metavar="N",
        help="Grade so many at once on the simulator; default: one for each processor. A GPU grades one at a time.",
    ),
    click.option(
        "--workers", type=click.IntRange(1, 1024), metavar="N",
        help="Grade in so many workers of dask.distributed on this machine, one for each GPU.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Grade in the workers of this dask.distributed scheduler."),
    path_option("--slurm", metavar="FILE", help="Grade in workers that Slurm starts, as this slurm.toml says."),
    click.option("--student", metavar="ID", help="Grade the submissions of this student only."),
    click.option("--exercise", metavar="NAME", help="Grade the submissions of this exercise only."),
    click.option("--again", is_flag=True, help="Also grade what has a result; older results stay in the file."),
    click.option(
        "--mixed", is_flag=True,
        help="Go on although warpgrade, the course or the assignment has changed: each result says which it is of.",
    ),
    click.option(
        "--no-sandbox", is_flag=True, help="Grade with your own rights where the kernel has no Landlock."
    ),
    AS_JSON, COURSE, group=class_,
)  # fmt: skip
def run() -> None:
    """Grade the collected submissions; a run that was ended goes on where it was.

    Each submission is graded by a process of its own, and its result is stored at once in results.sqlite. End the run
    with Ctrl-C, or kill it: the next one grades what has no result.
    """


@command("classroom_run.status", CLASS_FOLDER, AS_JSON, COURSE, group=class_)
def status() -> None:
    """Say what is graded, what is left, and what needs you."""


@command(
    "classroom_run.override", CLASS_FOLDER, click.argument("student"), click.argument("exercise"),
    click.option("--points", type=float, metavar="N", help="Of the assignment's points."),
    click.option("--reason", default="", metavar="TEXT", help="Why; it stands in the gradebook."),
    click.option("--undo", is_flag=True, help="Take your decision back: the points of the grading count again."),
    COURSE, group=class_,
)  # fmt: skip
def override() -> None:
    """Decide the points of one student's exercise yourself.

    The newest decision counts; `grade class status FOLDER` lists them.
    """


@command(
    "classroom_report.report", CLASS_FOLDER,
    path_option("--to", metavar="DIR", help="Write the report here; default: FOLDER/report."),
    click.option("--leaderboard", is_flag=True, help="Also a page of who is fastest, under pseudonyms."),
    AS_JSON, COURSE, group=class_,
)  # fmt: skip
def report() -> None:
    """Write the pages of a class: yours, and one for each student.

    index.html shows what needs you, how the points are distributed, what most stumbled over, and all grades.
    students/ has a page for each student, with hints at their own lines; it shows nothing of others and no hidden case.
    """


@command(
    "classroom_report.export", CLASS_FOLDER, click.argument("system", type=click.Choice(EXPORTS), metavar="SYSTEM"),
    path_option("--into", help="canvas: fill a column of your export of the gradebook; nothing else changes."),
    click.option("--column", metavar="TITLE", help="The column to fill; default: that of the assignment's title."),
    click.option("--exercise", metavar="NAME", help="Only this exercise."),
    path_option("--output", metavar="PATH", help="Write here; a folder for gradescope and classroom50."),
    click.option(
        "--match", type=click.Choice(("idnumber", "email", "username")), default="idnumber",
        help="moodle: what names a student there.",
    ),
    click.option(
        "--missing", type=click.Choice(("zero", "blank")), default="zero", help="What nobody submitted is 0, or blank."
    ),
    COURSE, group=class_,
)  # fmt: skip
def export() -> None:
    """Write the grades for another system: csv, canvas, moodle, junit, gradescope or classroom50.

    An open grade is never written as 0. Who is left out is listed, with the reason.
    """


@command(
    "classroom_similar.similar", CLASS_FOLDER,
    click.option("--exercise", metavar="NAME", help="Compare the submissions of this exercise only."),
    path_option("--output", help="Write the page here; default: report/similar.html in FOLDER."),
    AS_JSON, COURSE, group=class_,
)  # fmt: skip
def similar() -> None:
    """Find submissions that are close to one another, and write a page with both files side by side.

    Tokens and PTX are compared, so that other names, comments, layout and loops hide little. What stub, statement and
    earlier solutions contain does not count. The pairs are also in similar.json, for the report. Close is not copied:
    docs/results/similar.md says what is found and what is not.
    """


@command(
    "classroom_report.autograder", CLASS_FOLDER,
    path_option("--output", required=True, metavar="ZIP", help="Write the zip here."),
    click.option(
        "--cuda", type=click.Choice(("12", "13")), default="12",
        help="Which CUDA packages the container installs; 13 for drivers from version 580 on.",
    ),
    path_option("--wheel", help="Install warpgrade from this wheel, which goes into the zip."),
    COURSE, group=class_,
)  # fmt: skip
def autograder() -> None:
    """Write the zip for Gradescope, whose containers then grade each submission, with a GPU or without.

    In it is a key that is derived for this assignment alone. The containers start as root, and a submission runs as
    another user, who cannot read it.
    """
