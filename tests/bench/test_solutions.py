"""`grade bench`: further sizes, libraries, and those that are not installed; sessions are faked."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from grader.backends.gpu import GpuBackend
from grader.backends.gpu.faults import size_in_words
from grader.backends.gpu.libraries import MOST_EMPTIED, SAMPLES, WARM_UPS, time_host_library, time_library
from grader.bench import solutions as module
from grader.bench.report import (
    BenchReport,
    BenchRow,
    LibraryTime,
    report_from_json,
    to_json,
    to_markdown,
    with_older_rows,
)
from grader.bench.solutions import bench
from grader.catalog.exercises import load_catalog
from grader.cli import main
from grader.dev import slices
from grader.errors import GraderFault
from grader.exercise import AlsoTimed, Target, Work
from grader.gpus.detect import Gpu
from grader.launch import DeviceLimits
from grader.timing.roofline import line_in_words, work_of
from grader.verdict import Measurement, Roof

GPU = Gpu(0, "NVIDIA H200", (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())
ADD = load_catalog().find("vector_add")
BACKEND = SimpleNamespace(gpu=GPU)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """Lets nothing be measured; holds each size, line and figure to reach, and the libraries, that would have been."""
    seen: list[tuple] = []

    def row(one, backend, seed):
        target = one.exercise.target
        names = [name for name in (one.exercise.baseline, *one.exercise.rivals) if name]
        seen.append(
            (
                dict(one.exercise.timed),
                target.fraction,
                target.reach,
                names,
            )
        )
        return BenchRow(one.name, size_in_words(one.exercise.timed))

    monkeypatch.setattr(module, "_kernel_row", row)
    return seen


def also(*sizes: AlsoTimed):
    return replace(ADD, exercise=replace(ADD.exercise, also_timed=sizes, baseline="elementwise:add", rivals=("p:add",)))


# --------------------------------------------------------------------------------------------------------------- sizes


def test_further_sizes_have_rows_of_their_own_without_a_line(measured):
    report = bench([also(AlsoTimed({"n": 1000}, reach=0.4), AlsoTimed({"n": 7}))], BACKEND, 1)
    assert [row.size for row in report.rows] == [f"n = {ADD.exercise.timed['n']}", "n = 1000", "n = 7"]
    (first, second, third) = measured
    assert first[1] > 0
    assert [second[1:3], third[1:3]] == [(0.0, 0.4), (0.0, 0.0)]


def test_alone_there_are_neither_further_sizes_nor_libraries(measured):
    bench([also(AlsoTimed({"n": 1000}))], BACKEND, 1, alone=True)
    assert [row[3] for row in measured] == [[]]


def test_libraries_are_the_baseline_then_the_rivals(measured):
    bench([also()], BACKEND, 1)
    assert measured[0][3] == ["elementwise:add", "p:add"]


def test_other_answers_are_timed_beside_the_solution_and_those_that_fail_are_left_out(monkeypatch):
    sources: list[str] = []

    def timed(entry, *_):
        return lambda session: SimpleNamespace(word="slow", measured=seconds_of(sources[-1]))

    def seconds_of(text):
        return None if "half_warps" in text else SimpleNamespace(median_s=1e-3 * len(sources))

    def compiled(entry, backend, text=""):
        sources.append("half_warps" if "in better order" in text else text)

    monkeypatch.setattr(module, "SpeedTest", timed)
    monkeypatch.setattr(module, "_compiled", compiled)
    monkeypatch.setattr(module, "_finished", lambda entry, gpu, speed, libraries: libraries)
    divergence = load_catalog().find("divergence")
    names = ("stub", "wrong/both_for_all.diff", "wrong/half_warps.diff")
    exercise = replace(divergence.exercise, compared=names, baseline="", rivals=())
    backend = SimpleNamespace(gpu=GPU, open=lambda program, limits: nullcontext())
    libraries = module._kernel_row(replace(divergence, exercise=exercise), backend, 1)
    assert libraries == {"stub": 2e-3, "wrong/both_for_all.diff": 3e-3}
    assert "YOUR CODE" in sources[1]
    assert "unsigned b = decode_b(word)" in sources[2]


def test_what_is_not_timed_or_has_no_solution_is_left_out(measured):
    untimed = replace(ADD, exercise=replace(ADD.exercise, timed=None))
    elsewhere = replace(ADD, chapter="99_nowhere")
    heard: list[str] = []
    assert bench([untimed, elsewhere], BACKEND, 1, heard.append).rows == ()
    assert heard == []


def test_a_solution_that_fails_is_a_row_with_its_problem(monkeypatch):
    def fails(*_):
        raise GraderFault("the child died")

    monkeypatch.setattr(module, "_kernel_row", fails)
    (row,) = bench([replace(ADD, exercise=replace(ADD.exercise, also_timed=()))], BACKEND, 1).rows
    assert (row.problem, row.good) == ("the child died", False)


@pytest.mark.parametrize(
    ("unit", "work"),
    [
        ("bandwidth", 80),
        ("overlap", 80),
        ("transfer", 80),
        ("fp32", 30),
        ("int32", 30),
        ("launches", 7),
        ("shared", 50),
    ],
)
def test_the_work_is_what_the_unit_counts(unit, work):
    exercise = replace(ADD.exercise, work=Work("8*n", "3*n", "7", "5*n"), timed={"n": 10}, target=Target(unit=unit))
    assert work_of(exercise, {"n": 10}) == work


# ----------------------------------------------------------------------------------------------------------- libraries


def test_a_library_that_is_not_installed_is_left_out_and_others_stay():
    answers = {"add": [3e-3, 1e-3, 2e-3], "gone": []}
    session = SimpleNamespace(call=lambda request, limit_s: {"seconds": answers[request["function"]]})
    one = replace(ADD, exercise=replace(ADD.exercise, baseline="elementwise:gone", rivals=("elementwise:add",)))
    assert module._library_times(one, session, [], {}) == {"elementwise:add": 2e-3}


def library_requests(name: str) -> list[dict]:
    """What the device is asked to time a library."""
    asked: list[dict] = []
    session = SimpleNamespace(call=lambda request, limit_s: asked.append(request) or {"seconds": []})
    module._library_times(replace(ADD, exercise=replace(ADD.exercise, baseline=name, rivals=())), session, [], {})
    return asked


def test_a_request_carries_the_baselines_source_and_the_sizes():
    (request,) = library_requests("elementwise:add")
    assert (request["do"], request["function"], request["name"]) == ("library", "add", "baselines/elementwise.py")
    assert "def add(" in request["source"]
    assert request["numbers"] == ADD.exercise.timed


def test_a_baseline_module_that_does_not_exist_is_named():
    with pytest.raises(GraderFault, match=r"baselines/nowhere\.py"):
        library_requests("nowhere:add")


class Device:
    """The part of a device that library calls meet; its clock counts what was run."""

    def __init__(self) -> None:
        self.stream = nullcontext()
        self.runs = 0

    def pinned_array(self, shape) -> np.ndarray:
        return np.zeros(shape.count, shape.dtype)

    def as_cupy(self, address, shape) -> np.ndarray:
        return np.zeros(4)

    def event(self) -> None: ...
    def record(self, event) -> None: ...
    def synchronise(self) -> None: ...
    def elapsed_s(self, start, stop) -> float:
        return 1e-3


def asked(source: str) -> dict:
    return {"source": source, "name": "baselines/x.py", "function": "f", "numbers": {"n": 3}, "l2_bytes": 0}


MISSING = "def f(arrays, numbers):\n    import a_library_that_nobody_has\n"
HERE = "calls = []\ndef f(arrays, numbers):\n    return lambda: calls.append(numbers['n'])\n"
BROKEN = "def f(arrays, numbers):\n    return arrays['nothing']\n"


@pytest.fixture(params=["device", "host"])
def timed(request, monkeypatch):
    """Times a library's source on either kind of arrays."""
    monkeypatch.setattr("grader.backends.gpu.libraries.L2", lambda *_: SimpleNamespace(empty=int, free=int))
    if request.param == "host":
        return lambda source: time_host_library(Device(), asked(source), ())
    arena = SimpleNamespace(address=lambda name: 0)
    return lambda source: time_library(Device(), None, arena, asked(source), ())


