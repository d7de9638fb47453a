"""`grade tune` without a GPU: the real compiler and assembler; and with one made by hand."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from grader.cli import main
from grader.errors import Unsupported
from grader.gpus.detect import Gpu
from grader.launch import DeviceLimits
from grader.tune.sweep import Sampled

FILE = """\
#define THREADS 128
constexpr int COPIES = 1;
static_assert(COPIES <= 4, "COPIES is at most 4");
// launch vector_add(a, b, c, n): grid=cdiv(n, THREADS) block=THREADS
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float unused[COPIES];
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
    if (n < 0) c[0] = unused[threadIdx.x];
}
"""
GPU = Gpu(0, "NVIDIA H200", (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch):
    def detect(index: int = 0):
        raise Unsupported("no NVIDIA driver was found", hint="what to do")

    monkeypatch.setattr("grader.cli.tune.detect", detect)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with vector_add.cu, and the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "vector_add.cu"
    path.write_text(FILE)
    return path


@pytest.fixture
def on_a_gpu(monkeypatch: pytest.MonkeyPatch):
    """A GPU whose times are 1 ms for each 128 threads; ``asked`` has the combinations that were timed."""
    asked: list[dict[str, int]] = []

    class Timer:
        def __init__(self, *_: object) -> None:
            pass

        def check(self, variant):
            return Sampled()

        def time(self, variant, samples):
            asked.append(dict(variant.choice))
            return Sampled((variant.needs.threads / 128e3,) * samples)

        def close(self) -> None:
            pass

    monkeypatch.setattr("grader.cli.tune.detect", lambda index=0: GPU)
    monkeypatch.setattr("grader.tune.sweep.GpuTimer", Timer)
    return asked


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["tune", *words])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, " ".join(err.split())


def test_without_a_gpu_it_says_what_fits_and_exits_as_unsupported(here, capsys):
    code, out, err = run("vector_add", "--set", "THREADS=128,2048", "--set", "COPIES=1,5", capsys=capsys)
    assert code == 4
    assert "nothing was measured: no NVIDIA driver was found what to do" in err
    words = " ".join(out.split())
    assert "block=THREADS requests 2048 threads" in words
    assert 'vector_add.cu, line 3: static assertion failed with "COPIES is at most 4"' in words
    assert "128 1 now 128" in words
    assert "100.0 % can run" in words
    assert here.read_text() == FILE


def test_an_architecture_may_be_named_and_then_that_was_the_question(here, capsys):
    code, out, _ = run("vector_add", "--set", "THREADS=64", "--arch", "sm_90", "--json", capsys=capsys)
    read = json.loads(out)
    assert (code, read["arch"], read["measured"], read["rows"][0]["verdict"]) == (0, "sm_90", False, None)
    assert read["rows"][0]["blocks"] == 32


def test_the_fastest_is_shown_and_nothing_is_written(here, on_a_gpu, capsys):
    code, out, _ = run("vector_add", "--set", "THREADS=64,128,256", capsys=capsys)
    assert code == 0
    assert "The fastest is THREADS=64: 500 µs" in " ".join(out.split())
    assert "  1  #define THREADS 64" in out
    assert here.read_text() == FILE
    assert len(on_a_gpu) == 3 + 9


def test_with_write_the_values_change_and_nothing_else(here, on_a_gpu, capsys):
    here.chmod(0o640)
    code, _, err = run("vector_add", "--set", "THREADS=64,128", "--set", "COPIES=1,2", "--write", capsys=capsys)
    assert code == 0
    assert here.read_text().startswith("#define THREADS 64\nconstexpr int COPIES = ")
    assert here.read_text().splitlines()[2:] == FILE.splitlines()[2:]
    assert here.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in here.parent.iterdir()] == ["vector_add.cu"]
    assert "has THREADS=64" in err


def test_a_file_that_is_as_fast_stays(here, on_a_gpu, capsys):
    code, _, err = run("vector_add", "--set", "THREADS=128,256", "--write", capsys=capsys)
    assert (code, here.read_text()) == (0, FILE)
    assert "was not changed" in err


def test_a_byte_order_mark_stays(here, on_a_gpu, capsys):
    here.write_bytes(b"\xef\xbb\xbf" + FILE.encode())
    assert run("vector_add", "--set", "THREADS=64", "--write", capsys=capsys)[0] == 0
    assert here.read_bytes() == b"\xef\xbb\xbf" + FILE.replace("128", "64", 1).encode()


def test_a_file_that_was_saved_meanwhile_is_not_overwritten(here, on_a_gpu, capsys, monkeypatch):
    from grader.tune import sweep as module

    real = module.sweep

    def saving(*given):
        here.write_text(FILE + "// more\n")
        return real(*given)

    monkeypatch.setattr(module, "sweep", saving)
    code, _, err = run("vector_add", "--set", "THREADS=64", "--write", capsys=capsys)
    assert code == 2
    assert "was changed while it was tuned: nothing is written" in err
    assert here.read_text() == FILE + "// more\n"


def test_no_combination_that_works_is_a_failure(here, on_a_gpu, capsys):
    code, out, _ = run("vector_add", "--set", "THREADS=2048", capsys=capsys)
    assert code == 1
    assert "No combination gave a time." in out


def test_the_table_may_go_to_files(here, on_a_gpu, capsys):
    assert run("vector_add", "--set", "THREADS=64,128", "--output", "tiles.md", capsys=capsys)[0] == 0
    assert "| 64 |" in (here.parent / "tiles.md").read_text()
    assert json.loads((here.parent / "tiles.json").read_text())["best"] == {"THREADS": 64}


def test_ctrl_c_shows_what_was_measured(here, on_a_gpu, capsys, monkeypatch):
    from grader.tune import sweep as on_gpu

    plain = on_gpu.GpuTimer.time

    def interrupting(self, variant, samples):
        signal.raise_signal(signal.SIGINT)
        return plain(self, variant, samples)

    monkeypatch.setattr(on_gpu.GpuTimer, "time", interrupting)
    before = signal.getsignal(signal.SIGINT)
    code, out, _ = run("vector_add", "--set", "THREADS=64,128", capsys=capsys)
    assert code == 130
    assert "Interrupted" in out
    assert "The fastest is THREADS=64" in " ".join(out.split())
    assert on_a_gpu == [{"THREADS": 64}]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vector_add"], "there are no values to try"),
        (["vector_add", "--set", "THREADS"], "'THREADS' names no values to try"),
        (["vector_add", "--set", "THREDS=64"], "defines no integer THREDS; did you mean 'THREADS'?"),
        (["vector_add", "--set", "THREADS=64", "--solution", "--write"], "not the course's solution"),
        (["vector_add", "--set", "THREADS=64", "--solution", "--file", "x.cu"], "cannot be used together"),
        (["vector_add", "--set", "THREADS=64", "--file", "nowhere.cu"], "nowhere.cu"),
        (["vector_add", "--set", "THREADS=64", "--arch", "sm_1"], "nothing is known of 'sm_1'"),
        (["hello_index", "--solution", "--set", "THREADS=64"], "hello_index has no timed size"),
        (["vectr_add", "--set", "THREADS=64"], "vectr_add"),
    ],
)
def test_a_wrong_command_is_told_before_anything_is_compiled(here, capsys, monkeypatch, words, message):
    monkeypatch.setattr("grader.tune.build.Workshop.build_all", lambda *_: pytest.fail("something was compiled"))
    code, _, err = run(*words, capsys=capsys)
    assert code == 2
    assert message in err


def test_a_submission_that_is_no_text_is_told_as_in_grading(here, capsys):
    here.write_bytes(b"\xff\xfe\x00")
    code, _, err = run("vector_add", "--set", "THREADS=64", capsys=capsys)
    assert code == 1
    assert "is not text" in err
