"""Wrong answers: whole files and edits are read alike; edits come from whole files, and move with the solution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.cli import main
from grader.dev.wrong import (
    BadEdit,
    comment_mark,
    read_expectation,
    refresh,
    write_edit,
    wrong_answer,
    wrong_answers,
)

HOST_FILE = "def setup(x, out):\n    pass\n\n\ndef run():\n    wait()\n"


@pytest.fixture
def total(exercise) -> CourseExercise:
    """Its three wrong answers are edits."""
    return exercise("total")


@pytest.fixture
def hosted(scale: CourseExercise) -> CourseExercise:
    """A host exercise without wrong answers."""
    for path in (scale.folder / "wrong").iterdir():
        path.unlink()
    assert scale.solution is not None
    scale.solution.with_name("scale_host.py").write_text(HOST_FILE)
    return replace(scale, exercise=replace(scale.exercise, host=True))


def put(one: CourseExercise, name: str, text: str) -> Path:
    path = one.folder / "wrong" / name
    path.write_text(text)
    return path


def said(one: CourseExercise) -> list[str]:
    return [str(problem) for problem in wrong_answers(one)[1]]


def test_an_edit_makes_a_whole_file_with_the_same_two_lines_on_top(total):
    answer = wrong_answer(total, "no_barrier")
    assert answer.path == total.folder / "wrong" / "no_barrier.diff"
    assert answer.expectation.reason == "The barrier between two steps of the tree is missing."
    line = "        __syncthreads();  // the sums of this step are there before the next step adds them\n"
    edited = total.solution.read_text().replace(line, "        // no barrier here\n")
    head = "// expect: race\n// The barrier between two steps of the tree is missing.\n"
    assert answer.texts == {"no_barrier.cu": head + edited}


def test_a_whole_file_stays_as_it_is(scale):
    answer = wrong_answer(scale, "copy")
    assert answer.texts == {"copy.cu": answer.path.read_text()}
    assert answer.path.name == "copy.cu"


def test_the_files_to_grade_are_put_into_a_folder_byte_by_byte(total, tmp_path):
    put(total, "odd.cu", "// expect: wrong\n// Why.\r\n// \u00e4\r\n")
    (path,) = wrong_answer(total, "odd").put(tmp_path)
    assert path.read_bytes() == (total.folder / "wrong" / "odd.cu").read_bytes()


def test_all_are_found_in_the_order_of_their_names_and_others_are_no_wrong_answers(hosted):
    for name in ("slow.cu", "alone_host.py", "slow_host.py", "notes.py", "notes.md"):
        mark = "#" if name.endswith("py") else "//"
        put(hosted, name, f"{mark} expect: wrong\n{mark} Why.\n")
    (hosted.folder / "wrong" / "folder.cu").mkdir()
    answers, problems = wrong_answers(hosted)
    assert problems == []
    assert [list(answer.texts) for answer in answers] == [["alone_host.py"], ["slow.cu", "slow_host.py"]]
    assert [answer.path.name for answer in answers] == ["alone_host.py", "slow.cu"]
    plain = replace(hosted, exercise=replace(hosted.exercise, host=False))
    assert [list(answer.texts) for answer in wrong_answers(plain)[0]] == [["slow.cu"]]


# --------------------------------------------------------------------------------------------------------- what is none


def test_every_problem_names_the_file_to_look_at(total):
    edit = (total.folder / "wrong" / "no_barrier.diff").read_text()
    put(total, "no_barrier.diff", edit.replace("total.cu", "other.cu"))
    put(total, "first_block_only.diff", edit.replace("// expect: race", "// it is a race"))
    put(total, "interleaved.diff", edit.replace("partial[t + s]", "partial[t]"))
    put(total, "binary.cu", "").write_bytes(b"// expect: wrong\n// \xff\n")
    first, second, third, fourth = said(total)
    assert first == "wrong/binary.cu: binary.cu is not UTF-8: invalid start byte at byte 20"
    assert second.startswith("wrong/first_block_only.diff: the first line must be `// expect: WORD`")
    assert third.startswith("wrong/interleaved.diff: hunk 1 (line 5) does not apply: line 18 is")
    assert third.endswith("; `grade dev wrong total --refresh` adapts edits to a changed solution")
    assert fourth == "wrong/no_barrier.diff: line 3 must be `--- total.cu`, not '--- other.cu'"


def test_an_edit_and_a_whole_file_of_one_name_are_a_problem(total):
    put(total, "no_barrier.cu", "// expect: race\n// Why.\n")
    assert said(total) == ["wrong/no_barrier.diff: no_barrier.cu exists, too: remove one of them"]


def test_an_edit_needs_a_solution(total):
    total.solution.unlink()
    assert set(said(total)) == {
        f"wrong/{name}.diff: it edits the solution, but the exercise has none"
        for name in ("first_block_only", "interleaved", "no_barrier")
    }


# -------------------------------------------------------------------------------------------------------------- writing


def test_an_edit_is_written_from_a_whole_file_and_makes_it_again(total, tmp_path):
    answer = wrong_answer(total, "no_barrier")
    answer.path.unlink()
    assert write_edit(total, "no_barrier", answer.put(tmp_path)) == answer.path
    assert wrong_answer(total, "no_barrier") == answer
    assert (tmp_path / "no_barrier.cu").exists()


def test_a_whole_file_in_the_folder_becomes_the_edit(scale):
    before = wrong_answer(scale, "copy")
    target = write_edit(scale, "copy", [before.path])
    assert target.name == "copy.diff"
    assert not before.path.exists()
    assert wrong_answer(scale, "copy").texts == before.texts


def test_a_wrong_host_file_is_an_edit_with_its_own_comments(hosted, tmp_path):
    (tmp_path / "mine_host.py").write_text(
        "# expect: race\n# It does not wait.\n" + HOST_FILE.replace("wait()", "pass")
    )
    path = write_edit(hosted, "no_wait", [tmp_path / "mine_host.py"])
    assert path.read_text().startswith("// expect: race\n// It does not wait.\n--- scale_host.py\n+++ scale_host.py\n")
    answer = wrong_answer(hosted, "no_wait")
    assert answer.texts == {"no_wait_host.py": (tmp_path / "mine_host.py").read_text()}


def test_one_edit_of_both_files_has_the_expectation_on_the_kernels(hosted, tmp_path):
    kernels = hosted.solution.read_text().replace("factor", "by")
    (tmp_path / "a.cu").write_text("// expect: wrong\n// Both.\n" + kernels)
    (tmp_path / "a_host.py").write_text(HOST_FILE.replace("wait()", "pass"))
    write_edit(hosted, "both", [tmp_path / "a_host.py", tmp_path / "a.cu"])
    assert wrong_answer(hosted, "both").texts == {
        "both.cu": (tmp_path / "a.cu").read_text(), "both_host.py": (tmp_path / "a_host.py").read_text()
    }  # fmt: skip


def test_nothing_is_written_that_could_not_be_read(total, tmp_path):
    before = sorted((total.folder / "wrong").iterdir())
    source = tmp_path / "m.cu"
    source.write_text(total.solution.read_text())
    with pytest.raises(BadEdit, match="the first line"):
        write_edit(total, "m", [source])
    source.write_text("// expect: race\n// Why.\n" + total.solution.read_text())
    with pytest.raises(BadEdit, match="it edits no file"):
        write_edit(total, "m", [source])
    with pytest.raises(BadEdit, match=r"no_barrier.diff is not a whole file"):
        write_edit(total, "no_barrier", [total.folder / "wrong" / "no_barrier.diff"])
    (tmp_path / "m_host.py").write_text("# expect: race\n# Why.\n")
    with pytest.raises(BadEdit, match=r"m_host.py: the solution has no total_host.py"):
        write_edit(total, "m", [tmp_path / "m_host.py"])
    assert sorted((total.folder / "wrong").iterdir()) == before


# ----------------------------------------------------------------------------------------------------------- refreshing


def test_edits_move_with_the_solution(total):
    before = {answer.path.stem: answer.texts for answer in wrong_answers(total)[0]}
    assert refresh(total) == ([], [])
    total.solution.write_text("// One more line.\n" + total.solution.read_text())
    rewritten, problems = refresh(total)
    assert (len(rewritten), problems) == (3, [])
    for answer in wrong_answers(total)[0]:
        name = f"{answer.path.stem}.cu"
        first, second, *rest = before[answer.path.stem][name].splitlines(keepends=True)
        assert answer.texts[name] == "".join([first, second, "// One more line.\n", *rest])


def test_an_edit_without_a_place_is_left_as_it_is_and_told(total):
    path = total.folder / "wrong" / "first_block_only.diff"
    before = path.read_text()
    total.solution.write_text(total.solution.read_text().replace("if (t == 0)", "if (0 == t)"))
    rewritten, problems = refresh(total)
    (problem,) = problems
    assert str(problem).startswith("wrong/first_block_only.diff: hunk 1 (line 5) no longer fits")
    assert path.read_text() == before
    assert [path.name for path in rewritten] == ["interleaved.diff", "no_barrier.diff"]


# ---------------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def run(total, capsys):
    """Run ``grade dev wrong WORDS`` on the copy of the course; exit code, standard output and error."""

    def call(*words: str) -> tuple[int, str, str]:
        root = str(total.course.exercises.parent)
        code = main(["dev", "wrong", *words, "--course", root])
        return code, *capsys.readouterr()

    return call


def test_the_command_lists_prints_writes_and_refreshes(run, total, tmp_path):
    code, out, _ = run("total")
    assert code == 0
    assert "no_barrier.diff" in out
    assert "sim=race gpu=race\n    The barrier between two steps of the tree is missing.\n" in out
    answer = wrong_answer(total, "no_barrier")
    assert run("total", "no_barrier")[:2] == (0, answer.texts["no_barrier.cu"])
    assert run("total", "no_barrier", "--into", str(tmp_path / "here"))[0] == 0
    mine = tmp_path / "here" / "no_barrier.cu"
    mine.write_text(mine.read_text().replace("// no barrier here", ";"))
    assert run("total", "no_barrier", "--edit", str(mine))[0] == 0
    assert wrong_answer(total, "no_barrier").texts["no_barrier.cu"] == mine.read_text()
    assert "fits the current solution" in run("total", "--refresh")[1]
    total.solution.write_text("// One more line.\n" + total.solution.read_text())
    assert run("total")[0] == 1
    assert "no_barrier.diff\n" in run("total", "--refresh")[1]
    assert run("total")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--edit", "x.cu"], "need M"),
        (["no_barrier", "--refresh"], "--refresh takes neither"),
        (["no_barrier", "--into", "here", "--edit", "x.cu"], "cannot be used together"),
        (["nothing"], "total has no wrong answer 'nothing'"),
        (["../../up", "--edit", "x.cu"], "cannot be called"),
        (["fine", "--edit", "not_there.cu"], "not_there.cu: No such file"),
    ],
)
def test_a_wrong_command_exits_2_and_says_what_it_needs(run, words, message):
    code, _, err = run("total", *words)
    assert code == 2
    assert message in " ".join(err.split())


def test_a_wrong_host_file_says_it_in_comments_of_python():
    mark = comment_mark("no_wait_host.py")
    assert read_expectation(["# expect: race", "# It does not wait."], mark).words == {"sim": "race", "gpu": "race"}
    with pytest.raises(BadEdit, match="# expect: WORD"):
        read_expectation(["// expect: race", "// It does not wait."], mark)


def test_one_word_holds_for_both_backends():
    found = read_expectation(["// expect: wrong", "// It adds nothing.", "code"])
    assert found.words == {"sim": "wrong", "gpu": "wrong"}
    assert found.reason == "It adds nothing."


def test_a_backend_that_is_not_named_is_not_checked():
    assert read_expectation(["// expect: sim=race", "// No barrier."]).words == {"sim": "race"}


def test_each_backend_may_have_its_own_word():
    found = read_expectation(["// expect: sim=technique gpu=slow", "// Strided."])
    assert found.words == {"sim": "technique", "gpu": "slow"}


@pytest.mark.parametrize(
    "first",
    ["", "// wrong", "//expect: wrong", "// expect:", "// expect: bad", "// expect: sim=bad", "// expect: cpu=wrong",
     "// expect: wrong race", "// expect: sim=race sim=wrong", "// expect: sim=race,gpu=wrong"],
)  # fmt: skip
def test_a_first_line_that_states_no_verdict_is_refused(first):
    with pytest.raises(BadEdit):
        read_expectation([first, "// Why."])


@pytest.mark.parametrize("second", ["", "//", "__global__ void f()"])
def test_the_second_line_says_why(second):
    with pytest.raises(BadEdit, match="second line"):
        read_expectation(["// expect: wrong", second])
