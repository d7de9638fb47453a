"""docs/commands.md: every command is in its tables, and every line of it that is a command can be parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from grader.cli.commands import cli
from grader.cli.routing import GradeGroup

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
ROWS = re.findall(r"^\| `grade (.+?)` \| .+ \| `(grade .+?)` \|$", TEXT, flags=re.MULTILINE)
LINES = sorted(set(re.findall(r"^grade .+$", TEXT, flags=re.MULTILINE)) | {example for _, example in ROWS})

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests of the wheel have no docs")


def commands(group: click.Group = cli, prefix: str = "") -> Iterator[str]:
    """Every command that `grade --help` shows, with the group before it: ``dev new``."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} ")
        elif not command.hidden:
            yield prefix + name


def parsed(line: str) -> click.Context:
    """The context of the command that a line means. Raises click.UsageError for a line that is none."""
    assert isinstance(cli, GradeGroup)
    command: click.Command = cli
    words = cli.routed(shlex.split(line, comments=True)[1:])
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    return command.make_context(line, words)


def test_the_tables_have_every_command_once():
    assert sorted(name for name, _ in ROWS) == sorted(["NAME…", *commands()])


@pytest.mark.parametrize(("name", "example"), ROWS)
def test_the_example_beside_a_command_is_one_of_it(name, example):
    grading = not any(example.startswith(f"grade {command}") for command in commands())
    assert grading if name == "NAME…" else example.startswith(f"grade {name}")


@pytest.mark.parametrize("line", LINES)
def test_every_line_can_be_typed(line):
    assert parsed(line).command is not cli


@pytest.mark.parametrize("line", ["grade list --solution", "grade show", "grade reduce_v3 --seed x", "grade dev new"])
def test_a_line_that_cannot_be_typed_is_found(line):
    with pytest.raises(click.UsageError):
        parsed(line)


OF_EVERY_COMMAND = {"--course", "--device", "--help", "--no-color", "--no-sandbox"}
OPTIONS = {option for parameter in cli.commands["grade"].params for option in parameter.opts} - OF_EVERY_COMMAND


@pytest.mark.parametrize("option", [*sorted(OPTIONS - {"names"}), "--block", "--use", "%%grade", "grader.grade"])
def test_each_option_of_a_grading_and_what_is_easily_overlooked_has_its_place(option):
    assert option in TEXT
