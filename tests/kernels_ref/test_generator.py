"""The generator of inputs on the device, run on the simulator: bit for bit what `grader.inputs` makes on the host."""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import pytest

from grader.backends.gpu.checks import generator
from grader.backends.gpu.reference import device_data
from grader.catalog.courses import built_in_course
from grader.exercise import Array, Values
from grader.expressions import cdiv
from grader.inputs import make_array, stream
from tests.kernels_ref.trusted import NEEDS_NVRTC, Trusted, read_file

pytestmark = NEEDS_NVRTC

DEVICE = device_data(built_in_course())
SEED, SAMPLE, COUNT = 2**63 + 12345, 3, 1027
FORMATS = {"i64": "<q", "u64": "<Q", "f64": "<d"}
TABLE = Values(exact_low="-n", exact_high="n - 1")
NORMAL = Values(low=-1.7, high=120.3, shape="normal")


@cache
def device_file() -> Trusted:
    return read_file(built_in_course().kernels_ref / "device" / DEVICE.GENERATOR)


@pytest.mark.parametrize(
    ("dtype", "kind", "values"),
    [
        ("float32", "exact", Values()),
        ("int32", "exact", TABLE),
        ("float32", "real", Values(low=-1.7, high=120.3)),
        ("float16", "real", NORMAL),
        ("float32", "real", NORMAL),
        ("float64", "real", NORMAL),
        ("float32", "real", Values(low=-1.7, high=120.3, outlier=-60.1)),
        ("float32", "real", Values(low=-1.7, high=120.3, shape="normal", outlier=-60.1)),
        ("float32", "real", Values(low=-1.7, high=120.3, rising=True)),
        ("int32", "real", Values(permutation=True)),
        ("int32", "real", Values(exact_low=0, exact_high=1 << 26, rising=True)),
        ("int32", "real", Values(exact_low=-3, exact_high="n", rising=True, skew=2)),
        ("int32", "real", Values(exact_low=0, exact_high=(1 << 31) - 2, rising=True, skew=7, width=70000)),
    ],
)
def test_the_device_makes_the_hosts_inputs_and_notices_one_that_changed(dtype: str, kind: str, values: Values) -> None:
    array, size = Array("x", dtype, "n", values=values), {"n": COUNT}  # type: ignore[arg-type]  # dtypes of the table
    made = make_array(array, COUNT, SEED, kind, SAMPLE, size=size)  # type: ignore[arg-type]  # both kinds
    form, last = generator(array, kind, size)
    suffix = f"{form}_{DEVICE.GENERATED_TYPES[dtype]}"
    before = (COUNT, SEED, stream("x"), SAMPLE)
    args = (*(struct.pack("<Q", each) for each in before), *(struct.pack(FORMATS[name], each) for name, each in last))
    grid, changed = cdiv(COUNT, 1024), made.copy()
    changed[COUNT // 3] += 1
    memory = device_file().run(
        [
            (f"generate_{suffix}", grid, ("out", *args)),
            (f"unchanged_{suffix}", grid, ("out", *args, "none")),
            (f"unchanged_{suffix}", grid, ("changed", *args, "one")),
        ],
        {"out": np.zeros_like(made), "changed": changed, "none": np.zeros(1, np.uint64), "one": np.zeros(1, np.uint64)},
    )
    assert memory["out"].tobytes() == made.tobytes()
    assert [int(memory[name].view(np.uint64)[0]) for name in ("none", "one")] == [0, 1]
