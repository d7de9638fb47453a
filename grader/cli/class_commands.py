"""The commands ``grade class …``, for teachers."""

from __future__ import annotations

import click

from grader.cli.declaring import (
    AS_JSON,
    COURSE,
    command,
    path_argument,
    path_option,
)
from grader.cli.routing import (
    InOrder,
)

EXPORTS = ("csv", "canvas", "moodle", "junit", "gradescope", "classroom50")
CLASS_FOLDER = path_argument("folder", metavar="FOLDER")


@click.group("class", cls=InOrder)
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


@command("classroom_status.status", CLASS_FOLDER, AS_JSON, COURSE, group=class_)
def status() -> None:
    """Say what is graded, what is left, and what needs you."""


@command(
    "classroom_status.override", CLASS_FOLDER, click.argument("student"), click.argument("exercise"),
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
