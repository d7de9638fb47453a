"""The private pipe between the grader and a child process.

    parent: with spawn("grader.compile.child", sandbox=Sandbox(read=(...))) as child:
                child.channel.send({"source": b"..."})
                message, arrays = child.channel.receive(20.0)
    child:  def main() -> None:                      # the module named to `grader.process.child.spawn`
                channel, sandbox = attach()          # first; then import heavy modules, then
                sandbox.apply()                      # apply the limits, then read hostile input
                message, arrays = channel.receive(None)

One message is a JSON header, preceded by its length and followed by raw bytes: received data is never unpickled or
evaluated, and every length is checked against a limit before memory is allocated. Standard output of a child is
discarded; the last part of standard error is kept and never parsed.

    ChannelError (a GraderFault, so that an uncaught one becomes the verdict ``error``)
    ├── ChannelClosed    the other side closed the channel
    ├── ChannelTimeout   the deadline passed
    └── ChannelBroken    the received bytes are not a message

A `Stopper` stops a grading from another thread: `grade watch` uses it when the file is saved during a grading. All
waits on a channel that was opened inside its ``with`` end at once.

    stopper = Stopper()
    with stopper:              # in the thread that grades
        grade(request)         # raises Stopped, and its children end
    stopper.stop()             # in another thread
"""

from __future__ import annotations

import gc
import json
import math
import mmap
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Mapping
from os import _exit as leave  # a host file's worker replaces `os._exit`
from typing import TYPE_CHECKING, Any, NoReturn, Self

from grader.errors import GraderFault
from grader.process.sandbox import Sandbox, die_with_parent

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


MAGIC = b"wgC1"
HEADER_LIMIT = 32 << 20  # bytes of JSON: 8 MiB of PTX, escaped, fits
PAYLOAD_LIMIT = 2 << 30  # bytes of arrays and byte strings together
ARRAY_LIMIT = 256  # arrays in one message
DIMENSIONS_LIMIT = 32  # of an array: what every NumPy has
DEPTH_LIMIT = 32  # of lists in lists: bounds the recursion of all readers of a message
DTYPES = frozenset(
    ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16"]
)  # never objects, strings or records
_PREFIX = struct.Struct("<4sI")
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_CHUNK = 1 << 20


class ChannelError(GraderFault):
    """Raised when communication with a child failed; only its subclasses are raised."""


class ChannelClosed(ChannelError):
    """Raised when the other side closed the pipe, usually because its process died."""


class ChannelTimeout(ChannelError):
    """Raised when the deadline passed before the whole message was sent or received."""


class ChannelBroken(ChannelError):
    """Raised when the received bytes are not a message, or a message exceeds the limits."""


class Stopped(BaseException):
    """Raised in the threads of a stopped grading. Not an Exception, so that it is not handled as an error."""


class Stopper:
    """Stops one grading; cannot be reset. Only one can be entered at a time."""

    current: Stopper | None = None
    """The stopper of the grading in progress, if it has one."""

    def __init__(self) -> None:
        self.read_fd, self._write_fd = os.pipe()  # a pipe, because waits for a child use poll()

    def stop(self) -> None:
        """End every wait of the grading; from any thread, any number of times."""
        os.write(self._write_fd, b".")

    def __enter__(self) -> Self:
        Stopper.current = self
        return self

    def __exit__(self, *_: object) -> None:
        Stopper.current = None

    def __del__(self) -> None:  # not at the end of the `with`: threads of the grading may still use it
        os.close(self.read_fd)
        os.close(self._write_fd)


