"""A child that runs one trusted program on hostile input, inside the sandbox: ptxas reads PTX that a student wrote.

It imports little: a grading waits for ptxas, and starting Python takes longer than most assemblies.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from grader.process.channel import ChannelClosed, attach

TAIL = 64 << 10


def main() -> None:
    """Answer the parent's requests until it closes the channel."""
    channel, sandbox = attach()
    sandbox.apply()
    with suppress(ChannelClosed):
        while True:
            channel.send(ran(channel.receive(None)[0]))


def ran(request: dict[str, Any]) -> dict[str, Any]:
    """Write the input, and run the program in the requested folder; returns its status, output and result."""
    os.chdir(request["folder"])
    with open(request["input_name"], "wb") as file:
        file.write(request["input"])
    status, output = run(request["command"])
    result = b""
    if status == 0:
        with open(request["result_name"], "rb") as file:
            result = file.read()
    return {"status": status, "output": output[-TAIL:], "result": result}


def run(command: list[str]) -> tuple[int, bytes]:
    """Run a program in the current folder: its exit status, negative for a signal, and its output."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [(os.POSIX_SPAWN_OPEN, 1, "printed", flags, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
    pid = os.posix_spawn(command[0], command, {}, file_actions=actions)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open("printed", "rb") as file:
        return status, file.read()
