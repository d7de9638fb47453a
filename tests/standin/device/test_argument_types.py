"""A launch converts nothing: an argument that its parameter misreads is told, with what the kernel sees."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.device.gpu import mismatch
from tests.standin.device.rig import Rig, integer, pointer

SCALE = """
extern "C" __global__ void scale(float* x, float rate, int n) { if (threadIdx.x < n) x[threadIdx.x] *= rate; }
"""


@pytest.mark.parametrize(
    ("element", "size", "kind", "value", "seen"),
    [
        ("f32", 4, "float", np.float64(0.5), "0 instead of 0.5"),
        ("f32", 4, "int", np.int64(2), "2.8026e-45 instead of 2"),
        ("f32", 4, "float64", np.float64(0.1), "-1.58819e-23 instead of 0.1"),
        ("u32", 4, "float32", np.float32(1), "1065353216 instead of 1"),
        ("u32", 4, "float", np.float64(3), "0 instead of 3"),
        ("u32", 4, "int64", np.int64(1 << 32), "0 instead of 4294967296"),
        ("f64", 8, "int", np.int64(1), "4.94066e-324 instead of 1"),
        ("u64", 8, "float", np.float64(1), "4607182418800017408 instead of 1"),
    ],
)
def test_a_number_that_is_read_as_another_one_is_mistaken(element, size, kind, value, seen):
    found = mismatch(element, size, kind, value.tobytes())
    assert found is not None
    assert f"{found.seen} instead of {found.value}" == seen


@pytest.mark.parametrize(
    ("element", "size", "kind", "value"),
    [
        ("f32", 4, "float32", np.float32(0.5)),
        ("f32", 4, "float32", np.float32(np.nan)),
        ("f32", 4, "float", np.float64(0)),
        ("f32", 4, "int", np.int64(0)),
        ("u32", 4, "int", np.int64(-7)),
        ("u32", 4, "int64", np.int64(1 << 31)),
        ("u32", 4, "uint32", np.uint32(0xFFFFFFFF)),
        ("u64", 8, "uint64", np.uint64(1 << 63)),
        ("u8", 1, "bool", np.bool_(True)),
        ("b8", 8, "float", np.float64(1)),
        ("u32", 4, "complex", np.complex128(1)),
    ],
)
def test_a_number_that_arrives_as_it_is_meant_is_not(element, size, kind, value):
    assert mismatch(element, size, kind, value.tobytes()) is None


def test_an_address_is_no_integer_of_four_bytes():
    assert mismatch("u64", 8, "array", bytes(8)) is None
    found = mismatch("u32", 4, "array", bytes(8))
    assert found is not None
    assert (found.given_bytes, found.seen) == (8, "")


def launched(rate: bytes, kind: str) -> tuple[object, ...]:
    rig = Rig(32, source=SCALE)
    (x,) = rig.device()
    with rig.run() as ran:
        given = [pointer(x), rate, integer(32)]
        rig.m.fill(4, x, 0, rig.bytes, 0, False)
        rig.m.launch(5, "scale", [1], [32], 0, given, ["array", kind, "int32"], 0, False, 0)
        rig.m.synchronize(6, "device", 0)
    return ran.report.findings


def test_a_python_float_for_a_float_is_a_warning_at_its_line_with_what_to_pass():
    (found,) = launched(np.float64(0.5).tobytes(), "float")
    assert (found.kind, found.severity, found.line) == ("argument_type", "warning", 5)
    assert (found.cause, found.kernel, found.facts["number"]) == ("misread", "scale", 2)
    assert (found.facts["seen"], found.facts["value"]) == ("0", "0.5")


def test_the_right_type_is_no_finding():
    assert launched(np.float32(0.5).tobytes(), "float32") == ()


def test_kinds_that_the_host_file_makes_up_are_no_finding():
    assert launched(np.float32(0.5).tobytes(), "nonsense") == ()
