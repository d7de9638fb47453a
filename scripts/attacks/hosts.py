"""Host files: what they may not leave out, reach, hold or leave behind."""

from __future__ import annotations

from attacks import Edit, attack

RUN = '    samples, largest, stream = plan["samples"], plan["largest"], plan["stream"]\n'
SYNC = "    stream.synchronize()\n"
GET = '    largest.get(out=plan["out"], stream=stream, blocking=False)\n'
SET = '    samples.set(plan["x"], stream=stream)\n'
WHEN_LARGE = 'if plan["x"].size > 1 << 24:'
"""In the timed runs of pinned_copy, and in no case."""


def before(statements: str) -> Edit:
    """Statements that `run` begins with."""
    return RUN, "".join(f"    {line}\n" for line in statements.split("\n")) + RUN


def instead(statements: str, when: str = "True") -> Edit:
    """Another `run`, where ``when`` holds; `usual` is the solution's, and `kept` is there to be filled."""
    lines = "".join(f"    {line}\n" for line in statements.split("\n"))
    return (
        "",
        f"\n\nusual, kept = run, {{}}\n\n\ndef run() -> None:\n    if not ({when}):\n        return usual()\n{lines}",
    )


def when_large(statements: str) -> Edit:
    return instead(statements, 'plan["x"].size > 1 << 24')


for what, words, edit in (
    ("no wait at the end", "sim=race gpu=wrong", (SYNC, "")),
    ("a wait before the last copy", "sim=race", (GET + "\n    # All three calls have only queued their work. `out` is complete when the stream has done it.\n" + SYNC, SYNC + GET)),
    ("no copy to the GPU", "wrong", (SET, "")),
    ("no copy back", "wrong", (GET, "")),
    ("the answer of the first run", "wrong", (SET, "    if \"kept\" not in plan:\n        samples.set(plan[\"x\"], stream=stream)\n        plan[\"kept\"] = True\n")),
    ("NumPy in place of the GPU", "sim=technique gpu=slow", before('plan["out"][:] = np.abs(plan["x"].reshape(-1, 1024)).max(axis=1)\nreturn')),
    ("half of the frames", "wrong", ("np.int32(largest.size)", "np.int32(largest.size // 2)")),
    ("a thread that finishes later", "sim=race gpu=wrong", (SYNC, "    import threading\n    threading.Timer(0.2, stream.synchronize).start()\n")),
    ("a wait that waits for nothing", "sim=race gpu=wrong", (SYNC, "    type(stream).synchronize = lambda self: None\n    stream.synchronize()\n")),
    ("all of the work on a thread", "sim=race gpu=wrong", instead("import threading\nthreading.Thread(target=usual).start()")),
    ("an input is changed, too", "sim=wrong", instead("usual()\nplan['x'][0] += 1")),
    ("another array in place of the input", "sim=wrong", ('plan["x"], plan["out"] = x, out', 'plan["x"], plan["out"] = x.copy(), out')),
    ("its memory is given back too early", "sim=out_of_bounds", (SET, SET + '    plan["samples"] = samples = None\n')),
):  # fmt: skip
    attack("host file", "pinned_copy", words, what=what, host=(edit,))

attack("host file", "pinned_copy", "sim=wrong", ("    float largest = 0.0f;\n", "    __shared__ float rest[32];\n    float largest = rest[lane];\n"), what="a kernel that begins with what shared memory holds")  # fmt: skip
attack(
    "host file", "pinned_copy", "sim=wrong", ("        out[f] = largest;\n", "        out[f] = fmaxf(largest, out[f]);\n"),
    what="a kernel that adds to fresh memory", host=(instead("kept[len(kept)] = plan['largest'] = cupy.empty_like(plan['largest'])\nusual()"),),
)  # fmt: skip

