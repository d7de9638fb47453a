"""Every example of every form, executed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from single import evaluate, lane_count, lanes_of

from grader.simt.isa import FORMS
from grader.simt.isa.registry import Example, Form, arranged, find
from grader.simt.ptx import Instruction

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


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
        ("ldmatrix.b16.shared.x2.m8n8.aligned.sync", "ldmatrix.sync.aligned.m8n8.x2.shared.b16"),
        ("cvt.f16.relu.f32.rn", "cvt.rn.relu.f16.f32"),
        ("set.u32.f32.lt.ftz", "set.lt.ftz.u32.f32"),
        ("add.f32.sat.rn", "add.rn.sat.f32"),
        ("min.s32.relu", "min.relu.s32"),  # as NVIDIA's headers write it
        ("cp.async.shared.global.L2::128B.ca", "cp.async.ca.shared.global.L2::128B"),
        ("mma.sync.m16n8k16.aligned.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("atom.add.global.u32.gpu.acq_rel", "atom.acq_rel.gpu.global.add.u32"),
        ("ld.u32.v2.L2::128B.global.nc", "ld.global.nc.L2::128B.v2.u32"),
    ],
)
def test_modifiers_may_stand_in_another_order(written: str, form: str) -> None:
    assert find(_instruction(written)) is None
    assert arranged(_instruction(written)) == _instruction(form)
    assert find(_instruction(form)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "cp.async.ca.global.shared",
        "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
        "mad.wide.u32.u32",
        "ld.global.global.u32",
        "ldmatrix.sync.m8n8.b16",
    ],
)
def test_types_spaces_and_layouts_keep_their_order_and_nothing_is_left_over(text: str) -> None:
    assert find(arranged(_instruction(text))) is None


def test_arranged_types_belong_to_the_same_operands() -> None:
    assert arranged(_instruction("cvt.f32.f16.ftz")) == _instruction("cvt.ftz.f32.f16")
    assert arranged(_instruction("cvt.f16.f32.rn")) == _instruction("cvt.rn.f16.f32")


def _instruction(name: str) -> Instruction:
    opcode, *modifiers = name.split(".")
    return Instruction(opcode, tuple(modifiers), ())
