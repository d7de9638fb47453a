"""The pure pieces of the GPU backend: layout, arguments, faults, ELF sections, the wire."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest

from grader.backends.gpu import faults, wire
from grader.backends.gpu.arena import ALIGNMENT, GRANULE, HALF_GUARD, lay_out
from grader.backends.gpu.setup import sized
from grader.backends.plans import resolve, scalar
from grader.compile import Entry, Parameter
from grader.errors import GraderFault, SubmissionError
from grader.launch import Constant, Launch, LaunchPlan, Scratch, Zero
from grader.reading import from_json
from grader.verdict import Diagnostic

PLAN = LaunchPlan(
    steps=(Zero("count", 3), Launch("k", ("x", 5, 2.5), (2, 1, 1), (256, 1, 1), 1024, True, (2, 1, 1), 7)),
    scratch=(Scratch("tmp", "float32", 9),),
    constants=(Constant("W", "weights", 2),),
)


# ---------------------------------------------------------------------------------------------------------- layout


def test_arrays_are_aligned_and_apart():
    layout = lay_out([("a", 4, 1, 0), ("b", 2, 12345, 0), ("c", 1, 7, 0)])
    places = list(layout.places.values())
    for place in places:
        assert place.start % ALIGNMENT == 0
        assert place.start - place.guard_start == HALF_GUARD
        assert place.guard_stop - place.stop >= HALF_GUARD
    for left, right in pairwise(places):
        assert left.guard_stop == right.guard_start
    assert layout.size % GRANULE == 0
    assert places[-1].guard_stop <= layout.size


def test_a_slice_begins_inside_and_what_lies_before_it_is_guarded():
    sliced, after = lay_out([("a", 4, 10, 3), ("b", 2, 5, 0)]).places.values()
    assert sliced.start % ALIGNMENT == 12
    assert (sliced.size, sliced.guard_start, sliced.element(sliced.start - 1)) == (40, 0, -1)
    assert after.start % ALIGNMENT == 0
    assert sliced.guard_stop - sliced.stop >= HALF_GUARD


def test_a_stray_byte_has_an_element_index_relative_to_its_array():
    place = lay_out([("a", 4, 10, 0)]).places["a"]
    assert place.element(place.stop) == 10
    assert place.element(place.stop + 7) == 11
    assert place.element(place.start - 1) == -1
    assert place.element(place.start - 5) == -2


def test_guards_cover_the_last_array_up_to_the_end_of_mapped_memory():
    layout = lay_out([("a", 4, 1000, 0)])
    assert layout.places["a"].guard_stop == layout.size


# -------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("value", "parameter", "expected"),
    [
        (5, Parameter("u32", 4, 4), np.uint32(5)),
        (-1, Parameter("u32", 4, 4), np.uint32(2**32 - 1)),
        (2**40, Parameter("u64", 8, 8), np.uint64(2**40)),
        (3, Parameter("f32", 4, 4), np.float32(3)),
        (0.5, Parameter("b8", 2, 2), np.float16(0.5)),  # a __half is two bytes to PTX
        (1, Parameter("b8", 1, 1), np.uint8(1)),
        (0.1, Parameter("f64", 8, 8), np.float64(0.1)),
    ],
)
def test_numbers_take_the_parameters_type(value, parameter, expected):
    got = scalar(value, parameter)
    assert got == expected
    assert got.dtype == expected.dtype


@pytest.mark.parametrize(
    ("value", "parameter"),
    [(2**32, Parameter("u32", 4, 4)), (0.5, Parameter("s32", 4, 4)), (1, Parameter("b8", 12, 4))],
)
def test_a_number_that_does_not_fit_is_invalid(value, parameter):
    with pytest.raises(SubmissionError) as caught:
        scalar(value, parameter)
    assert caught.value.verdict == "invalid"


def test_names_become_addresses():
    args = resolve(("x", 7), (Parameter("u64", 8, 8), Parameter("u32", 4, 4)), {"x": 4096})
    assert [int(a) for a in args] == [4096, 7]


def test_a_missing_argument_is_invalid():
    with pytest.raises(SubmissionError, match="1 arguments to 2 parameters"):
        resolve(("x",), (Parameter("u64", 8, 8), Parameter("u32", 4, 4)), {"x": 4096})


# ----------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("text", "verdict", "kind", "sticky"),
    [
        ("cudaErrorIllegalAddress: an illegal memory access was encountered", "out_of_bounds", "out_of_bounds", True),
        (
            "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
            "out_of_bounds",
            "out_of_bounds",
            True,
        ),
        ("cudaErrorMisalignedAddress: misaligned address", "crash", "misaligned", True),
        ("cudaErrorAssert: device-side assert triggered", "crash", "assert", True),
        ("cudaErrorLaunchFailure: unspecified launch failure", "crash", "launch_failure", True),
        ("CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", "crash", "launch_failure", True),
        ("cudaErrorIllegalInstruction: an illegal instruction was encountered", "crash", "trap", True),
        ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch", "invalid", "launch", False),
        ("CUDA_ERROR_INVALID_VALUE: invalid argument", "invalid", "launch", False),
        ("cudaErrorMemoryAllocation: out of memory", "limit", "limit", False),
        ("CUDA_ERROR_OUT_OF_MEMORY: out of memory", "limit", "limit", False),
    ],
)
def test_cudas_errors_have_a_verdict_each(text, verdict, kind, sticky):
    fault = faults.fault_of(text)
    assert fault is not None
    assert (fault.verdict, fault.kind, faults.is_sticky(text)) == (verdict, kind, sticky)


def test_an_error_that_no_submission_causes_is_none_of_them():
    assert faults.fault_of("cudaErrorInsufficientDriver: CUDA driver version is insufficient") is None
    assert faults.fault_of("something else") is None


# ------------------------------------------------------------------------------------------------------------- wire


def test_a_plan_survives_the_wire():
    assert from_json(LaunchPlan, json.loads(json.dumps(asdict(PLAN)))) == PLAN


def test_a_timed_run_survives_the_wire():
    launch = wire.Trusted("generate", "g", (3, 1, 1), (256, 1, 1), (("buffer", "x"), ("u64", 2**63), ("sample", 0)))
    run = wire.TimedRun(
        plan=PLAN,
        shapes=(wire.LaunchShape("x", "float32", 4, "in"),),
        variants=(wire.Variant("real", (launch,), (launch, launch), (launch,)),),
        inputs=("x",),
        work_bytes=512,
        ceiling=(launch,),
        ceiling_bytes=99,
    )
    assert from_json(wire.TimedRun, json.loads(json.dumps(asdict(run)))) == run


def test_the_index_of_a_finding_counts_through_the_outputs():
    shapes = [("x", "in", 4), ("first", "out", 4), ("tmp", "scratch", 9), ("second", "out", 2)]
    made = tuple(wire.LaunchShape(name, "float32", count, role) for name, role, count in shapes)
    run = wire.TimedRun(PLAN, made, (), ("x",), 512)
    found = [run.element(index) for index in (0, 3, 4, 5)]
    assert [(shape.name, at) for shape, at in found] == [("first", 0), ("first", 3), ("second", 0), ("second", 1)]
    assert run.element(6) is run.element(-1) is None


def test_samples_survive_the_wire():
    found = (Diagnostic("out_of_bounds", "write past the end", array="c", index=7, space="global"),)
    samples = wire.RawSamples((1.0,), (2.0,), (3.0,), 2, wire.Mismatch(4, "real", 1, 5, 0.5, 1.5, {"x": 3}), found)
    assert from_json(wire.RawSamples, json.loads(json.dumps(asdict(samples)))) == samples


def test_entries_survive_the_wire():
    entries = (Entry("k", (Parameter("u64", 8, 8),), 128),)
    assert from_json(tuple[Entry, ...], json.loads(json.dumps([asdict(entry) for entry in entries]))) == entries


# --------------------------------------------------------------------------------------------------------------- elf


def test_a_file_that_is_no_cubin_is_a_fault_of_the_grader():
    from grader.backends.gpu.variables import state_sections

    with pytest.raises(GraderFault):
        state_sections(b"not an ELF file")
    with pytest.raises(GraderFault):
        state_sections(b"\x7fELF\x02" + b"\0" * 20)


# --------------------------------------------------------------------------------------------------------- ceilings


def test_a_ceiling_is_sized_by_the_work_beside_it():
    from grader.backends.gpu.reference import ceiling_data
    from grader.catalog.courses import built_in_course

    table = ceiling_data(built_in_course()).CEILINGS
    ceiling = sized(table["add_f32x1"], work_bytes=12 * 2**20, work_flops=2**20, sm_count=132)
    assert ceiling.work == 12 * 2**20
    assert ceiling.bytes == 3 * 4 * 2**20 + 256
    (launch,) = ceiling.launches
    assert launch.grid == (2**20 // 256, 1, 1)
    assert launch.args == (("ceiling", 0), ("ceiling", 4 << 20), ("ceiling", 8 << 20), ("i64", 2**20))


def test_every_ceiling_of_the_course_can_be_sized():
    from grader.backends.gpu.reference import ceiling_data
    from grader.catalog.courses import built_in_course

    for ceiling in ceiling_data(built_in_course()).CEILINGS.values():
        found = sized(ceiling, work_bytes=2**24, work_flops=2**36, sm_count=132)
        assert found.work == pytest.approx(2**24 if ceiling.unit == "B" else 2**36, rel=0.5)
