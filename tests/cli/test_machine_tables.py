"""`grade device`, `grade bench` and `grade doctor`: the tables, from records made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import llvmlite.binding
import pytest
from rich.console import Console

from grader.bench.report import BenchReport, BenchRow, CeilingRow, LibraryTime
from grader.cli import main
from grader.cli.bench import bench_table
from grader.cli.machine import Check, ceiling_table, checks, conclusion, device_document, device_lines, to_text
from grader.gpus.detect import from_attributes
from grader.timing.roofline import peaks
from grader.verdict import Measurement

VALUES = {
    "major": 9, "minor": 0, "sm_count": 132, "clock_khz": 1_980_000, "memory_clock_khz": 3_201_000,
    "bus_width_bits": 6144, "l2_bytes": 60 << 20, "warp_size": 32, "max_threads_per_block": 1024,
    "max_shared_bytes": 227 << 10, "block_x": 1024, "block_y": 1024, "block_z": 64,
    "grid_x": 2**31 - 1, "grid_y": 65535, "grid_z": 65535,
}  # fmt: skip
GPU = from_attributes(0, "NVIDIA H200", 141 << 30, VALUES, cuda=12090)
CEILINGS = (
    CeilingRow("copy_f32x4", "16 bytes a thread", "B", 4.2e12, 0.875),
    CeilingRow("link", "down", "B", 5e10, None),
)
MEASURED = Measurement(
    9.1e-4, (9e-4, 9.2e-4), 30, "B", 3.5e12, 4.8e12, 0.729, 3.55e12, 0.986, "0.70 of peak", 0.7, False
)  # fmt: skip


def text_of(table) -> str:
    file = StringIO()
    Console(file=file, width=110).print(table)
    return file.getvalue()


def test_device_shows_peaks_with_their_source_and_the_ceilings():
    words = "\n".join(device_lines(GPU, peaks(GPU)))
    assert "NVIDIA H200 (number 0), sm_90, 132 SMs, 141 GiB, L2 60 MiB" in words
    assert "published: memory 4.81 TB/s, fp32 66.9 TFLOP/s, fp16 tensor 989 TFLOP/s, int8" in words
    assert "int8 tensor 1.98 POP/s, int8 (dp4a, by formula) 134 TOP/s" in words
    row = next(line for line in text_of(ceiling_table(CEILINGS)).splitlines() if "copy_f32x4" in line)
    assert row.split()[-4:] == ["4.2", "TB/s", "87.5", "%"]


def test_device_says_where_the_rate_of_dp4a_is_not_known():
    limits = replace(peaks(GPU), int8=None)
    assert "int8 (dp4a, by formula) not known" in "\n".join(device_lines(GPU, limits))


def test_device_as_json_has_everything_as_numbers():
    document = json.loads(json.dumps(device_document(GPU, peaks(GPU), CEILINGS)))
    assert document["schema"] == "warpgrade/device/1"
    assert document["device"]["name"] == "NVIDIA H200"
    assert document["ceilings"][1]["fraction"] is None


LIBRARIES = (LibraryTime("elementwise:add", 1.2e-3, 0.553), LibraryTime("elementwise:torch", 1.1e-3, 0.601))


def test_a_row_is_good_where_it_passes_its_line_and_reaches_what_it_has_to():
    row = BenchRow("vector_add", "n=1", "pass", MEASURED, "add_f32x1")
    assert row.good
    assert replace(row, reach=0.7).good
    assert not replace(row, reach=0.8).good
    assert not replace(row, word="slow").good
    assert replace(row, word="inconclusive", measured=replace(MEASURED, line_fraction=0.0)).good
    assert not BenchRow("vector_add", "n=1", problem="it crashed").good


def test_bench_shows_each_solution_with_the_library_beside_it_and_problems_in_words():
    rows = (
        BenchRow("vector_add", "n=1", "pass", MEASURED, "add_f32x1", libraries=LIBRARIES),
        BenchRow("reduce_v3", "n=1", problem="it crashed"),
    )
    lines = text_of(bench_table(BenchReport(GPU, (), "2026-01-01", rows))).splitlines()
    first = next(line for line in lines if "vector_add" in line)
    assert "910 µs" in first
    assert "72.9 %" in first
    assert first.rstrip().endswith("55.3 %")
    assert [line.split()[-2:] for line in lines if "torch" in line] == [["60.1", "%"]]
    assert any("it crashed" in line for line in lines)


@pytest.mark.parametrize("words", [["device", "--device", "99"], ["bench", "--device", "99"]])
def test_without_such_a_gpu_the_exit_code_is_4_and_the_reason_is_told(words, capsys):
    assert main(words) == 4
    err = capsys.readouterr().err
    assert err.startswith("grade: ")
    assert "Traceback" not in err


def test_unsupported_as_json_is_a_document(capsys):
    assert main(["device", "--device", "99", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "unsupported"


def test_doctor_never_fails_to_look(monkeypatch):
    def broken():
        raise RuntimeError("no look")

    monkeypatch.setattr("grader.cli.machine._CHECKS", (("thing", broken, "missing", "pip install thing"),))
    assert list(checks()) == [Check("thing", "missing", "RuntimeError('no look')", "pip install thing")]


def test_doctor_names_the_command_that_installs_what_is_missing():
    found = [Check("compiler", "missing", "NVRTC is not installed", "pip install it"), Check("GPU", "optional", "none")]
    text = to_text(found, color=False, unicode=False)
    assert text.splitlines()[0].startswith("x  compiler")
    assert "-> pip install it" in text
    assert "Nothing can be graded yet" in "\n".join(conclusion(found))


def test_doctor_tells_of_an_llvm_that_miscompiles(monkeypatch):
    monkeypatch.setattr("grader.simt.engine.code_cache.BROKEN_LLVM", (tuple(llvmlite.binding.llvm_version_info),))
    (check,) = (check for check in checks() if check.name == "simulator")
    assert (check.state, check.remedy) == ("missing", "pip install 'llvmlite<0.48'")
    assert "miscompiles" in check.detail


@pytest.mark.parametrize(("gpu", "said"), [("ok", "speed are graded"), ("optional", "on the simulator")])
def test_doctor_concludes_what_can_be_graded_here(gpu, said):
    assert said in "\n".join(conclusion([Check("GPU", gpu, ""), Check("CuPy", "ok", "")]))


def test_doctor_of_this_machine_prints_every_check(capsys):
    code = main(["doctor", "--no-color"])
    out = capsys.readouterr().out
    assert code in (0, 4)
    for name in (
        "Python",
        "course",
        "compiler",
        "headers",
        "assembler",
        "simulator",
        "CuPy",
        "GPU",
        "sandbox",
        "cache",
    ):
        assert f"  {name}" in out
