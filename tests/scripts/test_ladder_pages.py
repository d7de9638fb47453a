"""The scripts that write the ladders' pages: tables, plots and the matrix, from records made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ladder_pages as pages
import ladders as module
import pytest
from ladder_steps import LIBRARIES, Step, libraries, row_of, step_of

from grader.catalog.courses import Course, CourseExercise, built_in_course, resolve_reference
from grader.catalog.exercises import load_catalog
from grader.dev import ladders as dev
from grader.dev import slices
from grader.exercise import AlsoTimed, Array, Exercise, Expect, Target, Work
from grader.timing.pass_lines import PassLine
from grader.verdict import LaunchRecord

ROOT = Path(__file__).resolve().parents[2]


def row(name: str, size: str, seconds: float, rate: float, peak: float, **library: float) -> dict[str, Any]:
    """A row of the bench; ``library`` are names of baselines in `gemm`, and their seconds."""
    beside = [
        {"name": f"gemm:{key}", "seconds": value, "fraction": rate * seconds / value / peak}
        for key, value in library.items()
    ]
    measured = {"median_s": seconds, "achieved": rate, "peak": peak, "fraction_of_peak": rate / peak}
    of_bytes = name.startswith("sum")
    measured |= {"unit": "B" if of_bytes else "FLOP", "ceiling": 0.95 * peak}
    if not of_bytes:
        measured["roof"] = {"intensity": 600.0, "bandwidth": 4.8e12, "compute": peak}
    ceiling = "copy_f32x4" if of_bytes else "fma_f32"
    return {"exercise": name, "size": size, "measured": measured, "ceiling_name": ceiling, "libraries": beside}


REPORT: Mapping[str, Any] = {
    "gpu": {"name": "NVIDIA H200"},
    "date": "2026-02-03",
    "rows": [
        row("sum_v1", "n = 4096", 1.5e-3, 1.2e12, 4.8e12),
        row("sum_v1", "n = 64", 9.0, 4.7e12, 4.8e12),
        row("sum_v2", "n = 4096", 4e-4, 4.32e12, 4.8e12),
        {"exercise": "sum_v3", "size": "n = 4096", "measured": None, "libraries": []},
        row("product_v1", "m = 4096, n = 4096, k = 4096", 12.34e-3, 11.1e12, 66.9e12, sgemm=3e-3),
        row("product_v2", "m = 4096, n = 4096, k = 4096", 4e-3, 34.4e12, 66.9e12, sgemm=2.69e-3, sgemm_tf32=4e-4),
        row("product_v2", "m = 8192, n = 2048, k = 4096", 5e-3, 27.5e12, 66.9e12, sgemm=2.75e-3),
    ],
}
PAGE = """# The ladder

<!-- generated: table -->
old
<!-- end -->

A story with \\1 in it.

<!-- generated: plot -->
<!-- end -->

