"""Everything of scripts/gpu_check.py, as tests: run them on a machine with a GPU by `pytest -m gpu`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.gpus import detect as device

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import gpu_check  # registers the items
from gpu_checks import COMPARISONS, ITEMS

CHECKS = [(name, function) for name, function in ITEMS if name not in COMPARISONS]

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(device.count() == 0, reason="there is no GPU here")]


@pytest.fixture(scope="module")
def backend():
    from grader.backends.gpu import GpuBackend

    backend = GpuBackend(0)
    yield backend
    backend.close()


@pytest.mark.parametrize(("name", "function"), CHECKS, ids=[name for name, _ in CHECKS])
def test_item_of_the_gpu_check(backend, name, function):
    function(backend)


def test_all_groups_of_items_are_registered():
    assert len(ITEMS) > 30
    assert gpu_check.ITEMS is ITEMS