class Channel:
    """Messages over two file descriptors that this object owns.

    Both are made non-blocking: every wait has a deadline, and raises Stopped when the grading that opened the channel
    is stopped. Use it from one thread.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._broken = False
        self.forks = False  # whether each session runs in a fork (`fork_for_each_session`)
        self.ended: bytearray | mmap.mmap = bytearray(1)  # 1 once the parent ended the session; forks share it
        self._stopper = Stopper.current
        for fd in (read_fd, write_fd):
            os.set_blocking(fd, False)
            os.set_inheritable(fd, False)

    def send(
        self,
        message: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[np.generic]] | None = None,
        *,
        timeout_s: float | None = 60.0,
    ) -> None:
        """Send one message: JSON values, except that a top-level value may be ``bytes``, and named arrays of any shape.

        Raises ChannelClosed, ChannelTimeout.
        """
        blobs = {name: value for name, value in message.items() if isinstance(value, bytes)}
        arrays = {name: _contiguous(array) for name, array in (arrays or {}).items()}
        header = {
            "message": {name: value for name, value in message.items() if name not in blobs},
            "blobs": [[name, len(blob)] for name, blob in blobs.items()],
            "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
        }
        text = _ENCODER.encode(header).encode("utf-8", "surrogatepass")
        deadline = _deadline(timeout_s)
        parts = [_PREFIX.pack(MAGIC, len(text)) + text, *blobs.values()]
        # In one write: otherwise the other side would wake up for the first part, and wait again.
        for part in [b"".join(parts)] if sum(map(len, parts)) <= _CHUNK else parts:
            self._write(part, deadline)
        for array in arrays.values():
            if array.size:  # an empty array has no memory to show
                self._write(_bytes_of(array), deadline)

    def receive(self, timeout_s: float | None) -> tuple[dict[str, Any], dict[str, npt.NDArray[np.generic]]]:
        """Receive one whole message within ``timeout_s`` seconds (None: no limit).

        Raises ChannelClosed, ChannelTimeout, ChannelBroken. A timeout in the middle of a message makes the channel
        unusable; a timeout before the first byte does not.
        """
        if self._broken:
            raise ChannelBroken("an earlier message was received only in part")
        deadline = _deadline(timeout_s)
        self._wait(self._read_fd, select.POLLIN, deadline)
        self._broken = True  # until the whole message is received
        magic, length = _PREFIX.unpack(self._read(_PREFIX.size, deadline))
        if magic != MAGIC or length > HEADER_LIMIT:
            raise ChannelBroken("the received bytes are not a message")
        message, blobs, arrays = _checked(self._read(length, deadline))
        for name, size in blobs:
            message[name] = bytes(self._read(size, deadline))
        received = {}
        for name, dtype, shape in arrays:
            import numpy as np  # here, so that a message without arrays needs no NumPy

            received[name] = np.empty(shape, np.dtype(dtype))
            if received[name].size:
                self._read_into(_bytes_of(received[name]), deadline)
        self._broken = False
        return message, received

    def arrives(self, timeout_s: float) -> bool:
        """Whether something arrives within ``timeout_s`` seconds, or the other side's end."""
        try:
            self._wait(self._read_fd, select.POLLIN, _deadline(timeout_s))
        except ChannelTimeout:
            return False
        return True

    @property
    def is_broken(self) -> bool:
        """Whether a message was received only in part, so that nothing can be received any more."""
        return self._broken

    def close(self) -> None:
        """Close both descriptors; closing twice is fine."""
        for fd in {self._read_fd, self._write_fd} - {-1}:
            os.close(fd)
        self._read_fd = self._write_fd = -1

    def _read(self, size: int, deadline: float | None) -> bytearray:
        content = bytearray(size)
        self._read_into(memoryview(content), deadline)
        return content

    def _read_into(self, view: memoryview, deadline: float | None) -> None:
        while view:
            try:
                count = os.readv(self._read_fd, [view[:_CHUNK]])
            except BlockingIOError:
                self._wait(self._read_fd, select.POLLIN, deadline)
                continue
            except OSError as error:
                raise ChannelClosed(f"reading from the other side failed: {error.strerror}") from None
            if count == 0:
                raise ChannelClosed("the other side closed the channel")
            view = view[count:]
            _check(deadline)

    def _write(self, content: bytes | memoryview, deadline: float | None) -> None:
        view = memoryview(content)
        while view:
            try:
                view = view[os.write(self._write_fd, view[:_CHUNK]) :]
            except BlockingIOError:
                self._wait(self._write_fd, select.POLLOUT, deadline)
            except OSError as error:  # a pipe without a reader
                raise ChannelClosed(f"writing to the other side failed: {error.strerror}") from None
            _check(deadline)

    def _wait(self, fd: int, events: int, deadline: float | None) -> None:
        if fd < 0:
            raise ChannelClosed("this side closed the channel")
        poll = select.poll()
        poll.register(fd, events)
        remaining = None if deadline is None else max(0.0, (deadline - time.monotonic()) * 1000)
        if self._stopper is not None:
            poll.register(self._stopper.read_fd, select.POLLIN)
        ready = {number for number, _ in poll.poll(remaining)}
        if not ready:
            raise ChannelTimeout("the other side did not answer in time")
        if ready != {fd}:
            raise Stopped


