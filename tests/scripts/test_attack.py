"""Submissions that must not pass: their edits fit the solutions, and some of each threat get their verdict."""

from __future__ import annotations

import attack
import pytest
from attacks import THREATS, Attack, every_attack

from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.verdict import Verdict

NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
OF_EACH_THREAT = 3


def test_every_submission_has_a_name_of_its_own_and_fits_the_solution(tmp_path) -> None:
    catalog, attacks = load_catalog(), every_attack()
    assert len({one.name for one in attacks}) == len(attacks)
    for number, one in enumerate(attacks):
        path = attack.written(one, catalog.find(one.exercise), tmp_path / str(number))
        assert path.is_file()


def test_every_threat_has_submissions_and_there_are_enough_for_each_backend() -> None:
    attacks = every_attack()
    assert {one.threat for one in attacks} == THREATS.keys()
    assert sum("sim" in one.expect for one in attacks) >= 150
    assert sum("gpu" in one.expect for one in attacks) >= 60


def test_none_may_pass_on_a_gpu_and_on_the_simulator_only_what_a_gpu_rejects() -> None:
    passing = [one for one in every_attack() if "pass" in one.expect.values()]
    assert {one.expect["sim"] for one in passing} == {"pass"}
    assert all(one.expect.get("gpu", "pass") != "pass" for one in passing)


def test_an_edit_that_no_longer_fits_is_an_error() -> None:
    with pytest.raises(ValueError, match="has 0 times 'gone'"):
        Attack("trivial output", "nothing", "vector_add", {"sim": "wrong"}, (("gone", ""),)).source("here")


def test_each_backend_gets_the_submissions_that_have_a_verdict_there() -> None:
    both = [Attack("replay", "x", "vector_add", words) for words in ({"sim": "race"}, {"gpu": "wrong"})]
    assert attack.chosen_of(both, "", None, "gpu") == both[1:]
    assert attack.chosen_of(both, "", None, "sim") == both[:1]
    assert attack.chosen_of(both * 3, "", 2, "gpu") == both[1:] * 2


def test_what_no_report_may_show_is_found(tmp_path) -> None:
    (path := tmp_path / "vector_add.cu").write_text("")
    quiet = Verdict("vector_add", "sim", "wrong", 0, 80, 1, ())
    assert list(attack.shown(quiet, path)) == []
    said = Verdict("vector_add", "sim", "wrong", 0, 80, 1, (), next_step=attack.SECRET)
    assert {text.split()[0] for text in attack.shown(said, path)} >= {"terminal", "json"}


@NO_COMPILER
@pytest.mark.slow
def test_submissions_of_every_threat_get_their_verdicts() -> None:
    chosen = attack.chosen_of(every_attack(), "", OF_EACH_THREAT, "sim")
    assert len(chosen) >= 60
    results = list(attack.graded(chosen, None))
    assert {one.attack.name: (one.verdict.verdict, one.shown) for one in results if not one.fine} == {}
