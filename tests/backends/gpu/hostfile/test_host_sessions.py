"""Host exercises without a GPU: shared mappings, the parent's clock, fresh inputs, and what a host file may not do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from host_files import EXERCISE, LIMITS, PROGRAM, backend, case, oracle, without_a_gpu

from grader.backends.gpu.hostfile import session as host_session
from grader.backends.gpu.hostfile.timed_runs import Expectations, OutputCheck, Recording, row_size, take_runs
from grader.backends.mappings import PAGE, SharedFile
from grader.catalog.courses import built_in_course
from grader.errors import GraderFault, SubmissionError, Unsupported
from grader.exercise import Array
from grader.grading.fast_hostfile import HostfileSpeedTest
from grader.inputs import is_poison, poison

HONEST = """
held = {}
def setup(module, x, out):
    assert module == "sums"
    held.update(x=x, out=out)
def run():
    held["out"][:] = held["x"].reshape(len(held["out"]), -1).sum(axis=1, dtype="float64")
"""


@pytest.fixture
def session(monkeypatch):
    """A function that opens a session on a host file; every session is closed at the end."""
    opened = []
    without_a_gpu(monkeypatch)

    def open_(source, limits=LIMITS, exercise=EXERCISE, sandbox=True):
        opened.append(backend(source, exercise, sandbox).open(PROGRAM, limits))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


# -------------------------------------------------------------------------------------------------------- cases


def test_a_host_file_computes_on_memory_that_the_parent_sees(session):
    run = case()
    execution = session(HONEST).run(run)
    assert execution.failure is None
    np.testing.assert_allclose(
        execution.outputs["out"], oracle({"x": run.buffers[0].data}, {"rows": 3})["out"], rtol=1e-6
    )


def test_several_cases_run_in_one_session(session):
    one = session(HONEST)
    assert all(one.run(case(rows)).failure is None for rows in (3, 1, 2))


def test_an_output_that_is_not_written_is_poison(session):
    execution = session("def setup(m, x, out): pass\ndef run(): pass\n").run(case())
    assert is_poison(execution.outputs["out"]).all()


def test_an_exception_is_a_crash_with_its_line(session):
    execution = session("def setup(m, x, out): pass\ndef run():\n    raise ValueError('no')\n").run(case())
    assert execution.failure == "crash"
    (found,) = execution.diagnostics
    assert (found.file, found.line, found.message) == ("sums_host.py", 3, "ValueError: no")


REFUSALS = {
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too many blocks in cooperative launch": (
        "crash", "cuda_error", "occupancyMaxActiveBlocksPerMultiprocessor"
    ),
    "cudaErrorInvalidValue: invalid argument": ("crash", "cuda_error", ""),
    "cudaErrorMemoryAllocation: out of memory": ("crash", "cuda_error", ""),
    "cudaErrorHostMemoryAlreadyRegistered: already mapped": ("crash", "cuda_error", "only once"),
    "cudaErrorIllegalAddress: an illegal memory access": ("out_of_bounds", "out_of_bounds", "--backend"),
    "CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address": ("crash", "misaligned", "float4"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
def test_what_cuda_refuses_is_told_with_its_line(session, text):
    verdict, kind, hint = REFUSALS[text]
    source = f"def setup(m, x, out): pass\ndef run():\n    raise RuntimeError({text!r})\n"
    execution = session(source).run(case())
    assert execution.failure == verdict
    (found,) = execution.diagnostics
    assert (found.kind, found.file, found.line) == (kind, "sums_host.py", 3)
    assert hint in found.hint
    assert kind != "cuda_error" or found.message == text


def test_with_too_few_gpus_a_host_exercise_is_unsupported(session, monkeypatch):
    monkeypatch.setattr("grader.gpus.detect.count", lambda: 1)
    ring = replace(EXERCISE, gpus=2, small=({"rows": 3, "gpus": 2},))
    with pytest.raises(Unsupported, match="sums needs 2 GPUs; this machine has 1"):
        session(HONEST, exercise=ring)


def test_with_enough_gpus_the_timed_size_has_all_of_them(monkeypatch):
    monkeypatch.setattr("grader.gpus.detect.count", lambda: 4)
    ring = replace(EXERCISE, gpus=2, timed={"rows": 3, "gpus": 2})
    assert backend(HONEST, ring).exercise.timed == {"rows": 3, "gpus": 4}
    assert backend(HONEST).gpus == 1


def test_the_session_goes_on_after_an_exception(session):
    one = session("def setup(m, x, out): pass\ndef run(): 1 / 0\n")
    assert one.run(case()).failure == "crash"
    assert one.run(case()).failure == "crash"


def test_leaving_the_process_is_a_crash(session):
    execution = session("import os\ndef setup(m, x, out): os._exit(7)\ndef run(): pass\n").run(case())
    assert execution.failure == "crash"
    (found,) = execution.diagnostics
    assert found.message == "the process of sums_host.py ended while it was running: exit status 7 (sums_host.py:2)"
    assert (found.file, found.line) == ("sums_host.py", 2)
    assert found.hint == "setup() and run() must return: remove the statement that ends the process at line 2"


def test_leaving_the_process_in_a_run_is_a_crash(session):
    execution = session("import os\ndef setup(m, x, out): pass\ndef run(): os._exit(0)\n").run(case())
    assert execution.failure == "crash"


def test_a_wrong_address_is_told_with_its_line_and_what_was_printed_before(session):
    source = "import ctypes\ndef setup(m, x, out): print('so far')\ndef run():\n    ctypes.string_at(12, 16)\n"
    execution = session(source).run(case())
    assert (execution.failure, execution.printed) == ("crash", "so far\n")
    (found,) = execution.diagnostics
    message = "the process of sums_host.py ended while it was running: SIGSEGV, a wrong address (sums_host.py:4)"
    assert (found.message, found.line) == (message, 4)
    assert found.hint.startswith("check the arguments at line 4")


def test_what_goes_to_standard_error_is_shown_in_the_order_of_what_is_printed(session):
    source = "import logging, sys\ndef setup(m, x, out):\n    print(1)\n    print(2, file=sys.stderr)\n"
    source += "def run():\n    logging.warning('three')\n    print(4)\n"
    assert session(source).run(case()).printed == "1\n2\n" + "WARNING:root:three\n4\n" * 2


def test_who_fills_standard_error_meets_the_same_limit(session):
    execution = session(f"import sys\n{HONEST}    print('x' * 100_000, file=sys.stderr)\n").run(case())
    assert (execution.failure, len(execution.printed)) == ("limit", 64 << 10)


def test_a_run_after_a_pause_is_still_heard(session):
    one = session(HONEST)
    shared = one.set_up({"x": np.ones(64, np.float32), "out": np.zeros(1, np.float32)})
    one._signals.leave()  # as for a message, which never comes: the next one finds the child listening
    one._watched = False
    assert one.call({"do": "printed"}, 5.0)["printed"] == ""
    shared = one.set_up({"x": np.ones(64, np.float32), "out": np.zeros(1, np.float32)})
    assert all(one.go() > 0 for _ in range(3))
    assert shared["out"].tolist() == [64.0]


def test_an_end_that_is_forged_has_its_output_looked_at_early(session):
    one = session(HONEST.replace("def run():", FORGERY))
    shared = one.set_up({"x": np.ones(64, np.float32), "out": poison("float32", 1)})
    one.go()
    assert is_poison(shared["out"]).all()


FORGERY = """
import mmap, os, threading
def arrays():
    for n in os.listdir("/proc/self/fd"):
        try:
            if "arrays" in os.readlink(f"/proc/self/fd/{n}"):
                return int(n)
        except OSError:
            pass
