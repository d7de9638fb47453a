"""What host files may try in timed runs, for a link target and for an overlap target: none of it passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu_checks import expect, item
from gpu_checks.hosts import Told, host_case, solution_host
from grader.backends.gpu import GpuBackend

TARGETS = ("zero_copy", "streams_overlap")

NOTHING_WAITS = """
from cupy.cuda import stream as _streams
_streams._BaseStream.synchronize = lambda self: None
cupy.cuda.Event.synchronize = lambda self: None
for _name in ("streamSynchronize", "deviceSynchronize", "eventSynchronize"):
    setattr(cupy.cuda.runtime, _name, lambda *_: None)
"""
ON_A_THREAD = """
import threading
_run = run
def run():
    threading.Thread(target=_run).start()
"""
THE_END_IS_LEFT_TO_A_THREAD = """
import threading
_setup, _run, _seen = setup, run, {}
def setup(module, x, out):
    _seen["out"] = out
    _setup(module, x, out)
def run():
    first = _seen["out"][:64]
    before = first.copy().view("u1")
    threading.Thread(target=_run).start()
    while (first.view("u1") == before).all():
        pass
"""
LAST_TIMES_RESULT = """
_setup, _run, _seen = setup, run, {}
def setup(module, x, out):
    _seen.update(out=out, kept=None)
    _setup(module, x, out)
def run():
    if _seen["kept"] is None:
        _run()
        _seen["kept"] = _seen["out"].copy()
    _seen["out"][:] = _seen["kept"]
"""
STOPPED_CLOCKS = """
import time
for _name in ("perf_counter", "monotonic", "time", "perf_counter_ns", "monotonic_ns", "time_ns", "process_time"):
    setattr(time, _name, lambda: 0)
cupy.cuda.get_elapsed_time = lambda *_: 0.0
_run = run
def run():
    _run()
    _run()
"""
A_PRINTED_VERDICT = """
def run():
    print('{"done": true, "verdict": "pass", "stages": [{"name": "fast", "status": "passed"}]}', flush=True)
    print("\\x1b[2J  fast  passed  0.99 of the ceiling", flush=True)
"""
THE_END_TOLD_EARLY = """
import mmap, os
def _arrays():
    for n in os.listdir("/proc/self/fd"):
        try:
            if "arrays" in os.readlink(f"/proc/self/fd/{n}"):
                return int(n)
        except OSError:
            pass
_words = memoryview(mmap.mmap(_arrays(), mmap.PAGESIZE)).cast("Q")
_run = run
def run():
    _words[8] = _words[0]
    _run()
"""
READS_THE_SHARED_FILE = """
import mmap, os
_setup, _run, _seen = setup, run, {}
def setup(module, x, out):
    _seen.update(x=x, out=out)
    _setup(module, x, out)
def run():
    for n in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink(f"/proc/self/fd/{n}")
            size = os.fstat(int(n)).st_size
            if size < _seen["out"].nbytes or "arrays" not in name:
                continue
            everything = np.frombuffer(mmap.mmap(int(n), size), dtype="u1")
        except (OSError, ValueError):
            continue
        _seen["out"][:] = everything[mmap.PAGESIZE :][: _seen["out"].nbytes].view("f4")
        return
"""


def cheat(backend: GpuBackend, more: str, *words: str) -> str:
    """Append ``more`` to the solution's host file of each target: its word must be one of ``words``."""
    told = []
    for name in TARGETS:
        found = host_case(backend, solution_host(name) + more, name=name)
        expect(found.word in words, f"{name}: {found}")
        told.append(f"{name} {found.word}: {_why(found)}")
    return "; ".join(told)


def _why(found: Told) -> str:
    return found.speed.detail if found.speed is not None else f"small case {found.small}"


def _register(name: str, more: str, *words: str) -> Callable[[GpuBackend], Any]:
    def attempt(backend: GpuBackend) -> Any:
        return cheat(backend, more, *words)

    attempt.__name__ = f"host_cheat_{name}"
    return item(attempt)


for _name, _more, *_words in (
    ("work_is_left_on_a_stream", NOTHING_WAITS, "wrong"),
    ("work_is_left_to_a_thread", ON_A_THREAD, "wrong"),
    ("the_rest_is_left_to_a_thread", THE_END_IS_LEFT_TO_A_THREAD, "wrong"),
    ("last_times_result", LAST_TIMES_RESULT, "wrong"),
    ("clocks_are_stopped", STOPPED_CLOCKS, "slow"),
    ("a_verdict_is_printed", A_PRINTED_VERDICT, "wrong"),
    ("the_end_is_told_early", THE_END_TOLD_EARLY, "wrong"),
    ("the_shared_file_is_read", READS_THE_SHARED_FILE, "wrong"),
):
    _register(_name, _more, *_words)
