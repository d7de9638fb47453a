"""Host exercises without a GPU: the real compiler, the real simulator, and host files that mean well or ill."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np
import pytest

from grader.backends.base import Buffer, CaseRun, Limits
from grader.backends.conditions import USUAL, Conditions
from grader.backends.sim.hostfile.backend import HostfileSimBackend
from grader.compile import compile_source
from grader.compile.toolchain import find_toolchain
from grader.dev.grading import PairPool
from grader.errors import GraderFault, RefusedProgram, SubmissionError, Unsupported
from grader.exercise import Array, Exercise, Tolerance, Work
from grader.grading.repeats import OTHER_BYTES, without_unused_lanes
from grader.inputs import is_poison
from grader.launch import LaunchPlan
from grader.process.child import Child
from tests.telling import all_said

pytestmark = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")

KERNEL = b"""
extern "C" __global__ void sums(const float* x, float* out, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += x[row * 64 + i];
    out[row] = sum;
}
"""
EXERCISE = Exercise(
    name="sums",
    order=901,
    idea="sum rows",
    arrays=(Array("x", "float32", "64*rows"), Array("out", "float32", "rows", role="out")),
    oracle="none:here",
    small=({"rows": 3}, {"rows": 100}),
    simulated={"rows": 100},
    timed={"rows": 1000},
    work=Work(bytes="260*rows"),
    tolerance=Tolerance(relative=1e-5, absolute=1e-5),
    host=True,
)
LIMITS = Limits(launch_s=20.0, total_s=60.0)
HONEST = """
import cupy
import numpy as np
held = {}
def setup(module, x, out):
    held.update(x=x, out=out, kernel=module.get_function("sums"), there=cupy.empty_like(x), sums=cupy.empty_like(out))
