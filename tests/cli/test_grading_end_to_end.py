"""`grade NAME` as a person runs it: real files, the real compiler, the real simulator, in real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import jsonschema
import psutil
import pytest

from grader.backends import starting
from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.catalog.paths import find_path
from grader.compile.toolchain import find_toolchain
from grader.gpus.models import simulable
from grader.practice.chosen import choose
from grader.practice.history import key_of
from grader.practice.progress import FILE, Progress, Run, now

pytestmark = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")

SCHEMA = json.loads(files("grader.render").joinpath("run.schema.json").read_text())
GOOD = """\
// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def process(*words: str | Path, **more) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "grader.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, timeout=120, **more)


def graded(*words: str | Path) -> tuple[int, dict]:
    """Exit code and the one verdict of a `--json` run, held to the schema; nothing may stand on standard error."""
    done = process(*words, "--json", "--backend", "sim")
    assert done.stderr == b""
    return done.returncode, verdict_in(done.stdout)


def verdict_in(text: str | bytes) -> dict:
    document = json.loads(text)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    (verdict,) = document["results"]
    return verdict


@pytest.fixture
def graded_here(run, kept_simulators, monkeypatch):
    """`graded` in this process: for what is said of a file, where the command's own process is not in question."""
    monkeypatch.setattr(starting, "start_early", lambda **which: None)

    def call(*words: str | Path) -> tuple[int, dict]:
        code, out, err = run(*words, "--json", "--backend", "sim")
        assert err == ""
        return code, verdict_in(out)

    return call


def changed(here: Path, old: str, new: str) -> Path:
    assert old in GOOD
    path = here / "mine.cu"
    path.write_text(GOOD.replace(old, new))
    return path


def status(verdict: dict) -> dict[str, str]:
    return {stage["name"]: stage["status"] for stage in verdict["stages"]}


@pytest.mark.parametrize("saved", ["pinned_copy.cu", "pinned_copy_host.py"])
def test_what_is_saved_while_it_is_graded_is_neither_graded_nor_shown(here, monkeypatch, capsys, saved):
    from grader.cli import main
    from grader.grading import grade as stages

    one = load_catalog().find("pinned_copy")
    (here / "pinned_copy.cu").write_bytes(one.solution.read_bytes())
    (here / "pinned_copy_host.py").write_bytes(one.solution_host_file.read_bytes())
    mine = {"pinned_copy.cu": "mistake;", "pinned_copy_host.py": "raise ValueError(7)"}[saved]
    path = here / saved
    right = path.read_text()
    begin = right.index("{" if saved.endswith(".cu") else "def setup")
    end = right.index("\n", begin)
    path.write_text(right[: end + 1] + f"    {mine}\n" + right[end + 1 :])
    really = stages.grade

    def saving_meanwhile(request):
        path.write_text("\n\n\n" + right)
        return really(request)

    monkeypatch.setattr(stages, "grade", saving_meanwhile)
    code = main(["pinned_copy", "--backend", "sim", "--no-record", "--html", "page.html"])
    out = capsys.readouterr().out
    assert code == 1
    (shown,) = [line for line in out.splitlines() if "▶" in line]
    assert mine in shown
    assert path.read_text().startswith("\n\n\n")
    assert mine in (here / "page.html").read_text()


@pytest.mark.parametrize("name", ["vector_add", "reduce_v3"])
def test_solution_passes_on_the_simulator_with_speed_not_graded(here, name):
    code, verdict = graded(name, "--solution")
    assert (code, verdict["verdict"], verdict["backend"]) == (0, "pass", "sim")
    assert status(verdict) == {
        "compiles": "passed", "runs": "passed", "correct": "passed", "technique": "passed", "fast": "not_graded",
    }  # fmt: skip
    assert (verdict["score"], verdict["max_score"]) == (80, 80)
    assert verdict["launches"][0]["counters"]["sector_efficiency"] > 0.9
    assert verdict["device"] == "simulated A100"


