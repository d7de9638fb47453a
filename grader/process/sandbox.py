"""What a child process may access: files (Landlock), groups of system calls (seccomp), memory, processor time.

The child restricts itself after its imports and before it reads anything hostile:

    Sandbox(read=("/usr/include",), memory_bytes=2 << 30, cpu_s=20).apply()      # -> "landlock" or "none"

This needs no privileges, and cannot be undone. Landlock: Linux 5.13 and later, kernel documentation
"userspace-api/landlock"; its three system calls have the same numbers on x86-64 and aarch64.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ctypes

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_CREATE_RULESET_VERSION = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV  # the rights that apply to a plain file
_READ = _READ_FILE | _READ_DIR
_ALL_RIGHTS = (1 << 16) - 1
_RIGHTS_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # 5 and later: all
_NET_OF_ABI = (4, 0b11)  # from this ABI on: bind and connect TCP
_SCOPE_OF_ABI = (6, 0b11)  # from this ABI on: no abstract sockets and signals to processes outside

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


class Sandbox(NamedTuple):  # no dataclass: importing what makes one costs a short child a quarter of its time
    """The limits of one child; the default only switches core dumps off.

    ``read``, ``write`` and ``execute`` are files and folders (with their contents); paths that do not exist are
    ignored. ``files=True`` forbids access to all other files. ``processes=False`` forbids starting processes (threads
    are allowed), ``network=False`` opening sockets; either also forbids calls that no child needs (`FORBIDDEN`).
    ``memory_files=True`` allows anonymous files in memory (memfd_create), which CUDA's driver makes.
    ``memory_bytes`` limits the address space: leave it None for CUDA, which reserves far more than it uses. ``cpu_s``
    ends the process with SIGXCPU, ``open_files`` limits the number of descriptors.
    """

    files: bool = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()
    processes: bool = True
    network: bool = True
    memory_files: bool = False
    memory_bytes: int | None = None
    cpu_s: int | None = None
    file_bytes: int | None = None
    open_files: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, for the message to the child."""
        return self._asdict()

    def apply(self) -> str:
        """Restrict this process permanently. Returns ``"landlock"`` if that includes its files, else ``"none"``."""
        limit(
            memory_bytes=self.memory_bytes, cpu_s=self.cpu_s, file_bytes=self.file_bytes, open_files=self.open_files
        )  # fmt: skip
        state = "none"
        if self.files:
            state = restrict(read=self.read, write=self.write, execute=self.execute)
        forbid(processes=not self.processes, network=not self.network, memory_files=not self.memory_files)
        return state


def available() -> str:
    """``"landlock"`` if this kernel can restrict a process's access to files, else ``"none"``."""
    return "landlock" if abi() >= 1 else "none"


def abi() -> int:
    """Landlock's ABI version; 0 if there is no Landlock (another system, an old kernel, switched off)."""
    if sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"):
        return 0
    import ctypes

    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _CREATE_RULESET_VERSION)))


