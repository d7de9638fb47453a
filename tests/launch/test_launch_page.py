"""docs/launch-lines.md: every line that it shows is read as it says, and every message is the real one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.compile import Entry, Parameter, Program
from grader.errors import SubmissionError
from grader.exercise import Array, Exercise, Size
from grader.launch import DeviceLimits, Launch, LaunchPlan, Zero, parse_launches, resolve_launches
from grader.launch.parse import MAX_LINE, MAX_LINES
from grader.launch.resolve import MAX_PASSES, MAX_SCRATCH_BYTES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "launch-lines.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = [text for language, text in BLOCKS if language == "c"]
MISTAKES = [text for _, text in BLOCKS if "✘" in text]

POINTER, INT = Parameter("u64", 8, 8), Parameter("u32", 4, 4)
KERNEL = 'extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) { }\n'


def exercise(inputs: str, output: str, sizes: str) -> Exercise:
    """An exercise with these names; all arrays are of the first size."""
    given = tuple(Array(name, "float32", sizes.split()[0]) for name in inputs.split())
    out = Array(output, "float32", "1" if output == "count" else sizes.split()[0], role="out")
    size = dict.fromkeys(sizes.split(), 1)
    return Exercise("page", 1, "the page's", (*given, out), "none:none", small=(size,), simulated=size)


OF = {
    "vector_add": exercise("a b", "c", "n"),
    "transpose": exercise("x", "out", "rows cols"), "row_sums": exercise("x", "out", "rows cols"),
    "blur": exercise("x weights", "out", "rows cols"),
    "block_sums": exercise("x", "out", "n"), "reduce": exercise("x", "out", "n"),
    "histogram": exercise("x", "count", "n"),
    "copy_tiles": replace(
        exercise("x", "out", "rows cols"),
        arrays=(Array("x", "float32", "rows*cols"), Array("out", "float32", "rows*cols", role="out")),
    ),
}  # fmt: skip


def plan(lines: str, size: Size, program: Program | None = None) -> LaunchPlan:
    script = parse_launches(lines + "\n" + KERNEL, file="vector_add.cu")
    named = next((kernel for kernel in OF if f" {kernel}(" in lines), "vector_add")
    return resolve_launches(script, OF[named], size, DeviceLimits(), program)


def tiled(lines: str) -> bool:
    return "tensor_map" in lines


@pytest.mark.parametrize("lines", [lines for lines in EXAMPLES if not tiled(lines)])
@pytest.mark.parametrize("count", [1, 1000, 100_000])
def test_every_example_gives_a_plan_at_small_and_large_sizes(lines: str, count: int) -> None:
    wanted = len(re.findall(r"^// (?:launch|passes)", lines, re.MULTILINE))
    assert wanted >= 1
    assert len(plan(lines, {"n": count, "rows": count, "cols": 77}).launches) >= wanted


def example(word: str) -> str:
    (found,) = (lines for lines in EXAMPLES if word in lines)
    return found


def test_the_examples_mean_what_the_page_says() -> None:
    (shared,) = plan(example("shared="), {"rows": 5, "cols": 7}).launches
    assert (shared.grid, shared.block, shared.shared_bytes) == ((5, 1, 1), (128, 1, 1), 512)
    (tiles,) = plan(example("transpose("), {"rows": 33, "cols": 65}).launches
    assert (tiles.grid, tiles.block) == ((3, 2, 1), (32, 8, 1))
    zero, launch = plan(example("zero count"), {"n": 9}).steps
    assert (zero, type(launch)) == (Zero("count", 1), Launch)
    (constant,) = plan(example("constant"), {"rows": 3, "cols": 3}).constants
    assert (constant.symbol, constant.buffer) == ("WEIGHTS", "weights")
    first, second = plan(example("block_sums"), {"n": 5000}).launches
    assert (first.args, second.args) == (("x", "partial", 5000), ("partial", "out", 5))
    assert plan(example("cooperative"), {"n": 5}).launches[0].cooperative


def test_the_tensor_map_is_what_the_page_says() -> None:
    made = plan(example("tensor_map"), {"rows": 6400, "cols": 64})
    (one,) = made.tensor_maps
    assert (one.shape, one.strides, one.box, one.swizzle) == ((6400, 64), (256,), (64, 32), 128)
    assert made.launches[0].args == ("x_tiles", "out", 6400, 64)


def test_the_drawing_of_the_passes_is_true() -> None:
    shown = re.search(r"^ x \[100000\].*\n(.*)\n(.*)\n", PAGE, re.MULTILINE)
    assert shown is not None
    sizes, blocks = re.findall(r"m=(\d+)", shown[1]), re.findall(r"(\d+) block", shown[2])
    launches = plan(example("passes m=n"), {"n": 100_000}).launches
    assert [launch.args for launch in launches] == [
        ("x", "ping", 100_000), ("ping", "pong", 391), ("pong", "out", 2)
    ]  # fmt: skip
    assert [str(launch.args[2]) for launch in launches] == sizes
    assert [str(launch.grid[0]) for launch in launches] == blocks
    assert len(plan(example("passes m=n"), {"n": 1}).launches) == 1


@pytest.mark.parametrize("block", MISTAKES, ids=[block.partition("\n")[0][:60] for block in MISTAKES])
def test_every_mistake_gets_the_message_that_the_page_shows(block: str) -> None:
    lines, _, told = block.partition("✘ ")
    message, _, hint = re.sub(r"\n  +", " ", told).strip().partition("\n→ ")
    place = re.search(r"at n=(\d+)", message)
    mangled = re.search(r"_Z\w+", message)
    entry = Entry(mangled[0] if mangled else "vector_add", (POINTER, POINTER, POINTER, INT), 0)
    with pytest.raises(SubmissionError) as caught:
        plan(lines, {"n": int(place[1]) if place else 1}, Program("vector_add.cu", "", "", "sm_80", (entry,), ""))
    found = caught.value.diagnostics[0]
    assert (found.message, found.hint) == (message, hint)


def test_the_page_has_examples_and_mistakes() -> None:
    assert len(EXAMPLES) >= 9
    assert len(MISTAKES) >= 10


def test_the_limits_are_the_simulated_devices() -> None:
    limits = DeviceLimits()
    x, y, z = limits.max_block
    for words in (
        f"| {limits.max_threads_per_block} in all; {x}, {y} and {z} along x, y and z |",
        f"| {limits.max_grid[0]} along x, {limits.max_grid[1]} along y and z |",
        f"| {limits.max_shared_bytes} bytes (163 KiB)", f"{limits.sm_count} on the simulator",
        f"| passes | {MAX_PASSES} |", f"| {MAX_LINES} in a file, {MAX_LINE} characters each |", "| 1 GiB together |",
    ):  # fmt: skip
        assert words in PAGE
    assert MAX_SCRATCH_BYTES == 1 << 30
