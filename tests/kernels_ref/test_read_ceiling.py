"""The ceiling of reading, in the launch shapes of its two entries: what it claims to read, it reads."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest

from grader.backends.gpu.reference import ceiling_data
from grader.backends.gpu.setup import sized
from grader.simt.simulate import Call
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, launched

CEILINGS = COURSE.kernels_ref / "ceilings"
TABLE: dict[str, Any] = dict(ceiling_data(COURSE).CEILINGS)
NEVER = 0x5CA1AB1E
"""As in read.cu: the value that, alone among zeros, makes a thread store it."""


@pytest.mark.parametrize("name", [name for name, ceiling in TABLE.items() if ceiling.kernel])
def test_a_ceilings_block_is_within_the_launch_bounds_of_its_kernel(name: str) -> None:
    ceiling = TABLE[name]
    text = (CEILINGS / ceiling.file).read_text()
    found = re.search(rf"__global__ void (?:__launch_bounds__\((\d+)[^)]*\) )?{ceiling.kernel}\(", text)
    assert found is not None
    assert ceiling.block <= int(found[1] or 1024)


@pytest.mark.parametrize("sm_count", [1, 108, 132])
def test_the_best_reader_gives_each_thread_one_round_of_four_loads(sm_count: int) -> None:
    ceiling = sized(TABLE["read_f32x4"], work_bytes=2**30, work_flops=0, sm_count=sm_count)
    (launch,) = ceiling.launches
    assert launch.grid[0] * launch.block[0] * 4 * 16 == 2**30


@NEEDS_NVRTC
@pytest.mark.parametrize("name", ["read_f32x4", "host_read_f32x4"])
@pytest.mark.parametrize("load", [0, 7 * 1024 + 5, 21 * 1024 - 1, 21 * 1024 + 7, 24 * 1024 + 7, -1])
def test_the_reader_sees_every_part_of_its_array(name: str, load: int) -> None:
    """A value planted in one load is found: in the first or a later load of a round, and in the rest behind them.

    ``read_f32x4`` starts 7 blocks of 1024 threads here. Its first 4099 threads make a whole round, whose fourth loads
    begin at 21 * 1024; the others have three loads each. ``host_read_f32x4`` has whole rounds up to 24 * 1024.
    """
    loads = 24 * 1024 + 1027  # a round of the larger grid, not quite full; three of the smaller one, and a rest
    x = np.zeros((loads, 4), np.uint32)
    x[load, load % 4] = NEVER
    arrays = {"x": x, "sink": np.zeros(1, np.uint32)}
    (launch,) = sized(TABLE[name], work_bytes=x.nbytes, work_flops=0, sm_count=1).launches
    call = Call("read_f32x4", launch.grid, launch.block, 0, ("x", struct.pack("<q", loads), "sink"))
    assert launched(CEILINGS / "read.cu", [call], arrays)["sink"].view(np.uint32)[0] == NEVER
