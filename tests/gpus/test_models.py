"""The table of GPU models: every place that tells something of the simulated GPU tells the same."""

from __future__ import annotations

import re

import pytest

from grader.gpus.detect import Gpu
from grader.gpus.models import MODELS, SIMULATED, capability, in_words, published, serves
from grader.launch import DeviceLimits
from grader.standin.client import runtime
from grader.standin.device import A100
from grader.timing.pass_lines import REFERENCE


@pytest.mark.parametrize("name", [SIMULATED.name, REFERENCE, "Tesla V100-SXM2-16GB", "NVIDIA A100 80GB PCIe"])
def test_a_name_that_a_driver_reports_has_one_row(name: str) -> None:
    assert sum(re.fullmatch(row.names, name) is not None for row in MODELS) == 1


def gpu(compute_capability: tuple[int, int]) -> Gpu:
    return Gpu(0, "a GPU", compute_capability, 1, 1e9, 1e9, 64, 1, 1, DeviceLimits())


def test_an_unknown_model_has_no_row() -> None:
    assert published("NVIDIA A100X") is None


def test_the_stand_in_the_launch_limits_and_the_table_mean_one_gpu() -> None:
    assert runtime.NAME.decode() == SIMULATED.name
    assert capability(SIMULATED.architecture) == SIMULATED.capability
    limits, told = DeviceLimits(), A100.attributes
    assert (limits.sm_count, limits.max_shared_bytes) == (108, 163 << 10)
    assert (told["MultiProcessorCount"], told["MaxSharedMemoryPerBlockOptin"]) == (108, 163 << 10)


@pytest.mark.parametrize(
    ("here", "architecture", "runs"),
    [
        ((8, 0), "sm_80", True), ((9, 0), "sm_80", True), ((7, 5), "sm_80", False),
        ((9, 0), "sm_90", True), ((10, 0), "sm_90", True), ((8, 9), "sm_90", False),
        ((9, 0), "sm_90a", True), ((10, 0), "sm_90a", False), ((8, 0), "sm_90a", False),
        ((10, 3), "sm_100f", True), ((12, 0), "sm_100f", False), ((9, 0), "sm_100f", False),
    ],
)  # fmt: skip
def test_a_letter_keeps_a_program_to_its_generation(here: tuple[int, int], architecture: str, runs: bool) -> None:
    assert serves(here, architecture) is runs


def test_ptxas_is_asked_for_the_letter_only_where_the_program_has_it() -> None:
    assert [gpu((9, 0)).arch_for(target) for target in ("sm_80", "sm_90", "sm_90a")] == ["sm_90", "sm_90", "sm_90a"]
    assert gpu((10, 0)).arch_for("sm_90a") == "sm_100"


def test_names_are_told_in_words() -> None:
    assert in_words("sm_80") == "a GPU of compute capability 8.0 or newer"
    assert in_words("sm_90a") == "a GPU of compute capability 9.0 (no older one, and no newer one)"
    assert capability("sm_120f") == (12, 0)
