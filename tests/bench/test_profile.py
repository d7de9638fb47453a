"""Nsight Compute: found, asked, and its answer set beside the simulator's. A stand-in for ncu plays its part."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.bench import profile as module
from grader.bench.profile import (
    DRAM,
    DURATION,
    REGISTERS,
    SAME,
    WARPS,
    ProfiledLaunch,
    SubmissionProfile,
    _facts,
    find_ncu,
    launching,
    parse,
    profiled,
    rows,
)
from grader.cli import main
from grader.cli.bench import profiled_lines
from grader.errors import Unsupported
from grader.verdict import LaunchRecord

LOADS, STORES = SAME["global_load_sectors"], SAME["global_store_sectors"]
WIDE = f'''==PROF== Connected to process 7
"ID","Process ID","Kernel Name","{LOADS}","{DURATION}"
"","","","sector","nsecond"
"0","7","k(const float *, int)","1,024","2560"
"1","7","k2","0","1e3"
'''
LONG = f'''"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","k","{LOADS}","sector","1024"
"0","k","{DURATION}","nsecond","n/a"
"1","k2","{LOADS}","sector","8"
'''


def test_a_row_for_each_launch_is_read_with_its_numbers():
    assert parse(WIDE) == [
        ProfiledLaunch("k(const float *, int)", {LOADS: 1024.0, DURATION: 2560.0}),
        ProfiledLaunch("k2", {LOADS: 0.0, DURATION: 1000.0}),
    ]


def test_a_row_for_each_metric_is_read_too_and_what_is_no_number_is_missing():
    assert parse(LONG) == [ProfiledLaunch("k", {LOADS: 1024.0}), ProfiledLaunch("k2", {LOADS: 8.0})]


@pytest.mark.parametrize("text", ["nan", "inf", "n/a", ""])
def test_a_metric_that_could_not_be_measured_is_missing(text):
    (launch, _) = parse(WIDE.replace('"1,024"', f'"{text}"'))
    assert launch.metrics == {DURATION: 2560.0}


def test_nothing_profiled_is_no_launch():
    assert parse("==WARNING== No kernels were profiled.\n") == []


# ------------------------------------------------------------------------------------------------------------- running


@pytest.fixture
def ncu(tmp_path: Path):
    """Makes a program in ncu's place that runs these lines; ``log`` is the file that it has to write."""

    def make(lines: str) -> str:
        path = tmp_path / "ncu"
        head = f"#!{sys.executable}\nimport sys\nlog = sys.argv[sys.argv.index('--log-file') + 1]\n"
        path.write_text(head + lines)
        path.chmod(0o755)
        return str(path)

    return make


def test_the_command_and_the_metrics_reach_ncu_and_its_log_comes_back(ncu):
    tool = ncu(f"assert sys.argv[-2:] == ['run', 'me'] and '{LOADS}' in sys.argv\nopen(log, 'w').write({WIDE!r})\n")
    assert [launch.kernel for launch in profiled(["run", "me"], [LOADS], ncu=tool)] == ["k(const float *, int)", "k2"]


def test_without_the_right_to_count_it_says_how_to_get_it(ncu):
    tool = ncu("open(log, 'w').write('==ERROR== ERR_NVGPUCTRPERM - no permission')\nsys.exit(1)\n")
    with pytest.raises(Unsupported) as refused:
        profiled(["x"], [LOADS], ncu=tool)
    assert "NVreg_RestrictProfilingToAdminUsers=0" in refused.value.hint


def test_a_profiler_that_fails_is_quoted(ncu):
    with pytest.raises(Unsupported, match="exit code 3: the target was not found"):
        profiled(["x"], [LOADS], ncu=ncu("print('the target was not found', file=sys.stderr)\nsys.exit(3)\n"))


def test_a_profiler_that_hangs_is_ended(ncu, monkeypatch):
    monkeypatch.setattr(module, "DEADLINE_S", 0.2)
    with pytest.raises(Unsupported, match="did not end within"):
        profiled(["x"], [LOADS], ncu=ncu("import time\ntime.sleep(60)\n"))


