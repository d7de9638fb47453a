"""Answers in comments: how they are read, and what each report says."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.api import grade
from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.dev.wrong import wrong_answer
from grader.exercise import BugLine
from grader.grading.answers import MOST_SHOWN, bug_lines, faults, found_note, judged, written

STUB = "\n".join(["// bug: ?   YOUR CODE", "void k() {", "  store();", "  load();", "  store();", "}"])
BUG = BugLine(lines=("load()", ("void k", "load()")))


def cause_of(text: str) -> str:
    (one,) = judged((BUG,), text, STUB, "k.cu")
    return one.finding.cause if one.finding is not None else "right"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("// bug: 4", "right"),
        ("//BUG:3", "right"),
        ("x = 1;  // bug: line 2", "right"),
        ("// bug: 4: a barrier is missing", "right"),
        ("// bug: 4 (no barrier)", "right"),
        ("// bug: 4\n// bug: 4", "right"),
        ("", "missing"),
        ("// bug:", "missing"),
        (STUB, "missing"),
        ("// a bug: 4", "missing"),
        ("// bug: 5", "elsewhere"),
        ("// bug: 0", "outside"),
        ("// bug: 7", "outside"),
        ("// bug: 3, 4", "unreadable"),
        ("// bug: 3-4", "unreadable"),
        ("// bug: 3 and 4", "unreadable"),
        ("// bug: four", "unreadable"),
        ("// bug: -4", "unreadable"),
        ("// bug: " + "9" * 5000, "unreadable"),
        ("// bug: 3\n// bug: 4", "several"),
    ],
)
def test_an_answer_is_right_or_has_a_cause(text: str, cause: str) -> None:
    assert cause_of(text) == cause


def test_a_placeholder_beside_an_answer_does_not_count() -> None:
    assert cause_of(f"{STUB}\n// bug: 4") == "right"


def test_the_record_has_the_answer_and_its_place() -> None:
    (one,) = judged((BUG,), "\n// bug: 5", STUB, "k.cu")
    assert one.result is not None
    assert (one.result.key, one.result.given, one.result.line, one.result.right) == ("bug", "5", 2, False)
    (long,) = written(f"// bug: {'x' * 1000}")
    (one,) = judged((BUG,), f"// bug: {long.text}", STUB, "k.cu")
    assert one.result is not None
    assert len(one.result.given) == MOST_SHOWN


def test_a_note_is_made_for_a_right_line_only() -> None:
    assert found_note(judged((BUG,), "// bug: 4", STUB, "k.cu"), "k.cu") is not None
    assert found_note(judged((BUG,), "// bug: 5", STUB, "k.cu"), "k.cu") is None
    assert found_note(judged((BUG,), "", STUB, "k.cu"), "k.cu") is None


def test_a_hostile_file_is_read_in_one_pass() -> None:
    for text in ("//" * 500_000, "// " * 300_000, "// bug" * 200_000, "// bug:" + " " * 1_000_000):
        assert cause_of(text) in ("missing", "unreadable")


def test_lines_are_those_of_the_stub() -> None:
    assert bug_lines(BUG, STUB) == {2, 3, 4}
    assert not list(faults((BUG,), STUB))


def test_an_author_is_told_what_is_wrong_with_the_places() -> None:
    (twice,) = faults((BugLine(lines=("store()",)),), STUB)
    assert twice == "'store()' of answers is in 2 lines of the stub; it must be in one"
    nowhere, none = faults((BugLine(lines=("wait()",)),), STUB)
    assert "is in 0 lines" in nowhere
    assert none == "answers name no line of the stub"
    (unmarked,) = faults((BUG,), STUB.replace("?", "4"))
    assert unmarked == "no line `// bug: ?` says where the answer is written"


def _graded(name: str, tmp_path: Path) -> tuple[str, list[str], int]:
    entry = load_catalog().find("debug_me_1")
    (path,) = wrong_answer(entry, name).put(tmp_path)
    verdict = grade("debug_me_1", path, backend="sim", seed=1)
    return verdict.verdict, [found.kind for found in verdict.diagnostics], verdict.score


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_right_line_and_a_right_kernel_get_their_own_answers(tmp_path: Path) -> None:
    assert _graded("right_line_wrong_place", tmp_path) == ("race", ["race", "bug_found"], 0)
    assert _graded("no_line", tmp_path) == ("technique", ["answer"], 60)
    assert _graded("reported_block_barrier", tmp_path) == ("technique", ["answer"], 60)