def restrict(*, read: Iterable[str] = (), write: Iterable[str] = (), execute: Iterable[str] = ()) -> str:
    """Forbid this thread, and all threads and processes that it starts, access to files except the given paths.

    Returns ``"landlock"``, or ``"none"`` if the kernel cannot. ``read`` allows reading files and listing folders,
    ``write`` reading, writing, creating and removing, ``execute`` reading and starting programs. Also forbids TCP, and
    abstract sockets and signals to processes outside, if the kernel can. Symbolic links count by their targets.
    Other threads that run already are not restricted: if there are any, the result is ``"none"``.
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


def limit(
    *,
    memory_bytes: int | None = None,
    cpu_s: int | None = None,
    file_bytes: int | None = None,
    open_files: int | None = None,
) -> None:
    """Set limits on address space, processor seconds, the size of written files and the number of open ones.

    Core dumps are always off.
    """
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NOFILE: open_files,
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
    """Let the kernel end this process when its parent (process ``parent``) ends; exits if it has ended already."""
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
_CLONE_NAMESPACES = 0x7E020000  # CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET; -TIME is for clone3 alone
_EPERM, _ENOSYS = 1, 38
_X32 = 0x40000000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
Numbers = tuple[int | None, int | None]
"""The number of a system call on x86-64 and on aarch64."""

_PROCESSES: dict[str, Numbers] = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "setpriority": (141, 140),
    "ioprio_set": (251, 30), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
    # A real-time process of root's runs before all others: before the one, too, that ends it when its time is over.
    "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
}  # fmt: skip
_NETWORK: dict[str, Numbers] = {"socket": (41, 198), "socketpair": (53, 199)}
_MEMORY_FILES: dict[str, Numbers] = {"memfd_create": (319, 279)}

FORBIDDEN: dict[str, dict[str, Numbers]] = {
    # Objects that outlive their process, with memory that no limit of a process counts.
    "System V IPC": {
        "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197), "semget": (64, 190),
        "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189),
        "msgrcv": (70, 188), "msgctl": (71, 187),
    },
    "POSIX message queues": {
        "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183),
        "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    },
    "keyrings": {"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)},
    # Memory of the kernel or of the process that its limits do not count.
    "hidden memory": {"memfd_secret": (447, 447), "vmsplice": (278, 75)},
    "namespaces": {"unshare": (272, 97), "setns": (308, 268)},
    "mounts": {
        "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
        "open_tree": (428, 428), "open_tree_attr": (467, 467), "move_mount": (429, 429), "fsopen": (430, 430),
        "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
        "statmount": (457, 457), "listmount": (458, 458), "name_to_handle_at": (303, 264),
        "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    },
    # Attributes of files, which Landlock does not control: the user's files could be made inaccessible, or accessible.
    "attributes of files": {
        "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
        "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6),
        "fsetxattr": (190, 7), "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
        "fremovexattr": (199, 16), "removexattrat": (466, 466), "utime": (132, None), "utimes": (235, None),
        "futimesat": (261, None), "utimensat": (280, 88), "file_setattr": (469, 469),
    },
    "other processes": {
        "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
        "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    },
    # Interfaces with a large attack surface: BPF programs, io_uring (not filtered), page faults, counters, modules.
    "the kernel": {
        "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241), "io_uring_setup": (425, 425),
        "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_setup": (206, 0), "kexec_load": (246, 104),
        "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
        "delete_module": (176, 106), "syslog": (103, 116), "lookup_dcookie": (212, 18), "modify_ldt": (154, None),
        "iopl": (172, None), "ioperm": (173, None), "uselib": (134, None),
    },
    "the machine": {
        "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
        "quotactl_fd": (443, 443), "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170),
        "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "vhangup": (153, 58),
        "nfsservctl": (180, 42),
    },
    # A process of another user may not be killed by its parent, and does not end with it.
    "identities": {
        "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
        "setresuid": (117, 147), "setresgid": (119, 149), "setfsuid": (122, 151), "setfsgid": (123, 152),
        "setgroups": (116, 159), "capset": (126, 91),
    },
}  # fmt: skip
"""System calls that no child needs after it has applied its sandbox, by family."""

_LOOKED_AT: dict[str, Numbers] = {
    "clone": (56, 220), "clone3": (435, 435), "fcntl": (72, 25), "prctl": (157, 167), "seccomp": (317, 277),
}  # fmt: skip
# Calls with a process as an argument, and its index: they are allowed on this process only. Landlock forbids signals
# only from ABI 6 on, and never the others: a child could take processor time from its parent, or slow down the process
# that measures the time.
_CALLS_ON_A_PROCESS: dict[str, tuple[Numbers, int]] = {
    "kill": ((62, 129), 0), "tkill": ((200, 130), 0), "tgkill": ((234, 131), 0), "rt_sigqueueinfo": ((129, 138), 0),
    "rt_tgsigqueueinfo": ((297, 240), 0), "prlimit64": ((302, 261), 0), "sched_setaffinity": ((203, 122), 0),
    "sched_setparam": ((142, 118), 0), "migrate_pages": ((256, 238), 0), "move_pages": ((279, 239), 0),
}  # fmt: skip
# Commands of fcntl that let the kernel send any signal to the owner of a file: F_SETOWN, F_SETSIG, F_SETOWN_EX. A child
# could stop its parent before the parent starts the clock.
_OWNER_COMMANDS = (8, 10, 15)
# Options of prctl: to outlive the parent, and to close /proc/PID to it, where it sees what the process holds.
_OWN_OPTIONS = (_PR_SET_PDEATHSIG, 4)  # PR_SET_DUMPABLE
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ: the memory of a pipe is not counted, and root may have gigabytes of it


def forbid(*, processes: bool, network: bool, memory_files: bool) -> bool:
    """Forbid this process permanently to start processes, to open sockets, or both; False if the kernel cannot.

    Either also forbids the calls in `FORBIDDEN`; ``memory_files`` forbids memfd_create. The filter applies to all its
    threads, also to running ones. ``processes`` also forbids signals to other processes and changes of their limits and
    priorities, and the process ends with its parent. Threads are allowed. A forbidden call fails with EPERM; ``clone3``
    fails with ENOSYS, so that the C library uses ``clone``, whose flags a filter can read.
    """
    if not (processes or network):
        return True
    if sys.platform != "linux" or os.uname().machine not in _ARCHITECTURES:
        return False
    import ctypes

    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    program = _filter(os.uname().machine, processes=processes, network=network, memory_files=memory_files)
    instructions = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    number = _of(_LOOKED_AT, os.uname().machine)["seccomp"]
    return int(_libc().syscall(number, _SET_MODE_FILTER, _ALL_THREADS, ctypes.c_char_p(header))) == 0


def _of(calls: dict[str, Numbers], machine: str) -> dict[str, int]:
    """The numbers of a machine's system calls, by name."""
    column = list(_ARCHITECTURES).index(machine)
    return {name: number for name, numbers in calls.items() if (number := numbers[column]) is not None}