def test_a_profiler_that_hangs_is_ended_with_what_it_started(ncu, monkeypatch):
    """Its child holds the pipes open: waiting for their end would never end."""
    monkeypatch.setattr(module, "DEADLINE_S", 1.0)
    lines = "import subprocess\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    with pytest.raises(Unsupported, match="did not end within"):
        profiled(["x"], [LOADS], ncu=ncu(lines))


def test_a_profiler_that_says_what_is_no_text_is_quoted_all_the_same(ncu):
    with pytest.raises(Unsupported, match="exit code 1: \ufffdmoin"):
        profiled(["x"], [LOADS], ncu=ncu("sys.stdout.buffer.write(b'\\xffmoin')\nsys.exit(1)\n"))


@pytest.mark.parametrize("kind", ["missing", "no_program", "folder"])
def test_an_ncu_that_is_none_is_refused_and_no_other_is_taken(tmp_path, kind):
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "no_program":
        path.touch()
    with pytest.raises(Unsupported, match="is not an executable program"):
        find_ncu(str(path))


def test_an_ncu_that_the_system_cannot_run_is_told(tmp_path):
    path = tmp_path / "ncu"
    path.write_bytes(b"\x7fELF, but not really")
    path.chmod(0o755)
    with pytest.raises(Unsupported, match="cannot be run"):
        profiled(["x"], [LOADS], ncu=str(path))


def test_the_command_of_a_launch_holds_absolute_paths(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = launching("k", Path("-x.cu"), 7, device=1, courses=[Path("mine")])
    assert words[3:] == ["k", f"{tmp_path}/-x.cu", "--seed", "7", "--device", "1", f"--course={tmp_path}/mine"]


def test_without_ncu_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    if Path("/usr/local/cuda/bin/ncu").exists() or Path("/opt/nvidia/nsight-compute").exists():
        pytest.skip("ncu is installed where it is always found")
    with pytest.raises(Unsupported) as refused:
        find_ncu()
    assert "CUDA toolkit" in refused.value.hint


# ----------------------------------------------------------------------------------------------------------- comparing

MINE = LaunchRecord(
    "k", (4, 1, 1), (256, 1, 1), 0,
    {"global_load_sectors": 128.0, "global_load_bytes": 4096.0, "instructions": 100.0, "thread_instructions": 3200.0},
)  # fmt: skip


def theirs(**changed: float) -> ProfiledLaunch:
    metrics = {LOADS: 128.0, SAME["global_load_bytes"]: 4096.0, SAME["instructions"]: 50.0}
    return ProfiledLaunch("k", metrics | {DURATION: 2500.0, DRAM: 12.5, WARPS: 50.0, REGISTERS: 16.0} | changed)


def test_counters_of_all_launches_are_added_and_zeros_left_out():
    found = {row.counter: (row.simulator, row.profiler) for row in rows([MINE, MINE], [theirs(), theirs()])}
    assert found["global_load_sectors"] == (256.0, 256.0)
    assert found["instructions"] == (200.0, 100.0)
    assert found["sector_efficiency"] == (1.0, 1.0)
    assert "shared_load_requests" not in found


def test_only_sectors_must_be_equal():
    found = {row.counter: row.differs for row in rows([MINE], [theirs(**{LOADS: 127.0})])}
    assert found["global_load_sectors"]
    assert not found["instructions"]


def test_the_page_sets_both_sides_beside_each_other():
    profile = SubmissionProfile(
        "x", {"n": 4}, "NVIDIA H200", tuple(rows([MINE], [theirs()])), (_facts(MINE, theirs()),)
    )
    text = "\n".join(profiled_lines(profile))
    assert "global_load_sectors                128           128  equal" in text
    assert "instructions                       100            50  0.500" in text
    assert "k<<<4, 256>>>" in text
    assert "12.5 %" in text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["vector_add", "--solution", "--file", "x.cu"], 2, "cannot be used together"),
        (["vector_addd"], 2, "there is no exercise"),
        (["vector_add", "--solution", "--device", "99"], 4, "grade: "),
    ],
)
def test_what_cannot_be_profiled_is_told_in_words(capsys, words, code, message):
    assert main(["profile", *words]) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
