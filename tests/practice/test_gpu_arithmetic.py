"""The functions that answers of numeric questions may call."""

from __future__ import annotations

from itertools import pairwise

import pytest

from grader.expressions import ExpressionError, evaluate
from grader.practice.gpu_arithmetic import REGISTERED, GpuFunction, bank_ways, functions, sectors, wavefronts
from tests.simt.observers.measured import PATTERNS, Pattern

FULL = 0xFFFFFFFF


@pytest.mark.parametrize("one", REGISTERED, ids=lambda one: one.signature.partition("(")[0])
def test_every_function_has_the_value_of_its_example_and_says_what_it_is(one: GpuFunction) -> None:
    assert evaluate(one.example, {}, functions=functions()) == one.value
    assert one.meaning.endswith(".")


def _stride(pattern: Pattern) -> int | None:
    """The distance of neighbouring lanes' elements; None if it differs, or lanes are idle."""
    steps = {after - before for before, after in pairwise(pattern["index"])}
    return steps.pop() if len(steps) == 1 and pattern["active"] == FULL else None


def test_strided_requests_are_those_that_a_profiler_measured() -> None:
    strided = [(pattern, stride) for pattern in PATTERNS if (stride := _stride(pattern)) is not None]
    strided = [(pattern, stride) for pattern, stride in strided if stride or pattern["operation"] == "load"]
    assert {pattern["space"] for pattern, _ in strided} == {"global", "shared"}
    for pattern, stride in strided:
        if pattern["space"] == "global":
            assert sectors(stride, pattern["width"], pattern["index"][0]) == pattern["sectors"], pattern["name"]
        else:
            assert wavefronts(stride, pattern["width"]) == pattern["wavefronts"], pattern["name"]


def test_a_column_of_a_padded_tile_has_no_conflict() -> None:
    assert [bank_ways(pitch) for pitch in (32, 33, 34, 36, 40, 48)] == [32, 1, 2, 4, 8, 16]
    assert (bank_ways(0), bank_ways(1, 16), wavefronts(1, 16), wavefronts(32, 8)) == (1, 1, 4, 32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sectors(1, 3)", "a lane accesses 1, 2, 4, 8 or 16 bytes, not 3"),
        ("sectors(1/2, 4)", "0.5 is not an integer"),
        ("resident_blocks(2000, 32)", "2000 threads in a block: 1 to 1024 are possible"),
        ("ridge_point(1, 0)", "divides by zero"),
        ("warps(3)", "the functions are cdiv, "),
    ],
)
def test_what_no_gpu_has_is_an_error_of_the_expression(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message.replace("(", r"\(")):
        evaluate(text, {}, functions=functions(), exact_division=True)


def test_other_expressions_do_not_know_the_functions() -> None:
    with pytest.raises(ExpressionError, match="calls 'sectors'"):
        evaluate("sectors(1)", {})
