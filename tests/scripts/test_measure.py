"""`scripts/measure.py`: rows and lines of what was measured again, beside all others."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import measure
import pytest

from grader.bench.report import BenchReport, report_from_json
from grader.timing.pass_lines import read_profile, shipped_file

OLD = report_from_json((measure.RESULTS / "h200.json").read_text(encoding="utf-8"))
DATE = "2031-01-01"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Measures the named exercises: each as `docs/results` has it, but at half of its peak and of its ceiling."""

    def bench(entries, backend, seed) -> BenchReport:
        (entry,) = entries
        rows = (row for row in OLD.rows if row.exercise == entry.name)
        row = next(rows, replace(OLD.rows[0], exercise=entry.name))
        assert row.measured is not None
        faster = replace(row.measured, fraction_of_peak=0.5, fraction_of_ceiling=0.5)
        return replace(OLD, rows=(replace(row, measured=faster, reach=0.4),), date=DATE)

    def call(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["measure.py", *words, "--to", str(tmp_path)])
        return measure.main()

    monkeypatch.setattr("grader.backends.gpu.GpuBackend", lambda device: SimpleNamespace(gpu=OLD.gpu))
    monkeypatch.setattr("grader.bench.solutions.bench", bench)
    return call


def test_each_row_goes_into_the_document_that_has_the_exercise(run, tmp_path: Path, capsys) -> None:
    assert run("vector_add", "transpose_v1") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gpus", "h200.json", "h200.md"]
    report = report_from_json((tmp_path / "h200.json").read_text(encoding="utf-8"))
    assert [row.exercise for row in report.rows] == [row.exercise for row in OLD.rows]
    assert {row.exercise for row in report.rows if row.measured and row.measured.fraction_of_peak == 0.5} == {
        "vector_add",
        "transpose_v1",
    }
    assert "vector_add" in (tmp_path / "h200.md").read_text(encoding="utf-8")
    assert "0.500 of the peak, to reach 0.4" in capsys.readouterr().out


def test_a_folder_can_be_measured_into_again(run, tmp_path: Path) -> None:
    run("vector_add")
    run("transpose_v1")
    report = report_from_json((tmp_path / "h200.json").read_text(encoding="utf-8"))
    assert [row.exercise for row in report.rows if row.fraction == 0.5] == ["vector_add", "transpose_v1"]
    lines = read_profile(tmp_path / "gpus" / "nvidia-h200.json").lines
    assert (lines["vector_add"].solution, lines["transpose_v1"].solution) == (0.5, 0.5)


def test_the_lines_come_from_the_same_run_and_the_others_stay(run, tmp_path: Path) -> None:
    run("vector_add", "transpose_v1")
    before, after = (
        read_profile(path).lines for path in (shipped_file(OLD.gpu.name), tmp_path / "gpus" / "nvidia-h200.json")
    )
    assert {name for name in after if after[name].solution != before[name].solution} == {"vector_add", "transpose_v1"}
    assert after["vector_add"].solution == 0.5
    assert after.keys() == before.keys()


def test_an_exercise_that_no_document_has_needs_the_name_of_one(run, tmp_path: Path, capsys) -> None:
    assert run("vector_add", "debug_me_1") == 1
    assert "no document has debug_me_1: --document names one" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []  # nothing was measured
    run("debug_me_1", "--document", "h200-tools.md")
    assert (tmp_path / "h200-tools.md").exists()
