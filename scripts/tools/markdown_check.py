"""What can be wrong with a page without reading it: links that lead nowhere; commands, scripts and names of nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
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
_STEP = re.compile(r"\b[a-z]+(?:_[a-z]+)*_v\d+\b")
_NAME = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`")
_PLACEHOLDER = re.compile(r"[A-Z]+…?$|\[|…|<|\.\.\.")


def pages() -> list[Path]:
    """Every Markdown file of the repository that people read."""
    return sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])


def findings(page: Path) -> Iterator[str]:
    """Yield what is wrong with a page, as "file: what"."""
    text = page.read_text(encoding="utf-8")
    for check in (_links, _commands, _scripts, _names):
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


# ---------------------------------------------------------------------------------------------------------------- names


def _names(page: Path, text: str) -> Iterator[str]:
    """Exercises that do not exist: steps like ``reduce_v11``; in the course, any ``name_like_this`` of nothing."""
    exercises = {entry.name for entry in load_catalog().exercises}
    short = {name.removeprefix("hgemm_") for name in exercises}  # a drawing may leave out the ladder's name
    yield from (f"there is no exercise {name}" for name in _STEP.findall(text) if name not in exercises | short)
    if page.is_relative_to(ROOT / "exercises"):
        yield from (f"nothing has the name {name}" for name in _NAME.findall(text) if name not in _words() | exercises)


@cache
def _words() -> frozenset[str]:
    """Every word of the course's files and of the grader's."""
    folders = [ROOT / name for name in ("exercises", "solutions", "kernels_ref", "grader")]
    files = (path for folder in folders for suffix in ("cu", "cuh", "h", "py") for path in folder.rglob(f"*.{suffix}"))
    return frozenset(word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))
