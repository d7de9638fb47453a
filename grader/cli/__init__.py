"""The command ``grade`` (also ``warpgrade``): from the words of a command line to an exit code.

0 pass   1 not passed   2 a wrong command or path   3 inconclusive   4 unsupported   5 the grader's fault
130 ended with Ctrl-C; several names: the largest
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import NoReturn

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; the only place where an error becomes an exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with _ctrl_c_ends_at_once():
        from grader.cli.failures import guarded

        return guarded(_run, words)


def _run(words: list[str]) -> int:
    from grader.cli.commands import cli

    answer = cli.main(args=words, prog_name="grade", standalone_mode=False)
    return answer if isinstance(answer, int) else 0


@contextmanager
def _ctrl_c_ends_at_once() -> Iterator[None]:
    """End the process on Ctrl-C with one line, wherever it is.

    An exception instead could arrive in the middle of an import that another thread waits for. The children end with
    their parent: the kernel sees to it (`grader.process.sandbox.die_with_parent`).
    """
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted(number: int, frame: object) -> NoReturn:
    os.write(2, (b"\n" if os.isatty(2) else b"") + b"grade: interrupted\n")
    os._exit(INTERRUPTED)