def run():
    words = memoryview(mmap.mmap(arrays(), mmap.PAGESIZE)).cast("Q")
    words[8] = words[0]
    threading.Event().wait()  # whoever looks later still finds nothing
    honest()
def honest():
"""


def saying(message):
    """A host file that writes a message of its own to its process's channel, and does no work."""
    return f"""
import json, os, struct, sys
def setup(m, x, out):
    text = json.dumps({{"message": {message!r}, "blobs": [], "arrays": []}})
    os.write(int(sys.argv[2]), struct.pack("<4sI", b"wgC1", len(text)) + text.encode())
def run(): pass
"""


@pytest.mark.parametrize("word", ["pass", "inconclusive", "wrong", "nonsense", ["pass"]])
def test_a_forged_fault_is_a_crash(session, word):
    assert session(saying({"fault": word, "message": "", "diagnostics": []})).run(case()).failure == "crash"


@pytest.mark.parametrize("forged", [{"error": "the grader is broken"}, {"unsupported": "no GPU"}, {"error": [7]}])
def test_a_failure_of_the_graders_or_the_machines_is_not_taken_from_a_host_file(session, forged):
    execution = session(saying(forged)).run(case())
    assert is_poison(execution.outputs["out"]).all()


def test_what_a_process_says_that_it_printed_has_an_end(session):
    source = saying({"printed": "x" * 10**6}).replace("def setup(m, x, out):", "def setup(m, x, out): pass\ndef run():")
    assert len(session(source.replace("def run(): pass", "")).run(case()).printed) == LIMITS.printf_bytes