def attach() -> tuple[Channel, Sandbox]:
    """The child's first call: its end of the channel, and the sandbox passed to `spawn` (which it must still apply).

    Also asks the kernel to end this process when its parent dies, so that a killed grader leaves no process.
    """
    read_fd, write_fd, parent = (int(word) for word in sys.argv[1:4])
    die_with_parent(parent)
    for number in (read_fd, write_fd):
        os.set_inheritable(number, False)  # no program that this process runs can speak for it
    channel = Channel(read_fd, write_fd)
    message, _ = channel.receive(None)
    channel.forks = bool(message["forks"])
    return channel, Sandbox(**message["sandbox"])


def fork_for_each_session(channel: Channel) -> None:
    """Return in a new fork for each session, if the parent requested this; otherwise return at once.

        spawn(MODULE, forks=True) ─▶ imports heavy modules ─▶ fork ─▶ sandbox, one session, "end" ─▶ "ended"
                                            ▲───────────────────────────────────────────────────────┘

    A fork has all imports, and no state of earlier sessions. If it ends in any other way, the child ends in the same
    way: the parent sees the same as without a fork.
    """
    if not channel.forks:
        return
    parent = os.getpid()
    channel.ended = mmap.mmap(-1, 1)  # no exit status says it: a host file may leave with any
    gc.collect()
    gc.freeze()
    while pid := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status < 0:
            signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
            os.kill(parent, -status)
        if not channel.ended[0]:
            leave(max(status, 0))
        channel.ended[0] = 0
    die_with_parent(parent)


def end_session(channel: Channel) -> NoReturn:
    """Answer the parent's "end", and end."""
    channel.ended[0] = 1
    channel.send({"is": "ended"})
    leave(0)


def _deadline(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else time.monotonic() + timeout_s


def _check(deadline: float | None) -> None:
    # Checked after every chunk: a side that sends single bytes must not extend its deadline.
    if deadline is not None and time.monotonic() > deadline:
        raise ChannelTimeout("the message was not complete in time")


def _contiguous(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    import numpy as np

    try:
        _itemsize(array.dtype.str)
    except ValueError:
        raise TypeError(f"arrays of dtype {array.dtype} cannot be sent") from None
    return np.ascontiguousarray(array).reshape(array.shape)


def _bytes_of(array: npt.NDArray[np.generic]) -> memoryview:
    import numpy as np

    return array.reshape(-1).view(np.uint8).data


def _checked(text: bytearray) -> tuple[dict[str, Any], list[tuple[str, int]], list[tuple[str, str, tuple[int, ...]]]]:
    """The header's three parts, after every name, type and size is checked. Raises ChannelBroken."""
    try:
        header = json.loads(bytes(text).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise ChannelBroken("the received bytes are not a message: no JSON") from None
    try:
        if text.count(b"[") + text.count(b"{") > DEPTH_LIMIT and not _is_flat(header):
            raise ValueError
        message = dict(header["message"])
        blobs = [(str(name), _size(size)) for name, size in header["blobs"]]
        arrays = [(str(name), str(dtype), _shape(shape)) for name, dtype, shape in header["arrays"]]
        total = sum(size for _, size in blobs) + sum(_itemsize(dtype) * math.prod(shape) for _, dtype, shape in arrays)
    except (KeyError, TypeError, ValueError):
        raise ChannelBroken("the received bytes are not a message: a wrong header") from None
    if total > PAYLOAD_LIMIT or len(blobs) + len(arrays) > ARRAY_LIMIT:
        raise ChannelBroken(f"a message of {total} bytes is beyond the limit")
    return message, blobs, arrays


def _is_flat(value: Any) -> bool:
    """Whether no list or dictionary lies deeper than the limit."""
    level = [value]
    for _ in range(DEPTH_LIMIT):
        inside = (list(one.values()) if isinstance(one, dict) else one for one in level)
        level = [item for items in inside for item in items if isinstance(item, list | dict)]
        if not level:
            return True
    return False


def _shape(value: Any) -> tuple[int, ...]:
    """An array's shape. An empty one is small in the other dimensions too."""
    shape = tuple(map(_size, value)) if isinstance(value, list) and len(value) <= DIMENSIONS_LIMIT else None
    if shape is None or math.prod(size or 1 for size in shape) > PAYLOAD_LIMIT:
        raise ValueError(value)
    return shape


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= PAYLOAD_LIMIT:
        raise ValueError(value)
    return value


def _itemsize(dtype: str) -> int:
    # "<f4", "|u1": byte order, kind, size. Checked by hand so that a message without arrays needs no NumPy.
    if dtype[:1] not in ("<", "|") or dtype[1:] not in DTYPES:
        raise ValueError(dtype)
    return int(dtype[2:])
