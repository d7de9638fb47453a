"""A control group that limits one child's memory, where the system delegates a part of the tree (cgroup v2).

    /sys/fs/cgroup/user.slice/…/app.slice/            belongs to the user: systemd delegates it
                                  ├─ terminal.scope/     this process
                                  └─ warpgrade-PID/      a child, with memory.max

The kernel counts all memory of the child's processes there: pages, whether shared or not, and files in memory, open or
only mapped. It ends a child that uses more. Where nothing is delegated (a container, root, older systems), the parent
looks at the child (`Child.holds`).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from grader.process.child import Closing

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
PREFIX = "warpgrade-"


def delegated(root: Path = ROOT, own: Path = OWN) -> Path | None:
    """The folder in which this user's groups may have a limit of memory; None if there is none.

    It is the group of this process, or the one above: a group with processes of its own has no limits for others. Root
    may write everywhere, which does not mean that anything is delegated.
    """
    if os.geteuid() == 0:
        return None
    try:
        paths = [line.removeprefix("0::").strip("/") for line in own.read_text().splitlines() if line.startswith("0::")]
    except OSError:
        return None
    groups = [root / path for path in paths if path and ".." not in path]
    return next((folder for group in groups for folder in (group, group.parent) if _may_limit(folder)), None)


def _may_limit(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        controllers = (folder / "cgroup.subtree_control").read_text().split()
        return "memory" in controllers and all(os.access(p, os.W_OK) for p in (folder, folder / "cgroup.procs"))
    return False


class MemoryGroup(Closing):
    """One process's group. A context manager, which removes it; the process must have ended before."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def exceeded(self) -> bool:
        """Whether the kernel has ended a process of the group because it used too much memory."""
        with contextlib.suppress(OSError):
            return any(
                name == "oom_kill" and int(count) > 0
                for name, count in (line.split() for line in (self._folder / "memory.events").read_text().splitlines())
            )
        return False

    def close(self) -> None:
        """Remove the group; removing it twice is fine."""
        with contextlib.suppress(OSError):
            self._folder.rmdir()


def memory_group(pid: int, limit_bytes: int, above: Path | None) -> MemoryGroup | None:
    """A new group with process ``pid``, in the folder of `delegated`; None if the system does not allow it."""
    if above is None:
        return None
    folder = above / f"{PREFIX}{pid}"
    for left in above.glob(f"{PREFIX}*"):  # by graders that were killed; one with processes cannot be removed
        MemoryGroup(left).close()
    try:
        folder.mkdir()
    except OSError:
        return None
    group = MemoryGroup(folder)
    try:
        (folder / "memory.max").write_text(str(limit_bytes))
        if (folder / "memory.swap.max").exists():  # not where the system has no swap
            (folder / "memory.swap.max").write_text("0")
        (folder / "cgroup.procs").write_text(str(pid))
    except OSError:
        group.close()
        return None
    return group
