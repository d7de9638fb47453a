"""A child for the tests of the channel: does what each message says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.process.channel import Channel, attach, end_session, fork_for_each_session

Message = dict[str, Any]


def echo(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    channel.send(message, arrays)


def describe(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    channel.send(
        {
            "environment": dict(os.environ),
            "session": os.getsid(0),
            "folder": str(Path.cwd()),
            "modules": sorted(name for name in sys.modules if "." not in name),
            "path": sys.path,
        }
    )


def flood(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    for stream in (1, 2):
        for _ in range(64):
            os.write(stream, b"x" * 65536)
        os.write(stream, b"the end\n")
    channel.send({"written": True})


def leave(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    _ = b"x" * int(message.get("take", 0))  # held, and touched: resident
    os._exit(int(message["status"]))


def die(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    os.kill(os.getpid(), getattr(signal, message["signal"]))


def babble(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    os.write(int(sys.argv[2]), message["bytes"])
    signal.pause()


def wait(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    signal.pause()


def grandchild(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], pass_fds=(message["fd"],))
    channel.send({"started": True})
    signal.pause()


def write_fd(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    os.write(message["fd"], b"through")
    channel.send({})


def end(channel: Channel, message: Message, arrays: dict[str, Any]) -> None:
    end_session(channel)


ACTIONS: dict[str, Callable[[Channel, Message, dict[str, Any]], None]] = {
    action.__name__: action for action in (echo, describe, flood, leave, die, babble, wait, grandchild, write_fd, end)
}


def main() -> None:
    channel, _ = attach()
    fork_for_each_session(channel)
    while True:
        message, arrays = channel.receive(None)
        ACTIONS[message.pop("do")](channel, message, arrays)
