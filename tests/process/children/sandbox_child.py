"""A child for the tests of the sandbox: applies its sandbox, then tries what it is asked to and reports the result."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import queue
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.process.channel import attach

F_SETOWN_EX = 15  # Python's module has no name for it


def read(path: str) -> str:
    return Path(path).read_text()


def write(path: str) -> str:
    Path(path).write_text("written")
    return "written"


def write_much(path: str) -> str:
    Path(path).write_bytes(b"x" * (1 << 20))
    return "written"


def listed(path: str) -> str:
    return " ".join(sorted(entry.name for entry in Path(path).iterdir()))


def remove(path: str) -> str:
    Path(path).unlink()
    return "removed"


def program(path: str) -> str:
    return str(subprocess.run([path], check=False).returncode)


def fork(_: str) -> str:
    if os.fork() == 0:
        os._exit(0)
    return "forked"


def thread(_: str) -> str:
    answers: list[str] = []
    worker = threading.Thread(target=lambda: answers.append("ran"))
    worker.start()
    worker.join()
    return answers[0]


def in_the_older_thread(name: str) -> str:
    """An action in the thread that was there before the doors closed."""
    asked.put(name)
    return str(answered.get())


def older_thread() -> None:
    while True:
        answered.put(attempt(ACTIONS[asked.get()], ""))


asked: queue.SimpleQueue[str] = queue.SimpleQueue()
answered: queue.SimpleQueue[Any] = queue.SimpleQueue()


def open_socket(_: str) -> str:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    return "opened"


def signal_parent(_: str) -> str:
    os.kill(os.getppid(), signal.SIGCONT)
    return "sent"


def slow_parent(call: str) -> str:
    """Something that the parent would feel, by the call's name; all of it changes nothing where it is allowed."""
    parent = os.getppid()
    attempts: dict[str, Callable[[], object]] = {
        "prlimit": lambda: resource.prlimit(parent, resource.RLIMIT_CPU, resource.prlimit(0, resource.RLIMIT_CPU)),
        "setpriority": lambda: os.setpriority(os.PRIO_PROCESS, parent, 0),
        "sched_setaffinity": lambda: os.sched_setaffinity(parent, os.sched_getaffinity(0)),
        "sched_setscheduler": lambda: os.sched_setscheduler(parent, os.SCHED_OTHER, os.sched_param(0)),
        "real_time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "kill": lambda: os.kill(parent, 0),
        "owner": lambda: fcntl.fcntl(0, fcntl.F_SETOWN, parent),
        "owner_ex": lambda: fcntl.fcntl(0, F_SETOWN_EX, struct.pack("ii", 1, parent)),
        "signal_of_a_file": lambda: fcntl.fcntl(0, fcntl.F_SETSIG, signal.SIGSTOP),
    }
    attempts[call]()
    return "done"


def itself(_: str) -> str:
    """The same to this process."""
    resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.kill(os.getpid(), 0)
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL))
    return "done"


def take_memory(size: str) -> str:
    return str(len(bytearray(int(size))))


def burn(_: str) -> str:
    while True:
        pass


def no_new_privileges(_: str) -> str:
    return str(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))


def open_much(_: str) -> str:
    return str(len([os.dup(0) for _ in range(1000)]))


def system_call(words: str) -> str:
    """A call by its number, and what else it is given; all others are 0."""
    number, *given = (int(word) for word in words.split())
    arguments = [ctypes.c_long(value) for value in (*given, *[0] * (6 - len(given)))]
    if ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return "done"


ACTIONS: dict[str, Callable[[str], str]] = {
    action.__name__: action
    for action in (
        read, write, write_much, listed, remove, program, fork, thread, in_the_older_thread, open_socket, signal_parent,
        slow_parent, itself, take_memory, burn, no_new_privileges,
        system_call, open_much,
    )
}  # fmt: skip


def main() -> None:
    channel, sandbox = attach()
    setup, _ = channel.receive(None)
    if setup.get("thread_before"):
        threading.Thread(target=older_thread, daemon=True).start()
    channel.send({"state": sandbox.apply()})
    while True:
        message, _ = channel.receive(None)
        channel.send({"answer": attempt(ACTIONS[message["do"]], message.get("with", ""))})


def attempt(action: Callable[[str], str], argument: str) -> Any:
    try:
        return action(argument)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    except MemoryError:
        return "MemoryError"
    finally:
        sys.stdout.flush()