def test_a_missing_library_gives_no_times(timed):
    assert timed(MISSING) == []


def test_an_installed_library_gives_a_time_for_each_sample(timed):
    assert len(timed(HERE)) == SAMPLES


@pytest.mark.parametrize(("host_s", "times"), [(0.0, 1), (0.1e-3, 2), (1.6e-3, 5), (1.0, MOST_EMPTIED)])
def test_the_gpu_begins_with_a_library_when_the_processor_has_queued_all_of_it(monkeypatch, host_s, times):
    clock, emptied = [0.0], []
    l2 = SimpleNamespace(empty=lambda: emptied.append(None), free=int)
    monkeypatch.setattr("grader.backends.gpu.libraries.L2", lambda *_: l2)
    monkeypatch.setattr("grader.backends.gpu.libraries.time", SimpleNamespace(perf_counter=lambda: clock[0]))
    device = Device()
    device.work = lambda: clock.__setitem__(0, clock[0] + host_s)
    device.as_cupy = lambda address, shape: device.work
    source = "def f(arrays, numbers):\n    return arrays['x']\n"
    time_library(device, None, SimpleNamespace(address=lambda name: 0), asked(source), (SimpleNamespace(name="x"),))
    assert len(emptied) == WARM_UPS + times * SAMPLES