def test_who_prints_without_end_meets_a_limit(session):
    execution = session(HONEST + "    print('x' * 100_000)\n").run(case())
    assert execution.failure == "limit"
    (found,) = execution.diagnostics
    assert found.message == "sums_host.py, or its kernels, printed more than 64 kB"
    assert len(execution.printed) == 64 << 10


def test_what_was_printed_before_an_exception_is_shown_however_much_it_is(session):
    execution = session("def setup(m, x, out): print('x' * 100_000)\ndef run(): 1 / 0\n").run(case())
    assert (execution.failure, len(execution.printed)) == ("crash", 64 << 10)


def test_sys_exit_is_a_crash(session):
    execution = session("import sys\ndef setup(m, x, out): sys.exit()\ndef run(): pass\n").run(case())
    assert execution.failure == "crash"


def test_a_run_that_does_not_end_is_a_timeout(session):
    source = "def setup(m, x, out): print('so far')\ndef run():\n    while True: pass\n"
    execution = session(source, limits=replace(LIMITS, launch_s=0.2)).run(case())
    assert (execution.failure, execution.printed) == ("timeout", "so far\n")
    (found,) = execution.diagnostics
    assert found.message == "sums_host.py did not finish within 0.2 s (sums_host.py:3)"
    assert found.line == 3
    assert "a wait for an operation that was never queued" in found.hint


def test_all_runs_together_have_a_limit_of_their_own(session):
    source = "def setup(m, x, out): pass\ndef run():\n    while True: pass\n"
    one = session(source, limits=replace(LIMITS, total_s=1.0))
    (found,) = one.run(case()).diagnostics
    assert found.message == "all runs together did not finish within 1 s (sums_host.py:3)"


def test_an_overwritten_input_is_named(session):
    source = "h = []\ndef setup(m, x, out): h.append(x)\ndef run(): h[0][5] = 7\n"
    assert session(source).run(case()).inputs_changed == ("x",)


def test_what_it_prints_is_shown_and_never_taken_for_an_answer(session):
    source = 'def setup(m, x, out): print(\'{"done": true}\')\ndef run(): print("ran")\n'
    assert session(source).run(case()).printed == '{"done": true}\nran\nran\n'


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("def setup(m, x, out): pass\n", "invalid", "no function run"),
        ("def run(): pass\n", "invalid", "no function setup"),
        ("def setup(:\n", "invalid", "is not Python"),
        ("import nothing_like_this\n", "crash", "nothing_like_this"),
    ],
)
def test_a_host_file_that_cannot_be_used_settles_its_verdict(session, source, verdict, words):
    with pytest.raises(SubmissionError, match=words) as caught:
        session(source)
    assert caught.value.verdict == verdict


def test_an_answer_that_is_no_message_is_a_crash(session):
    source = "import os, sys\ndef setup(m, x, out): os.write(int(sys.argv[2]), b'x' * 64)\ndef run(): pass\n"
    assert session(source).run(case()).failure == "crash"


# ------------------------------------------------------------------------------------------------------ the sandbox

PRY = """
import os, resource, socket, subprocess
def attempt(what, action):
    try:
        action()
    except OSError:
        print(what, "closed")
    else:
        print(what, "open")
def setup(m, x, out):
    attempt("home", lambda: os.listdir("/root"))
    attempt("passwd", lambda: open("/etc/passwd").read())
    attempt("write", lambda: open("/var/tmp/warpgrade-test", "w"))
    attempt("shell", lambda: subprocess.run(["/bin/true"]))
    attempt("fork", lambda: os.fork() or os._exit(0))
    attempt("socket", lambda: socket.socket())
    attempt("parent", lambda: open(f"/proc/{os.getppid()}/environ").read())
    attempt("limits", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE))
    attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19))
    attempt("solution", lambda: open("SOLUTION").read())
    attempt("grader", lambda: open(__import__("grader").__file__).read())
    attempt("mode", lambda: os.chmod(os.__file__, os.stat(os.__file__).st_mode))
    attempt("shrink", lambda: os.ftruncate(max(int(n) for n in os.listdir("/proc/self/fd") if "arrays" in link(n)), 0))
def link(n):
    try:
        return os.readlink(f"/proc/self/fd/{n}")
    except OSError:
        return ""
def run(): pass
"""


