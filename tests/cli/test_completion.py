"""Shell completion: the scripts, and what is offered at each place of a command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from grader.catalog.exercises import load_catalog
from grader.cli.commands import cli
from grader.cli.routing import VARIABLE, completion_script


def offered(*words: str) -> list[str]:
    """What completes the last word."""
    return [
        item.value for item in ShellComplete(cli, {}, "grade", VARIABLE).get_completions(list(words[:-1]), words[-1])
    ]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([""], {"list", "hint", "watch", "reduce_v3", "vector_add"}),
        (["vec"], {"vector_add"}),
        (["re"], {"reset", "reduce_v3"}),
        (["--b"], {"--backend"}),
        (["vector_add", "red"], {"reduce_v3"}),
        (["vector_add", "--so"], {"--solution"}),
        (["vector_add", "--backend", ""], {"auto", "gpu", "sim"}),
        (["hint", "vec"], {"vector_add"}),
        (["hint", "--a"], {"--again"}),
        (["show", "vec"], {"vector_add"}),
        (["start", "vec"], {"vector_add"}),
        (["reset", "vec"], {"vector_add"}),
        (["solution", "vec"], {"vector_add"}),
        (["watch", "vec"], {"vector_add"}),
        (["bench", "vec"], {"vector_add"}),
        (["dev", "check", "vec"], {"vector_add"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
        (["progress", "--e"], {"--export"}),
        (["list", "--path", ""], {"interview", "memory"}),
        (["next", "--path", "a"], {"all", "attention"}),
        (["words", "wa"], {"warp", "wavefront"}),
        (["words", "bank", ""], {"conflict"}),
    ],
)
def test_each_place_offers_what_belongs_there(words, wanted):
    assert wanted <= set(offered(*words))


@pytest.mark.parametrize(
    "words", [["vector_add", "hin"], ["hint", "lis"], ["list", "vec"], ["list", "--path", "al"], ["zzz"]]
)
def test_nothing_is_offered_where_nothing_belongs(words):
    assert offered(*words) == []


def test_names_of_another_course_are_offered_and_a_missing_course_is_no_error():
    from grader.catalog.courses import built_in_course

    mini = built_in_course().exercises.parent / "tests" / "course"
    if mini.is_dir():
        assert offered("hint", "--course", str(mini), "tota") == ["total"]
    assert offered("hint", "--course", "nowhere", "vec") == []


def test_ideas_stand_beside_the_names():
    completer = ShellComplete(cli, {}, "grade", VARIABLE)
    (item,) = completer.get_completions(["hint"], "vector_add")
    assert item.help == load_catalog().find("vector_add").exercise.idea


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_says_how_it_is_installed_and_serves_both_commands(shell):
    script = completion_script(shell, cli)
    first, rest = script.split("\n", 1)
    assert first.startswith("# ")
    assert f"grade completion {shell}" in first
    assert f"{VARIABLE}={shell}_complete" in rest
    assert "warpgrade" in rest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_understands_the_script(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=completion_script(shell, cli).encode(), check=True, timeout=60)


def test_bash_asks_the_command_itself(tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    grade = tmp_path / "grade"
    grade.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import sys; from grader.cli import main; main()' \"$@\"\n")
    grade.chmod(0o700)
    script = completion_script("bash", cli) + (
        "COMP_WORDS=(grade hint vec); COMP_CWORD=2; _grade_completion grade; echo ${COMPREPLY[@]}\n"
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([bash], input=script.encode(), capture_output=True, timeout=60, env=environment)
    assert (done.stdout, done.stderr) == (b"vector_add\n", b"")
