"""Lanes, warps and barriers: everything makes progress, and what cannot is named."""

from __future__ import annotations

import numpy as np

from tests.simt.kernels import body, run

X = np.zeros(256, np.float32)


def test_a_lane_that_spins_lets_the_lane_that_frees_it_run() -> None:
    statements = "volatile int* flag = (volatile int*)x; if (t == 0) { while (flag[1] == 0); flag[2] = 7; }\nif (t == 5) flag[1] = 1;"
    assert run(body(statements), {"x": X.astype(np.int32)}, 256).arrays["x"][2] == 7


def test_a_warp_that_spins_lets_the_other_warp_run() -> None:
    statements = "volatile int* flag = (volatile int*)x; if (t == 0) { while (flag[1] == 0); flag[2] = 7; }\nif (t == 33) flag[1] = 1;"
    assert run(body(statements), {"x": X.astype(np.int32)}, 256, block=64).arrays["x"][2] == 7


def test_an_endless_loop_ends_with_its_line() -> None:
    ran = run(body("\nwhile (x[0] == 0.0f) __syncwarp();"), {"x": X}, 256, budget=10_000)
    assert ran.kinds == ["instruction_budget"]
    assert ran.events[0].line == 5
    assert not ran.outcome.complete


def test_an_early_return_before_a_barrier_is_fine() -> None:
    ran = run(body("if (i >= 40) return; __syncthreads(); x[i] = 1;"), {"x": X}, 256, block=64)
    assert ran.kinds == []
    assert ran.arrays["x"].sum() == 40


def test_a_barrier_in_a_branch_is_named() -> None:
    ran = run(body("if (t < 8) { x[i] = 1;\n__syncthreads(); }\nx[i + 64] = 2;"), {"x": X}, 256)
    assert ran.kinds == ["left_barrier"]
    assert ran.events[0].line == 5


def test_threads_that_wait_at_different_barriers_are_named() -> None:
    ran = run(
        body("if (t < 32) {\n__syncthreads(); x[i] = 1; }\nelse {\n__syncthreads(); x[i] = 2; }"),
        {"x": X},
        256,
        block=64,
    )
    assert "barrier_divergence" in ran.kinds
    assert {a.line for a in ran.events[0].accesses} == {5, 7}


def test_a_counted_barrier_that_too_few_reach_is_a_deadlock() -> None:
    ran = run(body('if (t < 32)\nasm volatile("bar.sync 1, 64;");\nx[i] = 1;'), {"x": X}, 256, block=64)
    assert ran.kinds == ["deadlock"]
    assert ran.events[0].line == 5
    assert ran.events[0].detail == (1, 32, 64)


def test_barrier_votes_count_all_threads() -> None:
    ran = run(
        body("x[i] = __syncthreads_count(t % 3 == 0) + 1000 * __syncthreads_or(t == 70) + 2000 * __syncthreads_and(t < 99);"),
        {"x": X}, 256, block=100,
    )  # fmt: skip
    assert set(ran.arrays["x"][:100]) == {34.0 + 1000.0}


def test_lanes_meet_again_after_a_branch() -> None:
    ran = run(body("float v = 0; if (t & 1) v = 1; else v = 2; __syncwarp(); x[i] = v;"), {"x": X}, 256)
    assert ran.total["global_store_requests"] == 1


def test_a_partly_filled_warp_runs_its_threads_only() -> None:
    assert run(body("x[i] = 1;"), {"x": X}, 256, block=40, grid=2).arrays["x"].sum() == 80


def test_barriers_of_the_block_are_counted_and_those_of_a_warp_are_not() -> None:
    statements = "__syncthreads(); __syncwarp(); x[i] = __syncthreads_or(t > 5); __syncwarp();"
    ran = run(body(statements), {"x": X}, 256, block=256)
    assert ran.total["barriers"] == 2 * 8


def test_shuffles_clamp_at_their_segment() -> None:
    ran = run(body("x[i] = __shfl_down_sync(0xffffffffu, (float)t, 3, 8);"), {"x": X}, 256)
    assert ran.arrays["x"][:32].tolist() == [t + 3 if t % 8 + 3 < 8 else t for t in range(32)]


def test_reading_a_lane_that_takes_no_part_is_reported() -> None:
    ran = run(body("if (t < 8)\nx[i] = __shfl_down_sync(0xff, (float)t, 4, 16);"), {"x": X}, 256)
    assert ran.kinds == ["inactive_lane"]
    assert ran.events[0].line == 5


def test_reading_a_lane_that_the_mask_does_not_name_is_reported() -> None:
    halves = "unsigned m = t < 16 ? 0xffff : 0xffff0000u;\nx[i] = __shfl_xor_sync(m, (float)t, {});"
    assert run(body(halves.format(8)), {"x": X}, 256).kinds == []
    ran = run(body(halves.format(16)), {"x": X}, 256)
    assert (ran.kinds, ran.events[0].line, ran.events[0].detail[0]) == (["inactive_lane"], 5, 16)


def test_a_mask_that_does_not_name_its_lane_is_reported() -> None:
    assert "bad_mask" in run(body("x[i] = __shfl_sync(0x1, (float)t, 0);"), {"x": X}, 256).kinds


def test_a_mask_that_names_lanes_which_never_come_is_reported() -> None:
    ran = run(body("if (t < 8)\nx[i] = __shfl_sync(0xffffffffu, (float)t, 0);\nelse x[i] = 3;"), {"x": X}, 256)
    assert "missing_lanes" in ran.kinds


def test_ballots_and_matches_see_the_whole_warp() -> None:
    out = np.zeros(64, np.uint32)
    source = body("x[i] = __ballot_sync(~0u, t % 4 == 1); x[32 + i] = __match_any_sync(~0u, t / 16);", "unsigned* x")
    ran = run(source, {"x": out})
    assert set(ran.arrays["x"][:32]) == {0x22222222}
    assert ran.arrays["x"][32:].tolist() == [0xFFFF] * 16 + [0xFFFF0000] * 16