def test_a_host_file_reaches_nothing_outside(session):
    from grader.process.sandbox import available

    if available() == "none":
        pytest.skip("this kernel has no Landlock")
    solution = built_in_course().solutions / "09_host" / "zero_copy.cu"
    assert solution.is_file()
    words = session(PRY.replace("SOLUTION", str(solution))).run(case()).printed.splitlines()
    names = (
        "home",
        "passwd",
        "write",
        "shell",
        "fork",
        "socket",
        "parent",
        "limits",
        "priority",
        "solution",
        "grader",
        "mode",
        "shrink",
    )
    assert words == [f"{name} closed" for name in names]


HOLDS = """
import os
def setup(m, x, out): pass
def run():
    global held
    held = os.memfd_create("mine")
    for _ in range(MIB):
        os.write(held, bytes(1 << 20))
"""


def test_a_file_in_memory_is_there_for_the_driver_and_counts(session, monkeypatch):
    monkeypatch.setattr(host_session, "HOST_MEMORY_BYTES", 256 << 20)
    assert session(HOLDS.replace("MIB", "1")).run(case()).failure is None
    execution = session(HOLDS.replace("MIB", "256")).run(case())
    assert execution.failure == "limit"
    assert "host.py uses more than 0.27 GB of memory" in execution.diagnostics[0].message


SHARES = """
import mmap, os
def setup(m, x, out): pass
def run():
    MAPPED
    for page in range(0, len(held), mmap.PAGESIZE):
        held[page] = 1
"""
FILE = 'file = os.memfd_create("mine"); os.truncate(file, MIB << 20); held = mmap.mmap(file, 0); os.close(file)'


@pytest.mark.parametrize("mapped", ["held = mmap.mmap(-1, MIB << 20)", FILE])
def test_mapped_pages_that_processes_may_share_count(session, monkeypatch, mapped):
    monkeypatch.setattr(host_session, "HOST_MEMORY_BYTES", 256 << 20)
    execution = session(SHARES.replace("MAPPED", mapped).replace("MIB", "256")).run(case())
    assert execution.failure == "limit"
    assert "host.py uses more than 0.27 GB of memory" in execution.diagnostics[0].message


def test_threads_beyond_the_limit_end_the_process(session):
    source = """
import ctypes
def setup(m, x, out): pass
def run():
    libc = ctypes.CDLL(None)
    for _ in range(300):
        libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.pause, None)
"""
    execution = session(source).run(case())
    assert execution.failure == "limit"
    assert "host.py has more than 256 threads" in execution.diagnostics[0].message


def test_without_landlock_host_files_are_refused(session, monkeypatch):
    monkeypatch.setattr("grader.process.sandbox.available", lambda: "none")
    with pytest.raises(Unsupported, match="cannot close its files") as caught:
        session(HONEST)
    assert "--no-sandbox" in caught.value.hint


def test_without_landlock_no_sandbox_runs_it(session, monkeypatch):
    monkeypatch.setattr("grader.process.sandbox.available", lambda: "none")
    assert session(HONEST, sandbox=False).run(case()).failure is None


# ------------------------------------------------------------------------------------------------------ timed runs


def timed(session, source):
    one = session(source)
    return HostfileSpeedTest(EXERCISE, backend(source), lambda: oracle, 7, LIMITS), one


def test_the_link_is_timed_by_the_same_calls_as_a_run(session):
    ((name, samples),) = session(HONEST).baselines_s.items()
    assert name == "link_to_device"
    assert len(samples) == host_session.BASELINE_SAMPLES
    assert all(0 < seconds < 1 for seconds in samples)


def test_a_link_that_cannot_be_timed_is_the_graders_fault(session, monkeypatch):
    monkeypatch.setattr(host_session, "START_S", 0.05)
    monkeypatch.setattr(host_session.Signals, "watch", lambda self, number: None)  # no run ever ends
    with pytest.raises(GraderFault, match="link_to_device could not be measured"):
        session(HONEST)


@pytest.mark.parametrize(
    ("link", "words"),
    [("link_to_host", "link_to_host could not be measured: .*out of memory"), ("link_between_devices", "no peer")],
)
def test_a_yardstick_that_cuda_refuses_is_the_graders_fault_and_says_why(session, link, words):
    other = replace(EXERCISE, target=replace(EXERCISE.target, ceiling=link))
    with pytest.raises(GraderFault, match=words):
        session(HONEST, exercise=other)


