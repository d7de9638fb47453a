"""When something was submitted: from Gradescope's metadata, nbgrader, git or a CSV, never from a file's date."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta, timezone

import pytest
import yaml

from grader.classroom.assignment import read_assignment
from grader.classroom.collect.collecting import Request, collect
from grader.classroom.collect.exercises import Assigned
from grader.classroom.collect.gradescope import read_metadata
from grader.classroom.collect.limits import Budget, Limits
from grader.classroom.collect.people import People
from grader.classroom.collect.repositories import repository_entries
from grader.classroom.collect.times import read_times, read_timestamp
from grader.classroom.records import Student
from grader.errors import UsageError
from tests.classroom.conftest import catalog

PLUS_ONE = timezone(timedelta(hours=1))
WHEN = datetime(2026, 12, 6, 21, 4, 5, tzinfo=UTC)

METADATA = """\
---
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '77'
    :email: ada@x.org
  :created_at: 2026-12-06 21:04:05.123456000 Z
  :score: 10.0
  :results: !ruby/object:ActiveSupport::HashWithIndifferentAccess
    tests: &many
    - {output: "a: b"}
  :history:
  - *many
submission_12:
  :submitters:
  - :name: Bob B
    :sid:
    :email: bob@x.org
  - :name: Cy C
    :sid: '79'
  :created_at: 2026-12-06 23:04:05 +0100