<!-- generated: roofline -->
<!-- end -->
"""
COURSE = Course(Path("e"), Path("s"), Path("k"))


def step(name: str, order: int, *technique: Expect) -> CourseExercise:
    exercise = Exercise(
        name=name, order=order, idea="a step", oracle="a:b", small=({"n": 1},), simulated={"n": 2000},
        timed={"n": 4096}, ladder="sum", technique=technique, work=Work(bytes="4 * n"),
        arrays=(Array("x", "float32", "n"), Array("out", "float32", "1", role="out")),
    )  # fmt: skip
    return CourseExercise(exercise, Path(name), "", COURSE)


def product(name: str, order: int) -> CourseExercise:
    """A step whose work is operations."""
    exercise = Exercise(
        name=name, order=order, idea="a step", oracle="a:b", small=({"m": 1, "n": 1, "k": 1},), ladder="product",
        simulated={"m": 10, "n": 20, "k": 50}, timed={"m": 4096, "n": 4096, "k": 4096},
        also_timed=(AlsoTimed({"m": 8192, "n": 2048, "k": 4096}),),
        work=Work(flops="2*m*n*k"), target=Target(unit="fp32"),
        arrays=(Array("A", "float32", "m*k"), Array("C", "float32", "m*n", role="out")),
    )  # fmt: skip
    return CourseExercise(exercise, Path(name), "", COURSE)


V1, V2, V3 = step("sum_v1", 401), step("sum_v2", 402, Expect("excess_wavefronts", at_most=0)), step("sum_v3", 403)
V3 = replace(V3, inherited=V2.exercise.technique)
PRODUCTS = [product(f"product_v{number}", 600 + number) for number in (1, 2, 3)]


def counted(excess: float) -> tuple[LaunchRecord, ...]:
    return (LaunchRecord("k", (8, 1, 1), (256, 1, 1), 0, {"instructions": 4000.0, "excess_wavefronts": excess}),)


def multiplied(**counters: float) -> tuple[LaunchRecord, ...]:
    return (LaunchRecord("k", (8, 1, 1), (256, 1, 1), 0, counters),)


LAUNCHES = {
    "sum_v1": counted(62.0), "sum_v2": counted(0.0), "sum_v3": counted(0.0),
    "product_v1": multiplied(instructions=400.0, sectors=30.0, occupancy=1.0, registers=32.0),
    "product_v2": multiplied(instructions=405.0, sectors=2.5, occupancy=0.25, registers=128.0),
    "product_v3": (),
}  # fmt: skip


@pytest.fixture
def steps() -> list[Step]:
    return [step_of(one, REPORT, LAUNCHES) for one in (V1, V2)]


@pytest.fixture
def products() -> list[Step]:
    return [step_of(one, REPORT, LAUNCHES) for one in PRODUCTS]


# --------------------------------------------------------------------------------------------------------------- tables


def test_a_step_has_the_row_of_its_size_and_nothing_where_it_was_not_measured():
    assert [step_of(one, REPORT, LAUNCHES).timed for one in (V2, V3)][1] is None
    assert step_of(V1, REPORT, LAUNCHES).row.timed.median_s == 1.5e-3
    assert row_of(V1, {"n": 64}, REPORT).timed.median_s == 9.0
    assert row_of(V1, {"n": 65}, REPORT).timed is None


def test_the_table_has_time_fraction_and_only_the_counters_that_differ(steps):
    head, empty, columns, _, first, second = pages.table(steps, REPORT).splitlines()
    assert head.startswith("NVIDIA H200, 2026-02-03, n = 4096. Counters are the simulator's, for each 1000 elements.")
    assert (head.endswith("*excess*: excess wavefronts."), empty) == (True, "")
    assert columns == "| step | median | of peak | excess |"
    assert first == "| `sum_v1` | 1.50 ms | 0.250 | 31 |"
    assert second == "| `sum_v2` | 400 µs | 0.900 | 0 |"


def test_a_step_that_was_not_measured_says_so_in_the_table():
    third = pages.table([step_of(one, REPORT, LAUNCHES) for one in (V1, V3)], REPORT).splitlines()[-1]
    assert third == "| `sum_v3` | not yet | – | 0 |"


def test_a_table_of_operations_counts_by_multiply_adds_and_ends_with_the_libraries(products):
    head, times, words, counters = pages.table(products, REPORT).split("\n\n")
    assert head == (
        "NVIDIA H200, 2026-02-03, m = 4096, n = 4096, k = 4096. Fractions are of the fp32 peak, 66.9 TFLOP/s. "
        "*8192 × 2048*: TFLOP/s at m = 8192, n = 2048, k = 4096."
    )
    assert times.splitlines()[0] == "| step | median | TFLOP/s | of peak | 8192 × 2048 |"
    assert times.splitlines()[2:] == [
        "| `product_v1` | 12.34 ms | 11.1 | 0.166 | – |",
        "| `product_v2` | 4.00 ms | 34.4 | 0.514 | 27.5 |",
        "| `product_v3` | not yet | – | – | – |",
        "| cuBLAS, fp32 | 2.69 ms | 51.2 | 0.765 | 50 |",
        "| cuBLAS, TF32 on tensor cores | 400 µs | 344 | – | – |",
    ]
    assert words.startswith(
        "Counters are the simulator's at m = 10, n = 20, k = 50, for each 1000 multiply-adds. "
        "*sectors*: of global memory, "
    )
    assert counters.splitlines()[0] == "| step | sectors | occupancy | registers |"
    assert counters.splitlines()[2:] == [
        "| `product_v1` | 3 | 1 | 32 |",
        "| `product_v2` | 0.25 | 0.25 | 128 |",
        "| `product_v3` | – | – | – |",
    ]


def test_many_counters_are_shared_out_among_tables_that_a_terminal_can_show():
    columns = [pages.Column(f"c{i}", f"c{i}", 0) for i in range(8)]
    assert [len(part) for part in pages._few(columns)] == [4, 4]
    assert [len(part) for part in pages._few(columns[:5])] == [5]
    assert pages._few([]) == []


def test_a_library_that_is_not_known_is_shown_by_its_name_and_counts_where_it_was_timed_last(products):
    last = products[1]
    odd = replace(last, row=replace(last.row, libraries=(*last.row.libraries, ("other:thing", last.timed))))
    found = libraries([products[0], odd])
    assert list(found) == ["cuBLAS, fp32", "cuBLAS, TF32 on tensor cores", "`other:thing`"]
    assert found["cuBLAS, fp32"][0].median_s == 2.69e-3


@pytest.mark.parametrize("reference", LIBRARIES)
def test_every_library_with_a_name_of_its_own_is_a_baseline(reference):
    assert callable(resolve_reference(reference, built_in_course(), folder="baselines"))


@pytest.mark.parametrize("column", [*pages.OF_BYTES, *pages.OF_OPERATIONS], ids=lambda column: column.counter)
def test_every_column_is_a_counter_that_a_launch_without_it_has_as_zero_or_nothing(column):
    assert Step(V1, row_of(V1, {}, REPORT), launches=multiplied(threads=1.0)).counter(column.counter, 0) in (0, 1) or (
        column.counter in ("sector_efficiency", "occupancy")
    )


@pytest.mark.parametrize(("value", "shown"), [(3921.6, "3922"), (9.916, "9.92"), (0.0, "0"), (float("nan"), "–")])
def test_a_counter_is_shown_with_as_many_digits_as_it_needs(value, shown):
    assert pages.figure(value) == shown


def test_the_occupancy_is_asked_of_steps_whose_work_is_operations_and_of_no_others():
    assert module.asking(V1) is V1
    (expect,) = module.asking(PRODUCTS[0]).graded.technique
    assert (expect.counter, expect.at_least) == ("occupancy", 0)


def test_a_solution_whose_grading_fails_is_told_and_leaves_no_page_without_counters():
    verdict = SimpleNamespace(verdict="error", diagnostics=(SimpleNamespace(message="the grader itself failed"),))
    with pytest.raises(SystemExit, match="product_v1: the grader itself failed"):
        module.launches_of(PRODUCTS[0], verdict)


# ---------------------------------------------------------------------------------------------------------------- pages


def test_a_page_is_filled_between_its_markers_and_its_story_stays(tmp_path, steps):
    (tmp_path / "sum.md").write_text(PAGE)
    pages.write_page("sum", tmp_path, steps, REPORT)
    text = (tmp_path / "sum.md").read_text()
    assert "old" not in text
    assert "| `sum_v1` | 1.50 ms |" in text
    assert "![Fraction of peak bandwidth: sum_v1 0.25, sum_v2 0.90](sum.svg)" in text
    assert "A story with \\1 in it." in text
    assert "![Roofline at 0.25 elements per byte: sum_v1 300 G elements/s, sum_v2 1.08e+03 G elements/s; " in text
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["sum-roofline.svg", "sum.svg"]
    pages.write_page("sum", tmp_path, steps, REPORT)
    assert (tmp_path / "sum.md").read_text() == text


def test_a_page_of_operations_says_of_which_peak_and_where_the_libraries_are(tmp_path, products):
    (tmp_path / "product.md").write_text(PAGE)
    pages.write_page("product", tmp_path, products, REPORT)
    assert (
        "![Fraction of the fp32 peak, 66.9 TFLOP/s: product_v1 0.17, product_v2 0.51; cuBLAS, fp32: 0.76](product.svg)"
    ) in (tmp_path / "product.md").read_text()


def test_a_ladder_that_nobody_has_measured_says_so_and_has_no_plot(tmp_path):
    (tmp_path / "product.md").write_text(PAGE)
    unmeasured = [step_of(one, {**REPORT, "rows": []}, LAUNCHES) for one in PRODUCTS]
    pages.write_page("product", tmp_path, unmeasured, REPORT)
    text = (tmp_path / "product.md").read_text()
    assert text.count("Measured on an H200: not yet.") == 3
    assert "| `product_v2` | not yet | – | – | – |" in text
    assert not (tmp_path / "product.svg").exists()


@pytest.mark.parametrize("page", [PAGE.replace("plot", "polt"), PAGE + PAGE, PAGE.removesuffix("<!-- end -->\n")])
def test_a_page_without_its_markers_is_left_alone_and_told(tmp_path, steps, page):
    (tmp_path / "sum.md").write_text(page)
    with pytest.raises(SystemExit, match=r"sum\.md: it must have once <!-- generated: "):
        pages.write_page("sum", tmp_path, steps, REPORT)
    assert (tmp_path / "sum.md").read_text() == page


def test_a_missing_page_is_told(tmp_path, steps):
    with pytest.raises(SystemExit, match=r"sum\.md is missing"):
        pages.write_page("sum", tmp_path, steps, REPORT)


@pytest.mark.parametrize("content", [None, "{"])
def test_a_bench_that_cannot_be_read_is_told_with_the_command_that_writes_it(tmp_path, content):
    path = tmp_path / "h200.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=r"grade bench --output .*h200\.md"):
        module.read_report(path)
    path.write_text(json.dumps(REPORT))
    assert module.read_report(path) == REPORT


@pytest.mark.parametrize(
    ("name", "words"),
    [("NVIDIA A100-SXM4-80GB", "an A100-SXM4-80GB"), ("Tesla V100-SXM2-16GB", "a V100-SXM2-16GB"),
     ("NVIDIA GeForce RTX 4090", "a GeForce RTX 4090"), ("NVIDIA L4", "an L4"), ("NVIDIA B200", "a B200")],
)  # fmt: skip
def test_a_gpu_has_the_article_of_its_first_letter(name, words):
    assert pages.not_yet({"gpu": {"name": name}}) == f"Measured on {words}: not yet."


# --------------------------------------------------------------------------------------------------------------- matrix


def test_the_matrix_says_for_every_solution_and_step_what_happens(monkeypatch):
    known = {
        "sum_v1": PassLine(0.2, 0.22),
        "sum_v2": PassLine(0.8, 0.85),
        "sum_v3": PassLine(0.79, 0.84, separated=False),
    }
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
    known = {"sum_v1": PassLine(0.8, 0.85), "sum_v2": PassLine(0.4, 0.5)}
    monkeypatch.setattr(module, "lines_on", lambda gpu: known)
    page = module.matrix_page({"sum": dev.matrix([V1, V2], {})}, {"sum": [V1, V2]}, REPORT)
    assert "| `sum_v2` | **SLOW** | **pass** |" in page
    assert "| `sum_v1` | **pass** | – |" in page


def test_a_solution_that_was_never_timed_is_said_to_pass_nothing_by_time(monkeypatch):
    known = {"sum_v1": PassLine(0.2, 0.22), "sum_v3": PassLine(0.8, 0.85)}
    monkeypatch.setattr(module, "lines_on", lambda gpu: known)
    page = module.matrix_page({"sum": dev.matrix([V1, V2, V3], {})}, {"sum": [V1, V2, V3]}, REPORT)
    assert "| `sum_v2` | not timed yet | **pass** | – |" in page
    assert "| `sum_v3` | 0.85 | 0.8 | not timed yet |" in page


# -------------------------------------------------------------------------------------------------------------- slices


def test_solutions_are_counted_in_slices(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPGRADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(slices, "AHEAD", 1)
    course = built_in_course()
    steps = dict(dev.ladders(load_catalog().exercises))["reduce"][:2]
    graded: list[str] = []

    class Grader:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def simulated(self, one, file):
            assert course.solutions in file.parents
            graded.append(one.name)
            launch = LaunchRecord(one.name, (4, 1, 1), (256, 1, 1), 0, {"sectors": 8.0})
            return SimpleNamespace(result=lambda: SimpleNamespace(verdict="pass", launches=(launch,)))

    monkeypatch.setattr(module, "CourseGrader", Grader)
    monkeypatch.setattr(slices, "perf_counter", lambda: 60.0 * len(graded))
    first = module.counted(steps, 30)
    assert (list(first), graded) == ([steps[0].name], [steps[0].name])
    second = module.counted(steps, 30)
    assert (list(second), graded) == ([step.name for step in steps], [step.name for step in steps])
    assert second[steps[0].name] == first[steps[0].name]
