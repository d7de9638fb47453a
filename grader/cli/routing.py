"""Finding the command of a command line (``grade reduce_v3 --json``, ``grade --json list``); shell completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

DEFAULT = "grade"  # the hidden command that takes exercise names
HELP = "help"  # `grade help show` is `grade show --help`, and `grade help vector_add` is `grade show vector_add`
_ALONE = frozenset({"-h", "--help", "--version"})


COMMANDS: dict[str, click.Command] = {}
"""The commands by name; filled when the module that defines them is imported."""


def reserved() -> frozenset[str]:
    """Names that no exercise may have, because they are commands."""
    return frozenset({*COMMANDS, HELP})


LONGEST = 200  # characters of a command's first sentence


class WholeSentences(click.Group):
    """A group whose help has the whole first sentence of each command, in several lines where it is long."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, one.get_short_help_str(LONGEST)) for name, one in commands if one and not one.hidden]
        if shown:
            with formatter.section("Commands"):
                formatter.write_dl(shown)


class InOrder(WholeSentences):
    """A group whose help lists the commands in the order in which they are declared: that of the work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class GradeGroup(WholeSentences):
    """A group whose unknown first word is an exercise name."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        super().add_command(cmd, name)
        COMMANDS[name or cmd.name or ""] = cmd

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self.routed(args))

    def routed(self, words: list[str]) -> list[str]:
        """Return ``words`` with a command first: the first plain word if it is a command, else the grading command."""
        if not words or (words[0] in _ALONE and len(words) == 1):
            return words or ["--help"]
        if words[0] == HELP:  # of a command; of an exercise, which is its statement; without either, of all commands
            about = words[1:]
            if about and about[0] not in (HELP, *self.commands) and not about[0].startswith("-"):
                return ["show", *about]
            return [*(word for word in about[:1] if word in self.commands), "--help"]
        at = self._first_plain(words)
        if at is not None and words[at] in self.commands:
            return [words[at], *words[:at], *words[at + 1 :]]
        return [DEFAULT, *words]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the first word: a command or an exercise, or an option of either."""
        items = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            default = self.commands[DEFAULT]
            return default.shell_complete(click.Context(default, parent=ctx), incomplete) + items
        return items + complete_names(ctx, None, incomplete)

    def _first_plain(self, words: list[str]) -> int | None:
        """The index of the first word that is neither an option nor an option's value; None if there is none."""
        valued = {name for option in self._options() if not option.is_flag for name in option.opts}
        skip = False
        for at, word in enumerate(words):
            if skip:
                skip = False
            elif word == "--" or not word.startswith("-"):
                return at
            else:
                skip = word in valued
        return None

    def _options(self) -> list[click.Option]:
        return [option for option in self.commands[DEFAULT].params if isinstance(option, click.Option)]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("grade", "NAME… [OPTIONS]")
        formatter.write_usage("grade", "COMMAND [ARGUMENTS]", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = (*self._options(), *self.get_params(ctx))
        records = [record for option in options if (record := option.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records)
        self.format_commands(ctx, formatter)


VARIABLE = "_GRADE_COMPLETE"  # click's own name for the command `grade`; `warpgrade` uses the same
PROGRAMS = ("grade", "warpgrade")

_INSTALLING = {
    "bash": 'put  eval "$(grade completion bash)"  into ~/.bashrc',
    "zsh": 'put  eval "$(grade completion zsh)"  into ~/.zshrc, below the line with compinit',
    "fish": "grade completion fish > ~/.config/fish/completions/grade.fish",
}
SHELLS = tuple(_INSTALLING)


def completion_script(shell: str, root: click.Command) -> str:
    """The completion script of a shell, with a comment on top that says how to install it."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, shell
    template = kind.source_template
    scripts = [template % kind(root, {}, name, VARIABLE).source_vars() for name in PROGRAMS]
    return (
        f"# Completion for warpgrade. To install: {_INSTALLING[shell]}\n\n" + "\n".join(map(str.strip, scripts)) + "\n"
    )


def complete_names(ctx: click.Context, param: click.Parameter | None, incomplete: str) -> list[CompletionItem]:
    """The exercises whose name begins with ``incomplete``, each with its idea; none if a course cannot be read."""
    from click.shell_completion import CompletionItem

    from grader.catalog.exercises import load_catalog

    try:
        catalog = load_catalog(tuple(ctx.params.get("courses") or ()))
    except UsageError:
        return []
    return [
        CompletionItem(entry.name, help=entry.exercise.idea if entry.exercise.idea.isprintable() else "")
        for entry in catalog.exercises
        if entry.name.startswith(incomplete) and entry.name.isprintable()
    ]


def complete_paths(ctx: click.Context, param: click.Parameter | None, incomplete: str) -> list[CompletionItem]:
    """The paths whose name begins with ``incomplete``, each with its sentence; for `grade next` also ``all``."""
    from click.shell_completion import CompletionItem

    from grader.catalog.courses import ALL_PATHS
    from grader.catalog.exercises import load_catalog
    from grader.catalog.paths import path_names, sentences

    try:
        catalog = load_catalog(tuple(ctx.params.get("courses") or ()))
        what_for = sentences(catalog)
    except UsageError:
        return []
    if ctx.info_name == "next":
        what_for |= {ALL_PATHS: "the whole course"}
    return [
        CompletionItem(name, help=sentence if (sentence := what_for.get(name, "")).isprintable() else "")
        for name in (*path_names(catalog), *([ALL_PATHS] if ALL_PATHS in what_for else []))
        if name.startswith(incomplete) and name.isprintable()
    ]


def complete_words(ctx: click.Context, param: click.Parameter | None, incomplete: str) -> list[CompletionItem]:
    """The words of the glossary and the counters that begin with ``incomplete``."""
    from click.shell_completion import CompletionItem

    from grader.catalog.words import counters, glossary

    typed = " ".join((*(ctx.params.get("words") or ()), incomplete)).casefold()
    skipped = len(typed) - len(incomplete)
    names = dict.fromkeys(name for word in (*glossary(), *counters()) for name in word.names)
    return [CompletionItem(name[skipped:]) for name in names if name.casefold().startswith(typed)]