def run():
    rows = held["out"].size
    held["there"].set(held["x"])
    held["kernel"]((-(-rows // 32),), (32,), (held["there"], held["sums"], np.int32(rows)))
    held["sums"].get(out=held["out"])
"""


@pytest.fixture(scope="module")
def program():
    return compile_source(KERNEL, "sums.cu", target="sm_80")


@pytest.fixture(scope="module")
def pairs():
    """Children that serve one host file after another."""
    with PairPool() as pool:
        yield pool.take


@contextmanager
def opener(program, **usual):
    """A function that opens a session on a host file; every session is closed at the end."""
    with ExitStack() as opened:

        def open_(source, limits=LIMITS, **keywords):
            backend = HostfileSimBackend(EXERCISE, source.encode(), "sums_host.py", threads=1, **usual | keywords)
            return opened.enter_context(backend.open(program, limits))

        yield open_


@pytest.fixture(autouse=True)
def calm_machine(monkeypatch):
    """One that seems to have nothing else to do: a limit ends at the wall's clock, whatever the machine's load is."""
    monkeypatch.setattr(Child, "used_s", lambda self: None)


@pytest.fixture
def session(program, pairs):
    """Opens sessions in children that other files had before."""
    with opener(program, pairs=pairs) as open_:
        yield open_


@pytest.fixture
def alone(program):
    """Opens sessions in children of their own, as a submission has."""
    with opener(program) as open_:
        yield open_


def case(rows=3):
    x = np.random.default_rng(rows).integers(-8, 8, 64 * rows).astype(np.float32)
    return CaseRun(LaunchPlan(()), (Buffer("x", "float32", 64 * rows, "in", x), Buffer("out", "float32", rows, "out")))


def sums(run):
    return run.buffers[0].data.reshape(-1, 64).sum(axis=1)


def is_right(execution, run):
    return execution.failure is None and np.array_equal(execution.outputs["out"], sums(run))


# -------------------------------------------------------------------------------------------------- honest host files


def test_an_honest_host_file_is_right_at_every_size_of_one_session(session):
    one = session(HONEST)
    for run in (case(3), case(100), case(1)):
        assert is_right(one.run(run), run)


def test_a_run_has_launches_counters_and_a_timeline(session):
    execution = session(HONEST).run(case(100))
    (launch,) = execution.launches
    assert (launch.kernel, launch.grid, launch.backend) == ("sums", (4, 1, 1), "sim")
    assert launch.counters["instructions"] > 0
    assert (execution.host_counters["launch_calls"], execution.host_counters["copies"]) == (1, 2)
    assert [one.kind for one in execution.timeline.operations] == ["to_device", "kernel", "to_host"]
    assert execution.timeline.modelled


def test_a_program_that_no_gpu_would_load_ends_before_the_host_file_is_read():
    big = KERNEL.replace(
        b"float sum = 0;", b"__shared__ volatile float big[51200]; big[row] = row; float sum = big[0];"
    )
    backend = HostfileSimBackend(EXERCISE, HONEST.encode(), "sums_host.py", threads=1)
    with pytest.raises(RefusedProgram, match="sums declares 204800 bytes of __shared__ arrays"):
        backend.open(compile_source(big, "sums.cu", target="sm_80"), LIMITS)


LANES = "float other = sum; for (int o = 16; o; o >>= 1) other += __shfl_down_sync(0xffffffff, other, o); "


@pytest.mark.parametrize(("use", "failure"), [("other == 1e30f ? 0 : sum", None), ("fmaxf(sum, other - 1e9f)", "race")])
def test_a_shuffle_from_a_lane_that_has_left_counts_only_if_an_output_depends_on_it(pairs, use, failure):
    kernel = KERNEL.replace(b"out[row] = sum;", f"{LANES} out[row] = {use};".encode())
    backend = HostfileSimBackend(EXERCISE, HONEST.encode(), "sums_host.py", threads=1, pairs=pairs)
    with backend.open(compile_source(kernel, "sums.cu", target="sm_80"), LIMITS) as one:
        for run in (case(100), case(3), case(100), case(3)):
            execution = without_unused_lanes(one, run, one.run(run))
            assert np.array_equal(execution.outputs["out"], sums(run))
            assert execution.failure == failure


def test_a_case_that_is_repeated_pins_its_arrays_again(session):
    source = HONEST.replace(
        "    held.update(", "    cupy.cuda.runtime.hostRegister(x.ctypes.data, x.nbytes, 0)\n    held.update("
    )
    one, run = session(source), case()
    for conditions in (USUAL, Conditions(undefined=0), Conditions(undefined=1)):
        assert is_right(one.run(replace(run, conditions=conditions)), run)


FRESH = HONEST.replace(
    "def run():\n",
    "def run():\n    held['kept'], held['sums'] = (held.get('kept'), held['sums']), cupy.empty_like(held['out'])\n",
)


def test_fresh_device_memory_holds_other_values_in_each_run():
    kernel = KERNEL.replace(b"out[row] = sum;", b"out[row] = fmaxf(sum, out[row]);")  # NaN changes nothing
    backend = HostfileSimBackend(EXERCISE, FRESH.encode(), "sums_host.py", threads=1)
    with backend.open(compile_source(kernel, "sums.cu", target="sm_80"), LIMITS) as one:
        run = case()
        usual = one.run(run)
        others = [one.run(replace(run, conditions=Conditions(undefined=byte))) for byte in OTHER_BYTES]
    assert is_right(usual, run)
    assert "uninitialised_read" in {found.kind for found in usual.findings}
    assert [is_right(other, run) for other in others] == [False, True, False]


def test_blocks_that_read_what_an_earlier_one_wrote_are_wrong_in_another_order():
    first = b"volatile float* o = out; o[row] = row < 32 || o[0] == o[0] ? sum : 0.0f;"  # else o[0] is not yet written
    backend = HostfileSimBackend(EXERCISE, FRESH.encode(), "sums_host.py", threads=1)
    with backend.open(
        compile_source(KERNEL.replace(b"out[row] = sum;", first), "sums.cu", target="sm_80"), LIMITS
    ) as one:
        run = case(100)
        usual = one.run(run)
        assert is_right(usual, run)
        assert "reversed" in usual.other_orders
        assert not is_right(one.run(replace(run, conditions=Conditions(order="reversed"))), run)
        assert is_right(one.run(run), run)


def test_a_case_whose_kernels_order_nothing_has_no_other_orders(session):
    assert session(HONEST).run(case()).other_orders == ()


def test_a_launch_beyond_the_bounds_of_the_kernel_is_an_error_of_cuda(pairs):
    bounded = KERNEL.replace(b"void sums", b"void __launch_bounds__(16) sums")
    backend = HostfileSimBackend(EXERCISE, HONEST.encode(), "sums_host.py", threads=1, pairs=pairs)
    with backend.open(compile_source(bounded, "sums.cu", target="sm_80"), LIMITS) as one:
        execution = one.run(case())
    assert execution.failure == "crash"
    assert "sums is compiled for blocks of at most 16: see its __launch_bounds__" in all_said(execution)[0].message


def test_device_memory_of_earlier_cases_does_not_count(session):
    one = session(HONEST)
    for run in (case(100), case(3), case(3)):
        execution = one.run(run)
        assert execution.host_counters["device_bytes"] == sum(buffer.count * 4 for buffer in run.buffers)


def test_memory_that_goes_to_cupys_pool_while_work_uses_it_is_there_until_that_is_done(session):
    setup = "held['kernel']((1,), (32,), (cupy.zeros_like(x), cupy.empty_like(out), np.int32(out.size)))\n"
    source = HONEST.replace("def run():", f"    {setup}def run():") + "    last = cupy.zeros(64)\n"
    run = case()
    assert is_right(session(source).run(run), run)


def test_an_address_without_its_array_is_told_with_the_line_that_let_it_go(session):
    source = """
import cupy
import numpy as np
def setup(module, x, out):
    global held
    there = cupy.empty_like(x)
    held = x, out, module.get_function("sums"), there.data.ptr, cupy.empty_like(out)
    there = None
def run():
    x, out, kernel, there, sums = held
    cupy.cuda.runtime.memcpy(there, x.ctypes.data, x.nbytes, 1)
    kernel((4,), (32,), (np.uint64(there), sums, np.int32(out.size)))
    sums.get(out=out)
"""
    found = fails(session(source).run(case()), "crash")
    assert found.line == 11
    assert "freed on line 8" in found.message or "since line 8" in found.message


def test_what_it_prints_is_shown(session):
    source = HONEST + "    print('{\"done\": true}')\n"
    assert session(source).run(case()).printed == '{"done": true}\n' * 2  # the run on warm-up inputs prints, too


def test_what_goes_to_standard_error_is_shown_in_the_order_of_what_is_printed(session):
    source = "import logging, sys, traceback\ndef setup(m, x, out):\n    print(1)\n    print(2, file=sys.stderr)\n"
    source += "    logging.warning('three')\n    try:\n        1 / 0\n    except ArithmeticError:\n"
    source += "        traceback.print_exc()\ndef run(): pass\n"
    told = session(source).run(case()).printed
    assert told.startswith("1\n2\nWARNING:root:three\nTraceback (most recent call last):\n")
    assert told.endswith("ZeroDivisionError: division by zero\n")


def test_who_fills_standard_error_meets_the_same_limit(session):
    execution = session(f"import sys\n{HONEST}    print('x' * 100_000, file=sys.stderr)\n").run(case())
    assert fails(execution, "limit").message == "the host file printed more than 64 kB"
    assert len(execution.printed) == 64 << 10


def test_what_was_printed_is_shown_although_the_file_has_closed_its_streams(session):
    source = "import sys\ndef setup(m, x, out):\n    print('so far')\n    sys.stdout.close()\n    sys.stderr = None\n"
    assert session(source + "def run(): pass\n").run(case()).printed == "so far\n"


def test_who_prints_without_end_meets_a_limit(session):
    execution = session(HONEST + "    print('x' * 100_000)\n").run(case())
    assert fails(execution, "limit").message == "the host file printed more than 64 kB"
    assert len(execution.printed) == 64 << 10


def test_who_prints_in_a_loop_without_end_meets_a_limit(session):
    execution = session("def setup(m, x, out): pass\ndef run():\n    while True: print('x' * 100_000)\n").run(case())
    assert fails(execution, "limit").message == "sums_host.py printed more than there is room for"


def test_mapped_memory_is_the_exercises_array_itself(session):
    source = """
import cupy
import numpy as np
def setup(module, x, out):
    global call
    for array in (x, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 2)
    addresses = [np.uint64(cupy.cuda.runtime.pointerGetAttributes(a.ctypes.data).devicePointer) for a in (x, out)]
    call = module.get_function("sums"), (*addresses, np.int32(out.size))
def run():
    call[0]((4,), (32,), call[1])
    cupy.cuda.get_current_stream().synchronize()
"""
    run = case(100)
    execution = session(source).run(run)
    assert is_right(execution, run)
    assert execution.host_counters["mapped_bytes"] > 0


# ------------------------------------------------------------------------------------------- mistakes, each with a line


def fails(execution, word):
    assert execution.failure == word, execution
    return all_said(execution)[0]


def test_a_kernel_that_leaves_its_array_comes_before_what_cuda_says_of_it(session):
    """Also where it has raced before: the error that synchronize() raises only reports the fault."""
    copy = "held['there'].set(held['x'])"
    late = "with cupy.cuda.Stream(non_blocking=True):\n        " + copy
    source = HONEST.replace(copy, late).replace("np.int32(rows)", "np.int32(4 * rows)")
    found = fails(session(source.replace("rows // 32", "rows // 4")).run(case()), "out_of_bounds")
    assert (found.kind, found.file) == ("out_of_bounds", "sums.cu")


def test_an_exception_is_a_crash_with_its_line(session):
    found = fails(session("def setup(m, x, out): pass\ndef run():\n    raise ValueError('no')\n").run(case()), "crash")
    assert (found.file, found.line, found.message) == ("sums_host.py", 3, "ValueError: no")


QUEUED = """
import cupy
def queue(x):
    cupy.cuda.runtime.hostRegister(x.ctypes.data, x.nbytes, 0)
    cupy.empty_like(x).set(x, stream=cupy.cuda.Stream(non_blocking=True))
"""


@pytest.mark.parametrize(
    "functions",
    [
        "def setup(m, x, out):\n    queue(x)\n    1 / 0\ndef run(): pass\n",
        "def setup(m, x, out): held.append(x)\ndef run():\n    queue(held[0])\n    1 / 0\nheld = []\n",
    ],
    ids=["setup", "run"],
)
def test_an_exception_comes_before_what_was_still_queued_when_it_was_raised(session, functions):
    execution = session(QUEUED + functions).run(case())
    assert fails(execution, "crash").message == "ZeroDivisionError: division by zero"
    assert [found.kind for found in execution.diagnostics] == ["crash"]


def test_what_was_printed_before_an_exception_is_shown(session):
    source = "def setup(m, x, out): print('in setup')\ndef run():\n    print('in run')\n    1 / 0\n"
    assert session(source).run(case()).printed == "in setup\nin run\n"


def test_what_was_printed_before_a_loop_without_end_is_shown(session):
    source = "def setup(m, x, out): pass\ndef run():\n    print('so far')\n    while True: pass\n"
    assert session(source, limits=replace(LIMITS, launch_s=1.0)).run(case()).printed == "so far\n"


def test_what_a_process_says_that_it_printed_is_not_waited_for(session):
    source = """
import os
def setup(m, x, out): pass
def run():
    os.dup2(os.pipe()[1], 1)
    while True: pass
"""
    execution = session(source, limits=replace(LIMITS, launch_s=1.0)).run(case())
    assert fails(execution, "timeout")
    assert execution.printed == ""


def test_a_file_in_place_of_what_was_printed_is_not_read_for_the_process(session):
    source = f"""
import os
def setup(m, x, out): pass
def run():
    os.dup2(os.open({__file__!r}, os.O_PATH), 1)  # only a place: whoever opens it needs a right, the child has none
    while True: pass
"""
    execution = session(source, limits=replace(LIMITS, launch_s=1.0)).run(case())
    assert fails(execution, "timeout")
    assert execution.printed == ""


def test_an_error_of_cuda_is_a_crash_with_its_line(session):
    source = HONEST.replace("(32,), (held", "(4096,), (held")
    found = fails(session(source).run(case()), "crash")
    assert (found.kind, found.file, found.line) == ("cuda_error", "sums_host.py", 10)
    assert found.message.startswith("CUDA_ERROR_INVALID")


def test_an_error_of_cuda_that_is_caught_is_none(session):
    source = HONEST.replace(
        "def run():", "def run():\n    try: cupy.cuda.runtime.setDevice(99)\n    except RuntimeError: pass"
    )
    run = case()
    assert is_right(session(source).run(run), run)


def test_what_the_stand_in_lacks_is_unsupported_with_its_line(session):
    source = "import cupy\ndef setup(m, x, out): pass\ndef run():\n    cupy.fft.fft(1)\n"
    found = fails(session(source).run(case()), "unsupported")
    assert (found.kind, found.file, found.line) == ("outside", "sums_host.py", 4)
    assert "let a kernel do that. `print(dir(cupy))` in the host file lists" in found.hint
    assert found.message.startswith("cupy.fft needs a GPU: the stand-in")


def test_a_slip_in_a_name_of_cupys_is_a_crash_with_the_name_that_was_meant(session):
    source = "import cupy\ndef setup(m, x, out): pass\ndef run():\n    cupy.cuda.Strem()\n"
    found = fails(session(source).run(case()), "crash")
    assert (found.kind, found.line) == ("crash", 4)
    assert found.message.startswith("AttributeError: module 'cupy.cuda' has no attribute 'Strem': did you mean Stream?")


def test_an_array_of_the_host_as_an_argument_is_refused_at_its_line(session):
    source = HONEST.replace('(held["there"], held["sums"]', '(held["x"], held["sums"]')
    found = fails(session(source).run(case()), "crash")
    assert found.message.startswith("TypeError: You are trying to pass a numpy.ndarray of shape (192,)")
    assert (found.line, found.hint) == (10, "")  # what to pass instead depends on the exercise: grading/advice.py


def test_a_number_of_another_type_is_told_beside_what_comes_of_it(session):
    source = HONEST.replace("np.int32(rows)", "np.float32(rows)")
    execution = session(source).run(case())
    told = [found.message for found in all_said(execution) if found.kind == "argument_type"]
    assert told == [
        "argument 3 of sums (sums_host.py:10) is a NumPy float32 of 4 bytes, and the parameter rows is an integer of "
        "4, so that the kernel sees 1077936128 instead of 3"
    ]


def test_memory_without_a_name_is_told_in_words_and_not_as_an_array(session):
    execution = session(HONEST.replace('held["there"].set(held["x"])', "pass")).run(case())
    told = next(found.message for found in all_said(execution) if found.kind == "uninitialised_read")
    assert "x[0] (memory allocated at line 6) at sums.cu" in told


def test_what_the_stand_in_lacks_may_be_caught(session):
    source = HONEST.replace("def run():", "def run():\n    assert not hasattr(cupy, 'fft')")
    run = case()
    assert is_right(session(source).run(run), run)


def test_a_module_that_the_stand_in_lacks_is_unsupported(session):
    with pytest.raises(SubmissionError, match=r"cupyx\.scipy needs a GPU") as caught:
        session("import cupyx.scipy\ndef setup(m, x, out): pass\ndef run(): pass\n")
    assert caught.value.verdict == "unsupported"


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("def setup(m, x, out): pass\n", "invalid", "no function run"),
        ("def setup(:\n", "invalid", "is not Python"),
        ("import nothing_like_this\n", "crash", "nothing_like_this"),
    ],
)
def test_a_host_file_that_cannot_be_used_settles_its_verdict(session, source, verdict, words):
    with pytest.raises(SubmissionError, match=words) as caught:
        session(source)
    assert caught.value.verdict == verdict


def test_a_missing_wait_between_streams_is_a_race(session):
    source = HONEST.replace('    held["there"].set', '    with s: held["there"].set').replace(
        "held = {}", "held = {}\ns = cupy.cuda.Stream(non_blocking=True)"
    )
    found = fails(session(source.replace("cupy.empty_like(x)", "cupy.zeros_like(x)")).run(case()), "race")
    assert (found.kind, found.file, found.line) == ("missing_wait", "sums_host.py", 11)


def test_an_address_that_outlives_its_array_is_found_in_the_second_run(session):
    source = HONEST.replace(
        "cupy.empty_like(out))", "cupy.empty_like(out), bare=cupy.empty_like(out).data.ptr)"
    ).replace('held["sums"], np', 'np.uint64(held["bare"]), np')
    found = fails(session(source).run(case()), "crash")
    assert (found.kind, found.line) == ("use_after_free", 10)


def test_a_kernel_that_leaves_its_arrays_is_out_of_bounds(session):
    found = fails(session(HONEST.replace("np.int32(rows))", "np.int32(rows + 1))")).run(case()), "out_of_bounds")
    assert (found.file, found.line) == ("sums.cu", 7)


def test_a_kernel_that_fails_in_setup_is_found_there(session):
    source = HONEST.replace("def run():", LAUNCH_IN_SETUP + "def run():")
    assert fails(session(source).run(case()), "out_of_bounds").file == "sums.cu"


LAUNCH_IN_SETUP = """
    held["kernel"]((1,), (32,), (held["there"], held["sums"], np.int32(32)))
    cupy.cuda.Device().synchronize()
"""


def test_a_loop_without_end_is_a_timeout_that_names_its_line(session):
    source = "def setup(m, x, out): pass\ndef run():\n    while True:\n        pass\n"
    found = fails(session(source, limits=replace(LIMITS, launch_s=1.0)).run(case()), "timeout")
    assert found.file == "sums_host.py"
    assert found.line in (3, 4)


DEATHS = {
    "ctypes.string_at(12, 16)": ("SIGSEGV, a wrong address", "check the arguments at line 6"),
    "cupy.cuda.runtime.memcpy(cupy.empty(4).data.ptr, 12, 16, 1)": (
        "SIGSEGV, a wrong address", "check the arguments at line 6"
    ),
    "os.abort()": ("SIGABRT, a library gave up", "look at the output before, and at the arguments at line 6"),
    "os._exit(0)": (
        "exit status 0", "setup() and run() must return: remove the statement that ends the process at line 6"
    ),
    "os.kill(os.getpid(), 9)": ("SIGKILL", "let it use less memory"),
}  # fmt: skip


@pytest.mark.parametrize("death", DEATHS)
def test_a_process_that_dies_is_told_with_its_line_and_what_was_printed_before(session, death):
    how, hint = DEATHS[death]
    source = "import ctypes, os\nimport cupy\ndef setup(m, x, out): print('so far')\n"
    execution = session(f"{source}def run():\n    print('running')\n    {death}\n").run(case())
    found = fails(execution, "crash")
    line = None if how == "SIGKILL" else 6  # nobody is asked
    place = f" (sums_host.py:{line})" if line else ""
    assert (found.file, found.line) == ("sums_host.py", line)
    assert found.message == f"the process of sums_host.py ended while it was running: {how}{place}"
    assert found.hint.startswith(hint)
    assert execution.printed == "so far\nrunning\n"


def test_a_place_is_believed_of_the_host_file_alone(session):
    source = """
import os
def link(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""
def setup(m, x, out):
    (stacks,) = [fd for fd in range(3, 1024) if "stacks" in link(fd)]
    os.write(stacks, b'(most recent call first)  File "sums.cu", line 3 in a  File "sums_host.py", line 5 in b')
    os.kill(os.getpid(), 9)
def run(): pass
"""
    found = fails(session(source).run(case()), "crash")
    assert (found.file, found.line) == ("sums_host.py", 5)


@pytest.fixture
def busy_machine(calm_machine, monkeypatch):
    """One on which no child is ever given a processor, as far as the grader can see."""
    monkeypatch.setattr(Child, "used_s", lambda self: 0.0)
    monkeypatch.setattr(Child, "is_ready", lambda self: True)


def test_a_busy_machine_is_not_the_host_files_fault(session, busy_machine):
    source = "def setup(m, x, out): pass\ndef run():\n    while True: pass\n"
    with pytest.raises(GraderFault, match="the machine is too busy to grade anything: 0 s of processor time in"):
        session(source, limits=replace(LIMITS, launch_s=0.3)).run(case())


def test_a_busy_machine_does_not_end_a_right_host_file(session, busy_machine):
    run = case()
    source = HONEST.replace("def run():", "import time\ndef run():\n    time.sleep(0.6)", 1)
    assert is_right(session(source, limits=replace(LIMITS, launch_s=0.5)).run(run), run)


def test_a_host_file_that_sleeps_ends_at_the_walls_clock(session):
    source = "import time\ndef setup(m, x, out): pass\ndef run():\n    time.sleep(1e6)\n"
    found = fails(session(source, limits=replace(LIMITS, launch_s=0.3)).run(case()), "timeout")
    assert found.message == "the host file did not return within 0.3 s (sums_host.py:4)"


def test_a_loop_of_calls_that_execute_nothing_is_the_host_files_own(session):
    source = "import cupy\ndef setup(m, x, out): pass\ndef run():\n    while True: cupy.cuda.runtime.getDeviceCount()\n"
    found = fails(session(source, limits=replace(LIMITS, launch_s=1.0)).run(case()), "timeout")
    assert (found.file, found.line) == ("sums_host.py", 4)


def test_a_kernel_that_runs_too_long_ends_the_session_and_says_so(session):
    endless = HONEST.replace('held["kernel"]((', 'for _ in range(10**6): held["kernel"]((')
    one = session(endless, limits=replace(LIMITS, launch_s=1.0, total_s=3.0))
    assert fails(one.run(case()), "timeout").message
    with pytest.raises(SubmissionError) as caught:
        one.set_up({"x": np.zeros(64, np.float32), "out": np.zeros(1, np.float32)})
    assert caught.value.verdict == "timeout"


def test_without_landlock_host_files_are_refused(session, monkeypatch):
    monkeypatch.setattr("grader.process.sandbox.available", lambda: "none")
    with pytest.raises(Unsupported, match="cannot close its files"):
        session(HONEST)


# ------------------------------------------------------------------------------------------------------------ cheating


def test_patched_timers_change_nothing(alone):
    source = "import time\nfor n in ('time', 'monotonic', 'perf_counter'): setattr(time, n, lambda: 0.0)\n"
    run = case(100)
    plain, patched = (alone(text).run(run) for text in (HONEST, source + HONEST))
    assert is_right(patched, run)
    assert patched.timeline.elapsed_s == plain.timeline.elapsed_s
    assert patched.elapsed_s > 0


def test_patched_timers_do_not_hide_a_loop(alone):
    source = "import time\ntime.monotonic = time.perf_counter = lambda: 0.0\ndef setup(m, x, out): pass\n"
    execution = alone(f"{source}def run():\n    while True: pass\n", limits=replace(LIMITS, launch_s=1.0)).run(case())
    assert execution.failure == "timeout"


LATE_STREAM = """
def run():
    rows = held["out"].size
    held["there"].set(held["x"])
    held["kernel"]((-(-rows // 32),), (32,), (held["there"], held["sums"], np.int32(rows)))
    held["sums"].get(out=held["out"], blocking=False)
"""


def test_work_left_on_a_stream_is_found_or_too_late(alone):
    pin = "    cupy.cuda.runtime.hostRegister(out.ctypes.data, out.nbytes, 0)\n"
    source = HONEST[: HONEST.index("def run")] + pin + LATE_STREAM
    execution = alone(source).run(case())
    assert fails(execution, "race").kind == "unfinished"
    assert is_poison(execution.outputs["out"]).all()


AFTERWARDS = """
import sys, threading
def afterwards(act):
    # On a thread, once run() has returned, its answer is sent, and the main thread waits for the next request.
    main = threading.main_thread().ident
    def stack():
        frame = sys._current_frames()[main]
        while frame is not None:
            yield frame.f_code.co_name
            frame = frame.f_back
    def waits():
        names = [*stack()]
        return names[0] == "_wait" and "receive" in names and "run" not in names
    def later():
        while not waits():
            threading.Event().wait(0.001)
        act()
    threading.Thread(target=later, daemon=True).start()
honest, calls = run, []
"""


def test_work_left_to_a_thread_is_too_late(alone):
    graded = "def run():\n    calls.append(1)\n    if len(calls) == 2: afterwards(honest)\n"
    execution = alone(HONEST + AFTERWARDS + graded).run(case(100))
    assert execution.failure is None
    assert is_poison(execution.outputs["out"]).all()


def test_work_that_a_thread_has_not_begun_is_not_waited_for(alone):
    waits = "    threading.Thread(target=lambda: (threading.Event().wait(), honest()), daemon=True).start()\n"
    execution = alone(f"{HONEST}import threading\nhonest = run\ndef run():\n{waits}").run(case(100))
    assert execution.failure is None
    assert is_poison(execution.outputs["out"]).all()


def test_last_times_result_is_wrong(alone):
    source = HONEST + "honest, n = run, []\ndef run():\n    n.append(1)\n    if len(n) % 2: honest()\n"
    execution = alone(source).run(case())
    assert execution.failure is None
    assert is_poison(execution.outputs["out"]).all()


def test_last_times_result_kept_by_the_host_file_is_wrong(alone):
    kept = (
        "    if 'kept' in held: held['out'][:] = held['kept']\n    else: honest(); held['kept'] = held['out'].copy()\n"
    )
    run = case()
    execution = alone(f"{HONEST}honest = run\ndef run():\n{kept}").run(run)
    assert execution.failure is None
    assert not is_right(execution, run)


def test_a_result_computed_in_setup_is_wrong(alone):
    source = """
def setup(module, x, out):
    global held
    held = out, x.reshape(-1, 64).sum(axis=1)
def run():
    held[0][:] = held[1]
"""
    run = case()
    execution = alone(source).run(run)
    assert execution.failure is None
    assert not is_right(execution, run)


PRY = """
import os, resource, socket, subprocess, sys, gc
def attempt(what, action):
    try:
        found = action()
    except OSError:
        print(what, "closed")
    else:
        print(what, "open", found)
def setup(m, x, out):
    parent = os.getppid()
    attempt("memory", lambda: open(f"/proc/{parent}/mem", "rb"))
    attempt("maps", lambda: open(f"/proc/{parent}/maps").read()[:80])
    attempt("environment", lambda: open(f"/proc/{parent}/environ").read()[:80])
    attempt("descriptors", lambda: os.listdir(f"/proc/{parent}/fd"))
    attempt("home", lambda: os.listdir("/root"))
    attempt("passwd", lambda: open("/etc/passwd").read()[:80])
    attempt("solution", lambda: open(SOLUTION).read()[:80])
    attempt("grader", lambda: open(GRADER).read()[:80])
    attempt("write", lambda: open("/var/tmp/warpgrade-test", "w"))
    attempt("temporary", lambda: open("/tmp/warpgrade-test", "w"))
    attempt("shell", lambda: subprocess.run(["/bin/true"]))
    attempt("fork", lambda: os.fork() or os._exit(0))
    attempt("socket", lambda: socket.socket())
    attempt("kill", lambda: os.kill(parent, 0))
    attempt("limits", lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE))
    attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, parent, 19))
    attempt("processors", lambda: os.sched_setaffinity(parent, {0}))
    attempt("mode", lambda: os.chmod(os.__file__, os.stat(os.__file__).st_mode))
    attempt("times", lambda: os.utime(os.__file__, ns=(0, os.stat(os.__file__).st_mtime_ns)))
    attempt("file in memory", lambda: os.memfd_create("mine"))
    attempt("shrink", lambda: os.ftruncate(max(int(n) for n in os.listdir("/proc/self/fd") if "arrays" in link(n)), 0))
def link(n):
    try:
        return os.readlink(f"/proc/self/fd/{n}")
    except OSError:
        return ""
def run(): pass
"""
PRIED = (
    "memory", "maps", "environment", "descriptors", "home", "passwd", "solution", "grader", "write", "temporary",
    "shell", "fork", "socket", "kill", "limits", "priority", "processors", "mode", "times",
    "file in memory", "shrink",
)  # fmt: skip


def test_a_host_file_reaches_nothing_outside(alone):
    from grader.catalog import courses
    from grader.process.sandbox import available

    if available() == "none":
        pytest.skip("this kernel has no Landlock")
    solution = courses.built_in_course().solutions / "09_host" / "zero_copy_host.py"
    source = f"SOLUTION, GRADER = {str(solution)!r}, {courses.__file__!r}\n{PRY}"
    words = alone(source, courses=(courses.built_in_course().solutions,)).run(case()).printed.splitlines()
    assert words == [f"{name} closed" for name in PRIED]


def test_neither_frames_nor_objects_hold_what_is_expected(alone):
    """The process knows no oracle and no expected value: what it can find are its own inputs and poison."""
    source = """
import gc, sys
import numpy as np
def setup(m, x, out):
    names, frame = [], sys._getframe()
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    arrays = [o for o in gc.get_objects() if isinstance(o, np.ndarray)]
    print(any(a.size == out.size and a is not out and a.dtype.kind == "f" for a in arrays))
    modules = [n for n in sys.modules if n.startswith(("kernels_ref", "grader.grading", "grader.compare", "llvmlite"))]
    print(modules, any("oracle" in n for n in names))
def run(): pass
"""
    assert alone(source).run(case(100)).printed == "False\n[] False\n"


def test_the_shared_file_holds_no_result(alone):
    """Inputs of earlier cases and poison: before a run nothing in the whole file is this case's result or its input."""
    source = """
import mmap, os
import numpy as np
def arrays():
    for n in os.listdir("/proc/self/fd"):
        try:
            if "arrays" in os.readlink(f"/proc/self/fd/{n}"):
                return int(n)
        except OSError:
            pass
def setup(m, x, out):
    held.update(out=out, x=x)
held = {}
def run():
    whole = np.frombuffer(mmap.mmap(arrays(), 0), np.float32)
    rows = held["x"].reshape(-1, 64).sum(axis=1)
    n = rows.size
    print(any(np.array_equal(whole[i:i + n], rows) for i in np.flatnonzero(whole == rows[0])[:1000]))
"""
    assert alone(source).run(case(100)).printed == "False\nFalse\n"


FORGERIES = {
    "a verdict in words": "print('PASS 80 of 80 points'); print('{\"verdict\": \"pass\"}')",
    "done on the channel": "send({'done': True}); send({'done': True})",
    "a report on the channel": "send({'is': 'done', 'failure': None, 'diagnostics': [], 'launches': []})",
    "a call that ends the run": "send({'is': 'call', 'name': 'end_run', 'arguments': []})",
    "a call of another kind": "send({'is': 'call', 'do': 'begin_run', 'name': '__class__', 'arguments': [1]})",
    "a fault of the grader's on the channel": "send({'error': 'the grader is broken'})",
    "a fault that would help": "send({'fault': 'pass', 'message': '', 'diagnostics': []})",
    "a fault that is none": "send({'fault': ['pass'], 'diagnostics': 7})",
    "lists in lists": "for n in range(400, 1000): send({'is': 'call', 'name': 'free', 'arguments': deep(n)})",
    "an array of many dimensions": "send({}, [['a', '<f4', [2**30] * 1000]])",
    "an array of a type that is none": "send({}, [['a', '<b4', [1]]])",
    "a call with arguments that are none": "send({'is': 'call', 'name': 'malloc', 'arguments': [None, {}, [[]], 'x']})",
    "noise on the channel": "os.write(int(sys.argv[2]), b'x' * 4096)",
    "the standard output": "os.write(1, b'wgC1' * 100)",
    "an exit that says all is well": "os._exit(0)",
    "an exit of Python's": "sys.exit(0)",
    "the stand-in's answers": "from grader.standin.client import caller; connection.LINE.ask = lambda m: {'result': 1}",
    "the stand-in's copies": "cupy.ndarray.get = lambda s, out=None, **k: out; cupy.ndarray.set = lambda s, a: None",
    "the worker": "import gc\n    for o in gc.get_objects():\n"
    "        if type(o).__name__ == 'ClientWorker': o._run = o.answer = lambda *a: {'done': True}",
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_without_the_work_never_passes(alone, forgery):
    source = f"""
import json, os, struct, sys
import cupy
def send(message, arrays=()):
    text = json.dumps({{"message": message, "blobs": [], "arrays": arrays}}).encode()
    os.write(int(sys.argv[2]), struct.pack("<4sI", b"wgC1", len(text)) + text)
def deep(n):
    return [deep(n - 1)] if n else []
sys.setrecursionlimit(5000)
def setup(m, x, out):
    pass
def run():
    {forgery}
"""
    run = case()
    execution = alone(source).run(run)
    assert not is_right(execution, run)
    if execution.failure is None:
        assert is_poison(execution.outputs["out"]).all()
    else:
        assert execution.failure in ("crash", "race", "timeout", "invalid")


def test_a_process_that_ends_between_two_cases_is_a_crash_of_the_next(alone):
    leave = "import os\ndef run():\n    honest(); calls.append(1)\n"
    leave += "    if len(calls) == 2: afterwards(lambda: os._exit(0))\n"
    one, run = alone(HONEST + AFTERWARDS + leave), case()
    assert is_right(one.run(run), run)
    one._pair.host.wait(10.0)
    assert fails(one.run(case(100)), "crash").file == "sums_host.py"


def test_the_next_honest_submission_passes_after_every_kind_of_end(alone):
    for source in ("def setup(m, x, out):\n    import os\n    os._exit(0)\ndef run(): pass\n", HONEST):
        run = case()
        last = alone(source).run(run)
    assert is_right(last, run)


def test_a_fork_bomb_of_threads_ends_with_its_process(alone):
    source = """
import threading, time
def setup(m, x, out): pass
def run():
    for _ in range(50):
        threading.Thread(target=time.sleep, args=(1e6,)).start()
"""
    one = alone(source)
    execution = one.run(case())
    one.close()
    assert is_poison(execution.outputs["out"]).all()
    with pytest.raises(ProcessLookupError):
        os.kill(one._pair.host.pid, 0)


def test_one_thread_too_many_is_a_limit_at_the_line_that_starts_it(alone):
    source = """
import threading, time
def setup(m, x, out): pass
def run():
    for _ in range(300):
        try:
            threading.Thread(target=time.sleep, args=(1e6,)).start()
        except Exception:
            pass
"""
    found = fails(alone(source).run(case()), "limit")
    assert found.message.startswith("sums_host.py starts more than 256 threads")
    assert (found.line, "256 at once" in found.hint) == (7, True)


def test_as_many_threads_as_there_may_be_are_fine_one_after_another_or_at_once(alone):
    source = (
        HONEST
        + """
    import threading
    for count in (200, 200, 1):
        threads = [threading.Thread(target=lambda: None) for _ in range(count)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
"""
    )
    run = case()
    assert is_right(alone(source).run(run), run)


THREADS_OF_C = """
import ctypes
started = []
def setup(m, x, out): pass
def run():
    libc = ctypes.CDLL(None)
    libc.pthread_attr_init(attributes := ctypes.create_string_buffer(64))
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 16))
    for _ in range(COUNT):
        started.append(ctypes.c_ulong())
        libc.pthread_create(ctypes.byref(started[-1]), attributes, libc.pause, None)
"""


def test_threads_that_python_does_not_know_are_counted_by_the_parent(alone):
    found = fails(alone(THREADS_OF_C.replace("COUNT", "2500")).run(case()), "limit")
    assert found.message.startswith("the process of sums_host.py has more than 256 threads")
    assert alone(THREADS_OF_C.replace("COUNT", "100")).run(case()).failure is None


def test_a_fault_does_not_hide_how_many_threads_there_are(alone):
    source = THREADS_OF_C.replace("COUNT", "2500") + "    raise ValueError\n"
    assert alone(source).run(case()).failure == "limit"


def test_memory_without_end_is_a_crash_of_the_host_file_alone(alone):
    source = "held = []\ndef setup(m, x, out): pass\ndef run():\n    held.append(bytearray(64 << 30))\n"
    found = fails(alone(source).run(case()), "crash")
    assert (found.line, found.message) == (4, "MemoryError: ")


SHARES = """
import mmap
def setup(m, x, out): pass
def run():
    held = mmap.mmap(-1, MIB << 20)
    for page in range(0, len(held), mmap.PAGESIZE):
        held[page] = 1
"""


def test_pages_that_processes_may_share_count_in_the_address_space(session):
    found = fails(session(SHARES.replace("MIB", "5000")).run(case()), "crash")
    assert (found.line, "Cannot allocate memory" in found.message) == (5, True)


def test_without_a_sandbox_the_parent_ends_a_process_whose_pages_are_too_many(alone, monkeypatch):
    monkeypatch.setattr("grader.backends.sim.hostfile.backend.HOST_MEMORY_BYTES", 0)
    found = fails(alone(SHARES.replace("MIB", "256"), sandbox=False).run(case()), "limit")
    assert found.message.startswith("the process of sums_host.py uses more than 0.13 GB of memory")


def test_a_process_that_its_control_group_ends_has_used_too_much_memory(alone, monkeypatch):
    class Group:
        def exceeded(self):
            return True

        def close(self):
            removed.append(self)

    removed = []
    monkeypatch.setattr("grader.backends.hostfile.case.memory_group", lambda pid, limit, above: Group())
    one = alone("import os\ndef setup(m, x, out): pass\ndef run(): os.kill(os.getpid(), 9)\n")
    assert "uses more than" in fails(one.run(case()), "limit").message
    one.close()
    assert len(removed) == 1


def test_a_setup_that_fails_tells_which_call_of_cuda_bindings_was_refused(alone):
    refuses = """
from cuda.bindings import runtime as cudart
def checked(result):
    if result[0] != 0:
        raise RuntimeError(f"CUDA refused: {result[0].name}")
def setup(module, x, out):
    value = cudart.cudaStreamAttrValue()
    value.accessPolicyWindow.num_bytes = 1 << 40
    checked(cudart.cudaStreamSetAttribute(0, cudart.cudaStreamAttrID.cudaLaunchAttributeAccessPolicyWindow, value))
def run(): ...
"""
    execution = alone(refuses).run(case())
    error, refused = all_said(execution)
    assert (execution.failure, error.line) == ("crash", 5)
    assert "CUDA refused: cudaErrorInvalidValue" in error.message
    assert (refused.kind, refused.severity, refused.line) == ("refused", "warning", 9)


# ------------------------------------------------------------------------------------ one file after another: a course


LEAVES_MUCH = """
import sys, threading, time
import cupy, numpy as np
def setup(m, x, out):
    cupy.left = sys.modules["left"] = threading
    held = cupy.cuda.alloc_pinned_memory(4096)
    np.frombuffer(held, np.uint8, 4096)[:] = 7
    threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
    print("left")
def run(): pass
"""
FINDS_NOTHING = """
import sys, threading
import cupy, numpy as np
def setup(m, x, out):
    held = np.frombuffer(cupy.cuda.alloc_pinned_memory(4096), np.uint8, 4096)
    print(hasattr(cupy, "left"), "left" in sys.modules, held.any(), threading.active_count())
def run(): pass
"""


def test_a_pair_of_children_serves_one_file_after_another_that_finds_nothing_of_the_one_before(alone):
    with PairPool() as pool:
        printed = []
        for source in (LEAVES_MUCH, FINDS_NOTHING):
            execution = (one := alone(source, pairs=pool.take)).run(case())
            one.close()
            printed.append(execution.printed)
        run = case()
        honest = alone(HONEST, pairs=pool.take)
        assert is_right(honest.run(run), run)
        honest.close()
        assert len(pool._idle) == 1
    assert printed == ["left\n", "False False False 1\n"]


@pytest.mark.parametrize("death", ["os._exit(0)", "os._exit(87)", "os.abort()", "os.kill(os.getpid(), 9)"])
def test_a_file_that_ends_its_process_ends_the_pair_too(alone, death):
    with PairPool() as pool:
        dying = alone(f"import os\ndef setup(m, x, out): {death}\ndef run(): pass\n", pairs=pool.take)
        assert dying.run(case()).failure == "crash"
        dying.close()
        assert pool._idle == []
