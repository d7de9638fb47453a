"""Instruction-level parallelism: how many instructions of a basic block do not wait for each other."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simt.engine.blocks import LONGEST, build, chains
from grader.simt.engine.flatten import flatten
from grader.simt.ptx import parse
from tests.simt.kernels import body, run

LOOP = (
    'for (int s = 0; s < n; ++s) {{ _Pragma("unroll") for (int k = 0; k < {own}; ++k) v[k] = fmaf(v[k], v[k], 1.0f); }}'
)


def chain_lengths(instructions: str) -> tuple[int, ...]:
    """Of each block, without the `ret` that every kernel is given at its end."""
    ptx = f"""
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k() {{ .reg .f32 %f<99>; .reg .pred %p<9>; .reg .b32 %r<9>; {instructions} ret; }}
    """
    module = parse(ptx)
    return chains(build(flatten(module, module.functions["k"])))[:-1]


def test_instructions_that_read_the_result_before_are_a_chain() -> None:
    assert chain_lengths("add.f32 %f1, %f0, %f0; add.f32 %f2, %f1, %f0; add.f32 %f3, %f0, %f0;") == (2,)


def test_a_predicate_and_the_value_that_it_may_leave_belong_to_a_chain() -> None:
    assert chain_lengths("setp.lt.f32 %p1, %f0, %f0; @%p1 add.f32 %f2, %f0, %f0;") == (2,)
    assert chain_lengths("add.f32 %f2, %f0, %f0; @%p1 add.f32 %f2, %f0, %f0;") == (2,)
    assert chain_lengths("add.f32 %f2, %f0, %f0; add.f32 %f2, %f0, %f0;") == (1,)


def test_a_jump_ends_a_chain() -> None:
    assert chain_lengths("add.f32 %f1, %f0, %f0; L: add.f32 %f1, %f1, %f0; @%p1 bra L;") == (1, 1, 1)


def test_a_block_that_is_cut_because_it_is_long_has_one_chain() -> None:
    apart = "add.f32 %f1, %f0, %f0;" * LONGEST
    assert chain_lengths(f"{apart} add.f32 %f2, %f1, %f0;") == (1, 1)
    assert chain_lengths(f"{apart} add.f32 %f2, %f3, %f0;") == (1, 0)


@pytest.mark.parametrize("own", [1, 2, 8])
def test_chains_side_by_side_are_parallel(own: int) -> None:
    source = body(
        f"float v[{own}]; for (int k = 0; k < {own}; ++k) v[k] = x[k]; {LOOP.format(own=own)} "
        f"for (int k = 0; k < {own}; ++k) x[k] = v[k];"
    )
    found = run(source, {"x": np.zeros(8, np.float32)}, 400).total
    assert found["ilp"] == pytest.approx(found["instructions"] / found["chained_instructions"])
    assert 0.8 * own <= found["ilp"] <= own + 1