def test_every_timed_run_of_an_honest_file_is_right(session):
    one = session(HONEST)
    recording = Recording(EXERCISE, {"rows": 200}, 3)
    runs = take_runs(one, EXERCISE, {"rows": 200}, recording)
    assert (len(runs.seconds), len(runs.copies)) == (33, 30)
    assert OutputCheck(EXERCISE, {"rows": 200}, oracle, recording).wrong(runs) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("replay", "n = []\ndef run():\n    n.append(1)\n    if len(n) < 9: honest()\n"),
        (
            "late",
            "import threading\ndef run():\n    t = threading.Timer(600, honest)\n    t.daemon = True\n    t.start()\n",
        ),
        ("part", "def run():\n    honest()\n    held['out'][-1] = 0\n"),
        ("zeroed inputs", "def run():\n    held['x'][:] = 0\n    honest()\n"),
    ],
)
def test_a_run_without_the_work_is_wrong(session, name, change):
    test, one = timed(session, HONEST + "honest = run\n" + change)
    speed = test(one)
    assert speed is not None
    assert speed.word == "wrong"
    assert "timed size rows = 200" in speed.detail


# -------------------------------------------------------------------------------------------------- fresh inputs


def test_a_recording_can_be_followed_once_more():
    first = Recording(EXERCISE, {"rows": 5}, 11)
    start = first.inputs["x"].copy()
    first.apply(first.patches(1))
    again = Recording.of(first)
    np.testing.assert_array_equal(again.inputs["x"], start)
    again.apply(again.patches(1))
    np.testing.assert_array_equal(again.inputs["x"], first.inputs["x"])


def test_patches_touch_every_stretch_and_differ_from_run_to_run():
    recording = Recording(EXERCISE, {"rows": 1000}, 11)  # 64000 elements in 4096 stretches
    (one,), (two,) = recording.patches(1), recording.patches(2)
    assert len(one.places) == 4096
    assert (np.diff(one.places) > 0).all()
    assert not np.array_equal(one.places, two.places)


def test_expectations_follow_the_patches():
    recording = Recording(EXERCISE, {"rows": 50}, 5)
    expected = Expectations(EXERCISE, {"rows": 50}, oracle, recording)
    for run in (1, 2, 3):
        expected.advance(recording.patches(run))
        np.testing.assert_allclose(expected.now["out"], oracle(recording.inputs, {"rows": 50})["out"], rtol=1e-12)


def test_an_oracle_whose_rows_depend_on_each_other_is_asked_for_everything():
    def running(inputs, numbers):
        return {"out": np.cumsum(oracle(inputs, numbers)["out"])}

    recording = Recording(EXERCISE, {"rows": 50}, 5)
    expected = Expectations(EXERCISE, {"rows": 50}, running, recording)
    expected.advance(recording.patches(1))
    np.testing.assert_allclose(expected.now["out"], running(recording.inputs, {"rows": 50})["out"], rtol=1e-12)


def test_an_oracle_that_knows_what_a_patch_changes_is_asked_for_everything_once():
    class Knowing:
        whole = 0

        def __call__(self, inputs, numbers):
            self.whole += 1
            return {"out": np.cumsum(oracle(inputs, numbers)["out"])}

        def changed(self, inputs, numbers, places):
            first = int(places["x"].min()) // 64
            rest = np.cumsum(oracle(inputs, numbers)["out"])[first:]
            return {"out": (np.arange(first, numbers["rows"]), rest)}

    recording, knowing = Recording(EXERCISE, {"rows": 50}, 5), Knowing()
    expected = Expectations(EXERCISE, {"rows": 50}, knowing, recording)
    for run in (1, 2):
        expected.advance(recording.patches(run))
    assert (knowing.whole, expected.each_s) == (1, 0.0)
    np.testing.assert_allclose(expected.now["out"], knowing(recording.inputs, {"rows": 50})["out"], rtol=1e-12)


def test_the_row_size_is_the_one_that_all_arrays_are_proportional_to():
    assert row_size(EXERCISE, {"rows": 7}) == "rows"
    square = replace(EXERCISE, arrays=(Array("x", "float32", "n*n"), Array("out", "float32", "n", role="out")))
    assert row_size(square, {"n": 7}) is None


# --------------------------------------------------------------------------------------------------------- mappings


def test_arrays_of_a_shared_file_begin_on_pages_of_their_own():
    file = SharedFile(3 * PAGE)
    first, second = file.reserve(1), file.reserve(PAGE + 1)
    assert (first.offset, second.offset, second.mapped) == (0, PAGE, 2 * PAGE)
    with pytest.raises(MemoryError):
        file.reserve(1)
    file.array(first, "uint8")[:] = 5
    assert file.array(first, "uint8").tolist() == [5]
    file.close()


def test_a_shared_file_cannot_be_shrunk_or_grown():
    import os

    file = SharedFile(PAGE)
    for size in (0, 2 * PAGE):
        with pytest.raises(PermissionError):
            os.ftruncate(file.fd, size)
    file.close()
