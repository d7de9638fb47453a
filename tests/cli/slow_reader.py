"""The command, with a reader of launch lines that hangs at the word HANG, and dies at the word DIE.

Run as a process of its own: `python -m tests.cli.slow_reader vector_add --json`.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys

from grader import launch
from grader.cli import deadline, main

deadline.CPU_S = 1.0
_read = launch.parse_launches


def parse_launches(source: str, *, file: str) -> launch.LaunchScript:
    if "HANG" in source:
        if "SLOW_READER_SAYS" in os.environ:
            deadline.CPU_S = 1e9  # nothing but a signal ends it
            print("reading", flush=True)
        re.match(r"(?:a+)+$", "a" * 64 + "b")  # takes years, and no other thread of this process runs meanwhile
    if "DIE" in source:
        ctypes.string_at(0)
    return _read(source, file=file)


launch.parse_launches = parse_launches

if __name__ == "__main__":
    sys.exit(main())
