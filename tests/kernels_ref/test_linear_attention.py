"""The oracle of attention without a softmax against the recurrence, and its trusted check."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, judge

NAME = "linear_attention:causal"


def a_right_answer(heads: int, n: int) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int]]:
    random, sizes = np.random.default_rng(20261123), {"heads": heads, "n": n}
    inputs = {name: random.integers(-1, 2, heads * n * 64).astype(np.float16) for name in "QKV"}
    return inputs | {"O": resolve_reference(NAME, COURSE)(inputs, sizes)["O"].astype(np.float16)}, sizes


@pytest.mark.parametrize(("heads", "n"), [(1, 1), (2, 3), (1, 65)])
def test_linear_attention_equals_the_recurrence_of_its_state(heads: int, n: int) -> None:
    arrays, _ = a_right_answer(heads, n)
    q, k, v, o = (arrays[name].reshape(heads, n, 64).tolist() for name in "QKVO")
    for head in range(heads):
        state = [[0.0] * 64 for _ in range(64)]
        for t in range(n):
            for i, row in enumerate(state):
                for j in range(64):
                    row[j] += k[head][t][i] * v[head][t][j]
            assert o[head][t] == [sum(q[head][t][i] * state[i][j] for i in range(64)) for j in range(64)]


@NEEDS_NVRTC
def test_the_check_of_linear_attention_passes_the_oracles_output_and_names_what_is_wrong() -> None:
    arrays, sizes = a_right_answer(2, 66)
    assert judge(NAME, arrays, sizes) == NONE_BAD
    wrong, place = arrays["O"].copy(), (66 + 65) * 64 + 7
    wrong[place] += 1
    bad, first, explained = judge(NAME, arrays | {"O": wrong}, sizes, absolute=0.5)
    assert (bad, first) == (1, place)
    assert explained == [place, float(arrays["O"][place])]
