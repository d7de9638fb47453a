"""Measured figures stand in docs/results/*.json alone: the course's pages take them from there, none is by hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import measured
import pytest
from markdown_check import pages

from grader.bench.report import report_from_json, to_json
from grader.timing.pass_lines import REFERENCE, lines_on

ROOT = Path(__file__).resolve().parents[2]
COURSE = [page for page in pages() if (ROOT / "exercises") in page.parents]
_MADE = re.compile(r"<!-- (?:measured|generated): .*?<!-- end -->|```.*?```", re.DOTALL)
_PARTS = re.compile(r"<!-- (?:measured|generated): [^<]*<!-- end -->")
_FRACTION = re.compile(
    r"0\.\d{2,}\b[^.|]{0,40}?\bof (?:the |its |their |an H200's |that |published |fp32 |fp16 |nominal )*"
    r"(?:peak|ceiling|bandwidth|link)"
    r"|(?:reach\w*|stops at|measured|up to) 0\.\d{2,}\b"
)
_TIME = re.compile(r"\bH200s?\b[^.|]*?\b(?:took|takes?|in|reach\w*) \d[\d.]* (?:µs|ms)\b")

_HOW = r"\*?(?:slower|faster|longer|shorter|quicker|less|more)\b"
_RELATIVE = re.compile(
    r"(?:(?<=[a-z]{2} )(?<!\b[mn]s )|(?<=[|:,(] ))[×x] ?\d+\.\d+\b(?! [GTMK]?(?:B|Hz)\b)"  # not a product
    rf"|\b\d+(?:\.\d+)? ?% {_HOW}|\b{_HOW} by \d+(?:\.\d+)? ?%"
    r"|\b\d+\.\d+ times (?:as )?(?:fast|slow|quick|long|faster|slower|longer)\b"
    r"|\b\d+(?:\.\d+)? ?% of (?:the|its|that|their) (?:time|rate|speed)\b"
    r"|\b(?:cost|gain|took|take|save|lose|win)\w* (?:about |only |another )?\d+(?:\.\d+)? ?%"
)


def by_hand(text: str) -> Iterator[str]:
    """The measured figures that a page states outside of what is generated; a pass line is none."""
    plain = "\n".join(line for line in _MADE.sub("", text).splitlines() if not line.startswith("| fast |"))
    joined = " ".join(plain.split())
    yield from (match[0] for pattern in (_FRACTION, _TIME, _RELATIVE) for match in pattern.finditer(joined))
    yield from (line for line in plain.splitlines() if re.match(r"\|.*\bof (?:the )?peak", line))


@pytest.mark.parametrize("page", COURSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_states_no_measured_figure_by_hand(page: Path) -> None:
    assert list(by_hand(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    ["On an H200 it reaches 0.944 of the peak bandwidth.", "a float a thread stops at 0.72 of peak", "0.564 of peak",
     "The kernel reached 0.185 of the\npeak bandwidth", "On an H200 the solution takes 288 µs.",
     "| kernel | of peak bandwidth |\n|---|---|\n| a copy | 0.56 |", "in a trial on an H200 it was 2 % slower",
     "the published × 3.4", "| x 1.4 |", "it took 7 % longer", "it takes 1.4 times as long", "faster by 3 %",
     "and cost 7 %", "at 86 % of the speed of one wave"],
)  # fmt: skip
def test_a_figure_by_hand_is_found(text: str) -> None:
    assert list(by_hand(text))


@pytest.mark.parametrize(
    "text",
    ["<!-- measured: a -->\nMeasured on an H200: `a` takes 3 ms at n = 1: 3 GB/s, 0.900 of peak.\n<!-- end -->",
     "| fast | on a GPU: 0.309 of peak bandwidth on an H200 |", "sector efficiency of at least 0.99",
     "0.67 ms at the 4.8 TB/s of an H200", "an array of n × 1.5 elements", "2.4 TB/s × 0.8 µs", "per clock × 1.98 GHz",
     "25 % of the warps",
     "on a GPU, 2^28 elements in at most 1.05 times the time of the solution", "the pass line lies 5 % below it"],
)  # fmt: skip
def test_what_is_generated_computed_or_relative_is_not(text: str) -> None:
    assert list(by_hand(text)) == []


@pytest.mark.parametrize("page", COURSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_is_generated_has_both_of_its_markers(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert (
        len(re.findall(r"<!-- (?:measured|generated): ", text))
        == text.count("<!-- end -->")
        == len(_PARTS.findall(text))
    )


def test_an_exercise_stands_in_one_document_alone() -> None:
    found = Counter(name for report in measured.reports().values() for name in {row.exercise for row in report.rows})
    assert [name for name, count in found.items() if count > 1] == []


def test_a_word_is_a_row_and_a_single_one_a_sentence() -> None:
    rows = measured.measured("reduce_v10 reduction:sum ceiling reduce_v10/2").splitlines()
    assert [row.split("|")[1].split(",")[0].strip() for row in rows[2:]] == [
        "`reduce_v10`", "CUB", "the ceiling `read_f32x4`", "`reduce_v10`",
    ]  # fmt: skip
    found = measured.rows()["reduce_v3"][1][0].measured
    assert f"{found.fraction_of_peak:.3f} of peak." in measured.measured("reduce_v3")
    with pytest.raises(SystemExit, match="has no_such_step"):
        measured.measured("no_such_step")


def test_an_exercise_that_no_document_has_yet_is_to_be_measured_with_its_libraries(monkeypatch) -> None:
    timed = {name: row for name, row in measured.rows().items() if name != "reduce_v8"}
    monkeypatch.setattr(measured, "rows", lambda: timed)
    table = measured.measured("reduce_v3 reduce_v8 pytorch:sum_compiled ceiling")
    assert "| `reduce_v8` | to be measured |" in table
    assert "| PyTorch, `torch.compile` | to be measured |" in table
    assert "| the ceiling `read_f32x4` | to be measured |" in table
    with pytest.raises(SystemExit, match="hello_index is not timed"):
        measured.measured("hello_index")


def test_what_has_to_be_measured_again_says_so() -> None:
    (row,) = measured.rows()["softmax_v1"][1]
    assert row.measured is not None or measured.measured("softmax_v1").startswith("`softmax_v1` is to be measured on ")


def test_a_page_of_results_has_the_pass_lines_of_today() -> None:
    report, _ = measured.rows()["reduce_v8"]
    (row,) = (row for row in measured._with_lines(report).rows if row.exercise == "reduce_v8")
    assert row.measured is not None
    assert row.measured.line_fraction == lines_on(REFERENCE)["reduce_v8"].fraction


def test_a_document_is_read_as_it_was_written() -> None:
    for path, report in measured.reports().items():
        assert report_from_json(to_json(report)) == report, path


def test_the_ladders_have_the_same_lines_and_fractions() -> None:
    lines = lines_on(REFERENCE)
    page = (ROOT / "docs" / "results" / "h200-ladders.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert {name: (float(solution), float(line)) for name, solution, line in told} == {
        name: (lines[name].solution, float(f"{lines[name].fraction:.3g}")) for name, *_ in told
    }
    for page in sorted((ROOT / "exercises").glob("*/*.md")):
        _, is_ladder, rest = page.read_text(encoding="utf-8").partition("<!-- generated: table -->")
        if not is_ladder:
            continue
        table = rest.partition("<!-- end -->")[0]
        steps = re.findall(r"^\| `(\w+)` \| [\d.]+ (?:ms|µs) \|(?: [\d.]+ \|)? (0\.\d{3}) \|", table, re.MULTILINE)
        assert steps
        for name, fraction in steps:
            found = measured.rows()[name][1][0].measured
            assert found is not None
            assert fraction == f"{found.fraction_of_peak:.3f}", name
