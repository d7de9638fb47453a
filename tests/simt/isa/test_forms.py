"""Every example of every form, executed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from single import evaluate, lane_count, lanes_of

from grader.simt.isa import FORMS
from grader.simt.isa.registry import Example, Form

PLAIN = [form for forms in FORMS.values() for form in forms if not form.raw]
CASES = [(form, example) for form in PLAIN for example in form.examples]
ENGINE = {"movement", "sync"}
"""Chapters whose forms need an engine around them, and are tested there."""


def _distance(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> int:
    """The largest distance in units of the last place; equal bits and two NaNs are 0 apart, -0 and +0 are 1."""
    if got.dtype.kind != "f":
        return 0 if np.array_equal(got, want) else 1 << 62
    bits = f"i{got.dtype.itemsize}"
    ranks = [np.where(b < 0, np.iinfo(b.dtype).min - b - 1, b) for b in (got.view(bits), want.view(bits))]
    both_nan = np.isnan(got) & np.isnan(want)
    return max((abs(int(a) - int(b)) for a, b, nan in zip(*ranks, both_nan, strict=True) if not nan), default=0)


@pytest.mark.parametrize(
    ("form", "example"), CASES, ids=[f"{form.syntax} as {example.text}" for form, example in CASES]
)
def test_a_form_gives_what_its_example_says(form: Form, example: Example) -> None:
    got = evaluate(example.text, example.sources, form=form)
    wanted = example.gives if len(form.destinations) > 1 else (example.gives,)
    match = form.match(example.text.split(".")[1:])
    assert match is not None, "the example does not match its form"
    for name, lanes, values in zip(form.destinations, got, wanted, strict=True):
        kind = form.operand_type(name, match)
        count = min(lane_count(kind), max([len(values), *(len(s) for s in example.sources)]))
        want = lanes_of(values, kind)
        assert _distance(lanes[:count], want[:count]) <= example.ulp, f"{lanes[:count]} is not {want[:count]}"


@pytest.mark.parametrize("form", [f for f in PLAIN if f.chapter not in ENGINE], ids=lambda form: form.syntax)
def test_a_form_has_an_example(form: Form) -> None:
    assert form.examples


def test_the_table_has_forms() -> None:
    assert len(CASES) > 300
