"""Submissions that must not pass: their edits fit the solutions, and some of each threat get their verdict."""

from __future__ import annotations

import attack
import pytest
from attacks import Attack, every_attack

from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain

NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
OF_EACH_THREAT = 6


def test_every_submission_has_a_name_of_its_own_and_fits_the_solution(tmp_path) -> None:
    catalog, attacks = load_catalog(), every_attack()
    assert len({one.name for one in attacks}) == len(attacks)
    for number, one in enumerate(attacks):
        path = attack.written(one, catalog.find(one.exercise), tmp_path / str(number))
        assert path.is_file()


def test_an_edit_that_no_longer_fits_is_an_error() -> None:
    with pytest.raises(ValueError, match="has 0 times 'gone'"):
        Attack("trivial output", "nothing", "vector_add", ("wrong",), (("gone", ""),)).source("here")


def test_a_gpu_gets_what_it_can_see_and_the_simulator_what_needs_no_gpu() -> None:
    both = [
        Attack(threat, "x", "vector_add", ("wrong",), gpu=gpu)
        for threat, gpu in (("schedule", False), ("replay", True))
    ]
    assert attack.chosen_of(both, "", None, on_gpu=True) == both[1:]
    assert attack.chosen_of(both, "", None, on_gpu=False) == both[:1]
    assert attack.chosen_of(both * 3, "", 2, on_gpu=True) == both[1:] * 2


@NO_COMPILER
@pytest.mark.slow
def test_submissions_of_every_threat_get_their_verdicts() -> None:
    chosen = attack.chosen_of(every_attack(), "", OF_EACH_THREAT, on_gpu=False)
    assert len(chosen) >= 60
    other = {
        one.name: verdict.verdict for one, verdict in attack.graded(chosen, None) if verdict.verdict not in one.expect
    }
    assert other == {}
