"""The command line without a compiler: which command is meant, which file, and every wrong use explained."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import click
import jsonschema
import pytest

from grader.catalog.exercises import load_catalog
from grader.cli import main
from grader.cli.commands import cli
from grader.cli.course import files_of, missing_chapters
from grader.cli.grading import GradeOptions, _which_file, file_for, tasks_of
from grader.errors import SubmissionError, UsageError
from grader.gpus.models import simulable
from grader.grading.grade import require_host_file
from grader.grading.services import Hardware, Task
from grader.output import wrapped
from grader.practice.history import next_exercise

SCHEMA = json.loads(files("grader.render").joinpath("run.schema.json").read_text())

EXERCISE_PY = """\
from grader import Array, Exercise

EXERCISE = Exercise(
    name={name!r}, order={order}, idea="twice \\x1b[31mred", oracle="elementwise:add", simulated={{"n": 64}},
    arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")), small=({{"n": 1}},),
)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder of our own to work in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def course(tmp_path):
    """A teacher's folder with two exercises; returns what makes another."""
    folder = tmp_path / "course"

    def add(name: str, order: int = 9001, statement: str = "# Twice\n\nDouble *it*.\n") -> Path:
        place = folder / "01_first" / name
        place.mkdir(parents=True)
        (place / "exercise.py").write_text(EXERCISE_PY.format(name=name, order=order))
        (place / f"{name}.cu").write_text("// launch it\n")
        (place / "README.md").write_text(statement)
        return folder

    add("twice_it")
    add("twice_more", 9002)
    return add


# ------------------------------------------------------------------------------------------------------------- routing


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["reduce_v3"], ["grade", "reduce_v3"]),
        (["reduce_v3", "vector_add", "--json"], ["grade", "reduce_v3", "vector_add", "--json"]),
        (["--json", "reduce_v3"], ["grade", "--json", "reduce_v3"]),
        (["--seed", "3", "reduce_v3"], ["grade", "--seed", "3", "reduce_v3"]),
        (["--file", "list", "reduce_v3"], ["grade", "--file", "list", "reduce_v3"]),
        (["list"], ["list"]),
        (["--json", "list"], ["list", "--json"]),
        (["--course", "list", "show", "x"], ["show", "--course", "list", "x"]),
        (["grade", "reduce_v3"], ["grade", "reduce_v3"]),
        (["--json"], ["grade", "--json"]),
        (["--", "list"], ["grade", "--", "list"]),
        (["--help"], ["--help"]),
        (["help"], ["--help"]),
        (["help", "show"], ["show", "--help"]),
        (["help", "reduce_v3"], ["show", "reduce_v3"]),
        (["help", "twice", "--course", "x"], ["show", "twice", "--course", "x"]),
        (["help", "--json"], ["--help"]),
        (["help", "help"], ["--help"]),
        ([], ["--help"]),
    ],
)
def test_first_plain_word_decides_which_command_is_meant(words, meant):
    assert cli.routed(words) == meant


