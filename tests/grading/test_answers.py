"""Answers in comments: how they are read, and what each report says."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.api import grade
from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.counters import KERNEL_COUNTERS
from grader.dev.wrong import wrong_answer
from grader.exercise import Answer, Bound, BugLine, Forecast
from grader.findings.sentences import sentence
from grader.grading.answers import (
    LIMITS,
    MOST_SHOWN,
    Counted,
    Judged,
    Texts,
    bug_lines,
    changed_lines,
    faults,
    found_note,
    judged,
)
from grader.render.evidence import answer_rows
from grader.verdict import LaunchRecord, Verdict

STUB = "\n".join(["// bug: ?   YOUR CODE", "void k() {", "  store();", "  load();", "  store();", "}"])
BUG = BugLine(lines=("load()", ("void k", "load()")))


NOTHING = Counted()


def of(text: str, answer: Answer = BUG, stub: str = STUB, counted: Counted = NOTHING) -> tuple[Judged, ...]:
    return judged((answer,), Texts(text, stub, "k.cu"), counted)


def cause_of(text: str) -> str:
    (one,) = of(text)
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


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("  load();", "  load(lane);  // mended", [4]),
        ("  load();", "", [4]),
        ("  load();", "  // of all lanes\n\n  load();\n  wait();", [4, 5]),
        ("  load();", "  wait();\n  load();", [3, 4]),
        ("  load();", "  wait();\n  load(lane);", []),
        ("  load();", "  wait();\n  load();\n  wait();", []),
        ("store", "save", []),
        ("  load();", "#define store save\n  load();", []),
        ("  load();", "  load();  // no other code", []),
    ],
)
def test_a_mend_of_one_line_is_in_that_line_if_the_kernel_passes(old: str, new: str, lines: list[int]) -> None:
    text = STUB.replace(old, new)
    assert [*changed_lines(text, STUB)] == lines
    elsewhere = BugLine(lines=("void k",))
    for named in (3, 4, 5):
        for passes in (False, True):
            given = Texts(text.replace("?", f"{named};"), STUB, "k.cu", passes)
            (one,) = judged((elsewhere,), given, NOTHING)
            assert one.right is (passes and named in lines)


@pytest.mark.parametrize("above", ["// launch k(): grid=1 block=64", "constexpr int BLOCK = 64;"])
def test_what_stands_outside_of_the_kernel_is_not_its_bug(above: str) -> None:
    stub = f"{above}\n{STUB}"
    assert [*changed_lines(stub.replace("64", "128"), stub)] == []
    assert [*changed_lines(stub.replace("64", "128").replace("load()", "load(1)"), stub)] == []
    assert [*changed_lines(stub.replace("load()", "load(1)"), stub)] == [5]


@pytest.mark.parametrize("inside", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\r"])
def test_a_comment_may_have_any_character(inside: str) -> None:
    assert [*changed_lines(STUB.replace("load()", f"load(1); // a{inside}b"), STUB)] == [4]


def test_a_placeholder_beside_an_answer_does_not_count() -> None:
    assert cause_of(f"{STUB}\n// bug: 4") == "right"


def test_the_record_has_the_answer_and_its_place() -> None:
    (one,) = of("\n// bug: 5")
    assert one.result is not None
    assert (one.result.key, one.result.given, one.result.line, one.result.right) == ("bug", "5", 2, False)
    (one,) = of(f"// bug: {'x' * 1000}")
    assert one.result is not None
    assert len(one.result.given) == MOST_SHOWN


@pytest.mark.parametrize("text", ["5", "5   YOUR CODE: the line of this file, as you got it", "line 5 (the loop)"])
def test_the_record_has_no_more_than_the_number_that_was_read(text: str) -> None:
    (one,) = of(f"// bug: {text}")
    assert one.result is not None
    assert one.result.given == "5"


def test_a_note_is_made_for_a_right_line_only() -> None:
    assert found_note(of("// bug: 4"), "k.cu") is not None
    assert found_note(of("// bug: 5"), "k.cu") is None
    assert found_note(of(""), "k.cu") is None


COUNTERS = {"sectors": 1000.0, "wavefronts": 1000.0, "instructions": 9000.0}
LAUNCH = LaunchRecord("k", (1, 1, 1), (32, 1, 1), 0, COUNTERS)
COUNTED = Counted({"n": 10}, (LAUNCH,), (LAUNCH,))
ASKED = "// bound: ?\n// predict: ?\n#ifdef CHANGED\n#endif\nint x;"


@pytest.mark.parametrize(
    ("text", "answer", "cause"),
    [
        ("// bound: memory", Bound(), "right"),
        ("// Bound: MEMORY: 1000 sectors", Bound(), "right"),
        ("// bound: shared", Bound(), "other_limit"),
        ("// bound: bandwidth", Bound(), "no_limit"),
        ("// bound: ?", Bound(), "missing"),
        ("// bound: memory\n// bound: shared", Bound(), "several"),
        ("// predict: 100", Forecast("sectors", per="n"), "right"),
        ("// predict: sectors = 100.0", Forecast("sectors", per="n"), "right"),
        ("// predict: 99", Forecast("sectors", per="n"), "other_count"),
        ("// predict: 101", Forecast("sectors", per="n"), "other_count"),
        ("// predict: 101.5", Forecast("sectors", per="n", tolerance=0.02), "right"),
        ("// predict: 33.3", Forecast("sectors", per="3*n"), "right"),
        ("// predict: 33.4", Forecast("sectors", per="3*n"), "other_count"),
        ("// predict: 103", Forecast("sectors", per="n", tolerance=0.02), "other_count"),
        ("// predict: 1000", Forecast("sectors", per="n"), "other_count"),
        ("// predict: many", Forecast("sectors"), "no_number"),
        ("// predict: 9**9**9", Forecast("sectors"), "no_number"),
        ("// predict: nan", Forecast("sectors"), "no_number"),
    ],
)
def test_an_answer_about_counters_is_compared_with_runs(text: str, answer: Answer, cause: str) -> None:
    rest = "#ifdef CHANGED\n#endif\n\nint x;"
    (one,) = of(f"{text}\n{rest}", answer, ASKED, COUNTED)
    assert (one.finding.cause if one.finding is not None else "right") == cause


def test_the_record_of_a_right_prediction_has_the_count() -> None:
    texts = "// predict: 101\n#ifdef CHANGED\n#endif\n\nint x;"
    (near,) = of(texts, Forecast("sectors", per="n", tolerance=0.02), ASKED, COUNTED)
    (wrong,) = of(texts, Forecast("sectors", per="n"), ASKED, COUNTED)
    assert near.result is not None
    assert wrong.result is not None
    assert (near.result.counted, wrong.result.counted) == (100, None)
    [(_, shown)] = answer_rows(Verdict("k", "sim", "pass", 1, 1, 1, (), answers=(near.result,)))
    assert shown == "101 (line 1): right, 100 was counted"


@pytest.mark.parametrize(
    ("text", "answer", "given"),
    [
        ("// bug: 31   YOUR CODE: the line of this file", BUG, "31"),
        ("// bug: four lines", BUG, "four lines"),
        ("// bound: memory   YOUR CODE: what limits", Bound(), "memory"),
        ("// predict: sectors = 100   YOUR CODE", Forecast("sectors", per="n"), "100"),
    ],
)
def test_the_record_has_the_number_or_the_word_alone(text: str, answer: Answer, given: str) -> None:
    (one,) = of(f"{text}\n#ifdef CHANGED\n#endif\n\nint x;", answer, ASKED, COUNTED)
    assert one.result is not None
    assert one.result.given == given


def test_a_count_that_is_not_predicted_is_told_with_what_it_is_divided_by() -> None:
    (one,) = of("// predict: 103\n#ifdef CHANGED\n#endif\nint x;", Forecast("sectors", per="n"), ASKED, COUNTED)
    assert one.finding is not None
    assert "the count of sectors per n is not 103" in sentence(one.finding)
    (one,) = of("// predict: 103\n#ifdef CHANGED\n#endif\nint x;", Forecast("sectors"), ASKED, COUNTED)
    assert one.finding is not None
    assert "the count of sectors is not 103" in sentence(one.finding)


def test_an_answer_about_counters_is_about_the_kernel_that_was_handed_out() -> None:
    (one,) = of("// bound: memory\n#ifdef CHANGED\n#endif\nint y;", Bound(), ASKED, COUNTED)
    assert one.finding is not None
    assert one.finding.cause == "other_kernel"


def test_a_comment_does_not_make_another_kernel() -> None:
    (one,) = of("// why\n// bound: memory\n#ifdef CHANGED\n#endif\nint x;  // mine", Bound(), ASKED, COUNTED)
    assert one.finding is None
    stub = f"// launch k(): grid=1 block=64\n{ASKED}"
    other = stub.replace("64", "128").replace("// bound: ?", "// bound: memory")
    (one,) = of(other, Bound(), stub, COUNTED)
    assert one.finding is not None
    assert one.finding.cause == "other_kernel"


def test_every_limit_is_a_counter() -> None:
    assert {counter for counter, _ in LIMITS.values()} <= {*KERNEL_COUNTERS}


def test_an_author_of_a_forecast_is_told_what_is_missing() -> None:
    assert not list(faults((Bound(), Forecast("sectors")), ASKED))
    assert [*faults((Forecast("sectors"),), "// bound: ?")] == [
        "the stub has no `#ifdef CHANGED`, which a forecast is about",
        "no line `// predict: ?` says where the answer is written",
    ]


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


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_right_line_does_not_hide_the_warning_that_leads_to_the_bug(tmp_path: Path) -> None:
    stub = load_catalog().find("debug_me_4").stub
    path = tmp_path / stub.name
    path.write_text(stub.read_text("utf-8").replace("// bug: ?", "// bug: 22;"), "utf-8")
    verdict = grade("debug_me_4", path, backend="sim", seed=1)
    assert {"uninitialised_read", "bug_found"} < {found.kind for found in verdict.diagnostics}
    assert verdict.next_step.startswith("Begin with the warning: line")
