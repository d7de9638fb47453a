"""Loads from constant memory: one wavefront for each distinct address of a request."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simt.observers import OBSERVERS
from tests.simt.kernels import Ran, body, run

EXCESS = "constant_excess_wavefronts"
TABLE = "__constant__ float table[64] = {1, 2, 3, 4};\n__constant__ float4 wide[16];\n"


def loading(index: str, name: str = "table", lanes: int = 32, observed: frozenset[str] = frozenset(OBSERVERS)) -> Ran:
    value = f"{name}[{index}]" + ".x" * (name == "wide")
    source = TABLE + body(f"if (t < {lanes})\nx[i] = {value};", "float* x, int n")
    return run(source, {"x": np.ones(64, np.float32)}, 3, block=64, observed=observed)


@pytest.mark.parametrize(
    ("index", "distinct"),
    [("2", 1), ("n", 1), ("t / 32", 1), ("t % 2", 2), ("t / 4", 8), ("(t * 5) & 31", 32), ("63 - t", 32), ("t", 32)],
)
def test_each_distinct_address_after_the_first_is_an_excess_wavefront(index: str, distinct: int) -> None:
    ran = loading(index, lanes=64)
    assert ran.total.get(EXCESS, 0) == 2 * (distinct - 1)
    assert "global_load_requests" not in ran.total


def test_inactive_lanes_want_nothing() -> None:
    assert loading("t", lanes=5).total[EXCESS] == 4


def test_an_address_of_16_bytes_is_one() -> None:
    assert loading("t / 4", "wide").total[EXCESS] == 7


def test_a_line_has_its_own() -> None:
    ran = loading("t / 2")
    assert [line[EXCESS] for line in ran.outcome.counters[0].lines.values() if EXCESS in line] == [15]


def test_nothing_is_counted_without_the_observer() -> None:
    assert EXCESS not in loading("t", observed=frozenset(("divergence",))).total


def test_parameters_are_not_constant_memory() -> None:
    source = "struct Given { float v[32]; };\n" + body("x[i] = given.v[t];", "float* x, Given given")
    ran = run(source, {"x": np.ones(32, np.float32)}, np.arange(32, dtype=np.float32).tobytes())
    assert EXCESS not in ran.total