def test_help_shows_the_grading_options_and_the_commands(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "NAME" in out
    for word in ("--solution", "--backend", "--course", "list", "show", "start", "doctor", "device", "bench", "dev"):
        assert word in out


def test_version_is_one_line(run):
    code, out, _ = run("--version")
    assert (code, out.count("\n")) == (0, 1)


# ----------------------------------------------------------------------------------------------------------- wrong uses


@pytest.mark.parametrize(
    ("words", "code_word", "said", "hint"),
    [
        (["vectr_add"], "unknown_exercise", "there is no exercise 'vectr_add'", "did you mean 'vector_add'?"),
        (["version"], "unknown_exercise", "there is no exercise 'version'", "did you mean `grade --version`?"),
        (["4"], "unknown_exercise", "there is no exercise 4", "4 is the chapter reduction: 401 reduce_v1"),
        (["vector_add.cu"], "file_as_name", "there is no file 'vector_add.cu'", "`grade start vector_add` copies"),
        (["e/my.cu"], "file_as_name", "there is no file 'e/my.cu'", "`grade list`"),
        (["my own.cu"], "file_as_name", "is a file", "`grade NAME --file 'my own.cu'`"),
        (["hlep"], "unknown_exercise", "there is no exercise 'hlep'", "did you mean `grade help`?"),
        (["START"], "unknown_exercise", "there is no exercise 'START'", "did you mean `grade start`?"),
        (["man"], "unknown_exercise", "there is no exercise 'man'", "did you mean `grade help`?"),
        (["lst"], "unknown_exercise", "there is no exercise 'lst'", "did you mean `grade list`?"),
        (["twice", "--course", "COURSE"], "ambiguous_exercise", "twice_it, twice_more", "write one of these names"),
        (["vector_add", "--bogus"], "usage", "no such option", "grade --help"),
        (["vector_add", "--backend", "cpu"], "usage", "'cpu' is not one of", "grade --help"),
        (["vector_add", "--seed", "-1"], "usage", "-1 is not in the range", "grade --help"),
        (["vector_add", "--timeout", "0"], "usage", "0.0 is not in the range", "grade --help"),
        (["vector_add", "--seed"], "usage", "requires an argument", "grade --help"),
        (["--solution"], "usage", "missing argument", "`grade list` shows the names; for example `grade vector_add`"),
        (["dev", "new"], "usage", "missing argument 'NAME'", "`grade dev new --help`"),
        (["vector_add", "reduce_v3", "--file", "x.cu"], "file_for_several", "--file names one file", "one by one"),
        (
            ["vector_add", "--file", "x.cu", "--solution"],
            "file_and_solution",
            "cannot be used together",
            "use one of them",
        ),
        (["vector_add", "--course", "nowhere"], "bad_course", "nowhere does not exist", ""),
        (["twice_it", "--solution", "--course", "COURSE"], "no_solution", "no solution of twice_it", ""),
        (["start", "nothing_like_it"], "unknown_exercise", "there is no exercise", "grade list"),
    ],
)
def test_wrong_use_exits_2_with_one_message_and_a_hint(run, here, course, tmp_path, words, code_word, said, hint):
    Path("my own.cu").touch()
    words = [str(tmp_path / "course") if word == "COURSE" else word for word in words]
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert hint in err
    assert "Traceback" not in err
    if words[0] != "start":
        code, out, err = run(*words, "--json")
        assert (code, err) == (2, "")
        document = json.loads(out)
        jsonschema.validate(document, SCHEMA)
        assert document["error"]["code"] == code_word


@pytest.mark.parametrize("command", ["show", "start", "reset", "solution", "profile"])
def test_command_without_a_name_says_where_the_names_are(run, here, command):
    code, _, err = run(command)
    assert code == 2
    assert f"`grade list` shows the names; for example `grade {command} vector_add`" in err


def test_file_with_an_exercises_name_is_graded_for_it(here):
    (here / "vector_add.cu").touch()
    (here / "deeper").mkdir()
    (here / "deeper" / "reduce_v1.cu").touch()
    tasks = tasks_of(load_catalog(), GradeOptions(("vector_add.cu", "deeper/reduce_v1.cu")))
    found = [(task.entry.name, str(task.path)) for task in tasks]
    assert found == [("vector_add", "vector_add.cu"), ("reduce_v1", "deeper/reduce_v1.cu")]


def test_file_as_name_and_another_file_or_the_solution_contradict_each_other(here):
    (here / "vector_add.cu").touch()
    for more in ({"file": Path("x.cu")}, {"solution": True}):
        with pytest.raises(UsageError, match="is a file"):
            tasks_of(load_catalog(), GradeOptions(("vector_add.cu",), **more))


def test_gaps_in_the_numbering_are_no_broken_installation(run, here, course, tmp_path):
    chapters = {one.chapter[:2] for one in load_catalog().exercises}
    missing = missing_chapters(load_catalog())
    gaps = [str(number) for number in range(1, int(max(chapters))) if f"{number:02}" not in chapters]
    assert re.findall(r"\d+", missing) == gaps
    (tmp_path / "course" / "01_first").rename(tmp_path / "course" / "90_late")
    assert missing_chapters(load_catalog([tmp_path / "course"])) == missing  # a course of one's own has no gaps


def test_exercise_named_like_a_command_is_refused(run, here, course, tmp_path):
    course("list")
    code, _, err = run("twice_it", "--course", tmp_path / "course")
    assert code == 2
    assert "'list', which is a command" in err


def test_every_name_is_understood_before_the_first_is_graded(run, here, monkeypatch):
    monkeypatch.setattr("grader.grading.grade.grade", lambda request: pytest.fail("graded"))
    assert run("vector_add", "no_such_exercise")[0] == 2


def test_unexpected_failure_is_the_graders_own_without_a_traceback(run, monkeypatch):
    monkeypatch.delenv("WARPGRADE_DEBUG", raising=False)
    monkeypatch.setattr("grader.cli.course.load_catalog", lambda courses: {}["gone"])
    code, out, err = run("list")
    assert (code, out) == (5, "")
    assert "the grader itself failed: KeyError: 'gone'" in err
    assert "grader's fault" in err
    assert "Traceback" not in err


def test_ctrl_c_is_one_line_and_130(run, monkeypatch):
    def interrupt(courses):
        raise KeyboardInterrupt

    monkeypatch.setattr("grader.cli.course.load_catalog", interrupt)
    code, _, err = run("list")
    assert code == 130
    assert err.strip().splitlines() == ["grade: interrupted"]


# ----------------------------------------------------------------------------------------------------- the file graded


def test_file_here_comes_before_the_courses_stub(here, monkeypatch):
    monkeypatch.setattr("grader.cli.grading.in_a_clone", lambda one: True)
    one = load_catalog().find("vector_add")
    assert file_for(one) == one.stub
    (here / "vector_add.cu").write_text("x")
    assert file_for(one) == Path("vector_add.cu")


def test_file_option_and_solution_option_come_before_both(here):
    one = load_catalog().find("vector_add")
    (here / "vector_add.cu").write_text("x")
    assert file_for(one, file=Path("other.cu")) == Path("other.cu")
    assert file_for(one, solution=True) == one.solution


def test_grading_the_courses_stub_for_want_of_a_file_here_is_said(here):
    one = load_catalog().find("vector_add")
    words = _which_file(Task(one, one.stub), GradeOptions(("vector_add",)))
    assert words.endswith("vector_add.cu (there is no ./vector_add.cu here)")
    assert _which_file(Task(one, Path("vector_add.cu")), GradeOptions(("vector_add",))) == ""
    assert _which_file(Task(one, one.stub), GradeOptions(("vector_add",), file=one.stub)) == ""


def test_without_a_gpu_the_next_exercise_is_one_that_needs_none(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPGRADE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("grader.practice.history._gpus", lambda: 0)
    catalog = load_catalog()
    at = next(at for at, one in enumerate(catalog.exercises) if not simulable(one.exercise.requires))
    before, needing = catalog.exercises[at - 1], catalog.exercises[at]
    assert next_exercise(catalog, passing=before)[0].name != needing.name
    monkeypatch.setattr("grader.practice.history._gpus", lambda: 1)
    monkeypatch.setattr("grader.practice.history._serves", lambda requires: True)
    assert next_exercise(catalog, passing=before)[0].name == needing.name


def test_broken_link_here_is_the_file_that_is_meant(here):
    (here / "vector_add.cu").symlink_to(here / "gone.cu")
    assert file_for(load_catalog().find("vector_add")) == Path("vector_add.cu")


def test_installed_package_never_grades_its_own_stub(here, monkeypatch):
    monkeypatch.setattr("grader.cli.grading.in_a_clone", lambda one: False)
    with pytest.raises(UsageError, match=r"there is no vector_add\.cu") as caught:
        file_for(load_catalog().find("vector_add"))
    assert "grade start vector_add" in caught.value.hint


# ------------------------------------------------------------------------------------------------- list, show and start


def test_list_shows_number_name_and_idea_under_their_chapter(run, here, course, tmp_path):
    code, out, _ = run("list", "--course", tmp_path / "course")
    lines = out.splitlines()
    assert code == 0
    at = next(number for number, line in enumerate(lines) if line.split()[:2] == ["9001", "twice_it"])
    assert lines[at - 1] == "1 · first"
    assert lines[at].endswith("twice \\x1b[31mred")


@pytest.mark.parametrize("words", [["list"], ["start", "zero_copy"], ["show", "zero_copy"], ["doctor"]])
def test_lines_are_wrapped_at_words(run, here, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(*words)
    prose = [line for line in out.splitlines() if "/" not in line and "`" not in line]
    assert prose
    assert max(map(len, prose)) <= 80


def test_wrapping_keeps_a_path_and_a_command_whole():
    text = "look at /a/very/long/path-with-a-hyphen/x.cu and run `grade start it`"
    assert wrapped(text, width=20, indent="  ").splitlines() == [
        "look at", "  /a/very/long/path-with-a-hyphen/x.cu", "  and run", "  `grade start it`",
    ]  # fmt: skip


def test_list_as_json_has_every_exercise(run, here, course, tmp_path):
    code, out, _ = run("--json", "list", "--course", str(tmp_path / "course"))
    document = json.loads(out)
    assert (code, document["schema"]) == (0, "warpgrade/list/1")
    mine = next(one for one in document["exercises"] if one["name"] == "twice_it")
    assert mine == {
        "name": "twice_it", "number": 9001, "chapter": "01_first", "idea": "twice \x1b[31mred", "requires": "sm_70",
        "host": False, "timed": False, "technique": False, "points": {"correct": 60, "technique": 20, "fast": 20},
        "has_solution": False, "minutes": None, "after": [], "paths": [],
    }  # fmt: skip


def test_broken_exercise_does_not_hide_the_others(run, here, course, tmp_path):
    folder = course("broken_one")
    (folder / "01_first" / "broken_one" / "exercise.py").write_text("EXERCISE = 1 +\n")
    _, out, _ = run("list", "--course", folder)
    assert "twice_it" in out
    assert "broken_one" in out
    assert "syntax error" in out


def test_show_renders_the_statement(run, here, course, tmp_path):
    code, out, _ = run("show", "twice_it", "--course", tmp_path / "course")
    assert code == 0
    assert "Double it." in out
    assert "`grade start twice_it` copies the stub here" in out


def test_show_ends_with_the_task_and_full_adds_the_causes(run, here, course, tmp_path):
    course("long_one", 9003, "# Long\n\nDo it.\n\n## If it does not pass\n\nCauses.\n\n<!-- claim: stub x = 1 -->\n")
    code, out, _ = run("show", "long_one", "--course", tmp_path / "course")
    assert code == 0
    assert "Do it." in out
    assert "Causes." not in out
    assert "`grade show long_one --full` also explains each report." in " ".join(out.split())
    _, out, _ = run("show", "long_one", "--full", "--course", tmp_path / "course")
    assert "Do it." in out
    assert "Causes." in out
    assert "--full" not in out


def test_show_says_how_a_prediction_is_made_where_the_statement_asks_for_one(run, here, course, tmp_path):
    predict = "`grade asks --predict sectors=…` compares your prediction with the count."
    course("asks", 9003, "# Asks\n\n## Predict\n\nHow many `sectors`?\n")
    assert predict in " ".join(run("show", "asks", "--course", tmp_path / "course")[1].split())
    assert "`grade sgemm_v1 --predict global_load_bytes=…` compares" in " ".join(run("show", "sgemm_v1")[1].split())
    assert "--predict" not in run("show", "tma_copy")[1]  # the simulator cannot count it
    assert "--predict" not in run("show", "twice_it", "--course", tmp_path / "course")[1]


def test_a_statement_without_causes_and_a_ladders_page_are_shown_whole(run, here, course, tmp_path):
    assert "--full" not in run("show", "twice_it", "--course", tmp_path / "course")[1]
    assert run("show", "reduce", "--full")[1] == run("show", "reduce")[1]


def test_help_of_an_exercise_takes_the_options_of_show(run, here):
    assert run("help", "vector_add", "--full")[1] == run("show", "vector_add", "--full")[1]


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
@pytest.mark.parametrize(("lines", "paged"), [(10, True), (400, False)])
def test_statement_longer_than_the_screen_goes_through_the_pager(tmp_path, lines, paged):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n")
    pager.chmod(0o755)
    text = on_a_terminal("show", "vector_add", LINES=str(lines), COLUMNS="80", PAGER=str(pager), TERM="xterm")
    assert ("PAGED" in text) is paged
    assert "Before and after" in text
    assert "`grade vector_add` grades it" in text


def on_a_terminal(*words: str, **environment: str) -> str:
    """What the command writes to a terminal that it has to itself."""
    import pty

    main, side = pty.openpty()
    command = [sys.executable, "-m", "grader.cli", *words]
    child = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env={**os.environ, **environment})
    os.close(side)
    pieces = []
    try:
        while piece := os.read(main, 4096):
            pieces.append(piece)
    except OSError:  # the other side is closed
        pass
    os.close(main)
    child.wait(30)
    return b"".join(pieces).decode()


def test_show_lets_no_control_character_of_a_course_through(run, here, course, tmp_path):
    course("evil", 9003, "# Evil\n\n\x1b[2Jcleared \u202egnihton\n")
    _, out, _ = run("show", "evil", "--course", tmp_path / "course")
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_drawings_are_not_wrapped(run, here, course, tmp_path):
    drawing = "┌" + "─" * 90 + "┐"
    course("drawn", 9003, f"# D\n\n```\n{drawing}\n```\n")
    _, out, _ = run("show", "drawn", "--course", tmp_path / "course")
    assert drawing in out


def test_start_copies_the_stub_and_says_what_to_do(run, here):
    code, out, _ = run("start", "vector_add")
    assert code == 0
    assert (here / "vector_add.cu").read_bytes() == load_catalog().find("vector_add").stub.read_bytes()
    assert "`grade vector_add` grades it" in out


def test_start_never_overwrites_unless_forced(run, here):
    mine = here / "vector_add.cu"
    mine.write_text("my work")
    code, _, err = run("start", "vector_add")
    assert (code, mine.read_text()) == (2, "my work")
    assert "--force" in err
    assert run("start", "vector_add", "--force")[0] == 0
    assert mine.read_text() != "my work"


def test_start_takes_a_file_for_its_exercise(run, here):
    assert run("start", "./pinned_copy_host.py")[0] == 0
    assert sorted(path.name for path in here.iterdir()) == ["pinned_copy.cu", "pinned_copy_host.py"]


@pytest.mark.parametrize(("lost", "kept"), [("cu", "_host.py"), ("_host.py", ".cu")])
def test_start_puts_the_missing_one_of_two_files_and_keeps_the_other(run, here, lost, kept):
    lost = f"pinned_copy{'.' if lost == 'cu' else ''}{lost}"
    kept = f"pinned_copy{kept}"
    run("start", "pinned_copy")
    (here / lost).unlink()
    (here / kept).write_text("mine")
    one = load_catalog().find("pinned_copy")
    with pytest.raises((UsageError, SubmissionError)) as grading:
        require_host_file(Hardware.found("sim", 0).request(Task(one, file_for(one))))
    leads = f"`grade start pinned_copy` copies the stub here, and keeps your ./{kept}"
    assert leads in grading.value.hint
    assert leads in run("reset", "pinned_copy")[2]
    code, out, _ = run("start", "pinned_copy")
    assert code == 0
    assert f"./{kept} was here and was not changed; ./{lost} was missing" in " ".join(out.split())
    assert (here / kept).read_text() == "mine"
    stubs = {path.name: path for path in files_of(one)}
    assert (here / lost).read_bytes() == stubs[lost].read_bytes()


def test_start_with_both_files_here_names_both_and_how_to_get_one_anew(run, here):
    run("start", "pinned_copy")
    (here / "pinned_copy_host.py").write_text("mine")
    code, _, err = run("start", "pinned_copy")
    assert code == 2
    assert "./pinned_copy.cu and ./pinned_copy_host.py are already here" in err
    assert "rename your file and run `grade start pinned_copy`" in err
    assert (here / "pinned_copy_host.py").read_text() == "mine"


def test_host_file_here_is_not_passed_over_for_the_stubs_of_a_clone(here, monkeypatch):
    monkeypatch.setattr("grader.cli.grading.in_a_clone", lambda one: True)
    (here / "pinned_copy_host.py").write_text("mine")
    with pytest.raises(UsageError, match=r"there is no pinned_copy\.cu") as caught:
        file_for(load_catalog().find("pinned_copy"))
    assert "keeps your ./pinned_copy_host.py" in caught.value.hint


@pytest.mark.parametrize("chapter", ["9", "09", "903"])
def test_list_of_a_chapter_is_that_chapter_alone(run, here, chapter):
    code, out, _ = run("list", chapter)
    assert code == 0
    assert out.startswith("9 · host\n")
    assert "901  pinned_copy" in out
    assert "vector_add" not in out
    assert "not written yet" not in out
    document = json.loads(run("list", chapter, "--json")[1])
    assert {one["chapter"] for one in document["exercises"]} == {"09_host"}


@pytest.mark.parametrize("chapter", ["77", "host", "0"])
def test_list_of_no_chapter_names_the_chapters(run, here, chapter):
    code, out, err = run("list", chapter)
    assert (code, out) == (2, "")
    assert f"there is no chapter '{chapter}'" in err
    assert "the chapters are 1, 2, " in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_start_in_a_folder_that_cannot_be_written_is_explained(run, here):
    here.chmod(0o500)
    code, _, err = run("start", "vector_add")
    here.chmod(0o700)
    assert code == 2
    assert "cannot write ./vector_add.cu" in err


# ------------------------------------------------------------------------------------------------------ whole processes


def process(*words: str, **how) -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", *words], capture_output=True, timeout=60,
        env=environment | how.pop("env", {}), **how,
    )  # fmt: skip


def test_terminal_without_unicode_gets_ascii():
    done = process("show", "vector_add", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert process("list", env={"PYTHONIOENCODING": "latin-1"}).returncode == 0


def test_reader_that_leaves_early_is_no_failure():
    with subprocess.Popen(
        [sys.executable, "-m", "grader.cli", "show", "vector_add"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as reader_gone:
        assert reader_gone.stdout is not None
        assert reader_gone.stderr is not None
        reader_gone.stdout.close()
        assert reader_gone.stderr.read() == b""
    assert reader_gone.returncode in (1, 141)


def test_listing_imports_nothing_heavy():
    code = (
        "import sys; from grader.cli import main; main(['list']);"
        "print([m for m in ('numpy', 'llvmlite', 'cupy', 'rich', 'cuda.bindings') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_name_with_a_control_character_is_shown_escaped():
    done = process("\x1b[31mred\u202e")
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr
    assert "\u202e".encode() not in done.stderr


# ----------------------------------------------------------------------------------------------------------- host files


def test_host_file_is_looked_for_beside_the_kernel_and_a_wrong_answers_is_the_solutions(here):
    entry = load_catalog().find("zero_copy")
    mine = Task(entry, here / "mine.cu")
    with pytest.raises(SubmissionError, match=r"needs its host file"):
        require_host_file(Hardware.found("sim", 0).request(mine))
    (here / "zero_copy_host.py").write_text("")
    assert mine.host_file.name == "zero_copy_host.py"
    (here / "mine_host.py").write_text("")
    assert mine.host_file.name == "mine_host.py"
    assert Task(entry, entry.folder / "wrong" / "kernels_alone.cu").host_file == entry.solution_host_file


def test_a_ladder_has_a_page_of_its_own_that_every_step_names(capsys):
    assert main(["show", "reduce", "--no-color"]) == 0
    page = capsys.readouterr().out
    assert "The reduction ladder" in page
    assert "`grade show reduce_v1` explains its first step." in page.replace("\n", " ")
    assert main(["show", "reduce_v3", "--no-color"]) == 0
    assert "`grade show reduce` explains the ladder" in capsys.readouterr().out.replace("\n", " ")


def test_exercises_that_are_no_ladder_may_share_a_page(capsys):
    assert main(["show", "softmax", "--no-color"]) == 0
    page = capsys.readouterr().out
    assert "which version for which row?" in page
    assert "`grade show softmax_v1` explains its first step." in " ".join(page.split())
    assert main(["show", "softmax_v4", "--no-color"]) == 0
    statement = " ".join(capsys.readouterr().out.split())
    assert "Which version for which length (grade show softmax)" in statement
    assert "`grade show softmax` explains all steps." in statement


def test_every_command_hands_its_options_to_a_function_that_takes_them():
    dev = cli.commands["dev"]
    assert isinstance(dev, click.Group)
    forwarding = [
        one for one in (*cli.commands.values(), *dev.commands.values()) if hasattr(one.callback, "__wrapped__")
    ]
    assert len(forwarding) > 10
    for command in forwarding:
        names = inspect.getclosurevars(command.callback).nonlocals
        function = getattr(import_module(f"grader.cli.{names['module']}"), names["function"])
        inspect.signature(function).bind(**{parameter.name: None for parameter in command.params})