Instruction = tuple[int, int, int, int]


def _filter(machine: str, *, processes: bool, network: bool, memory_files: bool) -> list[Instruction]:
    denied: dict[str, Numbers] = {name: numbers for family in FORBIDDEN.values() for name, numbers in family.items()}
    for wanted, calls in ((processes, _PROCESSES), (network, _NETWORK), (memory_files, _MEMORY_FILES)):
        denied |= calls if wanted else {}
    numbers = _of(_LOOKED_AT, machine)
    program = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),  # 32-bit calls have other numbers
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        program += [(_JUMP_BITS, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for number in _of(denied, machine).values():
        program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    program += [(_JUMP_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    program += _clone(numbers["clone"], only_threads=processes)
    program += _but_for(numbers["fcntl"], 1, (*(_OWNER_COMMANDS if processes else ()), _SET_PIPE_SIZE))
    if processes:
        program += _but_for(numbers["prctl"], 0, _OWN_OPTIONS)
        for name, (call, at) in _CALLS_ON_A_PROCESS.items():
            program += [step for number in _of({name: call}, machine).values() for step in _on_itself(number, at)]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _clone(number: int, *, only_threads: bool) -> list[Instruction]:
    """Forbid namespaces, and new processes if ``only_threads``."""
    return [
        (_JUMP_EQUAL, 0, 5, number),
        (_LOAD, 0, 0, _OFFSET_ARGUMENTS),
        (_JUMP_BITS, 1, 0, _CLONE_NAMESPACES),
        (_JUMP_BITS, 1, 0, _CLONE_THREAD) if only_threads else (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _on_itself(number: int, argument: int) -> list[Instruction]:
    """Allow a call only if the argument is this process: 0 or its number."""
    return [
        (_JUMP_EQUAL, 0, 5, number),
        (_LOAD, 0, 0, _OFFSET_ARGUMENTS + 8 * argument),  # the lower half: a process number has 32 bits
        (_JUMP_EQUAL, 2, 0, 0),
        (_JUMP_EQUAL, 1, 0, os.getpid()),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _but_for(number: int, argument: int, values: tuple[int, ...]) -> list[Instruction]:
    """Allow a call unless the argument is one of these values."""
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
    except OSError:  # it does not exist: there is nothing to allow
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
        # The command's name, in parentheses, may contain any characters; num_threads is the 18th field after it.
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
    """The result of a call of the C library. Raises OSError if it failed."""
    import ctypes

    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result
