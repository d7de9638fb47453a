"""What the warps of a block execute, in order: kinds of instructions, loads and copies in flight."""

from __future__ import annotations

import pytest
import warp_paths
from ladder_times import STORIES, covered, most_in_flight, recorded_steps, stages_to_json
from warp_paths import KINDS, Recorded, code_of, warps_of

from grader.catalog.exercises import load_catalog
from grader.simt.observers import COUNTING

STEPS = [(ladder, step) for ladder, story in STORIES.items() for step in story.steps]


def counted(step: str, **size: int) -> Recorded:
    return warps_of(load_catalog().find(step), size)


@pytest.mark.parametrize(("ladder", "step"), STEPS)
def test_what_is_drawn_was_counted_with_the_solution_as_it_is(ladder, step):
    found, now = recorded_steps()[step], load_catalog().find(step)
    assert found.code == code_of(now), f"{step} was changed: `scripts/ladders --stages` counts again"
    assert found.size == STORIES[ladder].size


def test_comments_and_spaces_change_no_record(tmp_path):
    class Solved:
        solution = tmp_path / "k.cu"

    Solved.solution.write_text("int a; // one\n")
    before = code_of(Solved)
    Solved.solution.write_text("int  a;\n/* two */")
    assert code_of(Solved) == before
    Solved.solution.write_text("int b;")
    assert code_of(Solved) != before


def test_a_loop_that_stores_at_once_has_one_load_in_flight_and_eight_loads_before_the_stores_are_eight():
    size = {"rows": 64, "cols": 64}
    one, eight = counted("transpose_v3", **size), counted("transpose_v4", **size)
    assert (len(one.warps), len(eight.warps)) == (8, 16)
    assert (most_in_flight(one.warps[0]), most_in_flight(eight.warps[0])) == (1, 8)
    assert [warp.kinds.count("b") for warp in (*one.warps, *eight.warps)] == [1] * 24


def test_every_load_and_store_of_a_warp_is_in_its_path():
    warp = counted("transpose_v4", rows=64, cols=64).warps[3]
    assert {kind: warp.kinds.count(kind) for kind in "lwrs"} == {"l": 8, "w": 8, "r": 8, "s": 8}
    assert set(warp.kinds) <= set(KINDS)
    assert all(warp.kinds[began] == "l" and warp.kinds[ended] == "w" for began, ended in warp.spans)


def test_warps_without_work_go_from_barrier_to_barrier():
    found = counted("reduce_v3", n=4096)
    assert [warp.kinds.count("b") for warp in found.warps] == [9] * 8
    assert [warp.kinds.count("c") for warp in found.warps] == [8, 2, 1, 1, 0, 0, 0, 0]


def test_double_buffering_multiplies_while_a_tile_is_in_flight_and_the_step_before_does_not():
    size = {"m": 128, "n": 128, "k": 48}
    assert covered(counted("sgemm_v7", **size).warps[0]) == 0
    assert 0.5 < covered(counted("sgemm_v8", **size).warps[0]) < 1


def test_asynchronous_copies_are_in_flight_up_to_the_wait_for_their_group():
    warp = counted("hgemm_wmma_v5", m=256, n=128, k=256).warps[0]
    assert len(warp.spans) >= 4
    assert all((warp.kinds[began], warp.kinds[ended]) == ("l", "a") for began, ended in warp.spans)
    assert most_in_flight(warp) >= 2


def test_only_block_0_is_followed_and_no_other_run_has_the_observer():
    one, many = counted("reduce_v3", n=256), counted("reduce_v3", n=65536)
    assert [warp.kinds for warp in one.warps] == [warp.kinds for warp in many.warps]
    assert "entered" not in COUNTING


def test_a_block_that_executes_too_much_for_the_record_is_told(monkeypatch):
    monkeypatch.setattr(warp_paths, "ROOM", 64)
    with pytest.raises(SystemExit, match="reduce_v3: a block executes too much"):
        counted("reduce_v3", n=256)


def test_a_record_is_read_as_it_was_written(tmp_path):
    found = counted("reduce_v3", n=256)
    path = tmp_path / "stages.json"
    path.write_text(stages_to_json([found]))
    again = recorded_steps(path)["reduce_v3"]
    assert [warp.kinds for warp in again.warps] == [warp.kinds for warp in found.warps]
    assert [warp.spans for warp in again.warps] == [warp.spans for warp in found.warps]
    assert (again.grid, again.block, again.size, again.code) == (found.grid, found.block, found.size, found.code)