"""


def submissions(folder, *sources, **more):
    return collect(Request(folder, sources, **more)).submissions


@pytest.fixture
def source(tmp_path):
    """Writes files below a folder, all with an old date, and returns it."""

    def write(**files):
        for name, content in files.items():
            path = tmp_path / "in" / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            os.utime(path, (1e9, 1e9))
        return tmp_path / "in"

    return write


def test_a_files_date_says_nothing(folder, source):
    one = submissions(folder, source(ada__vector_add_dot_cu="x"))[0]
    assert (one.submitted, one.time_from) == (None, "")


# --------------------------------------------------------------------------------------------------------- Gradescope


def test_gradescopes_metadata_say_who_and_when(folder, source):
    root = source(
        export__submission_metadata_dot_yml=METADATA,
        export__submission_11__vector_add_dot_cu="a",
        export__submission_12__src__vector_add_dot_cu="b",
        export__submission_13__vector_add_dot_cu="c",
    )
    (folder / "roster.csv").write_text("SID,Name,Email\n77,Ada,\n78,Bob,bob@x.org\n79,Cy,\n")
    result = collect(Request(folder, (root,)))
    assert [(one.student, one.submitted, one.time_from) for one in result.submissions] == [
        ("77", WHEN.replace(microsecond=123456), "lms"),
        ("78", WHEN + timedelta(hours=1), "lms"),
        ("79", WHEN + timedelta(hours=1), "lms"),
    ]
    assert [one.unknown.word for one in result.strangers] == ["submission_13"]


def test_only_what_is_asked_of_the_metadata_is_kept():
    read = read_metadata(METADATA.encode(), "metadata")
    assert read["submission_11"].submitters == ({"name": "Ada Lovelace", "sid": "77", "email": "ada@x.org"},)
    assert read["submission_12"].submitters == (
        {"name": "Bob B", "sid": "", "email": "bob@x.org"},
        {"name": "Cy C", "sid": "79"},
    )
    assert read["submission_12"].at == WHEN + timedelta(hours=1)


@pytest.mark.parametrize(
    "content",
    [
        "a: [",
        "- 1",
        "",
        "x: " + "[" * 5000,
        "submission_1: !!python/object/apply:os.system ['exit']\nb: [",
        "\x00",
    ],
)
def test_metadata_that_are_not_gradescopes_are_refused(content):
    with pytest.raises(UsageError, match=r"metadata (cannot be read|does not name)"):
        read_metadata(content.encode(), "metadata")


def test_metadata_make_no_objects_and_do_not_grow():
    laughs = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 40))
    assert read_metadata(f"l0: &l0 ha\n{laughs}\n".encode(), "metadata") == {}
    evil = "submission_1:\n  :submitters: !!python/object/apply:os.system ['exit 1']\n"
    assert read_metadata(evil.encode(), "metadata")["submission_1"].submitters == ()
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(evil)


# ----------------------------------------------------------------------------------------------------------- nbgrader


def test_nbgraders_timestamp_is_that_of_its_folder(folder, source):
    root = source(
        ada__week4__timestamp_dot_txt="2026-12-06 21:04:05 UTC",
        ada__week4__vector_add_dot_cu="a",
        bob__week4__vector_add_dot_cu="b",
    )
    assert [(one.student, one.submitted, one.time_from) for one in submissions(folder, root)] == [
        ("ada", WHEN, "lms"),
        ("bob", None, ""),
    ]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-12-06 21:04:05 UTC", WHEN),
        ("2026-12-06T22:04:05+01:00", WHEN),
        ("2026-12-06 21:04:05", None),
        ("x", None),
    ],
)
def test_a_timestamp_without_a_zone_says_nothing(text, time):
    assert read_timestamp(text.encode()) == time


# ---------------------------------------------------------------------------------------------------------------- CSV


@pytest.fixture
def times(tmp_path, folder):
    def reading(text, zone=None):
        (tmp_path / "times.csv").write_text(text)
        people = People([Student("ada", "Ada Lovelace", "ada@x.org"), Student("bob", "Bob B")])
        return read_times(
            tmp_path / "times.csv", people, Assigned(read_assignment(folder, catalog=catalog(())), catalog(())), zone
        )

    return reading


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("student,exercise,submitted\nada,vector_add,2026-12-06T21:04:05Z\n", "vector_add"),
        ("id,submitted\nADA,2026-12-06T22:04:05+01:00\n", "pinned_copy"),
        ("email,file,time\nada@x.org,vector_add.cu,2026-12-06 21:04:05 UTC\n", "vector_add"),
        ("Full name,Last modified (submission)\nAda Lovelace,\"Sunday, 6 December 2026, 10:04 PM\"\nBob B,-\n", ""),
        ("Name,Timestamp\nAda Lovelace,2026-12-06 22:04:05\nAda Lovelace,2026-12-06 22:03\n", "vector_add"),
    ],
)  # fmt: skip
def test_times_are_found_by_the_headings_of_each_system(times, text, of):
    read = times(text, PLUS_ONE)
    assert read.of("ada", of).replace(second=5).astimezone(UTC) == WHEN
    assert read.of("bob", of) is None


def test_who_is_unknown_in_the_times_is_said(times):
    assert times("id,time\neve,2026-12-06T21:04:05Z\n").unknown == ("eve",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ada,2026-12-06\n", "needs a column for the student and one for the time, and has ada, 2026-12-06"),
        ("id,time\nada,tomorrow\n", "row 2: 'tomorrow' is no date and time"),
        ("id,time\nada,2026-12-06 21:04\n", "row 2: '2026-12-06 21:04' has no time zone"),
        ("id,exercise,time\nada,reduce_v9,2026-12-06T21:04Z\n", "row 2: 'reduce_v9' is no exercise of this assignment"),
    ],
)
def test_a_mistake_in_the_times_names_the_row(times, text, message):
    with pytest.raises(UsageError) as raised:
        times(text)
    assert message in raised.value.message


def test_the_csv_has_the_last_word_and_is_about_the_last_version(folder, source, tmp_path):
    root = source(**{"ada__vector_add_dot_cu": "a", "ada__vector_add (1)_dot_cu": "b"})
    (tmp_path / "times.csv").write_text("student,submitted\nada,2026-12-06T21:04:05Z\n")
    for _ in range(2):
        found = submissions(folder, root, times=tmp_path / "times.csv")
        assert [(one.number, one.submitted, one.time_from) for one in found] == [(1, None, ""), (2, WHEN, "csv")]


# ---------------------------------------------------------------------------------------------------------------- git


@pytest.fixture
def repository(tmp_path):
    """Makes a repository, with a commit for each (file, content, seconds)."""

    def make(name, *commits):
        root = tmp_path / "repos" / name
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        for file, content, seconds in commits:
            (root / file).parent.mkdir(exist_ok=True)
            (root / file).write_text(content)
            git(root, "add", "-A")
            git(root, "commit", "-q", "-m", "x", seconds=seconds)
        return root

    return make


def git(root, *words, seconds=1_700_000_000):
    who = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x"}
    dates = {"GIT_AUTHOR_DATE": f"@{seconds} +0000", "GIT_COMMITTER_DATE": f"@{seconds} +0000"}
    environment = os.environ | who | dates | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=root, check=True, env=environment, capture_output=True)


def test_the_last_commit_that_changed_a_file_is_its_time_and_what_is_committed_counts(folder, repository):
    root = repository(
        "week4-ada",
        ("src/vector_add.cu", "old", 1_700_000_000),
        ("src/vector_add.cu", "new", 1_700_000_100),
        ("README.md", "x", 1_700_000_200),
    )
    (root / "src/vector_add.cu").write_text("not committed")
    (one,) = submissions(folder, root.parent)
    assert (one.student, one.time_from) == ("ada", "git")
    assert one.submitted == datetime.fromtimestamp(1_700_000_100, UTC)
    assert (folder / one.files[0].path).read_text() == "new"
    assert submissions(folder, root) == (one,)
    assert submissions(folder, root / ".git", form="git") == (one,)


def test_a_repository_is_found_by_the_end_of_its_name_and_may_have_other_files(folder, repository):
    (folder / "roster.csv").write_text("id,github\nada,ada-l\nl,\n")
    repository("cs101-hw4-ada-l", ("vector_add.cu", "x", 1_700_000_000), ("Makefile", "x", 1_700_000_000))
    result = collect(Request(folder, (repository("other").parent,)))
    assert [one.student for one in result.submissions] == ["ada"]
    assert [one.reason for one in result.skipped] == ["nothing is committed on its current branch"]


def test_a_repositorys_configuration_starts_no_program(folder, repository, tmp_path):
    root = repository("ada", ("vector_add.cu", "x", 1_700_000_000))
    started = tmp_path / "started"
    script = root / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {started}\n")
    script.chmod(0o755)
    for setting in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "gpg.program", "core.editor", "pager.log",
        "filter.x.smudge", "filter.x.clean", "diff.x.textconv", "core.alternateRefsCommand", "credential.helper",
        "remote.origin.uploadpack", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        git(root, "config", setting, str(script))
    for setting, value in (
        ("core.hooksPath", str(root)), ("log.showSignature", "true"), ("remote.origin.url", f"ext::{script}"),
        ("remote.origin.promisor", "true"), ("extensions.partialClone", "origin"), ("protocol.ext.allow", "always"),
        ("core.repositoryformatversion", "1"), ("core.worktree", "/etc"),
    ):  # fmt: skip
        git(root, "config", setting, value)
    (root / ".git" / "info" / "attributes").write_text("*.cu filter=x diff=x\n")
    assert [one.student for one in submissions(folder, root.parent)] == ["ada"]
    assert not started.exists()
    blob = subprocess.run(["git", "rev-parse", "HEAD:vector_add.cu"], cwd=root, capture_output=True, text=True).stdout
    (root / ".git" / "objects" / blob[:2] / blob[2:].strip()).unlink()  # a promised object, that git would fetch
    list(repository_entries(root, "ada", ("ada",), "ada", Budget(Limits())))
    assert not started.exists()


def test_a_repository_that_is_not_whole_is_skipped(folder, repository, tmp_path):
    linked = repository("bob")
    git(linked, "commit", "-q", "--allow-empty", "-m", "x")
    (linked / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path}/x\n")
    objects = repository("cy", ("vector_add.cu", "x", 1)) / ".git" / "objects"
    shutil.rmtree(objects)
    objects.mkdir()
    repository("dan", ("vector_add.cu", "x", 1))
    git(tmp_path / "repos" / "dan", "rm", "-q", "vector_add.cu")
    (tmp_path / "repos" / "dan" / "vector_add.cu").symlink_to("/etc/passwd")
    git(tmp_path / "repos" / "dan", "add", "-A")
    git(tmp_path / "repos" / "dan", "commit", "-q", "-m", "x")
    result = collect(Request(folder, (tmp_path / "repos",)))
    assert result.submissions == ()
    assert [(one.origin, one.reason) for one in result.skipped] == [
        ("repos/bob", "its git folder refers to another repository; clone it yourself, and collect the clone"),
        ("repos/cy", "git cannot read it: `git ls-tree` fails"),
        ("repos/dan/vector_add.cu", "it is a link"),
    ]
