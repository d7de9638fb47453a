"""What can be wrong with a page without reading it: links that lead nowhere, commands and scripts that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from grader.catalog.exercises import load_catalog
from grader.cli.commands import cli
from grader.cli.routing import DEFAULT, GradeGroup
from grader.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "exercises", "kernels_ref", "tests")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```", re.DOTALL)
_COMMAND = re.compile(r"(?:`|^\s*(?:\$ )?)grade ([a-zA-Z_-][^`\n#]*)", re.MULTILINE)
_SCRIPT = re.compile(r"(?<![\w./])(?:\./)?(scripts/[\w/.-]+\w)")
_PLACEHOLDER = re.compile(r"[A-Z]+…?$|\[|…|<|\.\.\.")


def pages() -> list[Path]:
    """Every Markdown file of the repository that people read."""
    return sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])


def findings(page: Path) -> Iterator[str]:
    """Yield what is wrong with a page, as "file: what"."""
    text = page.read_text(encoding="utf-8")
    for check in (_links, _commands, _scripts):
        yield from (f"{page.relative_to(ROOT)}: {what}" for what in dict.fromkeys(check(page, text)))


# ---------------------------------------------------------------------------------------------------------------- links


def _links(page: Path, text: str) -> Iterator[str]:
    for target in _LINK.findall(_CODE.sub("", text)):
        place, _, anchor = target.partition("#")
        if place.startswith(("http:", "https:", "mailto:")):
            continue
        file = (page.parent / place).resolve() if place else page
        if not file.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and anchor not in anchors(file):
            yield f"{file.name} has no heading #{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the names that a page's headings have in links, as code forges make them."""
    headings = re.findall(r"^#+ +(.+?)\s*$", _CODE.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


# ------------------------------------------------------------------------------------------------- commands and scripts


def _commands(_: Path, text: str) -> Iterator[str]:
    """``grade WORD --option``: the word is a command or an exercise, the option one of its options."""
    for found in _COMMAND.findall(text):
        command, words = _routed(found.split())
        plain = [word for word in _arguments(command, words) if not _PLACEHOLDER.search(word)]
        if command is cli.commands[DEFAULT] and plain and not _is_exercise(plain[0]):
            yield f"there is no command or exercise `grade {found.strip()}`"
        yield from (
            f"`grade {found.strip()}`: no option {word}" for word in words if _is_option(word) - _options(command)
        )


def _is_exercise(name: str) -> bool:
    try:
        return bool(load_catalog().find(name.removesuffix(".cu")))  # `grade vector_add.cu` is a file
    except UsageError:
        return False


def _routed(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that grading's own group would choose, and the words that it would get."""
    assert isinstance(cli, GradeGroup)
    command: click.Command = cli
    rest = cli.routed(words)
    while isinstance(command, click.Group) and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def _arguments(command: click.Command, words: list[str]) -> list[str]:
    """Return the words that are neither an option nor an option's value."""
    valued = {name for option in command.params if not getattr(option, "is_flag", True) for name in option.opts}
    behind = ["", *words]
    return [
        word for word, before in zip(words, behind, strict=False) if not word.startswith("-") and before not in valued
    ]


def _options(command: click.Command) -> set[str]:
    found = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return found | {"--help", "-h", "--version"}


def _is_option(word: str) -> set[str]:
    match = re.match(r"--[a-z][a-z-]*|-[a-z]\b", word)
    return {match[0]} if match else set()


def _scripts(_: Path, text: str) -> Iterator[str]:
    for name in _SCRIPT.findall(text):
        if not (ROOT / name).exists():
            yield f"there is no {name}"