def test_a_baseline_that_is_wrong_is_not_taken_for_a_missing_one(timed):
    with pytest.raises(KeyError):
        timed(BROKEN)


# -------------------------------------------------------------------------------------------------------------- report


def test_words_of_a_problem_cannot_break_the_table():
    row = BenchRow("vector_add", "n=1", problem="one | two\nthree")
    (line,) = (
        line for line in to_markdown(BenchReport(GPU, (), "2026-01-01", (row,))).splitlines() if "vector" in line
    )
    assert "one \\| two three" in line


def measured_on_a_host(unit, median_s, achieved, fraction, target_unit):
    target = Target(unit=target_unit, fraction=0.85, of="ceiling", ceiling="smooth")
    found = Measurement(
        median_s, (median_s, median_s), 30, unit, achieved, None, None, achieved / fraction, fraction,
        line_in_words(target), 0.85, False,
    )  # fmt: skip
    return BenchRow("smooth", "n = 8", "pass", found, module._ceiling_name(target, found), "ceiling", 0.85)


def test_an_overlap_stands_beside_its_ideal_time_and_launches_beside_the_loops():
    overlap = measured_on_a_host("B", 5.4e-3, 24.9e9, 4.9 / 5.4, "overlap")
    launches = measured_on_a_host("launch", 240e-6, 8.33e6, 3.41, "launches")
    lines = to_markdown(BenchReport(GPU, (), "2026-01-01", (overlap, launches))).splitlines()
    (first, second) = (line for line in lines if line.startswith("| smooth"))
    assert "| 5.400 ms | 5.400 ms to 5.400 ms | 25 GB/s | – | 0.907 of the ideal 4.900 ms | c0.85 |" in first
    assert "| 8.33 M launches/s | – | 3.410 of the loop's 818.4 µs | c0.85 | 0.85 times the plain loop |" in second
    assert overlap.good


def test_a_solution_above_its_ceiling_says_that_it_is_none_and_is_not_good():
    row = measured_on_a_host("B", 1e-3, 1e9, 1.103, "transfer")
    assert (row.above_ceiling, row.good) == (True, False)
    (line,) = (one for one in to_markdown(BenchReport(GPU, (), "", (row,))).splitlines() if one.startswith("| smooth"))
    assert "1.103" not in line
    assert "above smooth, which is not a ceiling for it" in line


def test_the_document_holds_every_row_and_no_number_that_json_lacks():
    row = BenchRow("vector_add", "n=1", reach=float("nan"))
    document = json.loads(to_json(BenchReport(GPU, (("driver", "580"),), "2026-01-01", (row,))))
    assert (document["schema"], document["rows"][0]["exercise"]) == ("warpgrade/bench/1", "vector_add")
    assert document["rows"][0]["reach"] is None


def report_of(date: str, *names: str, versions=(("driver", "580"),)) -> BenchReport:
    return BenchReport(GPU, versions, date, tuple(BenchRow(name, "n = 1") for name in names))


