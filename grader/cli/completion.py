"""``grade completion``, and the exercise names that a shell completes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VARIABLE = "_GRADE_COMPLETE"  # click's own name for the command `grade`; `warpgrade` uses the same
COMMANDS = ("grade", "warpgrade")

_INSTALLING = {
    "bash": 'put  eval "$(grade completion bash)"  into ~/.bashrc',
    "zsh": 'put  eval "$(grade completion zsh)"  into ~/.zshrc, behind the line with compinit',
    "fish": "grade completion fish > ~/.config/fish/completions/grade.fish",
}
SHELLS = tuple(_INSTALLING)


def print_completion(shell: str) -> int:
    """Print the script that teaches a shell the commands, options and exercise names."""
    from grader.output import print_text

    print_text(completion_script(shell))
    return 0


def completion_script(shell: str) -> str:
    """The script, with a comment on top that says where it belongs."""
    from click.shell_completion import get_completion_class

    from grader.cli.commands import cli

    kind = get_completion_class(shell)
    assert kind is not None, shell
    template = kind.source_template
    scripts = [template % kind(cli, {}, name, VARIABLE).source_vars() for name in COMMANDS]
    return (
        f"# Completion for warpgrade. To install: {_INSTALLING[shell]}\n\n" + "\n".join(map(str.strip, scripts)) + "\n"
    )


def complete_names(ctx: click.Context, param: click.Parameter | None, incomplete: str) -> list[CompletionItem]:
    """The exercises whose name begins so, each with its idea; none where a course cannot be read."""
    return list(_items(tuple(ctx.params.get("courses") or ()), incomplete))


def _items(courses: tuple[Path, ...], incomplete: str) -> Iterator[CompletionItem]:
    from click.shell_completion import CompletionItem

    from grader.catalog.exercises import load_catalog

    try:
        catalog = load_catalog(courses)
    except UsageError:
        return
    for entry in catalog.exercises:
        if entry.name.startswith(incomplete) and entry.name.isprintable():
            idea = entry.exercise.idea if entry.exercise.idea.isprintable() else ""
            yield CompletionItem(entry.name, help=idea)
