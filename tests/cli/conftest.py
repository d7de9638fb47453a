from __future__ import annotations

import pytest

from grader.cli import main


@pytest.fixture
def run(capsys):
    """Calls the command: its exit code, standard output and standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        out = capsys.readouterr()
        return code, out.out, out.err

    return call
