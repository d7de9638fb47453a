"""rope, gelu_bias_dropout, swiglu and cross_entropy: oracles against plain loops, trusted checks on the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, exp, log, pi, sin, sqrt, tanh
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from grader.inputs import philox4x32
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, Arrays, judge

RANDOM = np.random.default_rng(17)
DROPOUT = {"rows": 3, "cols": 64, "seed": 2**31 - 1, "offset": 5, "p": 0.1}
ROPE = {"tokens": 3, "heads": 2, "dim": 8, "base": 10000.0}


def floats(count: int, low: float = -4.0, high: float = 4.0) -> npt.NDArray[np.float32]:
    return RANDOM.uniform(low, high, count).astype(np.float32)


INPUTS: Mapping[str, tuple[Arrays, Mapping[str, float]]] = {
    "elementwise:swiglu": ({"gate": floats(1001, -120, 120), "up": floats(1001)}, {"n": 1001}),
    "transformer:rope": ({"x": floats(48), "positions": np.array([0, 7, 2**20 - 1], np.int32)}, ROPE),
    "transformer:rope_neighbours": ({"x": floats(48), "positions": np.array([0, 7, 2**20 - 1], np.int32)}, ROPE),
    "transformer:gelu_bias_dropout": ({"x": floats(192, -16, 16), "bias": floats(64)}, DROPOUT),
    "softmax:cross_entropy": (
        {"logits": floats(5 * 300, -120, 120), "labels": np.array([0, 299, -1, -100, 17], np.int32)},
        {"rows": 5, "cols": 300},
    ),
}


def outputs(name: str) -> dict[str, npt.NDArray[np.float64]]:
    inputs, numbers = INPUTS[name]
    result: dict[str, npt.NDArray[np.float64]] = resolve_reference(name, COURSE)(inputs, numbers)
    assert all(array.dtype == np.float64 and array.ndim == 1 for array in result.values())
    return result


def test_swiglu_equals_a_loop_also_where_the_exponential_is_no_float() -> None:
    gate, up = INPUTS["elementwise:swiglu"][0].values()
    expected = [float(g) / (1 + exp(-float(g))) * float(u) for g, u in zip(gate, up, strict=True)]
    np.testing.assert_allclose(outputs("elementwise:swiglu")["out"], expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "step", "apart"), [("transformer:rope", 1, 4), ("transformer:rope_neighbours", 2, 1)])
def test_rope_turns_each_pair_of_each_head_and_leaves_position_0_alone(name: str, step: int, apart: int) -> None:
    x = INPUTS[name][0]["x"].astype(float).reshape(3, 2, 8)
    y = outputs(name)["y"].reshape(3, 2, 8)
    assert (y[0] == x[0]).all()
    for token, position in enumerate((0, 7, 2**20 - 1)):
        for head in range(2):
            for i in range(4):
                pair = [step * i, step * i + apart]
                angle, (a, b) = position * 10000.0 ** (-i / 4), x[token, head, pair]
                turned = [a * cos(angle) - b * sin(angle), b * cos(angle) + a * sin(angle)]
                np.testing.assert_allclose(y[token, head, pair], turned, atol=1e-8)


def test_dropout_keeps_by_the_words_of_philox_and_its_mask_has_the_same_bits() -> None:
    inputs, _ = INPUTS["transformer:gelu_bias_dropout"]
    found = outputs("transformer:gelu_bias_dropout")
    p = float(np.float32(0.1))
    words = _philox(48, seed=2**31 - 1, offset=5)
    for i in range(192):
        v = float(inputs["x"][i]) + float(inputs["bias"][i % 64])
        gelu = v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 * v**3)))
        kept = words[i] >= p * 2**32
        assert found["y"][i] == pytest.approx(gelu / (1 - p) if kept else 0.0, rel=1e-6, abs=1e-12)
        assert int(found["mask"][i // 32]) >> i % 32 & 1 == kept
    assert 10 < sum(words[i] < p * 2**32 for i in range(192)) < 30


def _philox(counters: int, seed: int, offset: int) -> list[int]:
    """The grader's own Philox puts its stream into word 2 of the counter, where dropout's offset is."""
    return [int(word) for word in philox4x32(np.arange(counters, dtype=np.uint64), offset, 0, seed).ravel()]


def test_cross_entropy_equals_a_loop_and_is_0_where_a_label_is_negative() -> None:
    inputs, _ = INPUTS["softmax:cross_entropy"]
    rows = inputs["logits"].astype(float).reshape(5, 300)
    for loss, row, label in zip(outputs("softmax:cross_entropy")["loss"], rows, inputs["labels"], strict=True):
        total = sum(exp(value - max(row)) for value in row)
        assert loss == pytest.approx(max(row) + log(total) - row[label] if label >= 0 else 0.0)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", INPUTS)
def test_the_check_passes_the_oracles_output_and_names_what_is_wrong(name: str) -> None:
    (inputs, numbers), right = INPUTS[name], _as_outputs(name)
    sizes: dict[str, int] = {key: value for key, value in numbers.items() if isinstance(value, int)}
    scalars = {key: value for key, value in numbers.items() if not isinstance(value, int)}
    bounds = {"relative": 1e-5, "absolute": 1e-5}
    assert judge(name, {**inputs, **right}, sizes, **bounds, **scalars) == NONE_BAD
    first = next(iter(right))
    right[first][2] += 1
    assert judge(name, {**inputs, **right}, sizes, **bounds, **scalars)[:2] == (1, 2)


def _as_outputs(name: str) -> dict[str, npt.NDArray[Any]]:
    return {key: value.astype(np.uint32 if key == "mask" else np.float32) for key, value in outputs(name).items()}
