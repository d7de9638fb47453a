"""A child that runs one trusted program on hostile input, inside the sandbox: ptxas reads PTX that a student wrote."""

from __future__ import annotations

import subprocess
from pathlib import Path

from grader.process.channel import attach

TAIL = 64 << 10


def main() -> None:
    """Write the input, run the program in the folder it was given, send back its status, output and result."""
    channel, sandbox = attach()
    sandbox.apply()
    request, _ = channel.receive(None)
    folder = Path(request["folder"])
    (folder / request["input_name"]).write_bytes(request["input"])
    done = subprocess.run(
        request["command"], cwd=folder, env={}, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    result = folder / request["result_name"]
    channel.send(
        {
            "status": done.returncode,
            "output": (done.stdout + done.stderr)[-TAIL:],
            "result": result.read_bytes() if done.returncode == 0 else b"",
        }
    )
