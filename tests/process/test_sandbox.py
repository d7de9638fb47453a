from __future__ import annotations

import os
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
        "signal_of_a_file", "real_time",
    ],
)  # fmt: skip
def test_the_parents_limits_and_priority_cannot_be_changed_and_none_is_above_it(call: str) -> None:
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


# -------------------------------------------------------------------------------------------- families of system calls

LISTINGS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}
OTHERS = {"i386": 0x40000003, "arm": 0x40000028, "x86_64": 0xC000003E, "aarch64": 0xC00000B7, "s390x": 0x80000016}
X32 = 0x40000000


def decided(machine: str, number: int, *arguments: int, architecture: int = 0, **closed: bool) -> str:
    """What the filter of such a machine says to a call: its program, executed as the kernel does."""
    closed = {"processes": True, "network": True, "memory_files": True} | closed
    program = sandbox._filter(machine, **closed)
    words = [number, architecture or OTHERS[machine], 0, 0]
    words += [half for value in (*arguments, *[0] * (6 - len(arguments))) for half in (value & 0xFFFFFFFF, value >> 32)]
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                loaded = words[operand // 4]
            case 0x15:
                at += if_true if loaded == operand else if_false
            case 0x45:
                at += if_true if loaded & operand else if_false
            case 0x06:
                return {0x7FFF0000: "allowed", 0x50001: "EPERM", 0x50026: "ENOSYS", 0x80000000: "killed"}[operand]


def listed(machine: str) -> dict[str, int]:
    """The numbers of such a machine by the kernel's headers."""
    if not Path(LISTINGS[machine]).exists():
        pytest.skip("the kernel's headers are not installed")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(LISTINGS[machine]).read_text())
    return {name: int(number) for name, number in found}


FAMILIES = re.findall(
    r"\w+",
    """
shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
add_key request_key keyctl memfd_create memfd_secret vmsplice unshare setns
mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
name_to_handle_at open_by_handle_at fanotify_init
chmod fchmod fchmodat chown fchown lchown fchownat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
utime utimes futimesat utimensat
fork vfork execve execveat ptrace process_vm_readv process_vm_writev process_madvise process_mrelease
pidfd_open pidfd_getfd pidfd_send_signal kcmp setpriority ioprio_set sched_setscheduler sched_setattr
bpf userfaultfd perf_event_open io_uring_setup io_uring_enter io_uring_register io_setup kexec_load kexec_file_load
init_module finit_module delete_module syslog lookup_dcookie modify_ldt iopl ioperm uselib
reboot swapon swapoff acct quotactl quotactl_fd sethostname setdomainname settimeofday clock_settime adjtimex
clock_adjtime vhangup nfsservctl setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset
socket socketpair
""",
)


@pytest.mark.parametrize("machine", LISTINGS)
def test_every_call_that_the_kernels_headers_list_is_allowed_but_for_those_of_the_families(machine: str) -> None:
    itself = set(sandbox._CALLS_ON_A_PROCESS)
    for name, number in listed(machine).items():
        expected = "EPERM" if name in FAMILIES or name == "clone" else "ENOSYS" if name == "clone3" else "allowed"
        assert decided(machine, number) == expected, name
        if name in itself:
            assert decided(machine, number, 1) == "EPERM", name


def test_calls_that_are_younger_than_most_headers_have_the_same_number_on_every_machine() -> None:
    young = {
        "statmount": 457, "listmount": 458, "open_tree_attr": 467, "fchmodat2": 452, "setxattrat": 463,
        "removexattrat": 466, "file_setattr": 469,
    }  # fmt: skip
    for machine in LISTINGS:
        assert {name: decided(machine, number) for name, number in young.items()} == dict.fromkeys(young, "EPERM")


@pytest.mark.parametrize("machine", LISTINGS)
def test_no_call_by_the_numbers_of_another_machine_is_let_through(machine: str) -> None:
    for name, architecture in OTHERS.items():
        if name != machine:
            assert {decided(machine, n, architecture=architecture) for n in range(500)} == {"killed"}
    if machine == "x86_64":
        assert {decided(machine, n | X32) for n in range(600)} == {"killed"}


