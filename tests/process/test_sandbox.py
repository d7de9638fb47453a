from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from grader.process import sandbox
from grader.process.channel import ChannelClosed
from grader.process.child import Child, spawn
from grader.process.sandbox import Sandbox

pytestmark = pytest.mark.skipif(sandbox.available() == "none", reason="this kernel has no Landlock")
CHILDREN = Path(__file__).parent / "children"
LIMIT_S = 60.0


@pytest.fixture(autouse=True)
def _children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CHILDREN))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an open and a closed half."""
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "open" / "link").symlink_to(tmp_path / "closed" / "file")
    return tmp_path


@contextmanager
def inside(box: Sandbox, **setup: Any) -> Iterator[tuple[Child, str]]:
    with spawn("sandbox_child", sandbox=box) as child:
        child.channel.send(setup)
        yield child, child.channel.receive(LIMIT_S)[0]["state"]


def attempt(child: Child, action: str, argument: object = "") -> str:
    child.channel.send({"do": action, "with": str(argument)})
    return str(child.channel.receive(LIMIT_S)[0]["answer"])


def test_only_the_folders_named_can_be_read(place: Path) -> None:
    with inside(Sandbox(files=True, read=(str(place / "open"),))) as (child, state):
        assert state == "landlock"
        assert attempt(child, "read", place / "open/file") == "open"
        assert attempt(child, "listed", place / "open") == "file link"
        assert attempt(child, "read", place / "closed/file") == "EACCES"
        assert attempt(child, "read", place / "open/link") == "EACCES"
        assert attempt(child, "read", place / "open/../closed/file") == "EACCES"
        assert attempt(child, "listed", place / "closed") == "EACCES"


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/proc/self/maps", sys.executable, "/dev/zero"])
def test_nothing_of_the_system_can_be_read(place: Path, path: str) -> None:
    with inside(Sandbox(files=True, read=(str(place / "open"),))) as (child, _):
        assert attempt(child, "read", path) == "EACCES"


def test_a_folder_to_read_cannot_be_written(place: Path) -> None:
    with inside(Sandbox(files=True, read=(str(place),))) as (child, _):
        assert attempt(child, "write", place / "open/file") == "EACCES"
        assert attempt(child, "write", place / "new") == "EACCES"
        assert attempt(child, "remove", place / "open/file") == "EACCES"
    assert (place / "open/file").read_text() == "open"


def test_a_folder_to_write_can_be_written_but_starts_no_program(place: Path) -> None:
    program = place / "open" / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with inside(Sandbox(files=True, write=(str(place / "open"),))) as (child, _):
        assert attempt(child, "write", place / "open/new") == "written"
        assert attempt(child, "remove", place / "open/new") == "removed"
        assert attempt(child, "program", program) == "EACCES"


def test_a_single_file_can_be_opened_and_one_that_is_missing_does_no_harm(place: Path) -> None:
    with inside(Sandbox(files=True, read=(str(place / "open/file"), str(place / "missing")))) as (child, state):
        assert state == "landlock"
        assert attempt(child, "read", place / "open/file") == "open"
        assert attempt(child, "read", place / "closed/file") == "EACCES"


def test_without_files_closed_the_state_says_so(place: Path) -> None:
    with inside(Sandbox()) as (child, state):
        assert state == "none"
        assert attempt(child, "read", place / "closed/file") == "closed"


def test_a_thread_that_ran_before_makes_the_state_none(place: Path) -> None:
    with inside(Sandbox(files=True), thread_before=True) as (child, state):
        assert state == "none"
        assert attempt(child, "read", place / "closed/file") == "EACCES"


def test_no_process_can_be_started_but_threads_can() -> None:
    with inside(Sandbox(processes=False)) as (child, _):
        assert attempt(child, "fork") == "EPERM"
        assert attempt(child, "program", "/bin/true") == "EPERM"
        assert attempt(child, "thread") == "ran"
        assert attempt(child, "open_socket") == "opened"


def test_a_thread_that_ran_before_can_start_no_process_either() -> None:
    with inside(Sandbox(processes=False), thread_before=True) as (child, _):
        assert attempt(child, "in_the_older_thread", "fork") == "EPERM"


def test_no_socket_can_be_opened() -> None:
    with inside(Sandbox(network=False)) as (child, _):
        assert attempt(child, "open_socket") == "EPERM"
        assert attempt(child, "fork") == "forked"


@pytest.mark.skipif(sandbox.abi() < 6, reason="this kernel does not keep signals inside")
def test_the_parent_cannot_be_signalled() -> None:
    with inside(Sandbox(files=True)) as (child, _):
        assert attempt(child, "signal_parent") == "EPERM"


@pytest.mark.parametrize(
    "call",
    [
        "prlimit", "setpriority", "sched_setaffinity", "sched_setscheduler", "kill", "owner", "owner_ex",
        "signal_of_a_file",
    ],
)  # fmt: skip
def test_the_parents_limits_and_priority_cannot_be_changed(call: str) -> None:
    with inside(Sandbox(processes=False)) as (child, _):
        assert attempt(child, "slow_parent", call) == "EPERM"


def test_a_process_may_do_to_itself_what_it_may_not_do_to_others() -> None:
    with inside(Sandbox(processes=False)) as (child, _):
        assert attempt(child, "itself") == "done"


def test_privileges_cannot_be_gained() -> None:
    with inside(Sandbox(files=True)) as (child, _):
        assert attempt(child, "no_new_privileges") == "1"


def test_memory_beyond_the_limit_is_refused() -> None:
    with inside(Sandbox(memory_bytes=256 << 20)) as (child, _):
        assert attempt(child, "take_memory", 16 << 20) == str(16 << 20)
        assert attempt(child, "take_memory", 512 << 20) == "MemoryError"


def test_processor_time_beyond_the_limit_ends_with_the_signal_that_says_so() -> None:
    with inside(Sandbox(cpu_s=1)) as (child, _):
        with pytest.raises(ChannelClosed):
            attempt(child, "burn")
        child.wait(LIMIT_S)
        assert child.signal_name == "SIGXCPU"


def test_a_file_cannot_grow_beyond_the_limit(place: Path) -> None:
    with inside(Sandbox(file_bytes=1000)) as (child, _):
        assert attempt(child, "write_much", place / "open/large") == "EFBIG"


@pytest.mark.parametrize(
    ("machine", "listing"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_system_call_numbers_are_those_of_the_kernels_headers(machine: str, listing: str) -> None:
    if not Path(listing).exists():
        pytest.skip("the kernel's headers are not installed")
    numbers = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(listing).read_text()))
    for name, number in sandbox._numbers(machine).items():
        assert int(numbers[name]) == number, name
    for name, number in (("create_ruleset", 444), ("add_rule", 445), ("restrict_self", 446)):
        assert int(numbers[f"landlock_{name}"]) == number


def test_another_machine_has_no_sandbox_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sandbox.available() == "none"
    assert sandbox.restrict(read=("/",)) == "none"
    assert sandbox.forbid(processes=True, network=True) is False
