from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.compile import Program, compile_source
from grader.compile.toolchain import find_toolchain
from grader.errors import SubmissionError
from grader.process import kept

Compile = Callable[[str], Program]
Refusal = Callable[[str | bytes], SubmissionError]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if find_toolchain().nvrtc_library is None:
        for item in items:
            if "compiled" in getattr(item, "fixturenames", ()) or "refused" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason="NVRTC is not installed"))


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, empty."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("WARPGRADE_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def each_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a submission: what NVRTC does in a child with limits is what these tests are about."""
    monkeypatch.setattr(kept, "KEPT", None)


@pytest.fixture
def compiled() -> Compile:
    """Compile a source that is expected to be fine."""
    return lambda source: compile_source(source.encode(), "kernel.cu", cache=False)


@pytest.fixture
def refused() -> Refusal:
    """Compile a source that is expected to be refused; the error."""

    def refusal(source: str | bytes) -> SubmissionError:
        with pytest.raises(SubmissionError) as raised:
            compile_source(source if isinstance(source, bytes) else source.encode(), "kernel.cu", cache=False)
        return raised.value

    return refusal
