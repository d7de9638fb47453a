"""A class of twelve, graded by the command: a run and a worker are killed on the way, and every row is right."""

from __future__ import annotations

import pytest
from class_trial import CHEAP, Trial, faults, made, write_class

from grader.classroom.store import Store

pytestmark = pytest.mark.slow


def test_a_class_of_twelve_survives_a_killed_run_and_a_killed_worker(tmp_path):
    rows = made(12, CHEAP)
    write_class(tmp_path, rows)
    trial = Trial(tmp_path)
    trial.broken()
    assert len(trial.kills) == 2
    assert trial.orphans == []
    assert list(faults(tmp_path, rows)) == []
    with Store.open(tmp_path) as store:
        results = store.results()
    assert {result.run["seed"] for result in results} == {None}
    assert str(tmp_path) not in str(results)
