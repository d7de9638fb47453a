"""The table of docs/results/nsight-patterns.md: what it shows, and that a difference is not hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nsight.compare_patterns import measured, rows, to_markdown

from tests.simt.observers.measured import pattern

TABLE = Path(__file__).parents[3] / "docs" / "results" / "nsight-patterns.md"


def shared_record(name: str, stride: int, wavefronts: float, conflicts: float) -> dict[str, Any]:
    metrics = {
        "smsp__inst_executed_op_shared_ld.sum": 100.0,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 100 * wavefronts,
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 100 * conflicts,
    }
    return pattern("shared", "load", 4, lambda lane: lane * stride) | {"name": name, "metrics": metrics}


def test_equal_patterns_and_different_ones_are_told_apart() -> None:
    text = to_markdown(rows([shared_record("two", 2, 2, 1), shared_record("four", 4, 3, 2)]), "A machine.")
    assert "**1 of 2 patterns are equal**: 1 of 2 in shared memory." in text
    assert "| two | 2 (1) = 2 (1) |" in text
    assert "| four | **3 (2) ≠ 4 (3)** |" in text
    assert "A machine." in text


def test_arbitration_noise_is_taken_off_and_real_fractions_stay() -> None:
    assert measured(shared_record("noise", 1, 2.0625, 1.0625)) == (2, 1)
    assert measured(shared_record("fraction", 1, 2.5, 1.5)) == (2.5, 1.5)


def test_every_measured_pattern_of_the_kept_table_is_equal() -> None:
    text = TABLE.read_text()
    [summary] = [line for line in text.splitlines() if line.startswith("**")]
    equal, of, total = summary.removeprefix("**").split()[:3]
    assert (of, equal) == ("of", total)
    assert int(total) >= 745
    assert "≠" not in text
