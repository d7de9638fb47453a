"""The command ``grade`` (also ``warpgrade``): from the words of a command line to an exit code.

0 pass   1 not passed   2 a wrong command or path   3 inconclusive   4 unsupported   5 the grader's fault
130 ended with Ctrl-C; several names: the largest
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from grader.cli.failures import guarded


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the only place where an error becomes an exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(_run, words)


def _run(words: list[str]) -> int:
    from grader.cli.commands import cli

    answer = cli.main(args=words, prog_name="grade", standalone_mode=False)
    return answer if isinstance(answer, int) else 0