for what, words, statements in (
    ("half of the frames", "sim=pass gpu=wrong", "usual()\nplan['out'][plan['out'].size // 2:] = plan['out'][: plan['out'].size // 2]"),
    ("the last frame is left out", "sim=pass gpu=wrong", "usual()\nplan['out'][-1] = 0"),
    ("last time's answer", "sim=pass gpu=wrong", "if not kept:\n    usual()\n    kept['out'] = plan['out'].copy()\nplan['out'][:] = kept['out']"),
    ("the answer of the run before", "sim=pass gpu=wrong", "before = kept.get('out', plan['out'])\nusual()\nkept['out'] = plan['out'].copy()\nplan['out'][:] = before"),
    ("an end that is told before the work is done", "sim=pass gpu=wrong", "import threading\nthreading.Thread(target=usual).start()"),
    ("the work twice, and clocks that stand still", "sim=pass gpu=slow", "import time\ntime.perf_counter = time.monotonic = time.time = lambda: 0.0\ncupy.cuda.get_elapsed_time = lambda *_: 0.0\nusual()\nusual()"),
    ("a pause", "sim=pass gpu=slow", "import time\nusual()\ntime.sleep(0.02)"),
    ("a verdict is printed", "sim=pass gpu=wrong", "print('{\"done\": true, \"verdict\": \"pass\"}')\nprint('\\x1b[2J  fast  passed  0.99 of the ceiling')"),
    ("it raises", "sim=pass gpu=crash", "raise ValueError('no')"),
    ("it leaves", "sim=pass gpu=crash", "import os\nos._exit(0)"),
    ("it never ends", "sim=pass gpu=timeout", "while True:\n    pass"),
    ("2,500 threads", "sim=pass gpu=limit", "import threading, time\nfor _ in range(2500):\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()"),
    ("kernels on memory that nothing has written", "sim=pass gpu=wrong", "largest = cupy.empty_like(plan['largest'])\nlargest.get(out=plan['out'])"),
):  # fmt: skip
    attack("timed launches", "pinned_copy", words, what=what, host=(when_large(statements),))

SHARED_WORDS = """
import mmap, os
def _words():
    for n in os.listdir("/proc/self/fd"):
        try:
            if "arrays" in os.readlink(f"/proc/self/fd/{n}"):
                return memoryview(mmap.mmap(int(n), mmap.PAGESIZE)).cast("Q")
        except OSError:
            pass
words = _words()
"""
attack("timed launches", "pinned_copy", "gpu=wrong", what="the end is told in the shared words, and then it works", host=(("", SHARED_WORDS), instead("words[8] = words[0]\nusual()")))  # fmt: skip
attack("timed launches", "pinned_copy", "gpu=crash", what="the end is told in the shared words, and then it dies", host=(("", SHARED_WORDS), instead("words[8] = words[0]\nimport os\nos.kill(os.getpid(), 9)", 'plan["x"].size > 1 << 24')))  # fmt: skip

for exercise, words, edits, host, what in (
    ("zero_copy", "sim=pass gpu=wrong", (("for (int f = warp; f < frames; f += warps)", "for (int f = warp; f < frames - (frames > 20000); f += warps)"),), (), "a frame less"),
    ("zero_copy", "sim=pass gpu=crash", (("        float energy = 0.0f;\n", "        float energy = 0.0f;\n        if (f == 60000)\n            __trap();\n"),), (), "a trap"),
    ("streams_overlap", "sim=pass gpu=wrong", (), (('    for number, (samples, x_device, out_device, results) in enumerate(work["chunks"]):\n', '    for number, (samples, x_device, out_device, results) in enumerate(work["chunks"]):\n        if number == 7 and samples.size > 1 << 17:\n            continue\n'),), "a chunk less"),
    ("cuda_graph", "sim=wrong", (), (("for step in range(heat.size):", "for step in range(heat.size - (heat.size > 4)):"),), "a step less"),
    ("streams_events", "sim=race", (), (("        compute.wait_event(uploaded[slot])\n", ""),), "no wait for the samples"),
):  # fmt: skip
    threat = "timed launches" if "gpu=" in words else "host file"
    attack(threat, exercise, words, *edits, what=what, host=host)

ON_A_GPU = {"reads a password file", "reads its parent's memory", "writes a file", "opens a socket", "starts a process",
            "forks", "stops its parent", "imports the grader", "leaves", "dies by a signal"}  # fmt: skip
