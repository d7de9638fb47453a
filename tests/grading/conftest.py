from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.backends.sim.session import SimBackend
from grader.dev.grading import PooledSimulator, simulator_children


@pytest.fixture(autouse=True, scope="module")
def kept_simulators() -> Iterator[None]:
    """The programs of a file run one after another in one simulator child, like those of a course that is checked."""
    with simulator_children() as pool, pytest.MonkeyPatch.context() as patched:
        patched.setattr(SimBackend, "start", lambda backend: None)
        patched.setattr(SimBackend, "new_session", PooledSimulator(pool).new_session)
        yield
