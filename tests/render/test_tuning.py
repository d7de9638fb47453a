"""What `grade tune` shows: the table, the sentences below it, and the document."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from grader.compile import Program
from grader.render.json import dumps
from grader.render.tuning import Tuned, after_lines, before_lines, document, to_markdown, to_table
from grader.simt.occupancy import occupancy
from grader.timing.samples import Summary
from grader.tune.build import DOES_NOT_FIT, Needs, TunedVariant
from grader.tune.settings import parse_settings, places_of
from grader.tune.sweep import NOT_MEASURED, RIGHT, Sweep

FILE = "#define BM 64\n#define BN 8 // columns\n"
SETTINGS = parse_settings(["BM=64,128", "BN=8,16"])


def result(
    bm: int, bn: int, median: float = 0.0, word: str = RIGHT, reason: str = "", spill: int = 0, final: bool = True
):
    """One row; ``median`` in ms, its interval 1 % to each side."""
    resident = occupancy("sm_90", threads=256, registers=64, shared_bytes=bm * bn * 4)
    needs = Needs("k", 256, 64, spill, bm * bn * 4, resident)
    runs = word in (RIGHT, NOT_MEASURED, "")
    program = Program("k.cu", FILE, "", "sm_90", (), "key") if runs else None
    summary = Summary(median / 1e3, (0.99e-3 * median, 1.01e-3 * median), 30) if median else None
    now, final = (bm, bn) == (64, 8), final and summary is not None
    return TunedVariant((("BM", bm), ("BN", bn)), now, needs, word, reason, program, summary, final)


def tuned(*results: TunedVariant, measured: bool = True, **fields) -> Tuned:
    places = places_of(FILE, "k.cu", SETTINGS)
    sweep = Sweep(results)
    made = Tuned(
        "sgemm_v5", "k.cu", FILE, places, SETTINGS, "NVIDIA H200", "sm_90", measured, {"m": 4096}, 1e9, 1e13, sweep
    )
    return replace(made, **fields)


def shown(made: Tuned) -> str:
    file = StringIO()
    Console(width=140, file=file, markup=False).print(to_table(made))
    return file.getvalue()


def words(made: Tuned) -> str:
    return "\n".join([*before_lines(made), *after_lines(made)])


def test_the_fastest_is_on_top_and_has_its_fraction_of_the_peak():
    rows = shown(tuned(result(64, 8, 2.0), result(64, 16, 1.0), result(128, 8, 4.0))).splitlines()
    cells = [line.split() for line in rows if line.strip() and line.split()[0].isdigit()]
    assert [(row[0], row[1]) for row in cells] == [("64", "16"), ("64", "8"), ("128", "8")]
    assert "now" in cells[1]
    assert "1 ms" in rows[3]
    assert "10.0 %" in rows[3]


def test_the_best_is_named_with_what_to_write_and_how_much_it_gains():
    text = words(tuned(result(64, 8, 2.0), result(128, 16, 1.0)))
    assert "The fastest is BM=128 BN=16: 1 ms, 10.0 % of peak, 2.00 times as fast as now." in text
    assert "  1  #define BM 128\n  2  #define BN 16 // columns" in text
    assert "As fast" not in text


def test_ties_are_told_and_a_file_that_ties_stays():
    made = tuned(result(64, 8, 1.005), result(128, 16, 1.0), result(128, 8, 3.0))
    text = words(made)
    assert "Not measurably slower (the 95 % intervals overlap): BM=64 BN=8." in text
    assert "nothing to change" in text
    assert made.new_lines == ()


def test_the_same_reason_is_told_once_with_all_its_combinations():
    why = 'k.cu, line 4: static assertion failed with "BM % BN"'
    rows = [result(128, bn, word="compile_error", reason=why) for bn in (8, 16)]
    text = words(tuned(result(64, 8, 1.0), *rows, result(64, 16, word=DOES_NOT_FIT, reason="k needs too much")))
    assert text.count(why) == 1
    assert f"BM=128 BN=8, BM=128 BN=16: {why}" in text
    assert "BM=64 BN=16: k needs too much" in text
    assert "does not work as it is now" not in text


def test_a_file_that_does_not_work_itself_is_told():
    text = words(tuned(result(64, 8, word="wrong", reason="at n = 1"), result(128, 8, 1.0)))
    assert "The file does not work in its current state: `grade sgemm_v5` explains why." in text


def test_spilled_bytes_have_a_column_only_where_something_spills():
    assert "spilled" not in shown(tuned(result(64, 8, 1.0)))
    assert "16 B" in shown(tuned(result(64, 8, 1.0), result(64, 16, 1.0, spill=16)))


def test_without_a_gpu_there_are_no_times_and_no_best():
    sweep = Sweep((result(64, 8, word=""), result(128, 8, word=DOES_NOT_FIT, reason="why")))
    made = tuned(measured=False, sweep=sweep)
    assert "median" not in shown(made)
    assert "can run" in shown(made)
    assert "does not fit" in shown(made)
    assert "fastest" not in words(made)
    assert document(made)["best"] is None


def test_an_interrupted_run_says_so():
    made = tuned(sweep=Sweep((result(64, 8, 1.0), result(64, 16, word=NOT_MEASURED)), interrupted=True))
    assert "Interrupted" in words(made)
    assert "not measured" in shown(made)


def test_a_run_in_which_nothing_is_right_says_so():
    assert "No combination gave a time." in words(tuned(result(64, 8, word="wrong", reason="at n = 1")))


@pytest.mark.parametrize("hostile", ["a\x1b[2Jb", "| x |", "[bold]x[/bold]"])
def test_what_a_file_says_cannot_break_out(hostile: str):
    made = tuned(result(64, 8, 1.0), result(128, 8, word="compile_error", reason=hostile))
    assert "\x1b" not in words(made) + shown(made) + to_markdown(made)


def test_the_page_has_a_row_for_each_combination():
    page = to_markdown(tuned(result(64, 8, 2.0), result(64, 16, 1.0)))
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 2
    assert len({line.count("|") for line in rows}) == 1


def test_the_document_has_every_combination_with_all_that_is_known():
    made = tuned(result(64, 8, 2.0), result(64, 16, 1.0), result(128, 8, word="invalid", reason="why"))
    read = json.loads(dumps(document(made)))
    assert (read["schema"], read["now"], read["best"]) == (
        "warpgrade/tuned/1",
        {"BM": 64, "BN": 8},
        {"BM": 64, "BN": 16},
    )
    assert read["lines"] == [{"line": 2, "text": "#define BN 16 // columns"}]
    assert [row["verdict"] for row in read["rows"]] == ["right", "right", "invalid"]
    first, last = read["rows"][0], read["rows"][-1]
    assert (first["median_s"], first["samples"], first["fraction_of_peak"]) == (1e-3, 30, 0.1)
    assert (first["blocks"], first["occupancy"]) == (4, 0.5)
    assert (last["median_s"], last["reason"], last["final"]) == (None, "why", False)
