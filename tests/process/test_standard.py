"""What a process does first."""

from __future__ import annotations

import subprocess
import sys

THREADS = """
import grader.cli, sys
assert "numpy" not in sys.modules
grader.cli.main(["list", "--json"])
import numpy
big = numpy.ones((600, 600))
big @ big
print(open("/proc/self/status").read().partition("Threads:")[2].split()[0], file=sys.stderr)
"""


def test_the_command_multiplies_matrices_on_one_thread() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr.split()[-1:] == ["1"]
