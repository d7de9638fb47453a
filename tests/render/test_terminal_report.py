"""The report on the terminal: what a person reads, at any width, with any terminal."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest
from verdict_samples import HOSTILE, PASSED, RACY, SOURCE, plainly

from grader.render.terminal import to_terminal
from grader.verdict import VERDICTS, CaseResult, Diagnostic, Prediction

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def report(verdict, source=SOURCE, **how):
    return to_terminal(verdict, source, **({"color": False} | how))


def test_first_line_is_the_verdict_with_exercise_and_points():
    first = report(RACY).splitlines()[0]
    assert first.startswith("✘ RACE  reduce_v3")
    assert first.endswith("0 of 80 points · on the simulator")


def test_second_line_shows_each_stage_with_its_symbol():
    second = report(RACY).splitlines()[1]
    assert second.split("   ") == ["  ✔ compiles", "✘ runs", "✔ correct", "– technique", "○ not graded: fast"]


def test_unexpected_file_is_named_above_the_finding():
    third = report(RACY, graded="there/a.cu (there is no ./a.cu here)").splitlines()[2]
    assert third == "  graded:   there/a.cu (there is no ./a.cu here)"


@pytest.mark.parametrize(
    ("prediction", "words"),
    [
        (Prediction("sectors", "", 4, 4, right=True), "sectors = 4, counted 4: right"),
        (Prediction("sectors", "n", 0.125, 0.1251, right=True), "sectors per n = 0.125, counted 0.1251: right"),
        (Prediction("sectors", "", 8, 4), "sectors = 8, counted 4: your prediction is 2 times the count"),
        (Prediction("sectors", "", 1, 32), "sectors = 1, counted 32: the count is 32 times your prediction"),
        (Prediction("sectors", "", 9, 8), "sectors = 9, counted 8: your prediction is 12.5 % too high"),
        (Prediction("sectors", "", 6, 8), "sectors = 6, counted 8: your prediction is 25 % too low"),
        (Prediction("sectors", "", 2**24, 2**24 / 32 * 33), "sectors = 16777216, counted 17301504: close: 3 % too low"),
        (Prediction("sectors", "", 4.1, 4), "sectors = 4.1, counted 4: close: 2.5 % too high"),
        (
            Prediction("sectors", "", 2**20 + 1, 2**20),
            "sectors = 1048577, counted 1048576: close: less than 0.01 % too high",
        ),
        (Prediction("sectors", "", 8703180.8, 8704000, right=True), "sectors = 8703181, counted 8704000: right"),
        (Prediction("shuffles", "", 3, 0), "shuffles = 3, counted 0: your prediction is too high, the count is 0"),
        (Prediction("shuffles", "", 0, 3), "shuffles = 0, counted 3: your prediction is too low, the count is not 0"),
        (Prediction("shuffles", "", -1, 3), "shuffles = -1, counted 3: a count is never negative"),
        (Prediction("sectors", "", 8, why_not="it ran elsewhere"), "sectors = 8, not counted: it ran elsewhere"),
    ],
)
def test_a_prediction_stands_beside_the_count(prediction, words):
    text = report(replace(PASSED, predictions=(prediction,)), width=120)
    assert f"  predicted  {words}\n" in text
    assert report(RACY) == report(replace(RACY, predictions=()))
    assert "predicted" in report(replace(RACY, predictions=(prediction,)))


def test_one_is_counted_in_the_singular():
    assert re.search(r"right +1 case, ", report(replace(PASSED, cases=PASSED.cases[:1])))
    failed = replace(PASSED.cases[0], status="failed")
    assert "; 1 other passed" in report(replace(RACY, cases=(PASSED.cases[0], failed)))
    assert "; 2 others passed" in report(replace(RACY, cases=(PASSED.cases[0], PASSED.cases[0], failed)))


def test_the_largest_case_is_found_where_a_size_is_a_flag_that_is_not_set():
    sizes = ({"n_q": 1, "n_k": 70, "causal": 1}, {"n_q": 128, "n_k": 128, "causal": 0})
    verdict = replace(PASSED, cases=tuple(CaseResult(size, "passed") for size in sizes))
    assert "2 cases, the largest with n_q=128, n_k=128, causal=0" in report(verdict, width=120)


def test_the_largest_case_says_what_ran_of_it():
    large = CaseResult({"rows": 300_001}, "passed", "three of its blocks")
    verdict = replace(PASSED, cases=(CaseResult({"rows": 40}, "passed"), large))
    assert "the largest with rows=300001 (three of its blocks)" in report(verdict, width=120)


def test_sizes_that_are_right_stand_beside_the_one_that_fails():
    at = {n: replace(PASSED.cases[0], size={"n": n}) for n in (1, 31, 257)}
    cases = (at[1], at[1], at[31], replace(at[257], status="failed"))
    assert re.search(r"n=257, .*; 3 others passed\s+\(right\s+at\s+n=1,\s+31\)", report(replace(RACY, cases=cases)))
    half = (at[1], at[257], replace(at[257], status="failed"))  # exact values were right there
    assert re.search(r"\(right\s+at\s+n=1\)", report(replace(RACY, cases=half)))


def test_cases_that_are_right_are_named_by_what_differs():
    right = replace(PASSED.cases[0], size={"n_q": 5, "n_k": 70, "causal": 0})
    far = replace(right, size={"n_q": 1, "n_k": 1, "causal": 0})
    failed = replace(right, size={"n_q": 5, "n_k": 70, "causal": 1}, status="failed")
    assert "2 others passed (right with causal=0)" in flat(report(replace(RACY, cases=(far, right, failed))))
    unusual = replace(failed, status="passed", values="unusual")
    assert "(right with unusual values)" in flat(report(replace(RACY, cases=(far, unusual, failed))))
    other = replace(unusual, size={"n_q": 5, "n_k": 70, "causal": 0})
    another = replace(unusual, values="unusual_3", size={"n_q": 5, "n_k": 1, "causal": 1})
    words = "(right with causal=0 and unusual values, or with n_k=1 and unusual values (the third kind))"
    assert words in flat(report(replace(RACY, cases=(far, other, another, failed))))


def flat(text: str) -> str:
    return " ".join(text.split())


def test_place_is_told_once():
    warning = Diagnostic("uninitialised_read", "thread 0 reads x[1] at k.cu:5", severity="warning", file="k.cu", line=5)
    text = report(replace(RACY, diagnostics=(*RACY.diagnostics, warning)))
    assert "k.cu:5" in text
    assert "(line 5)" not in text


def test_race_shows_both_lines_of_code_and_marks_which_wrote_and_which_read():
    lines = report(RACY).splitlines()
    assert any(line.startswith("  ▶  6 │     partial[tid] = tid < m") and line.endswith("write") for line in lines)
    assert any(line.startswith("  ▶ 10 │             partial[tid] +=") and line.endswith("read") for line in lines)


def test_caret_stands_below_the_column_of_the_finding():
    lines = report(RACY).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  ▶ 10"))
    assert lines[at + 1].index("^") == lines[at].index("partial[tid + s]")


def test_race_shows_both_accesses_with_thread_and_block():
    text = report(RACY)
    assert re.search(r"write +thread 49, block 0, line 6", text)
    assert re.search(r"read +thread 17, block 2, line 10", text)
    assert re.search(r"memory +shared partial\[49\], byte 196 of it", text)


def test_warning_beside_the_error_is_shown_with_its_line_where_its_sentence_does_not_name_it():
    error, warning = RACY.diagnostics
    assert f"{warning.message}\n" in report(RACY)
    refused = replace(warning, kind="refused")
    assert f"{warning.message} (line 12)" in report(replace(RACY, diagnostics=(error, refused)))


def test_headings_of_counters_are_whole_in_eighty_columns():
    launch = replace(PASSED.launches[0], kernel="a_kernel_with_a_long_name", grid=(1024, 1, 1))
    text = report(replace(PASSED, launches=(launch,)), width=72)
    assert "…" not in text.partition("launch")[2].splitlines()[0]


def test_failing_case_is_named_with_size_and_values():
    assert "n=33, exact values, on the simulator" in report(RACY)


def test_next_step_is_the_last_thing_said():
    assert re.fullmatch(r" *next: +Put a barrier between the two accesses\.", report(RACY).splitlines()[-1])


def test_pass_shows_counters_time_rate_and_the_bar_with_its_line():
    text = report(PASSED)
    assert "✔ PASS  vector_add" in text
    assert "vector_add<<<4096, 256>>>" in text
    assert "3.41 TB/s, 71.0 % of the peak 4.8 TB/s" in text
    bar = next(line for line in text.splitlines() if "█" in line)
    assert bar.count("█") == 28
    assert bar.index("┃") - bar.index("█") == 28  # 0.70 of 40 characters


def test_launches_that_look_the_same_are_one_row_with_their_number():
    other = replace(PASSED.launches[0], grid=(1, 1, 1))
    text = report(replace(PASSED, launches=(*PASSED.launches * 100, other, other, *PASSED.launches)))
    shown = [line.split("  ")[1] for line in text.splitlines() if "<<<" in line]
    assert shown == ["101 × vector_add<<<4096, 256>>>", "2 × vector_add<<<1, 256>>>"]


def test_a_launch_is_shown_with_the_axes_that_it_uses():
    along_z = replace(PASSED.launches[0], grid=(1, 1, 64), block=(1, 256, 1))
    assert "vector_add<<<1×1×64, 1×256>>>" in report(replace(PASSED, launches=(along_z,)))


def test_failure_shows_no_counters_unless_they_are_the_point():
    launches = PASSED.launches
    assert "<<<" not in report(replace(RACY, launches=launches))
    assert "<<<" in report(replace(plainly(PASSED, "technique"), launches=launches))


@pytest.mark.parametrize("word", VERDICTS)
def test_every_word_has_a_report_that_names_the_finding_and_the_next_step(word):
    text = report(plainly(RACY, word))
    assert word.replace("_", " ").upper() in text.splitlines()[0]
    assert "Do this." in text
    assert word == "pass" or f"this is about {word}" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("verdict", [RACY, PASSED, HOSTILE], ids=["racy", "passed", "hostile"])
def test_no_line_is_wider_than_the_terminal(verdict, width):
    long = replace(verdict, file="a/very/long/" + "folder/" * 20 + "reduce_v3.cu")
    assert max(map(len, report(long, width=width).splitlines())) <= width


@pytest.mark.parametrize("verdict", [RACY, PASSED, HOSTILE], ids=["racy", "passed", "hostile"])
def test_without_unicode_the_report_is_ascii(verdict):
    assert report(verdict, unicode=False).isascii()


@pytest.mark.parametrize("verdict", [RACY, PASSED, HOSTILE], ids=["racy", "passed", "hostile"])
def test_without_colour_there_is_no_escape_sequence(verdict):
    assert "\x1b" not in report(verdict)


def test_with_colour_only_the_colours_are_escape_sequences():
    text = report(HOSTILE, color=True)
    assert COLOUR.search(text)
    assert "\x1b" not in COLOUR.sub("", text)


def test_nothing_that_a_student_wrote_reaches_the_terminal_unseen():
    text = report(HOSTILE)
    hidden = {character for character in text if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden == {"\n"}
    assert "[bold]markup[/bold] :boom:" in text
    assert "[red]not markup[/red]" in text
    assert "\\x1b[31m" in text
    assert "\\u{202e}gnihton" in text


def test_printed_output_stands_in_its_own_section_and_is_cut():
    text = report(replace(RACY, printed="".join(f"line {n}\n" for n in range(50))))
    assert "printed by the kernel" in text
    assert "│ line 11\n" in text
    assert "line 12\n" not in text
    assert "38 more lines" in text


def test_printed_output_names_its_case():
    text = report(replace(RACY, printed="x\n", printed_case=RACY.cases[1]))
    assert "printed by the kernel at n=33, exact values, on the simulator" in text


def test_what_a_host_exercise_printed_is_the_host_files_and_of_two_runs():
    beside = {"streams_host.py": "def run(): print(1)\n"}
    printed = replace(RACY, printed="1\n1\n", printed_case=RACY.cases[1])
    text = to_terminal(printed, "// complete\n", beside=beside, color=False)
    assert "printed by streams_host.py at n=33, exact values, on the simulator" in text
    assert "(run() is called twice in a case, first on other inputs)" in text
    talking = to_terminal(printed, 'printf("%d", i);', beside=beside, color=False)
    assert "printed by streams_host.py and its kernels at n=33" in talking
    assert "called twice" not in report(printed)


def test_case_shown_is_the_findings_own():
    case = replace(RACY.cases[1], size={"n": 77}, backend="gpu")
    assert "n=77, exact values, on the GPU" in report(replace(RACY, cases=(*RACY.cases, case), failing=case))


def test_lines_of_code_in_the_next_step_are_never_wrapped():
    line = "// launch " + "x" * 200
    text = report(replace(RACY, next_step=f"Copy these:\n{line}\n// zero out"), width=60)
    assert text.endswith(f"Copy these:\n\n{line}\n// zero out\n")


def test_finding_without_the_files_text_shows_the_line_that_it_carries():
    found = Diagnostic("compile_error", "expected a ;", file="a.cu", line=3, column=5, source="int x")
    lines = report(replace(RACY, diagnostics=(found,)), source="").splitlines()
    at = next(number for number, line in enumerate(lines) if "▶ 3 │ int x" in line)
    assert lines[at + 1].index("^") == lines[at].index("x")


def test_finding_in_another_file_shows_no_line_of_the_students_own():
    found = Diagnostic("compile_error", "in a header", file="cuda_fp16.h", line=3)
    assert "▶" not in report(replace(RACY, diagnostics=(found,)))


def test_line_beyond_the_file_is_no_error():
    found = Diagnostic("race", "somewhere", file="reduce_v3.cu", line=10_000)
    assert "somewhere" in report(replace(RACY, diagnostics=(found,)))


def test_long_line_of_code_is_cut_and_not_wrapped():
    found = Diagnostic("race", "here", file="reduce_v3.cu", line=1, column=300)
    text = report(replace(RACY, diagnostics=(found,)), source="x" * 500, width=80)
    assert max(map(len, text.splitlines())) <= 80
