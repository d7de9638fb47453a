"""Occupancy by the programming guide's figures, on examples worked out by hand."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.compile.toolchain import find_toolchain
from grader.simt.occupancy import MULTIPROCESSORS, NotPossible, most_threads, occupancy

HEADERS = next((folder for folder in find_toolchain().include_dirs if (folder / "cuda_occupancy.h").is_file()), None)


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks", "percent"),
    [
        ("sm_80", 128, 37, 0, 12, 75.0),  # 37 registers are 1280 a warp: 51 warps, 48 in groups of 4
        ("sm_80", 320, 37, 0, 4, 62.5),  # 48 warps hold four blocks of 10
        ("sm_80", 256, 32, 0, 8, 100.0),
        ("sm_80", 32, 16, 0, 32, 50.0),  # no more than 32 blocks, of one warp each
        ("sm_80", 1024, 64, 0, 1, 50.0),
        ("sm_80", 1024, 65, 0, 0, 0.0),  # 2304 registers a warp: 28 warps, and a block has 32
        ("sm_80", 256, 32, 48 * 1024, 3, 37.5),  # 49 KiB with the system's own
        ("sm_80", 256, 32, 163 * 1024, 1, 12.5),
        ("sm_80", 256, 32, 163 * 1024 + 1, 0, 0.0),
        ("sm_90", 256, 32, 48 * 1024, 4, 50.0),
        ("sm_75", 256, 32, 0, 4, 100.0),
        ("sm_75", 128, 32, 5376, 8, 100.0),
        ("sm_75", 128, 32, 8193, 7, 87.5),  # 8448 bytes: before sm_80 the unit is 256
        ("sm_70", 64, 32, 3000, 32, 100.0),  # 3072 bytes, 32 times
        ("sm_86", 1024, 32, 0, 1, 100 * 32 / 48),
        ("sm_90a", 128, 168, 0, 3, 18.75),
    ],
)
def test_blocks_that_fit_are_those_of_the_guides_arithmetic(arch, threads, registers, shared, blocks, percent):
    found = occupancy(arch, threads=threads, registers=registers, shared_bytes=shared)
    assert (found.blocks, 100 * found.fraction) == (blocks, pytest.approx(percent))


@pytest.mark.skipif(shutil.which("g++") is None or HEADERS is None, reason="needs g++ and cuda_occupancy.h")
def test_blocks_that_fit_are_those_of_the_toolkits_own_header(tmp_path: Path):
    source = Path(__file__).parent.parent / "process" / "children" / "occupancy_by_header.cpp"
    program = tmp_path / "occupancy"
    subprocess.run(["g++", "-w", f"-I{HEADERS}", str(source), "-o", str(program)], check=True)
    chosen = random.Random(7)
    asked, lines = [], []
    for _ in range(3000):
        arch, has = chosen.choice(list(MULTIPROCESSORS.items()))
        threads, registers = chosen.randint(1, 1024), chosen.randint(1, 255)
        shared = chosen.choice([0, chosen.randint(0, 4096), chosen.randint(0, has.shared_bytes_per_block)])
        asked.append((arch, threads, registers, shared))
        device = (
            *divmod(int(arch[3:]), 10),
            has.warps,
            has.shared_bytes,
            has.shared_bytes_per_block,
            has.reserved_bytes,
        )
        lines.append(" ".join(map(str, (*device, threads, registers, shared))))
    answers = subprocess.run([str(program)], input="\n".join(lines), text=True, capture_output=True, check=True).stdout
    ours = [occupancy(arch, threads=t, registers=r, shared_bytes=s).blocks for arch, t, r, s in asked]
    assert ours == list(map(int, answers.split()))


def test_a_part_of_a_warp_takes_a_whole_one():
    assert occupancy("sm_80", threads=33, registers=16).warps == 64


@pytest.mark.parametrize("arch", MULTIPROCESSORS)
def test_the_largest_block_is_the_largest_of_which_one_fits(arch):
    for registers in range(1, 256):
        most = most_threads(arch, registers)
        assert occupancy(arch, threads=most, registers=registers).blocks
        assert most == 1024 or not occupancy(arch, threads=most + 1, registers=registers).blocks


def test_limiters_are_the_resources_that_allow_no_more():
    found = occupancy("sm_80", threads=256, registers=64, shared_bytes=40 * 1024)
    assert found.limits == {"warps": 8, "blocks": 32, "registers": 4, "shared memory": 4}
    assert found.limiters == ("registers", "shared memory")


@pytest.mark.parametrize("arch", MULTIPROCESSORS)
def test_more_of_a_resource_never_makes_more_blocks_fit(arch):
    counts = [occupancy(arch, threads=256, registers=r, shared_bytes=1024 * r).blocks for r in range(8, 90)]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"threads": 2048, "registers": 32}, "2048 threads"),
        ({"threads": 256, "registers": 256}, "256 registers"),
        ({"threads": 256, "registers": 32, "shared_bytes": -1}, "-1 bytes"),
    ],
)
def test_what_no_block_can_have_is_refused(given, words):
    with pytest.raises(NotPossible, match=words):
        occupancy("sm_80", **given)


def test_unknown_architecture_names_the_known_ones():
    with pytest.raises(NotPossible) as refused:
        occupancy("sm_52", threads=32, registers=32)
    assert "sm_80" in refused.value.hint