def test_predictions_stand_in_the_document_and_in_the_progress_and_decide_nothing(here, run, graded_here):
    (here / "vector_add.cu").write_text(GOOD)
    words = ("--predict", "sectors_per_request=4", "--predict", "global_load_bytes/n=4")
    code, verdict = graded_here("vector_add", *words)
    assert (code, verdict["verdict"], verdict["score"]) == (0, "pass", 80)
    right, wrong = verdict["predictions"]
    assert (right["counter"], right["predicted"], right["counted"], right["right"]) == (
        "sectors_per_request",
        4,
        4,
        True,
    )
    assert (wrong["per"], wrong["predicted"], wrong["counted"], wrong["right"]) == ("n", 4, 8, False)
    (here / "vector_add.cu").write_text(GOOD.replace("+ b", "- b"))
    code, verdict = graded_here("vector_add", *words)
    assert (code, verdict["verdict"]) == (1, "wrong")
    assert verdict["predictions"][0]["why_not"] == "counters are compared when the results are right"
    graded_here("vector_add", "--solution", *words)
    graded_here("vector_add", "--no-record", *words)
    document = json.loads(run("progress", "--json")[1])
    assert [row["was_right"] for row in document["predictions"]] == [True, False]
    assert "1 of 2 predictions right:" in run("progress")[1]


def test_a_prediction_that_cannot_be_is_a_wrong_command_and_nothing_is_graded(here, run):
    (here / "vector_add.cu").write_text(GOOD)
    code, out, err = run("vector_add", "--predict", "sector=4")
    assert (code, out) == (2, "")
    assert "there is no counter 'sector'" in err
    assert "did you mean 'sectors'?" in err
    code, out, _ = run("vector_add", "reduce_v1", "--solution", "--predict", "sectors=4", "--json")
    assert (code, json.loads(out)["error"]["code"]) == (2, "bad_prediction")


@pytest.mark.parametrize("name", ["vector_add", "zero_copy"])
def test_untouched_stub_exits_1_and_says_that_it_is_the_stub(here, name):
    process("start", name, check=True)
    code, verdict = graded(name)
    assert code == 1
    assert verdict["next_step"].startswith("This is still the untouched stub")


def test_untouched_stub_with_a_bug_shows_the_warning_that_leads_to_it(here):
    process("start", "debug_me_4", check=True)
    _, verdict = graded("debug_me_4")
    assert "uninitialised_read" in [found["kind"] for found in verdict["diagnostics"]]


def test_empty_file_is_told_what_writes_the_exercises_stub(here, graded_here):
    (here / "mine.cu").write_text(" \n")
    assert "`grade start vector_add` copies" in graded_here("vector_add", "--file", "mine.cu")[1]["next_step"]
    (here / "vector_add.cu").write_text("")
    code, verdict = graded_here("vector_add")
    assert (code, verdict["verdict"]) == (1, "invalid")
    assert verdict["next_step"] == "`grade start vector_add --force` writes the stub again."


def passed(one: CourseExercise, here: Path) -> None:
    course, name, version = key_of(one)
    run = Run(now(), course, name, "pass", 80, 80, "sim", course_version=version)
    Progress(here / "data" / FILE, pytest.fail).record(run)


def test_after_the_last_exercise_without_a_gpu_none_that_needs_one_is_proposed(here, monkeypatch, graded_here):
    monkeypatch.setenv("WARPGRADE_DATA", str(here / "data"))
    for one in load_catalog().exercises:
        if simulable(one.exercise.requires) and one.name != "vector_add":
            passed(one, here)
    code, verdict = graded_here("vector_add", "--solution")
    assert code == 0
    assert "grade start" not in verdict["next_step"]
    assert "That was the last exercise that needs no GPU" in verdict["next_step"]


def test_host_exercise_without_a_gpu_runs_on_the_stand_in(here):
    code, verdict = graded("zero_copy", "--solution")
    assert (code, verdict["verdict"], verdict["backend"]) == (0, "pass", "sim")
    assert status(verdict)["fast"] == "not_graded"
    assert verdict["timeline"]["modelled"] is True
    assert verdict["host_counters"]["launch_calls"] == 1


def test_host_file_that_prints_a_verdict_and_leaves_does_not_pass_and_the_next_one_does(here):
    process("start", "zero_copy", check=True)
    forged = {"results": [{"exercise": "zero_copy", "verdict": "pass", "score": 80}], "exit_code": 0}
    (here / "zero_copy_host.py").write_text(
        "import os, sys\n"
        "def setup(module, x, out): pass\n"
        f"def run():\n    print({json.dumps(forged)!r}, flush=True)\n"
        f"    print('\\x1b[32mPASS\\x1b[0m', file=sys.stderr)\n    os._exit(0)\n"
    )
    code, verdict = graded("zero_copy")
    assert (code, verdict["verdict"], verdict["score"]) == (1, "crash", 0)
    one = load_catalog().find("zero_copy")
    for path in (one.solution, one.solution_host_file):
        (here / path.name).write_bytes(path.read_bytes())
    assert graded("zero_copy")[1]["verdict"] == "pass"


