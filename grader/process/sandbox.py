"""What a child process may still touch: files (Landlock), sockets and processes (seccomp), memory, time.

The child restricts itself, once it has imported what it needs and before it reads anything hostile:

    Sandbox(read=("/usr/include",), memory_bytes=2 << 30, cpu_s=20).apply()      # -> "landlock" or "none"

Nothing here needs privileges, and nothing can be undone. Landlock: Linux 5.13 and later, kernel documentation
"userspace-api/landlock"; its three system calls have the same numbers on x86-64 and aarch64.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ctypes

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_CREATE_RULESET_VERSION = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV  # those that a plain file may be given
_READ = _READ_FILE | _READ_DIR
_ALL_RIGHTS = (1 << 16) - 1
_RIGHTS_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # 5 and later: all
_NET_OF_ABI = (4, 0b11)  # since which ABI: bind and connect TCP
_SCOPE_OF_ABI = (6, 0b11)  # since which ABI: abstract sockets and signals stay inside

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


@dataclass(frozen=True)
class Sandbox:
    """The limits of one child; the default closes nothing and only switches core dumps off.

    ``read``, ``write`` and ``execute`` are files and folders (with everything in them); what does not exist is left
    out. ``files=True`` closes the file system but for these. ``processes=False`` forbids starting processes (threads
    stay possible), ``network=False`` opening sockets. ``memory_bytes`` limits address space: leave it None where CUDA
    is used, which reserves far more than it takes. ``cpu_s`` ends the process with SIGXCPU.
    """

    files: bool = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()
    processes: bool = True
    network: bool = True
    memory_bytes: int | None = None
    cpu_s: int | None = None
    file_bytes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The form in which it travels to the child."""
        return asdict(self)

    def apply(self) -> str:
        """Restrict this process, for good; ``"landlock"`` or ``"none"`` says whether files are closed."""
        limit(memory_bytes=self.memory_bytes, cpu_s=self.cpu_s, file_bytes=self.file_bytes)
        state = "none"
        if self.files:
            state = restrict(read=self.read, write=self.write, execute=self.execute)
        forbid(processes=not self.processes, network=not self.network)
        return state


def available() -> str:
    """``"landlock"`` where this kernel can close the file system for a process, else ``"none"``."""
    return "landlock" if abi() >= 1 else "none"


def abi() -> int:
    """Landlock's ABI version, 0 where there is none (another system, an old kernel, switched off)."""
    if sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"):
        return 0
    import ctypes

    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _CREATE_RULESET_VERSION)))


def restrict(*, read: Iterable[str] = (), write: Iterable[str] = (), execute: Iterable[str] = ()) -> str:
    """Close the file system for this thread and all that it starts, but for the paths named.

    Returns ``"landlock"``, or ``"none"`` where the kernel cannot. ``read`` allows reading files and listing folders,
    ``write`` reading, writing, making and removing, ``execute`` reading and starting programs. Also closes TCP, and
    abstract sockets and signals to processes outside, where the kernel can. Symbolic links count by their targets.
    Threads that run already stay outside, so with any the answer is ``"none"``, although this thread is closed in.
    """
    version = abi()
    if version < 1:
        return "none"
    threads = _threads()  # counted while /proc can still be read
    ruleset = _ruleset(version)
    handled = _RIGHTS_OF_ABI.get(version, _ALL_RIGHTS)
    try:
        for rights, paths in ((_READ, read), (_ALL_RIGHTS & ~_EXECUTE, write), (_READ | _EXECUTE, execute)):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return "landlock" if threads == 1 else "none"


