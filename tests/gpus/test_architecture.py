"""Architectures: which GPU runs what is compiled for which name."""

from __future__ import annotations

import pytest

from grader.gpus.architecture import capability, in_words, real, serves


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
    assert [real((9, 0), target) for target in ("sm_80", "sm_90", "sm_90a")] == ["sm_90", "sm_90", "sm_90a"]
    assert real((10, 0), "sm_90a") == "sm_100"


def test_names_are_told_in_words() -> None:
    assert in_words("sm_80") == "a GPU of compute capability 8.0 or newer"
    assert in_words("sm_90a") == "a GPU of compute capability 9.0 (no older one, and no newer one)"
    assert capability("sm_120f") == (12, 0)
