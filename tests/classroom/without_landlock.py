"""Runs a program on a kernel as if it had no Landlock: `python without_landlock.py PROGRAM ARGUMENT…`.

A seccomp filter answers the first of Landlock's system calls with ENOSYS, in the program and in all its children.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

LANDLOCK_CREATE_RULESET = 444
ENOSYS = 38
LOAD_NUMBER, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def main() -> None:
    program = b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (LOAD_NUMBER, 0, 0, 0),
            (JUMP_EQUAL, 0, 1, LANDLOCK_CREATE_RULESET),
            (RETURN, 0, 0, ERRNO | ENOSYS),
            (RETURN, 0, 0, ALLOW),
        )
    )
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    for option, value, more in ((PR_SET_NO_NEW_PRIVS, 1, zero), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header)):
        if libc.prctl(option, ctypes.c_ulong(value), more, zero, zero):
            raise OSError(ctypes.get_errno(), "prctl")
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