def limit(*, memory_bytes: int | None = None, cpu_s: int | None = None, file_bytes: int | None = None) -> None:
    """Set limits on address space, processor seconds and the size of written files; core dumps are always off."""
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_FSIZE: file_bytes,
    }
    for kind, value in wanted.items():
        if value is None:
            continue
        _, most = resource.getrlimit(kind)
        soft = value if most == resource.RLIM_INFINITY else min(value, most)
        # One second between SIGXCPU, which says what happened, and SIGKILL.
        hard = soft + 1 if kind == resource.RLIMIT_CPU and (most == resource.RLIM_INFINITY or soft < most) else soft
        resource.setrlimit(kind, (soft, hard))


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent (process ``parent``) ends; exits at once if it has already."""
    if sys.platform != "linux":
        return
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)


# ---------------------------------------------------------------------------------------------------- seccomp

# Classic BPF, see linux/filter.h and linux/seccomp.h: (code, jump if true, jump if false, operand).
_LOAD, _JUMP_EQUAL, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_KILL = 0x80000000
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE, _OFFSET_ARGUMENTS = 0, 4, 16
_CLONE_THREAD = 0x00010000
_EPERM, _ENOSYS = 1, 38
_X32 = 0x40000000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# The numbers, on these two, of the system calls that start processes, open sockets or act on other processes.
_NUMBERS: dict[str, tuple[int, int | None]] = {
    "clone": (56, 220), "clone3": (435, 435), "fork": (57, None), "vfork": (58, None), "execve": (59, 221),
    "execveat": (322, 281), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "io_uring_setup": (425, 425), "socket": (41, 198), "socketpair": (53, 199), "kill": (62, 129),
    "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "prlimit64": (302, 261),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "fcntl": (72, 25), "seccomp": (317, 277),
}  # fmt: skip
_PROCESS_CALLS = (
    "fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev",
    "pidfd_open", "pidfd_send_signal", "pidfd_getfd", "setpriority", "ioprio_set",
)  # fmt: skip
# Those that name a process, and which argument does: allowed for this one. Landlock ends signals only since its ABI 6,
# and the rest never: a child could take its parent's processor time away, or slow down whoever holds the clock.
_CALLS_ON_A_PROCESS = {
    "kill": 0, "tkill": 0, "tgkill": 0, "rt_sigqueueinfo": 0, "rt_tgsigqueueinfo": 0, "prlimit64": 0,
    "sched_setaffinity": 0, "sched_setscheduler": 0, "sched_setparam": 0, "sched_setattr": 0, "migrate_pages": 0,
    "move_pages": 0,
}  # fmt: skip
# Commands of fcntl that have the kernel send a signal, of any kind, to whoever owns a file: F_SETOWN, F_SETSIG,
# F_SETOWN_EX. A parent that is stopped before it starts the clock would measure nothing.
_OWNER_COMMANDS = (8, 10, 15)
_NETWORK_CALLS = ("socket", "socketpair", "io_uring_setup")


def forbid(*, processes: bool, network: bool) -> bool:
    """Forbid this process to start processes, to open sockets, or both, for good; False where the kernel cannot.

    It holds for all its threads, also for those that run already. Without ``processes`` it can do nothing to other
    processes either: no signals, limits or priorities. Threads stay possible. A forbidden call fails with EPERM;
    ``clone3`` with ENOSYS, on which the C library falls back to ``clone``, whose flags a filter can read.
    """
    if not (processes or network):
        return True
    if sys.platform != "linux" or os.uname().machine not in _ARCHITECTURES:
        return False
    import ctypes

    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    program = _filter(processes=processes, network=network)
    instructions = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    number = _numbers(os.uname().machine)["seccomp"]
    return int(_libc().syscall(number, _SET_MODE_FILTER, _ALL_THREADS, ctypes.c_char_p(header))) == 0


def _numbers(machine: str) -> dict[str, int]:
    """The numbers of the system calls that such a machine has, by name."""
    column = list(_ARCHITECTURES).index(machine)
    return {name: number for name, numbers in _NUMBERS.items() if (number := numbers[column]) is not None}


def _filter(*, processes: bool, network: bool) -> list[tuple[int, int, int, int]]:
    machine = os.uname().machine
    architecture, numbers = _ARCHITECTURES[machine], _numbers(machine)
    denied = (_PROCESS_CALLS if processes else ()) + (_NETWORK_CALLS if network else ())
    program = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),  # 32-bit calls have other numbers
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        program += [(_JUMP_BITS, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for name in denied:
        if name in numbers:
            program += [(_JUMP_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    if processes:
        program += [
            (_JUMP_EQUAL, 0, 1, numbers["clone3"]),
            (_RETURN, 0, 0, _ERRNO | _ENOSYS),
            (_JUMP_EQUAL, 0, 3, numbers["clone"]),
            (_LOAD, 0, 0, _OFFSET_ARGUMENTS),
            (_JUMP_BITS, 1, 0, _CLONE_THREAD),
            (_RETURN, 0, 0, _ERRNO | _EPERM),
            (_LOAD, 0, 0, _OFFSET_NUMBER),
        ]
        program += [step for name, at in _CALLS_ON_A_PROCESS.items() for step in _on_itself(numbers[name], at)]
        program += _but_for(numbers["fcntl"], 1, _OWNER_COMMANDS)
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _on_itself(number: int, argument: int) -> list[tuple[int, int, int, int]]:
    """Allow a call where the argument names this process: by 0 or by its number."""
    return [
        (_JUMP_EQUAL, 0, 5, number),
        (_LOAD, 0, 0, _OFFSET_ARGUMENTS + 8 * argument),  # the lower half: process numbers have no more
        (_JUMP_EQUAL, 2, 0, 0),
        (_JUMP_EQUAL, 1, 0, os.getpid()),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _but_for(number: int, argument: int, values: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """Allow a call but where the argument is one of these values."""
    count = len(values)
    return [
        (_JUMP_EQUAL, 0, count + 3, number),
        (_LOAD, 0, 0, _OFFSET_ARGUMENTS + 8 * argument),
        *((_JUMP_EQUAL, count - at, 0, value) for at, value in enumerate(values)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
    ]


# ------------------------------------------------------------------------------------------------- system calls


def _ruleset(version: int) -> int:
    import ctypes

    since_net, net = _NET_OF_ABI
    since_scope, scope = _SCOPE_OF_ABI
    attributes = struct.pack("=Q", _RIGHTS_OF_ABI.get(version, _ALL_RIGHTS))
    if version >= since_net:
        attributes += struct.pack("=Q", net)
    if version >= since_scope:
        attributes += struct.pack("=Q", scope)
    return _syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    import ctypes

    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there: nothing to allow
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112 (pathlib would cost every child its import)
            rights &= _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, fd)
        _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        os.close(fd)


def _threads() -> int:
    with open("/proc/self/stat", "rb") as stat:
        # The command's name, in parentheses, may hold anything; num_threads is the 18th field after it.
        return int(stat.read().rpartition(b")")[2].split()[17])


def _libc() -> ctypes.CDLL:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: Any) -> int:
    return _checked(_libc().syscall(number, *arguments), f"system call {number}")


def _prctl(option: int, value: int) -> None:
    import ctypes

    zero = ctypes.c_ulong(0)
    _checked(_libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl {option}")


def _checked(result: int, call: str) -> int:
    """What a call of the C library returned. Raises OSError where it failed."""
    import ctypes

    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result
