from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def programs_share_children(kept_simulators: None) -> None:
    """What a child of its own is for is tested with the backends."""