for what, statements in {
    "reads a password file": "open('/etc/passwd').read()",
    "reads its parent's environment": "import os\nopen(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "reads its parent's memory": "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "lists the root": "import os\nos.listdir('/')",
    "imports the grader": "import grader.grading.judge",
    "looks for the solution": "import os\nos.listdir(os.path.dirname(np.__file__) + '/../grader/solutions')",
    "writes a file": "open('/tmp/warpgrade-attack', 'w').write('x')",
    "writes to shared memory": "open('/dev/shm/warpgrade-attack', 'w').write('x')",
    "writes its own memory": "open('/proc/self/mem', 'wb').write(b'x')",
    "changes a file's mode": "import os\nos.chmod('.', 0o777)",
    "follows a link out": "import os\nos.symlink('/etc/passwd', 'link')\nopen('link').read()",
    "opens a socket": "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)",
    "opens a local socket": "import socket\nsocket.socketpair()",
    "starts a process": "import subprocess\nsubprocess.run(['/bin/true'])",
    "forks": "import os\nos.fork()",
    "spawns": "import os\nos.posix_spawn('/bin/true', ['true'], {})",
    "kills its parent": "import os\nos.kill(os.getppid(), 9)",
    "stops its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)",
    "slows down its parent": "import os\nos.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "moves its parent": "import os\nos.sched_setaffinity(os.getppid(), {0})",
    "runs before its parent": "import os\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    "limits its parent": "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "has its parent signalled by a file": "import fcntl, os\nfcntl.fcntl(0, 8, os.getppid())",
    "outlives its parent": "import ctypes\nif ctypes.CDLL(None).prctl(1, 0, 0, 0, 0):\n    raise OSError('refused')",
}.items():
    words = "crash" if what in ON_A_GPU else "sim=crash"
    attack("reach of the child", "pinned_copy", words, what=what, host=(before(statements),))

for what, words, statements in (
    ("raises", "sim=crash", "raise ValueError('no')"),
    ("raises what nobody catches", "sim=crash", "raise BaseException('no')"),
    ("raises what cannot be shown", "sim=crash", "class E(Exception):\n    def __str__(self):\n        raise self\nraise E"),
    ("leaves", "crash", "import os\nos._exit(0)"),
    ("leaves with the status of an end", "sim=crash", "import os\nos._exit(87)"),
    ("exits politely", "sim=crash", "import sys\nsys.exit(0)"),
    ("divides by zero", "sim=crash", "1 / 0"),
    ("dies by a signal", "crash", "import ctypes\nctypes.string_at(0)"),
    ("calls itself for ever", "sim=crash", "run()"),
):  # fmt: skip
    attack("host file", "pinned_copy", words, what=what, host=(before(statements),))

LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nif {call} < 0:\n    raise OSError(ctypes.get_errno(), 'refused')"
for what, call in {
    "System V shared memory": "libc.shmget(0, 4096, 0o1600)",
    "a System V message queue": "libc.msgget(0, 0o1600)",
    "a System V semaphore": "libc.semget(0, 1, 0o1600)",
    "a POSIX message queue": "libc.syscall(240, b'attack', 0o102, 0o600, None)",
    "a file in memory": "libc.memfd_create(b'x', 0)",
    "a key": "libc.syscall(248, b'user', b'x', b'y', 1, -5)",
    "a namespace": "libc.unshare(0x10000000)",
    "a mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "a program in the kernel": "libc.syscall(321, 0, None, 0)",
    "page faults of its own": "libc.syscall(323, 0)",
    "a ring of requests": "libc.syscall(425, 8, ctypes.create_string_buffer(120))",
    "another process's memory": "libc.syscall(310, __import__('os').getppid(), None, 0, None, 0, 0)",
    "a trace": "libc.syscall(101, 16, __import__('os').getppid(), 0, 0)",
    "another user": "libc.syscall(105, 1)",
}.items():
    words = "crash" if what in ("System V shared memory", "a key", "a namespace") else "sim=crash"
    attack("resources of the child", "pinned_copy", words, what=what, host=(before(LIBC.format(call=call)),))

for what, statements, words in (
    ("2,500 threads", "import threading, time\nfor _ in range(2500):\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()", "limit"),
    ("threads that threading does not know", "import _thread, time\nfor _ in range(2500):\n    _thread.start_new_thread(time.sleep, (30,))\ntime.sleep(5)", "sim=limit"),
    ("a loop without an end", "while True:\n    pass", "sim=timeout"),
    ("a flood of text", "for _ in range(1 << 20):\n    print('x' * 1000)", "limit"),
    ("a large file of its own", "with open('large', 'wb') as f:\n    while True:\n        f.write(bytes(1 << 24))", "sim=crash"),
    ("descriptors without an end", "import os\nwhile True:\n    os.dup(0)", "sim=crash"),
    ("memory on the GPU without an end", "held = []\nwhile True:\n    held.append(cupy.empty(1 << 30, cupy.float32))", "sim=crash"),
):  # fmt: skip
    attack("resources of the child", "pinned_copy", words, what=what, host=(before(statements),))
