from __future__ import annotations

import json
import os
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.errors import GraderFault
from grader.process.channel import Channel, ChannelBroken, ChannelClosed, ChannelTimeout
from grader.process.child import TAIL_BYTES, Child, spawn
from grader.process.sandbox import Sandbox

CHILDREN = Path(__file__).parent / "children"
PATIENCE_S = 60.0  # a deadline that only a broken channel reaches


@pytest.fixture(autouse=True)
def _children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CHILDREN))


@pytest.fixture
def child() -> Iterator[Child]:
    with spawn("channel_child") as started:
        yield started


@pytest.fixture
def pipe() -> Iterator[tuple[Channel, int]]:
    """A channel that receives, and the descriptor that feeds it."""
    read_fd, feed = os.pipe()
    spare, write_fd = os.pipe()
    channel = Channel(read_fd, write_fd)
    yield channel, feed
    channel.close()
    os.close(spare)
    with open(feed, "wb"):
        pass


def ask(child: Child, action: str, **message: Any) -> dict[str, Any]:
    child.channel.send({"do": action, **message})
    return child.channel.receive(PATIENCE_S)[0]


def frame(header: Any, payload: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<4sI", b"wgC1", len(text)) + text + payload


def header(**parts: Any) -> dict[str, Any]:
    return {"message": {}, "blobs": [], "arrays": []} | parts


def test_a_message_comes_back_as_it_was_sent(child: Child) -> None:
    sent = {"text": "äöü \u202e \n", "number": 3, "list": [1.5, None, True], "bytes": b"\x00\xff" * 1000, "empty": b""}
    assert ask(child, "echo", **sent) == sent


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.zeros((0, 3), np.int64),
        np.array(2.5),
        np.arange(10, dtype=np.int8)[::3],
        np.array([True, False]),
        np.arange(1 << 20, dtype=np.float16).reshape(1024, -1).T,
        np.array([1 + 2j], np.complex64),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_keep_their_dtype_shape_and_values(child: Child, array: np.ndarray[Any, Any]) -> None:
    child.channel.send({"do": "echo"}, {"a": array, "b": array})
    _, arrays = child.channel.receive(PATIENCE_S)
    assert list(arrays) == ["a", "b"]
    assert arrays["a"].dtype == array.dtype
    assert arrays["a"].shape == array.shape
    np.testing.assert_array_equal(arrays["b"], array)


def test_arrays_of_objects_are_never_sent(child: Child) -> None:
    with pytest.raises(TypeError, match="object"):
        child.channel.send({"do": "echo"}, {"a": np.array([object()])})


def test_a_message_without_arrays_imports_no_numpy(child: Child) -> None:
    assert "numpy" not in ask(child, "describe")["modules"]


def test_a_child_gets_no_environment_but_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hidden")
    monkeypatch.setenv("PYTHONSTARTUP", "hidden")
    with spawn("channel_child", env={"SHOWN": "1"}) as child:
        environment = ask(child, "describe")["environment"]
    assert "A_SECRET" not in environment
    assert "PYTHONSTARTUP" not in environment
    assert environment["SHOWN"] == "1"
    assert environment["OPENBLAS_NUM_THREADS"] == "1"


def test_a_child_neither_works_in_nor_imports_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported the wrong json')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with spawn("channel_child") as child:
        described = ask(child, "describe")
    assert described["folder"] == "/"
    assert str(tmp_path) not in described["path"]


def test_a_child_has_a_session_of_its_own(child: Child) -> None:
    assert ask(child, "describe")["session"] == child.pid


def test_what_a_child_prints_never_reaches_the_channel_and_cannot_block_it(child: Child) -> None:
    assert ask(child, "flood") == {"written": True}
    child.close()
    assert len(child.stderr) <= TAIL_BYTES
    assert child.stderr.endswith("the end\n")


def test_a_child_that_ends_closes_the_channel(child: Child) -> None:
    with pytest.raises(ChannelClosed):
        ask(child, "leave", status=3)
    assert child.wait(PATIENCE_S) == 3
    assert child.signal_name is None


PARENT = """
import sys
sys.path[:0] = {path!r}
from grader.process.channel import ChannelClosed
from grader.process.child import spawn
large = b'x' * {size}
with spawn("channel_child") as child:
    child.channel.send({{"do": "leave", "status": 0, "take": {take}}})
    try:
        child.channel.receive(60.0)
    except ChannelClosed:
        child.wait(60.0)
    print(child.peak_memory_bytes)
"""


@pytest.mark.parametrize(("size", "take", "known"), [(0, 128 << 20, True), (256 << 20, 0, False)])
def test_a_childs_memory_is_its_own_and_not_what_its_parent_had(size: int, take: int, known: bool) -> None:
    """In a parent of its own: that of the tests has had any amount of memory."""
    code = PARENT.format(path=[str(CHILDREN), *sys.path], size=size, take=take)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert told != "None" if known else told == "None"
    assert not known or int(told) > take


def test_a_child_that_dies_of_a_signal_says_which(child: Child) -> None:
    with pytest.raises(ChannelClosed):
        ask(child, "die", signal="SIGSEGV")
    child.wait(PATIENCE_S)
    assert child.signal_name == "SIGSEGV"


def test_a_module_that_cannot_be_imported_leaves_its_reason_on_standard_error() -> None:
    with spawn("no_such_module") as child:
        with pytest.raises(ChannelClosed):
            child.channel.receive(PATIENCE_S)
        child.wait(PATIENCE_S)
        child.close()
    assert "no_such_module" in child.stderr


def test_a_child_that_forks_serves_one_session_after_another() -> None:
    with spawn("channel_child", forks=True) as child:
        for text in ("first", "second"):
            assert ask(child, "echo", text=text) == {"text": text}
            assert child.ended_session()


@pytest.mark.parametrize("status", [0, 1, 87])
def test_a_fork_that_leaves_before_its_session_ended_takes_the_child_with_it(status: int) -> None:
    with spawn("channel_child", forks=True) as child, pytest.raises(ChannelClosed):
        ask(child, "leave", status=status)


def test_a_silent_child_is_a_timeout_and_the_channel_stays_usable(child: Child) -> None:
    with pytest.raises(ChannelTimeout):
        child.channel.receive(0.01)
    assert ask(child, "echo", still="there") == {"still": "there"}


def test_a_child_that_reads_nothing_is_a_timeout_for_the_sender(child: Child) -> None:
    child.channel.send({"do": "wait"})
    with pytest.raises(ChannelTimeout):
        child.channel.send({"do": "echo", "much": b"x" * (8 << 20)}, timeout_s=0.05)


def test_sending_to_a_dead_child_says_that_it_is_closed(child: Child) -> None:
    child.kill()
    with pytest.raises(ChannelClosed):
        child.channel.send({"do": "echo"})


def test_channel_errors_that_nobody_catches_are_the_graders_fault() -> None:
    assert issubclass(ChannelClosed, GraderFault)


def nested(depth: int) -> list[object]:
    """A list in a list in a list."""
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    "content",
    [
        b"verdict: pass, verdict: pass, verdict: pass",
        frame(b"{not json"),
        frame(b"[" * 50_000),
        frame(b'{"message": {}, "blobs": [], "arrays": [], "n": ' + b"1" * 10_000 + b"}"),
        frame([]),
        frame({"message": {}}),
        frame(header(message=3)),
        frame(header(arrays=[["a", "|O8", [1]]]), b"\0" * 8),
        frame(header(arrays=[["a", "|V8", [1]]]), b"\0" * 8),
        frame(header(arrays=[["a", "<f4", [-1]]])),
        frame(header(arrays=[["a", "<f4", [1 << 20, 1 << 20]]])),
        frame(header(arrays=[["a", "<f4", [1.0]]])),
        frame(header(arrays=[["a", "<f3", [1]]])),
        frame(header(arrays=[["a", "<f4", [True]]])),
        frame(header(arrays=[["a", "<f4", [0]]] * 1000)),
        frame(header(blobs=[["a", 1 << 60]])),
        frame(header(arrays=[["a", "<b4", [1]]])),
        frame(header(arrays=[["a", "<f1", [1]]])),
        frame(header(arrays=[["a", "<f٤", [1]]])),
        frame(header(arrays=[["a", "<f4", [1] * 33]])),
        frame(header(arrays=[["a", "<f4", [1 << 30] * 1000]])),
        frame(header(arrays=[["a", "<f4", [0, 1 << 30, 1 << 30]]])),
        frame(header(arrays=[["a", "<f4", {"3": 1}]])),
        frame(header(arrays=[["a", "<f4", "33"]])),
        frame(header(message={"arguments": nested(40)})),
        frame(header(blobs=[[nested(40), 1]])),
        struct.pack("<4sI", b"wgC1", 0xFFFFFFFF),
    ],
    ids=range(27),
)
def test_what_is_no_message_is_refused_before_memory_is_taken(pipe: tuple[Channel, int], content: bytes) -> None:
    channel, feed = pipe
    os.write(feed, content)
    with pytest.raises(ChannelBroken):
        channel.receive(PATIENCE_S)


