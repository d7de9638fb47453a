"""Host files: what they may not reach, hold, leave behind or leave out."""

from __future__ import annotations

from attacks import attack

RUN = '    samples, largest, stream = plan["samples"], plan["largest"], plan["stream"]\n'
SYNC = "    stream.synchronize()\n"
GET = '    largest.get(out=plan["out"], stream=stream, blocking=False)\n'
SET = '    samples.set(plan["x"], stream=stream)\n'


def before(statements: str) -> tuple[str, str]:
    """Statements that `run` begins with."""
    return RUN, "".join(f"    {line}\n" for line in statements.split("\n")) + RUN


for what, expect, edit in (
    ("no wait at the end", "race", (SYNC, "")),
    ("a wait before the last copy", "race", (GET + "\n    # All three calls have only queued their work. `out` is complete when the stream has done it.\n" + SYNC, SYNC + GET)),
    ("no copy to the GPU", "wrong", (SET, "")),
    ("no copy back", "wrong", (GET, "")),
    ("the answer of the first run", "wrong", (SET, "    if \"kept\" not in plan:\n        samples.set(plan[\"x\"], stream=stream)\n        plan[\"kept\"] = True\n")),
    ("NumPy in place of the GPU", "technique", (RUN, "    plan[\"out\"][:] = np.abs(plan[\"x\"].reshape(-1, 1024)).max(axis=1)\n    return\n" + RUN)),
    ("half of the frames", "wrong", ("np.int32(largest.size)", "np.int32(largest.size // 2)")),
    ("a thread that finishes later", "race crash wrong", (SYNC, "    import threading\n    threading.Timer(0.2, stream.synchronize).start()\n")),
    ("a wait that waits for nothing", "race", (SYNC, "    type(stream).synchronize = lambda self: None\n    stream.synchronize()\n")),
):  # fmt: skip
    attack("host file", "pinned_copy", expect, what=what, host=(edit,))

for what, statements in {
    "reads a password file": "open('/etc/passwd').read()",
    "reads its parent's environment": "import os\nopen(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "writes a file": "open('/tmp/warpgrade-attack', 'w').write('x')",
    "opens a socket": "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)",
    "starts a process": "import subprocess\nsubprocess.run(['/bin/true'])",
    "forks": "import os\nos.fork()",
    "kills its parent": "import os\nos.kill(os.getppid(), 9)",
    "stops its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)",
    "raises": "raise ValueError('no')",
    "leaves": "import os\nos._exit(0)",
    "leaves with the status of an end": "import os\nos._exit(87)",
    "exits politely": "import sys\nsys.exit(0)",
    "divides by zero": "1 / 0",
    "dies by a signal": "import ctypes\nctypes.string_at(0)",
}.items():
    attack("host file", "pinned_copy", "crash policy", what=what, host=(before(statements),))

LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nif {call} < 0:\n    raise OSError(ctypes.get_errno(), 'refused')"
for what, call in {
    "System V shared memory": "libc.shmget(0, 4096, 0o1600)",
    "a System V message queue": "libc.msgget(0, 0o1600)",
    "a System V semaphore": "libc.semget(0, 1, 0o1600)",
    "a file in memory": "libc.memfd_create(b'x', 0)",
    "a key": "libc.syscall(248, b'user', b'x', b'y', 1, -5)",
    "a namespace": "libc.unshare(0x10000000)",
    "a mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "a program in the kernel": "libc.syscall(321, 0, None, 0)",
    "page faults of its own": "libc.syscall(323, 0)",
}.items():
    attack("resources of the child", "pinned_copy", "crash", what=what, host=(before(LIBC.format(call=call)),))

for what, statements, expect in (
    ("2,500 threads", "import threading, time\nfor _ in range(2500):\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()", "limit crash"),
    ("memory without an end", "kept = []\nwhile True:\n    kept.append(np.ones(1 << 24))", "limit crash timeout"),
    ("a loop without an end", "while True:\n    pass", "timeout"),
    ("a flood of text", "for _ in range(1 << 20):\n    print('x' * 1000)", "limit"),
):  # fmt: skip
    attack("resources of the child", "pinned_copy", expect, what=what, host=(before(statements),))
