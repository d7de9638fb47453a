"""A child that runs one trusted program on hostile input, inside the sandbox: ptxas reads PTX that a student wrote.

It imports little: a grading waits for ptxas, and starting Python takes longer than most assemblies.
"""

from __future__ import annotations

import os
import subprocess

from grader.process.channel import attach

TAIL = 64 << 10


def main() -> None:
    """Write the input, run the program in the folder it was given, send back its status, output and result."""
    channel, sandbox = attach()
    sandbox.apply()
    request, _ = channel.receive(None)
    os.chdir(request["folder"])
    with open(request["input_name"], "wb") as file:
        file.write(request["input"])
    done = subprocess.run(request["command"], env={}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    result = b""
    if done.returncode == 0:
        with open(request["result_name"], "rb") as file:
            result = file.read()
    channel.send({"status": done.returncode, "output": (done.stdout + done.stderr)[-TAIL:], "result": result})
