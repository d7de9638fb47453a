"""The commands ``grade dev …``, for authors of courses."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.declaring import (
    COURSE,
    DEVICE,
    MINUTES,
    NAME,
    NAMES,
    command,
    path_option,
)


@click.group()
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
