"""The oracles of decoding against loops, and their checks on the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import built_in_course, resolve_reference
from tests.kernels_ref.trusted import NEEDS_NVRTC, NONE_BAD, judge

SIZE = {"seqs": 3, "kv_heads": 2, "group": 2, "tokens": 40, "spread": 40, "pool": 5}
Arrays = dict[str, npt.NDArray[Any]]


def flat() -> Arrays:
    random = np.random.default_rng(20261123)
    rows = SIZE["seqs"] * SIZE["kv_heads"]
    inputs: Arrays = {
        name: random.normal(0.5, 1.0, count * 128).astype(np.float16)
        for name, count in (("q", rows * SIZE["group"]), ("k", rows * SIZE["tokens"]), ("v", rows * SIZE["tokens"]))
    }
    return inputs | {"lengths": np.array([37, 0, 1], dtype=np.int32)}


def paged() -> Arrays:
    """A pool of five pages, some of which are in several places; `flat` with its keys and values."""
    random = np.random.default_rng(20261124)
    pool: Arrays = {name: random.normal(0.5, 1.0, 5 * 2 * 16 * 128).astype(np.float16) for name in "kv"}
    return flat() | pool | {"table": np.array([4, 0, 4, 1, 2, 3, 3, 1, 0], dtype=np.int32)}


def outputs(name: str, inputs: Arrays) -> npt.NDArray[np.float64]:
    result: npt.NDArray[np.float64] = resolve_reference(name, built_in_course())(inputs, SIZE)["out"]
    return result


def test_decoding_equals_a_loop_over_tokens_and_an_empty_sequence_gives_zeros() -> None:
    inputs = flat()
    out = outputs("decoding:flash", inputs).reshape(3, 4, 128)
    k, v = (inputs[name].astype(float).reshape(3, 2, 40, 128) for name in "kv")
    q = inputs["q"].astype(float).reshape(3, 4, 128)
    for s, length in enumerate((37, 0, 1)):
        for h in range(4):
            terms = [math.exp(q[s, h] @ k[s, h // 2, i] / math.sqrt(128)) for i in range(length)]
            expected = sum((term * v[s, h // 2, i] for i, term in enumerate(terms)), np.zeros(128))
            np.testing.assert_allclose(out[s, h] * (math.fsum(terms) or 1.0), expected, rtol=1e-11)


def test_pages_laid_out_one_after_the_other_give_the_same() -> None:
    inputs = paged()
    rows: Arrays = {}
    for name in "kv":
        pool = inputs[name].reshape(5, 2, 16, 128)
        pages = inputs["table"].reshape(3, 3)
        caches = [np.concatenate(pool[of_one], axis=1)[:, :40] for of_one in pages]
        rows[name] = np.concatenate(caches).ravel()
    np.testing.assert_array_equal(outputs("decoding:paged", inputs), outputs("decoding:flash", inputs | rows))


@NEEDS_NVRTC
@pytest.mark.parametrize(("name", "make"), [("decoding:flash", flat), ("decoding:paged", paged)])
def test_the_check_of_decoding_passes_the_oracles_output_and_names_what_is_wrong(
    name: str, make: Callable[[], Arrays]
) -> None:
    inputs = make()
    exact = outputs(name, inputs)
    out = exact.astype(np.float16)
    bounds = {"relative": 1e-3, "absolute": 1e-4}
    assert judge(name, {**inputs, "out": out}, SIZE, **bounds) == NONE_BAD
    out[600] += np.float16(0.25)
    bad, first, (index, expected) = judge(name, {**inputs, "out": out}, SIZE, **bounds)
    assert (bad, first, index) == (1, 600, 600)
    assert expected == pytest.approx(exact[600], rel=1e-12)
