"""The table of GPU models: every place that tells something of the simulated GPU tells the same."""

from __future__ import annotations

import re

import pytest

from grader.gpus.architecture import capability
from grader.gpus.models import MODELS, SIMULATED, published
from grader.gpus.pass_lines import REFERENCE
from grader.launch import DeviceLimits
from grader.standin.client import runtime
from grader.standin.device import A100


@pytest.mark.parametrize("name", [SIMULATED.name, REFERENCE, "Tesla V100-SXM2-16GB", "NVIDIA A100 80GB PCIe"])
def test_a_name_that_a_driver_reports_has_one_row(name: str) -> None:
    assert sum(re.fullmatch(row.names, name) is not None for row in MODELS) == 1


def test_an_unknown_model_has_no_row() -> None:
    assert published("NVIDIA A100X") is None


def test_the_stand_in_the_launch_limits_and_the_table_mean_one_gpu() -> None:
    assert runtime.NAME.decode() == SIMULATED.name
    assert capability(SIMULATED.architecture) == SIMULATED.capability
    limits, told = DeviceLimits(), A100.attributes
    assert (limits.sm_count, limits.max_shared_bytes) == (108, 163 << 10)
    assert (told["MultiProcessorCount"], told["MaxSharedMemoryPerBlockOptin"]) == (108, 163 << 10)
