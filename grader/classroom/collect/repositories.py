"""Reading a git repository of an unknown person: its committed files, and when each was last changed.

Only plumbing reads it (``ls-tree``, ``rev-list``, ``cat-file``; where nothing is committed also ``symbolic-ref`` and
``for-each-ref``), with the folder of the repository named, so that nothing is searched above it. What its configuration
could start is off: hooks, fsmonitor, signatures, pagers, replaced objects, and every transport, so that no missing
object is fetched. Nothing is checked out, so no filter runs. The time of a commit is what its author's machine said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from grader.classroom.collect.entries import Entry, Skipped, is_archive, is_junk, most_bytes, name_problem, parts_of
from grader.classroom.collect.limits import Budget
from grader.errors import UsageError
from grader.text import bytes_words

ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_ASKPASS": "", "GIT_PAGER": "cat", "LC_ALL": "C",
    "GIT_ATTR_NOSYSTEM": "1", "GIT_ALLOW_PROTOCOL": "none", "HOME": os.devnull,
}  # fmt: skip
SETTINGS = (
    "core.fsmonitor=", f"core.hooksPath={os.devnull}", "core.pager=cat", "log.showSignature=false", "gpg.program=false",
    "diff.external=", "core.sshCommand=false", "protocol.allow=never", "core.attributesFile=", "core.commitGraph=false",
    "credential.helper=", "safe.directory=*",
)  # fmt: skip
SECONDS = 20.0
MOST_LISTED = 8 << 20  # bytes of a list of files
NOTHING_COMMITTED = "nothing is committed on its current branch"
FILE_MODES = ("100644", "100755", "100664")
ELSEWHERE = ("objects/info/alternates", "commondir", "objects/info/http-alternates")
"""Files of a repository by which git reads another folder."""


def git_folder(folder: Path) -> Path | None:
    """The folder of a repository's objects: ``.git`` in it, or itself if it is bare; None if it is no repository."""
    for place in (folder / ".git", folder):
        if (
            not place.is_symlink()
            and all((place / name).is_dir() and not (place / name).is_symlink() for name in ("objects", "refs"))
            and (place / "HEAD").is_file()
        ):
            return place
    return None


def is_repository(folder: Path) -> bool:
    return git_folder(folder) is not None


def repository_entries(
    folder: Path, source: str, parts: tuple[str, ...], origin: str, budget: Budget
) -> Iterator[Entry | Skipped]:
    """The committed files of interest, each with the time of the last commit that changed it."""
    place = git_folder(folder)
    assert place is not None, folder
    if any((place / name).exists() for name in ELSEWHERE):
        yield Skipped(origin, "its git folder refers to another repository; clone it yourself, and collect the clone")
        return
    try:
        for line in _git(place, "ls-tree", "-r", "-l", "-z", "--full-tree", "HEAD").split(b"\0"):
            if line:
                yield from _file_entries(place, line, source, parts, origin, budget)
    except _GitFailed as error:
        yield Skipped(origin, f"git cannot read it: {error}" if _has_branch(place) else NOTHING_COMMITTED)


def _has_branch(place: Path) -> bool:
    """Whether the current branch exists, as far as git can say: in a new repository it does not."""
    try:
        branch = os.fsdecode(_git(place, "symbolic-ref", "HEAD").strip())
        return bool(_git(place, "for-each-ref", branch))
    except _GitFailed:
        return True


def _file_entries(
    place: Path, line: bytes, source: str, parts: tuple[str, ...], origin: str, budget: Budget
) -> Iterator[Entry | Skipped]:
    facts, _, encoded = line.partition(b"\t")
    mode, kind, sha, size = facts.decode("ascii").split()
    name = encoded.decode("utf-8", "replace")
    below = parts_of(name)
    most = most_bytes(below[-1], budget.limits)
    if most is None or is_junk(below):  # a repository has much else, of which nobody needs to hear
        return
    budget.spend(members=1)
    where = f"{origin}/{name}"
    problem = name_problem(name, budget.limits)
    if mode not in FILE_MODES or kind != "blob":
        problem = problem or ("it is a link" if mode == "120000" else "it is not a regular file")
    if problem or is_archive(name):
        yield Skipped(where, problem or "it is an archive in a repository")
    elif not size.isdigit():
        yield Skipped(where, "git cannot read it")
    elif int(size) > most:
        yield Skipped(where, f"it is larger than {bytes_words(most)}")
    else:
        content = _git(place, "cat-file", "blob", sha, most=most)
        budget.spend(read_bytes=len(content))
        changed = _git(place, "rev-list", "-1", "--timestamp", "HEAD", "--", name).split()
        when = _time(changed[0]) if changed else None
        yield Entry(source, (*parts, *below), content, where, len(parts), when, "git" if when else "")


def _time(seconds: bytes) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


class _GitFailed(Exception):
    """Raised when git cannot answer."""


def _git(place: Path, *words: str, most: int = MOST_LISTED) -> bytes:
    """What a command of git prints. Raises _GitFailed if it fails, takes too long or prints too much."""
    program = shutil.which("git")
    if program is None:
        raise UsageError("git is not installed, and a source is a git repository", code="no_git", hint="install git")
    options = [word for setting in SETTINGS for word in ("-c", setting)]
    command = [program, "--git-dir", str(place.absolute()), "--literal-pathspecs", "--no-pager", *options, *words]
    environment = {"PATH": os.environ.get("PATH", os.defpath), **ENVIRONMENT}
    with subprocess.Popen(
        command, env=environment, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        return _answer(process, most, words[0])


def _answer(process: subprocess.Popen[bytes], most: int, word: str) -> bytes:
    from threading import Timer

    assert process.stdout is not None
    watchdog = Timer(SECONDS, process.kill)
    watchdog.start()
    try:
        output = process.stdout.read(most + 1)
        if len(output) > most:
            raise _GitFailed(f"`git {word}` prints more than {bytes_words(most)}")
        if process.wait() != 0:
            raise _GitFailed(f"`git {word}` fails")
        return output
    finally:
        watchdog.cancel()
        process.kill()