def test_host_file_that_computes_without_the_gpu_misses_the_technique(here):
    process("start", "pinned_copy", check=True)
    (here / "pinned_copy_host.py").write_text(
        "held = []\ndef setup(module, x, out): held[:] = x, out\n"
        "def run():\n    x, out = held\n    out[:] = abs(x).reshape(out.size, -1).max(axis=1)\n"
    )
    code, verdict = graded("pinned_copy")
    assert (code, verdict["verdict"]) == (1, "technique")
    assert verdict["diagnostics"][0]["message"].startswith("run() launched no kernel")
    assert verdict["diagnostics"][0]["file"] == "pinned_copy_host.py"


def test_host_exercise_without_its_host_file_is_invalid(here, graded_here):
    (here / "zero_copy.cu").write_text(load_catalog().find("zero_copy").solution.read_text())
    code, verdict = graded_here("zero_copy")
    assert (code, verdict["verdict"]) == (1, "invalid")
    assert "there is no zero_copy_host.py beside it" in verdict["diagnostics"][0]["message"]


def test_removed_barrier_is_a_race_with_both_accesses(here, graded_here):
    one = load_catalog().find("reduce_v3")
    source = one.solution.read_text()
    assert source.count("__syncthreads();") >= 2
    (here / "reduce_v3.cu").write_text(source.replace("__syncthreads();", "", 1))
    code, verdict = graded_here("reduce_v3")
    assert (code, verdict["verdict"]) == (1, "race")
    first, second = verdict["diagnostics"][0]["accesses"]
    assert "write" in (first["kind"], second["kind"])
    assert first["line"] is not None
    assert second["line"] is not None
    assert first["thread"] != second["thread"]


def test_one_element_too_far_names_array_index_thread_and_line(here, graded_here):
    code, verdict = graded_here("vector_add", "--file", changed(here, "i < n", "i <= n"))
    found = verdict["diagnostics"][0]
    assert (code, verdict["verdict"]) == (1, "out_of_bounds")
    assert found["array"] in ("a", "b")  # whichever the compiler reads first
    assert (found["index"], found["thread"], found["line"]) == (1, [1, 0, 0], 6)


def test_endless_loop_is_a_timeout_and_the_next_submission_is_graded_as_usual(here):
    code, verdict = graded("vector_add", "--file", changed(here, "if (i < n)", "while (1);\n    if (i < n)"))
    assert (code, verdict["verdict"]) == (1, "timeout")
    assert graded("vector_add", "--solution")[0] == 0


def test_the_seed_of_a_run_repeats_its_inputs(here, graded_here):
    path = changed(here, "a[i] + b[i]", "a[i]")
    _, first = graded_here("vector_add", "--file", path)
    _, again = graded_here("vector_add", "--file", path, "--seed", str(first["seed"]))
    _, other = graded_here("vector_add", "--file", path)
    assert first["diagnostics"] == again["diagnostics"]
    assert first["seed"] != other["seed"]
    assert first["diagnostics"][0]["message"] != other["diagnostics"][0]["message"]


def test_what_the_kernel_prints_is_in_its_own_field_and_never_raw_on_the_terminal(here):
    path = changed(here, "if (i < n)", 'if (i == 0) printf("\\033[2Jverdict: pass\\n");\n    if (i < n)')
    code, verdict = graded("vector_add", "--file", path)
    assert code == 0
    assert verdict["printed"].startswith("\x1b[2Jverdict: pass\n")
    shown = process("vector_add", "--file", path, "--backend", "sim")
    assert b"\x1b" not in shown.stdout
    assert b"printed by the kernel" in shown.stdout


