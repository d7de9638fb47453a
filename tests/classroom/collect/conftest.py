from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.classroom.collect import collecting
from tests.classroom.conftest import catalog


@pytest.fixture(autouse=True, scope="module")
def catalog_read_once() -> Iterator[None]:
    """The exercises are read once for a file of tests, and not for each collecting."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(collecting, "load_catalog", catalog)
        yield