def test_a_message_that_stops_halfway_is_a_timeout_and_ends_the_channel(pipe: tuple[Channel, int]) -> None:
    channel, feed = pipe
    whole = frame(header(message={"a": 1}))
    os.write(feed, whole[:-1])
    with pytest.raises(ChannelTimeout):
        channel.receive(0.01)
    os.write(feed, whole[-1:] + whole)
    with pytest.raises(ChannelBroken, match="only in part"):
        channel.receive(PATIENCE_S)


def test_a_closed_channel_says_so(pipe: tuple[Channel, int]) -> None:
    channel, _ = pipe
    channel.close()
    channel.close()
    with pytest.raises(ChannelClosed):
        channel.receive(PATIENCE_S)


def test_a_hostile_child_cannot_make_the_parent_wait_beyond_its_deadline(child: Child) -> None:
    child.channel.send({"do": "babble", "bytes": frame(header(blobs=[["a", 1000]]), b"too short")})
    with pytest.raises(ChannelTimeout):
        child.channel.receive(2.0)


def test_killing_a_child_kills_what_it_started() -> None:
    read_fd, write_fd = os.pipe()
    with spawn("channel_child", pass_fds=(write_fd,)) as child:
        os.close(write_fd)
        assert ask(child, "grandchild", fd=write_fd) == {"started": True}
    # The pipe ends when the last process that holds its other end has.
    assert ends(read_fd)
    assert child.returncode == -signal.SIGKILL