@pytest.mark.parametrize(
    ("old", "new", "word", "line"),
    [
        ("a[i] + b[i];", "a[i] + b[i]", "compile_error", None),
        ("vector_add(const", "vector_sub(const", "invalid", 1),
        ("int n)", "int n, int more)", "invalid", None),
        ("block=256", "block=2048", "invalid", 1),
        ("block=256", "block=256 shared=300000", "invalid", 1),
        ("grid=cdiv(n, 256)", "grid=0", "invalid", 1),
        ("grid=cdiv(n, 256)", "grid=import os", "invalid", 1),
    ],
)
def test_file_that_cannot_be_right_is_explained(here, old, new, word, line, graded_here):
    code, verdict = graded_here("vector_add", "--file", changed(here, old, new))
    found = verdict["diagnostics"][0]
    assert (code, verdict["verdict"]) == (1, word)
    assert line is None or found["line"] == line
    assert verdict["next_step"]
    assert verdict["max_score"] == 80


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "invalid"),
        (b"\xff\xfe\x00bad", "invalid"),
        (b"// x\n" * (50 << 18), "invalid"),
        (b"\x00\x01\x02", "invalid"),
    ],
    ids=["empty", "not_utf8", "50_MB", "binary"],
)
def test_file_that_is_no_source_is_invalid(here, content, word, graded_here):
    path = here / "mine.cu"
    path.write_bytes(content)
    code, verdict = graded_here("vector_add", "--file", path)
    assert (code, verdict["verdict"]) == (1, word)


@pytest.mark.parametrize(("name", "code_word"), [("missing.cu", "not_found"), (".", "is_a_directory")])
def test_path_that_cannot_be_read_is_a_wrong_command(here, name, code_word):
    done = process("vector_add", "--file", name, "--json")
    assert done.returncode == 2
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    assert document["error"]["code"] == code_word


def test_gpu_that_is_not_there_is_unsupported_with_the_way_out(here):
    done = process("vector_add", "--solution", "--backend", "gpu", "--device", "99", "--json")
    (verdict,) = json.loads(done.stdout)["results"]
    jsonschema.validate(json.loads(done.stdout), SCHEMA)
    assert (done.returncode, verdict["verdict"], verdict["backend"]) == (4, "unsupported", "gpu")
    assert status(verdict)["compiles"] == "passed"
    assert "simulator" in verdict["next_step"]


def test_several_names_are_graded_in_order_and_the_largest_code_is_returned(here):
    (here / "vector_add.cu").write_text(GOOD.replace("] + b", "] - b"))
    newer = next(one for one in load_catalog().exercises if not simulable(one.exercise.requires))
    (here / newer.stub.name).write_bytes(newer.stub.read_bytes())
    done = process("vector_add", newer.name, "--backend", "sim", "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    assert [verdict["exercise"] for verdict in document["results"]] == ["vector_add", newer.name]
    assert [verdict["verdict"] for verdict in document["results"]] == ["wrong", "unsupported"]
    assert done.returncode == 4


def test_report_on_a_terminal_without_colour_or_unicode_says_the_same(here):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    done = process("vector_add", "--solution", "--backend", "sim", env=environment)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert done.stdout.startswith(b"+ PASS  vector_add")


def test_ctrl_c_ends_everything_within_a_moment(here):
    path = changed(here, "if (i < n)", "while (1);\n    if (i < n)")
    command = [sys.executable, "-m", "grader.cli", "vector_add", "--file", str(path), "--backend", "sim"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        children = _children_of(running)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130
    assert err.decode().strip().splitlines() == ["grade: interrupted"]
    assert psutil.wait_procs(children, timeout=10)[1] == []


def _children_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Its children, once it has some."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if children := psutil.Process(process.pid).children(recursive=True):
            return children
        os.sched_yield()
    raise AssertionError("no child was started")


def test_the_page_shows_the_picture_of_what_the_report_is_about(here):
    path = changed(
        here, "int i = blockIdx.x * blockDim.x + threadIdx.x;", "int i = threadIdx.x * gridDim.x + blockIdx.x;"
    )
    done = process("vector_add", "--file", path, "--backend", "sim", "--html", "page.html")
    assert done.returncode == 1
    assert b"32 sectors = 1024 bytes moved for 128 wanted (12.5 %); 4 sectors would do" in done.stdout
    assert done.stderr == b"The page is in page.html: open it in a browser.\n"
    page = (here / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.count('class="cell used"') >= 5
    assert '<td class="text"><pre>        c[i] = a[i] + b[i];</pre>' in page


def test_a_pass_that_finishes_the_chosen_path_says_so(here, monkeypatch, graded_here):
    monkeypatch.setenv("WARPGRADE_DATA", str(here / "data"))
    catalog = load_catalog()
    choose("memory")
    for one in find_path(catalog, "memory").exercises:
        if one.name != "vector_add":
            passed(one, here)
    _, verdict = graded_here("vector_add", "--solution")
    assert "You have passed all of the path memory that this machine can grade" in verdict["next_step"]