def test_rows_of_exercises_that_were_not_measured_again_stay_with_their_date():
    older = with_older_rows(report_of("2026-01-02", "b", "gone"), report_of("2026-01-01", "a", "b"), "ab")
    newer = with_older_rows(report_of("2026-01-03", "c"), older, "abc")
    assert [(row.exercise, row.date) for row in newer.rows] == [("a", "2026-01-01"), ("b", "2026-01-02"), ("c", "")]
    text = to_markdown(newer)
    assert "Measured on 2026-01-02: b.\n\nMeasured on 2026-01-01: a.\n" in text
    assert report_from_json(to_json(newer)) == newer


# -------------------------------------------------------------------------------------------------------------- slices


@pytest.fixture
def minutes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Each solution takes a minute to measure; holds the names of those that were measured."""
    monkeypatch.setenv("WARPGRADE_CACHE", str(tmp_path / "cache"))
    measured: list[str] = []

    def row(one, backend, seed):
        measured.append(one.name)
        found = replace(measured_on_a_host("B", 1e-3, 1e9, 0.5, "overlap").measured, roof=Roof(0.1, 1e9, 2e9, 3e9, "B"))
        return BenchRow(one.name, "n = 1", "pass", found, libraries=(LibraryTime("elementwise:add", 1e-3, 0.5),))

    monkeypatch.setattr(module, "_kernel_row", row)
    monkeypatch.setattr(slices, "perf_counter", lambda: 60.0 * len(measured))
    monkeypatch.setattr(slices, "AHEAD", 1)
    monkeypatch.setattr("grader.backends.gpu.GpuBackend", lambda device: BACKEND)
    return measured


def test_a_slice_goes_on_where_the_last_one_stopped(minutes):
    both = [ADD, load_catalog().find("reduce_v3")]
    first = bench(both, BACKEND, 1, limit_s=30)
    assert ([row.exercise for row in first.rows], first.left) == (["vector_add"], 1)
    second = bench(both, BACKEND, 1, limit_s=30)
    assert second.rows[0] == first.rows[0]
    assert ([row.exercise for row in second.rows], second.left) == (["vector_add", "reduce_v3"], 0)
    assert minutes == ["vector_add", "reduce_v3"]
    bench(both, BACKEND, 1)
    assert len(minutes) == 4  # without a limit everything is measured again


def test_rows_of_another_gpu_are_measured_anew(minutes):
    bench([ADD], BACKEND, 1, limit_s=30)
    bench([ADD], SimpleNamespace(gpu=replace(GPU, name="NVIDIA H100 PCIe")), 1, limit_s=30)
    assert minutes == ["vector_add"] * 2


def test_a_slice_writes_no_file_until_nothing_is_left(minutes, tmp_path, capsys):
    command = ["bench", "vector_add", "reduce_v3", "--minutes", "0.5", "--output", str(tmp_path / "h200.md")]
    assert main(command) == 3
    assert "1 exercises are left: run the same command again to continue" in capsys.readouterr().out
    assert not (tmp_path / "h200.md").exists()
    assert main(command) == 0
    assert "reduce_v3" in (tmp_path / "h200.md").read_text()


def test_named_exercises_are_measured_anew_and_the_others_rows_stay(minutes, tmp_path, monkeypatch, capsys):
    output = ["--output", str(tmp_path / "h200.md")]
    main(["bench", "vector_add", "reduce_v3", *output])
    older = json.loads((tmp_path / "h200.json").read_text())
    older["rows"][0]["word"] = "slow"  # which says nothing about the run that follows
    (tmp_path / "h200.json").write_text(json.dumps(older))
    assert main(["bench", "reduce_v3", *output]) == 0
    assert minutes == ["vector_add", "reduce_v3", "reduce_v3"]
    assert [row["exercise"] for row in json.loads((tmp_path / "h200.json").read_text())["rows"]] == [
        "vector_add",
        "reduce_v3",
    ]
    monkeypatch.setattr(module, "versions", lambda gpu: (("driver", "581"),))
    assert main(["bench", "reduce_v3", *output]) == 2
    assert "are of another GPU, or other versions" in capsys.readouterr().err
    (tmp_path / "h200.json").write_text("{}")
    assert main(["bench", "reduce_v3", *output]) == 2
    assert "has no figures of `grade bench`" in capsys.readouterr().err
    assert len(minutes) == 3


def test_libraries_run_without_the_sandbox_which_forbids_compilers_and_sockets():
    backend = GpuBackend(GPU)
    others = module._for_libraries(backend)
    assert (backend._sandbox, others._sandbox, others.gpu) == (True, False, GPU)