def test_a_child_dies_with_its_parent() -> None:
    read_fd, write_fd = os.pipe()
    script = (
        "import sys, signal; from grader.process.child import spawn\n"
        f"child = spawn('channel_child', pass_fds=({write_fd},))\n"
        "child.channel.send({'do': 'echo'}); child.channel.receive(60)\n"
        # From here on it looks at nothing: neither the channel's end nor a pipe's tells it that its parent is gone.
        "child.channel.send({'do': 'wait'})\n"
        "print('ready', flush=True); signal.pause()"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, pass_fds=(write_fd,), env=environment
    ) as parent:
        os.close(write_fd)
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        parent.kill()
    assert ends(read_fd)


def test_descriptors_that_are_passed_stay_open_in_the_child() -> None:
    read_fd, write_fd = os.pipe()
    with spawn("channel_child", pass_fds=(write_fd,)) as child:
        ask(child, "write_fd", fd=write_fd)
    os.close(write_fd)
    with open(read_fd, "rb") as file:
        assert file.read() == b"through"


def test_waiting_for_a_child_that_runs_gives_up_at_the_deadline(child: Child) -> None:
    assert child.wait(0.01) is None
    assert child.returncode is None
    child.kill()
    child.kill()
    assert child.signal_name == "SIGKILL"


def test_the_sandbox_travels_to_the_child_unchanged() -> None:
    sandbox = Sandbox(files=True, read=("/a",), memory_bytes=1 << 30, cpu_s=7)
    assert Sandbox(**json.loads(json.dumps(sandbox.to_dict()))).to_dict() == json.loads(json.dumps(sandbox.to_dict()))


def ends(read_fd: int) -> bool:
    """Whether the pipe comes to its end; closes it."""
    with open(read_fd, "rb") as file:
        ready, _, _ = select.select([file], [], [], PATIENCE_S)
        return bool(ready) and file.read() == b""
