"""Which command a command line means: ``grade reduce_v3 --json`` and ``grade --json list`` alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

DEFAULT = "grade"  # the hidden command that takes exercise names
HELP = "help"  # `grade help show` is `grade show --help`, and `grade help vector_add` is `grade show vector_add`
_ALONE = frozenset({"-h", "--help", "--version"})


class GradeGroup(click.Group):
    """A group whose unknown first word is an exercise name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self.routed(args))

    def routed(self, words: list[str]) -> list[str]:
        """Return ``words`` with a command in front: the first plain word if it is one, else the grading command."""
        if not words or (words[0] in _ALONE and len(words) == 1):
            return words or ["--help"]
        if words[0] == HELP:
            return self._helped(words[1:])
        at = self._first_plain(words)
        if at is not None and words[at] in self.commands:
            return [words[at], *words[:at], *words[at + 1 :]]
        return [DEFAULT, *words]

    def _helped(self, about: list[str]) -> list[str]:
        """Help with a command, or with an exercise, which its statement is; without either, the help of all."""
        if about and about[0] not in (HELP, *self.commands) and not about[0].startswith("-"):
            return ["show", *about]
        return [*(word for word in about[:1] if word in self.commands), "--help"]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a first word may be: a command or an exercise, or an option of either."""
        from grader.cli.completion import complete_names

        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            default = self.commands[DEFAULT]
            return default.shell_complete(click.Context(default, parent=ctx), incomplete) + found
        return found + complete_names(ctx, None, incomplete)

    def _first_plain(self, words: list[str]) -> int | None:
        """The place of the first word that is neither an option nor an option's value."""
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
