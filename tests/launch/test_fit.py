"""Whether CUDA could start a launch, by what ptxas says that its kernel needs."""

from __future__ import annotations

import pytest

from grader.compile.ptxas import Resources
from grader.launch import Launch, LaunchPlan
from grader.launch.fit import first_misfit, misfit, not_resident


def launch(threads: int, shared: int = 0, blocks: int = 1, *, cooperative: bool = False, kernel: str = "k") -> Launch:
    return Launch(kernel, (), (blocks, 1, 1), (threads, 1, 1), shared, cooperative=cooperative, line=3)


def needs(registers: int = 32, static: int = 0, local: int = 0) -> Resources:
    return Resources(registers, 0, 0, static, local)


@pytest.mark.parametrize(
    ("threads", "registers", "fits"),
    [(1024, 64, True), (1024, 65, False), (992, 66, False), (896, 72, True), (256, 255, True), (257, 255, False)],
)
def test_registers_are_given_to_whole_warps_in_units(threads: int, registers: int, fits: bool) -> None:
    found = misfit(launch(threads), needs(registers), "sm_80")
    assert (found is None) == fits
    if found is not None:
        assert (found.kind, found.cause, found.line, found.kernel) == ("launch", "registers", 3, "k")
        assert found.facts["in_all"] > found.facts["most"] == 65536 or threads == 992


def test_static_and_dynamic_shared_memory_count_together() -> None:
    assert misfit(launch(32, 163 * 1024 - 512), needs(static=512), "sm_80") is None
    found = misfit(launch(32, 163 * 1024 - 511), needs(static=512), "sm_80")
    assert found is not None
    assert (found.cause, found.facts) == ("shared", {"bytes": 163 * 1024 + 1, "most": 163 * 1024})
    assert misfit(launch(32, 163 * 1024 - 511), needs(static=512), "sm_90") is None


def test_a_thread_has_512_kib_of_local_memory() -> None:
    assert misfit(launch(32), needs(local=512 << 10), "sm_80") is None
    found = misfit(launch(32), needs(local=(512 << 10) + 1), "sm_80")
    assert found is not None
    assert found.cause == "local"


def test_of_an_architecture_that_is_not_in_the_table_nothing_is_known() -> None:
    assert misfit(launch(1024), needs(255), "sm_103") is None


def test_the_blocks_of_a_cooperative_launch_must_be_resident_at_once_with_their_registers() -> None:
    assert not_resident(launch(256, blocks=108 * 8, cooperative=True), needs(32), "sm_80", 108) is None
    found = not_resident(launch(256, blocks=108 * 8, cooperative=True), needs(64), "sm_80", 108)
    assert found is not None
    assert (found.kind, found.cause) == ("launch_limit", "cooperative")
    assert "only 432 can be resident" in found.facts["text"]
    assert not_resident(launch(256, blocks=108 * 8), needs(64), "sm_80", 108) is None


def test_the_first_launch_of_a_plan_that_does_not_fit_is_told_and_an_unknown_kernel_is_not() -> None:
    plan = LaunchPlan((launch(1024, kernel="other"), launch(256), launch(1024), launch(1024, cooperative=True)))
    found = first_misfit(plan, {"k": needs(80)}, "sm_80", "k.cu")
    assert found is not None
    assert (found.file, found.facts["threads"]) == ("k.cu", 1024)
    assert first_misfit(plan, {}, "sm_80", "k.cu") is None
    many = LaunchPlan((launch(1024, blocks=109, cooperative=True),))
    assert first_misfit(many, {"k": needs(64)}, "sm_80", "k.cu") is None  # CUDA says so itself
    assert first_misfit(many, {"k": needs(64)}, "sm_80", "k.cu", sm_count=108) is not None
