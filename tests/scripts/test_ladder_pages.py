"""The script that writes the ladders' pages: the table, the plot and the matrix, from records made by hand."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import ladders as module
import pytest

from grader.courses import Course, CourseExercise
from grader.dev import ladders as dev
from grader.exercise import Array, Exercise, Expect
from grader.profiles import Line
from grader.verdict import LaunchRecord

REPORT = {
    "gpu": {"name": "NVIDIA H200"},
    "date": "2026-02-03",
    "rows": [
        {"exercise": "sum_v1", "measured": {"median_s": 1.5e-3, "fraction_of_peak": 0.25}},
        {"exercise": "sum_v1", "measured": {"median_s": 9.0, "fraction_of_peak": 0.99}},
        {"exercise": "sum_v2", "measured": {"median_s": 4e-4, "fraction_of_peak": 0.9}},
        {"exercise": "sum_v3", "measured": None},
    ],
}
PAGE = """# The ladder

<!-- generated: table -->
old
<!-- end -->

A story with \\1 in it.

<!-- generated: plot -->
<!-- end -->
"""


def step(name: str, order: int, *technique: Expect) -> CourseExercise:
    exercise = Exercise(
        name=name, order=order, idea="a step", oracle="a:b", small=({"n": 1},), simulated={"n": 2000},
        timed={"n": 4096}, ladder="sum", technique=technique,
        arrays=(Array("x", "float32", "n"), Array("out", "float32", "1", role="out")),
    )  # fmt: skip
    return CourseExercise(exercise, Path(name), "", Course(Path("e"), Path("s"), Path("k")))


V1, V2, V3 = step("sum_v1", 401), step("sum_v2", 402, Expect("excess_wavefronts", at_most=0)), step("sum_v3", 403)
V3 = replace(V3, inherited=V2.exercise.technique)


def counted(excess: float) -> tuple[LaunchRecord, ...]:
    return (LaunchRecord("k", (8, 1, 1), (256, 1, 1), 0, {"instructions": 4000.0, "excess_wavefronts": excess}),)


LAUNCHES = {"sum_v1": counted(62.0), "sum_v2": counted(0.0), "sum_v3": counted(0.0)}


@pytest.fixture
def steps() -> list[module.Step]:
    return [found for one in (V1, V2, V3) if (found := module.measured_step(one, REPORT, LAUNCHES)) is not None]


@pytest.fixture
def no_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "plot", lambda steps, path: path.write_text("<svg/>"))


# ---------------------------------------------------------------------------------------------------------------- pages


def test_a_step_is_the_first_row_of_its_name_and_only_where_it_was_measured_and_counted(steps):
    assert [(step.one.name, step.median_s) for step in steps] == [("sum_v1", 1.5e-3), ("sum_v2", 4e-4)]
    assert module.measured_step(V1, REPORT, {}) is None


def test_the_table_has_time_fraction_and_only_the_counters_that_differ(steps):
    head, empty, columns, _, first, second = module.table(steps, REPORT).splitlines()
    assert head.startswith("NVIDIA H200, 2026-02-03, n = 4096. Counters are the simulator's, for each 1000 elements.")
    assert (head.endswith("*excess*: excess wavefronts."), empty) == (True, "")
    assert columns == "| step | median | of peak | excess |"
    assert first == "| `sum_v1` | 1.50 ms | 0.250 | 31 |"
    assert second == "| `sum_v2` | 400 µs | 0.900 | 0 |"


@pytest.mark.parametrize(("value", "shown"), [(3921.6, "3922"), (9.916, "9.92"), (0.0, "0"), (float("nan"), "–")])
def test_a_counter_is_shown_with_as_many_digits_as_it_needs(value, shown):
    assert module.figure(value) == shown


def test_a_page_is_filled_between_its_markers_and_its_story_stays(tmp_path, steps, no_plot):
    (tmp_path / "sum.md").write_text(PAGE)
    module.write_page("sum", tmp_path, steps, REPORT)
    text = (tmp_path / "sum.md").read_text()
    assert "old" not in text
    assert "| `sum_v1` | 1.50 ms |" in text
    assert "![Fraction of peak bandwidth: sum_v1 0.25, sum_v2 0.90](sum.svg)" in text
    assert "A story with \\1 in it." in text
    assert (tmp_path / "sum.svg").read_text() == "<svg/>"
    module.write_page("sum", tmp_path, steps, REPORT)
    assert (tmp_path / "sum.md").read_text() == text


@pytest.mark.parametrize("page", [PAGE.replace("plot", "polt"), PAGE + PAGE])
def test_a_page_without_its_markers_is_left_alone_and_told(tmp_path, steps, no_plot, page):
    (tmp_path / "sum.md").write_text(page)
    with pytest.raises(SystemExit, match=r"sum\.md: it must have once <!-- generated: "):
        module.write_page("sum", tmp_path, steps, REPORT)
    assert (tmp_path / "sum.md").read_text() == page


def test_a_missing_page_and_missing_times_are_told(tmp_path, steps, no_plot):
    with pytest.raises(SystemExit, match=r"sum\.md is missing"):
        module.write_page("sum", tmp_path, steps, REPORT)
    with pytest.raises(SystemExit, match="no time of a step of sum"):
        module.write_page("sum", tmp_path, [], REPORT)


@pytest.mark.parametrize("content", [None, "{"])
def test_a_bench_that_cannot_be_read_is_told_with_the_command_that_writes_it(tmp_path, content):
    path = tmp_path / "h200.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=r"grade bench --output .*h200\.md"):
        module.read_report(path)
    path.write_text(json.dumps(REPORT))
    assert module.read_report(path) == REPORT


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_the_plot_is_the_same_file_each_time_and_names_every_step(tmp_path, steps):
    texts = []
    for name in ("a.svg", "b.svg"):
        module.plot(steps, tmp_path / name)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    for word in ("sum_v1", "sum_v2", "0.250", "fraction of peak"):
        assert word in texts[0]


# --------------------------------------------------------------------------------------------------------------- matrix


def test_the_matrix_says_for_every_solution_and_step_what_happens(monkeypatch):
    known = {"sum_v1": Line(0.2, 0.22), "sum_v2": Line(0.8, 0.85), "sum_v3": Line(0.79, 0.84, separated=False)}
    monkeypatch.setattr(module, "lines_on", lambda gpu: known)
    monkeypatch.setattr(dev, "lines_on", lambda gpu: known)
    steps = [V1, V2, V3]
    page = module.matrix_page({"sum": dev.matrix(steps, LAUNCHES)}, {"sum": steps}, REPORT)
    rows = [line for line in page.splitlines() if line.startswith("| `sum")]
    assert rows == [
        "| `sum_v1` | **pass** | slow, excess wavefronts | slow, excess wavefronts |",
        "| `sum_v2` | pass | **pass** | **PASSES** |",
        "| `sum_v3` | pass | pass | **pass** |",
        "| `sum_v1` | 0.22 | 0.2 |  |",
        "| `sum_v2` | 0.85 | 0.8 |  |",
        "| `sum_v3` | 0.84 | 0.79 | not by time |",
    ]


def test_a_later_solution_that_misses_an_earlier_line_is_shouted(monkeypatch):
    known = {"sum_v1": Line(0.8, 0.85), "sum_v2": Line(0.4, 0.5)}
    monkeypatch.setattr(module, "lines_on", lambda gpu: known)
    page = module.matrix_page({"sum": dev.matrix([V1, V2], {})}, {"sum": [V1, V2]}, REPORT)
    assert "| `sum_v2` | **SLOW** | **pass** |" in page
    assert "| `sum_v1` | **pass** | – |" in page
