"""`grade device --block`: what fits on a multiprocessor, drawn and as JSON."""

from __future__ import annotations

import json

import pytest

from grader.cli import main
from grader.cli.machine import OccupancyQuestion, occupancy_lines
from grader.errors import Unsupported
from grader.simt.occupancy import occupancy

REGISTERS = """\
Blocks of 128 threads with 37 registers each and 0 bytes of shared memory, on one multiprocessor of an A100:

  ██████████████████████████████░░░░░░░░░░  48 of 64 warps: 75.0%

  resource       available                          blocks
  warps          room for 64 warps                      16
  blocks         room for 32 blocks                     32
  registers      65536 registers                        12  ◀ the limit
  shared memory  167936 bytes, 166912 a block          164"""


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def detect(device: int) -> None:
        raise Unsupported("no NVIDIA driver was found on this machine")

    monkeypatch.setattr("grader.gpus.detect.detect", detect)


def lines(threads: int, registers: int, shared: int = 0, arch: str = "sm_80", *, unicode: bool = True) -> list[str]:
    found = occupancy(arch, threads=threads, registers=registers, shared_bytes=shared)
    return list(
        occupancy_lines(OccupancyQuestion(arch, threads, registers, shared), found, arch, "an A100", unicode=unicode)
    )


def test_the_answer_is_a_figure_a_bar_and_each_resource_with_the_limit_marked():
    assert "\n".join(lines(128, 37)) == REGISTERS


def test_without_unicode_it_is_drawn_in_ascii():
    text = "\n".join(lines(128, 37, unicode=False))
    assert text.isascii()
    assert f"  {'#' * 30}{'.' * 10}  48 of 64 warps" in text
    assert "12  <- the limit" in text


def test_two_limits_are_both_marked():
    assert [line.split()[0] for line in lines(256, 64, 40 * 1024) if "the limit" in line] == ["registers", "shared"]


@pytest.mark.parametrize(
    ("asked", "lacks"), [((1024, 65), "registers"), ((1024, 65, 200_000), "registers and shared memory")]
)
def test_a_block_that_never_fits_is_said_to_fail(asked, lacks):
    assert lines(*asked)[-1] == f"No block fits: it needs more {lacks} than available, so every launch fails."


def test_without_a_gpu_the_simulated_device_answers(no_gpu, capsys):
    assert main(["device", "--block", "256"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Blocks of 256 threads with 32 registers each" in out
    assert "of the simulated A100 (sm_80):" in out
    assert "64 of 64 warps: 100.0%" in out


@pytest.mark.parametrize("words", [["--registers", "64"], ["--shared", "0"], ["--arch", "sm_90"]])
def test_any_part_of_the_question_asks_it(no_gpu, capsys, words):
    assert main(["device", *words]) == 0
    assert "Blocks of 256 threads" in capsys.readouterr().out


def test_json_has_the_question_and_the_answer(no_gpu, capsys):
    assert main(["device", "--block", "128", "--registers", "37", "--arch", "sm_90", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "schema": "warpgrade/occupancy/1", "arch": "sm_90", "threads": 128, "registers": 37, "shared_bytes": 0,
        "blocks": 12, "warps": 48, "most_warps": 64, "fraction": 0.75, "limiters": ["registers"],
        "limits": {"warps": 16, "blocks": 32, "registers": 12, "shared memory": 228},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--block", "2000"], "2000 threads in a block: 1 to 1024 are possible"),
        (["--block", "0"], "--block"),
        (["--block", "32", "--registers", "256"], "256 registers for each thread"),
        (["--block", "32", "--arch", "sm_52"], "nothing is known of 'sm_52'"),
        (["--block", "32", "--arch", "sm_80aa"], "nothing is known of"),
    ],
)
def test_what_cannot_be_is_a_wrong_command(no_gpu, capsys, words, message):
    assert main(["device", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
