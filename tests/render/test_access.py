"""Pictures of one request: what a person sees, and that it shows as many sectors and wavefronts as were counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
from verdict_samples import PASSED, SOURCE, STRIDED, request

from grader.compile import compile_source
from grader.render.access import IDLE, access_picture, lane_words, picture_for, rows_of
from grader.render.terminal import to_terminal
from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import parse
from grader.simt.simulate import Call, Memory, Options, simulate
from grader.text import to_ascii
from grader.verdict import Diagnostic, WorstRequest
from tests.simt.kernels import body

EVERY_WORD = request([4 * lane for lane in range(32)], taken=4, least=4)
CONFLICT = request([8 * lane for lane in range(32)], space="shared", taken=2, least=1)


def test_every_second_word_of_two_cache_lines():
    assert access_picture(STRIDED) == [
        "line 10: one load from src, 32 lanes × 4 bytes (block 0, warp 0)",
        "",
        "          sector 0 sector 1 sector 2 sector 3",
        "byte   0 │█░█░█░█░│█░█░█░█░│█░█░█░█░│█░█░█░█░│ lanes 0–15",
        "     128 │█░█░█░█░│█░█░█░█░│█░█░█░█░│█░█░█░█░│ lanes 16–31",
        "█ wanted   ░ moved for nothing",
        "8 sectors = 256 bytes moved for 128 wanted (50 %); 4 sectors would do",
    ]


def test_one_word_too_far_touches_a_fifth_sector():
    moved = request([4 * lane + 4 for lane in range(32)], taken=5, least=4)
    assert access_picture(moved)[3:5] == [
        "byte   0 │░███████│████████│████████│████████│ lanes 0–30",
        "     128 │█░░░░░░░│        │        │        │ lane 31",
    ]


def test_far_apart_lanes_show_the_first_lines_and_the_last():
    far = access_picture(request([128 * lane for lane in range(32)], taken=32, least=4))
    assert far[3] == "byte    0 │█░░░░░░░│        │        │        │ lane 0"
    assert far[6].strip() == "⋮ 28 more cache lines"
    assert far[7] == "     3968 │█░░░░░░░│        │        │        │ lane 31"
    assert "(12.5 %)" in far[-1]


def test_two_words_of_each_second_bank():
    assert access_picture(CONFLICT) == [
        "line 10: one load from shared src, 32 lanes × 4 bytes (block 0, warp 0)",
        "",
        "             bank 0   8        16       24",
        "wavefront 1 │█ █ █ █ │█ █ █ █ │█ █ █ █ │█ █ █ █ │ lanes 0–15",
        "          2 │█ █ █ █ │█ █ █ █ │█ █ █ █ │█ █ █ █ │ lanes 16–31",
        "             ▲",
        "bank 0 has 2 words: 0 (lane 0), 32 (lane 16)",
        "2 wavefronts where 1 would do: a bank serves one word at a time",
    ]


def test_an_array_that_starts_in_another_bank_shows_its_own_banks():
    column = replace(request([128 * lane for lane in range(32)], space="shared", taken=32, least=1), base=20)
    drawn = access_picture(column)
    assert drawn[3].startswith("wavefront  1 │     █  │")
    assert "bank 5 has 32 words: 0 (lane 0), 32 (lane 1), 64 (lane 2) …" in drawn


def test_lanes_of_one_word_share_a_wavefront():
    same = request([0] * 32, space="shared", taken=1, least=1)
    assert access_picture(same)[3:] == ["wavefront 1 │█       │        │        │        │ lanes 0–31", "1 wavefront"]


def test_words_used_in_part_are_told_apart():
    halves = replace(request([4 * lane for lane in range(32)], taken=4, least=2), bytes_per_lane=2)
    drawn = access_picture(halves)
    assert "│▒▒▒▒▒▒▒▒│" in drawn[3]
    assert drawn[4] == "▒ partly wanted"


@pytest.mark.parametrize("shown", [STRIDED, CONFLICT, EVERY_WORD])
@pytest.mark.parametrize("width", [60, 74, 200])
def test_a_picture_is_small_and_also_ascii(shown, width):
    plain = [to_ascii(line) for line in access_picture(shown, width=width)]
    assert len(plain) <= 12
    assert max(map(len, plain)) <= min(width, 74)
    assert all(line.isascii() for line in plain)


def test_where_there_is_no_room_there_is_no_picture():
    assert access_picture(STRIDED, width=40) == []


@pytest.mark.parametrize(
    ("lanes", "words"),
    [
        ([3], "lane 3"),
        ([0, 1], "lanes 0, 1"),
        (range(32), "lanes 0–31"),
        ([0, 2, 4, 6], "lanes 0, 2 … 6"),
        ([1, 5, 7, 20], "lanes 1, 5, 7 …"),
    ],
)
def test_lanes_in_words(lanes, words):
    assert lane_words(list(lanes)) == words


@pytest.mark.parametrize("counter", ["sector_efficiency", "sectors_per_request", "global_load_sectors"])
def test_a_missed_expectation_on_sectors_shows_the_line_that_wastes_them(counter):
    found = Diagnostic("technique", "too many", line=10, counter=counter)
    launch = replace(PASSED.launches[0], worst=(EVERY_WORD, STRIDED, CONFLICT))
    assert picture_for(found, [launch]) is STRIDED
    assert picture_for(replace(found, line=9), [launch]) is None
    assert picture_for(replace(found, kernel="another"), [launch]) is None


def test_bank_conflicts_show_banks_and_other_counters_nothing():
    launch = replace(PASSED.launches[0], worst=(STRIDED, CONFLICT))
    assert picture_for(Diagnostic("technique", "", counter="excess_wavefronts"), [launch]) is CONFLICT
    assert picture_for(Diagnostic("technique", "", counter="active_lanes"), [launch]) is None
    assert picture_for(Diagnostic("race", ""), [launch]) is None


def test_nothing_wasted_is_no_picture():
    launch = replace(PASSED.launches[0], worst=(EVERY_WORD,))
    assert picture_for(Diagnostic("technique", "", counter="sectors"), [launch]) is None


def test_the_report_shows_the_picture_below_the_source_line():
    found = Diagnostic("technique", "wasteful", file="reduce_v3.cu", line=10, counter="sectors")
    missed = replace(PASSED, verdict="technique", diagnostics=(found,), file="reduce_v3.cu",
                     launches=(replace(PASSED.launches[0], worst=(STRIDED,)),))  # fmt: skip
    report = to_terminal(missed, SOURCE, color=False)
    assert report.index("▶ 10") < report.index("│█░█░█░█░│") < report.index("<<<4096")
    assert "sector 0" not in to_terminal(missed, SOURCE, color=False, width=50)


# -------------------------------------------------------------------------------------------- against the simulator


def worst_of(statements: str, arguments: Sequence[tuple[str | bytes, ...]], **arrays: np.ndarray) -> list[WorstRequest]:
    """The worst requests of a kernel ``k(x, y, z, s)``, launched once for each of the arguments."""
    source = body(statements, "float* x, float* y, int* z, int s").encode()
    program = compile_source(source, "k.cu")
    memories = [Memory(name, np.frombuffer(a.tobytes(), np.uint8), True) for name, a in arrays.items()]
    calls = [Call("k", (1, 1, 1), (32, 1, 1), 0, given) for given in arguments]
    how = Options(observed=frozenset({"coalescing", "banks"}))
    outcome = simulate(parse(program.ptx, "k.cu"), memories, calls, cache=CodeCache(program.key), options=how)
    return [WorstRequest("k", **asdict(one)) for call in outcome.worst for one in call]


FLOATS = {"x": np.zeros(8192, np.float32), "y": np.zeros(128, np.float32)}
VECTORS = {"float": "v", "float2": "v.x", "float4": "v.x"}


@pytest.mark.parametrize("kind", VECTORS)
def test_as_many_wavefronts_are_drawn_as_were_counted(kind):
    draw = np.random.default_rng(1)
    orders = {f"z{i}": draw.integers(-1, (2, 8, 32, 64)[i % 4], 32, np.int32) for i in range(24)}
    statements = f"""__shared__ {kind} a[64]; {kind} v = a[t]; a[t + 32] = v; __syncthreads();
if (z[t] >= 0) {{ v = a[z[t]]; y[t] = {VECTORS[kind]}; a[z[t]] = v; }}"""
    found = worst_of(statements, [("x", "y", name, bytes(4)) for name in orders], **FLOATS, **orders)
    shared = [one for one in found if one.space == "shared"]
    assert len(shared) >= 24
    assert [len(rows_of(one)) for one in shared] == [one.taken for one in shared]


@pytest.mark.parametrize("kind", ["float", "float4", "short"])
def test_as_many_sectors_are_drawn_as_were_counted(kind):
    statements = f"{kind} v = (({kind}*)x)[t * s + 1]; (({kind}*)y)[t] = v;"
    arguments = [("x", "y", "x", stride.to_bytes(4, "little")) for stride in (0, 1, 2, 3, 7, 33)]
    loads = [one for one in worst_of(statements, arguments, **FLOATS) if one.kind == "load"]
    cells = [[cell for row in rows_of(one) for cell in row.cells] for one in loads]
    assert [sum(cell != IDLE for cell in some) for some in cells] == [8 * one.taken for one in loads]