@pytest.mark.parametrize("machine", LISTINGS)
def test_what_is_open_stays_open_beside_the_families(machine: str) -> None:
    numbers = listed(machine)
    assert decided(machine, numbers["memfd_create"], memory_files=False) == "allowed"
    assert decided(machine, numbers["socket"], network=False) == "allowed"
    assert decided(machine, numbers["execve"], processes=False) == "allowed"
    for name in ("shmget", "mq_open", "keyctl", "unshare", "mount", "bpf", "ptrace", "io_uring_setup"):
        assert decided(machine, numbers[name], network=False) == "EPERM"
        assert decided(machine, numbers[name], processes=False) == "EPERM"


NAMESPACES = {
    "NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000, "NEWIPC": 0x8000000, "NEWUSER": 0x10000000,
    "NEWPID": 0x20000000, "NEWNET": 0x40000000,
}  # fmt: skip
THREAD = 0x3D0F00  # what glibc asks for


@pytest.mark.parametrize("machine", LISTINGS)
def test_a_thread_can_be_started_a_process_where_that_is_open_and_a_namespace_never(machine: str) -> None:
    clone = listed(machine)["clone"]
    assert decided(machine, clone, THREAD) == "allowed"
    assert decided(machine, clone, 17) == "EPERM"
    assert decided(machine, clone, 17, processes=False) == "allowed"
    for flag in NAMESPACES.values():
        assert decided(machine, clone, THREAD | flag) == "EPERM"
        assert decided(machine, clone, 17 | flag, processes=False) == "EPERM"
    assert decided(machine, listed(machine)["clone3"], processes=False) == "ENOSYS"


@pytest.mark.parametrize("machine", LISTINGS)
def test_neither_a_pipe_grows_nor_the_bond_to_the_parent_ends(machine: str) -> None:
    numbers = listed(machine)
    for command, expected in (
        (1, "allowed"),
        (4, "allowed"),
        (8, "EPERM"),
        (10, "EPERM"),
        (15, "EPERM"),
        (1031, "EPERM"),
    ):
        assert decided(machine, numbers["fcntl"], 0, command) == expected
    for option, expected in ((1, "EPERM"), (4, "EPERM"), (15, "allowed"), (38, "allowed")):
        assert decided(machine, numbers["prctl"], option) == expected


@pytest.mark.parametrize(
    "name",
    [
        "shmget", "semget", "msgget", "mq_open", "memfd_create", "memfd_secret", "add_key", "keyctl", "unshare",
        "setns", "mount", "fsopen", "bpf", "userfaultfd", "perf_event_open", "io_uring_setup", "io_setup", "vmsplice",
        "ptrace", "chmod", "utimensat", "setuid", "clone", "fork",
    ],
)  # fmt: skip
def test_a_call_of_the_families_is_refused_before_its_arguments_are_looked_at(name: str) -> None:
    machine = os.uname().machine
    if name not in listed(machine):
        pytest.skip(f"{machine} has no {name}")
    with inside(Sandbox(processes=False, network=False)) as (child, _):
        assert attempt(child, "system_call", listed(machine)[name]) == "EPERM"


def test_where_nothing_is_closed_the_families_are_open() -> None:
    with inside(Sandbox()) as (child, _):
        assert attempt(child, "system_call", listed(os.uname().machine)["semget"]) == "EINVAL"  # no semaphores


def test_clone3_is_unknown_so_that_the_c_library_takes_clone() -> None:
    with inside(Sandbox(processes=False)) as (child, _):
        assert attempt(child, "system_call", "435") == "ENOSYS"
        assert attempt(child, "thread") == "ran"


def test_cuda_s_driver_can_have_a_file_in_memory_and_nobody_else() -> None:
    memfd_create = listed(os.uname().machine)["memfd_create"]
    for memory_files, expected in ((True, "EFAULT"), (False, "EPERM")):
        with inside(Sandbox(processes=False, network=False, memory_files=memory_files)) as (child, _):
            assert attempt(child, "system_call", memfd_create) == expected


def test_open_files_have_a_limit() -> None:
    with inside(Sandbox(open_files=100)) as (child, _):
        assert attempt(child, "open_much") == "EMFILE"


def test_the_system_call_numbers_of_landlock_are_those_of_the_kernels_headers() -> None:
    for machine in LISTINGS:
        for name, number in (("create_ruleset", 444), ("add_rule", 445), ("restrict_self", 446)):
            assert listed(machine)[f"landlock_{name}"] == number


def test_another_machine_has_no_sandbox_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sandbox.available() == "none"
    assert sandbox.restrict(read=("/",)) == "none"
    assert sandbox.forbid(processes=True, network=True, memory_files=True) is False
