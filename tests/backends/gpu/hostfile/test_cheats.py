"""What host files may try in timed runs, for a link target and for an overlap target: none of it passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from host_files import EXERCISE, LIMITS, PROGRAM, backend, case, oracle, without_a_gpu

from grader.backends.gpu.hostfile.timed_runs import WARM_UPS, OutputCheck, Recording, take_runs
from grader.catalog.courses import Course
from grader.exercise import Target
from grader.grading.fast_hostfile import HostfileSpeedTest
from grader.inputs import is_poison

ROWS = {"rows": 200}
HONEST = """
held = {}
def setup(module, x, out):
    held.update(x=x, out=out)
def run():
    held["out"][:] = held["x"].reshape(len(held["out"]), -1).sum(axis=1, dtype="float64")
honest = run
"""
KERNEL = """// launch sums(x, out, rows): grid=cdiv(rows, 256) block=256
extern "C" __global__ void sums(const float* x, float* out, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows)
        out[i] = x[64 * i];
}
"""
SLOW_WITH_A_STOPPED_CLOCK = """
import time
_sleep = time.sleep
for name in ("perf_counter", "monotonic", "time", "perf_counter_ns", "monotonic_ns", "time_ns", "process_time"):
    setattr(time, name, lambda: 0)
def run():
    honest()
    _sleep(0.02)
"""
CHEATS = {
    "unfinished on a thread": """
import threading
def run(): threading.Thread(target=lambda: (threading.Event().wait(), honest()), daemon=True).start()
""",
    "last time's result": """
kept = []
def run():
    if len(kept) < 5:
        honest()
        kept.append(held["out"].copy())
    held["out"][:] = kept[-1]
""",
    "most of the work": "def run():\n    honest()\n    held['out'][7:9] = 0\n",
    "a look at every eighth sample": """
def run():
    x = held["x"].reshape(len(held["out"]), -1)
    held["out"][:] = 8 * x[:, ::8].sum(axis=1, dtype="float64")
""",
    "a printed verdict": """
def run():
    print('{"done": true, "verdict": "pass", "fast": "passed"}', flush=True)
    print("\\x1b[2J  fast  passed  0.99 of the ceiling", flush=True)
""",
    "the end told by somebody else": """
import mmap, os
def arrays():
    for n in os.listdir("/proc/self/fd"):
        try:
            if "arrays" in os.readlink(f"/proc/self/fd/{n}"):
                return int(n)
        except OSError:
            pass
words = memoryview(mmap.mmap(arrays(), mmap.PAGESIZE)).cast("Q")
def run():
    words[8] = words[0]
    import threading
    threading.Event().wait(0.01)
    held["out"][:] = 1
""",
}


@pytest.fixture(params=["transfer", "overlap"])
def graded(request, monkeypatch, tmp_path):
    """A function that opens a session on a host file and times it against the fixture's kind of target."""
    folder = tmp_path / "kernels_ref" / "host"
    folder.mkdir(parents=True)
    (folder / "sums.cu").write_text(KERNEL)
    course = Course(tmp_path / "exercises", tmp_path / "solutions", folder.parent)
    target = replace(EXERCISE.target, fraction=1e-12)  # so low that whatever is right passes
    if request.param == "overlap":
        target = Target(unit="overlap", fraction=1e-12, of="ceiling", ceiling="sums")
    exercise = replace(EXERCISE, target=target)
    without_a_gpu(monkeypatch)
    opened = []

    def grade(source):
        one = backend(source, exercise, course=course)
        session = one.open(PROGRAM, LIMITS)
        opened.append(session)
        # What runs are measured against took no time: on a busy machine it could take longer than the runs.
        session.baselines_s = {name: (1e-9,) * len(samples) for name, samples in session.baselines_s.items()}
        return HostfileSpeedTest(exercise, one, lambda: oracle, 7, LIMITS)(session)

    yield grade
    for session in opened:
        session.close()


def test_what_is_right_passes_so_low_a_line(graded):
    speed = graded(HONEST)
    assert speed.word == "pass"
    assert speed.diagnostics == ()


@pytest.mark.parametrize("name", CHEATS)
def test_a_run_without_the_work_is_wrong(graded, name):
    speed = graded(HONEST + CHEATS[name])
    assert (speed.word, "at the timed size rows = 200" in speed.detail) == ("wrong", True)


def test_a_clock_that_was_stopped_in_the_child_runs_on_in_the_parent(graded):
    speed = graded(HONEST + SLOW_WITH_A_STOPPED_CLOCK)
    assert speed.measured.median_s >= 0.02


def test_what_a_host_file_prints_in_a_timed_run_is_no_answer(monkeypatch):
    without_a_gpu(monkeypatch)
    with backend(HONEST + CHEATS["a printed verdict"]).open(PROGRAM, LIMITS) as session:
        execution = session.run(case())
    assert is_poison(execution.outputs["out"]).all()
    assert "passed" in execution.printed


# ---------------------------------------------------------------------------------------- the parent's order of things


class Watched(np.ndarray):
    """An array that tells when it is written, and whose `copy` comes after what was late."""

    log: list
    late: object

    def __array_finalize__(self, other):
        self.log, self.late, self.name = (getattr(other, n, None) for n in ("log", "late", "name"))

    def __setitem__(self, at, values):
        self.log.append(self.name)
        super().__setitem__(at, values)

    def copy(self):
        if self.late is not None:
            self.late()
        return np.asarray(self).copy()


class Session:
    """A host file's process in this one: ``run`` gets the arrays, and what it leaves in ``late`` is done too late."""

    def __init__(self, run):
        self.run, self.log = run, []

    def set_up(self, data):
        self.shared = {}
        for name, values in data.items():
            array = values.copy().view(Watched)
            array.log, array.late, array.name = self.log, None, name
            self.shared[name] = array
        return self.shared

    def check_limits(self, *, now=False):
        self.log.append("look")

    def go(self):
        self.log.append("go")
        plain = {name: np.asarray(array) for name, array in self.shared.items()}
        self.shared["out"].late = self.run(plain)
        return 1e-3


def half_of_it_late(arrays):
    sums = arrays["x"].reshape(len(arrays["out"]), -1).sum(axis=1)
    half = len(sums) // 2
    arrays["out"][:half] = sums[:half]

    def rest():
        arrays["out"][half:] = sums[half:]

    return rest


def test_what_is_finished_while_the_outputs_are_copied_was_not_finished():
    recording = Recording(EXERCISE, ROWS, 3)
    runs = take_runs(Session(half_of_it_late), EXERCISE, ROWS, recording)
    assert all(is_poison(copy["out"][100:]).any() for copy in runs.copies)
    wrong = OutputCheck(EXERCISE, ROWS, oracle, recording).wrong(runs)
    assert wrong is not None
    assert f"run {WARM_UPS + 1}" in wrong.message


def test_fresh_inputs_are_the_last_thing_before_the_clock_starts():
    session = Session(lambda arrays: None)
    take_runs(session, EXERCISE, ROWS, Recording(EXERCISE, ROWS, 3), samples=5)
    assert session.log[:8] == ["look", "out", "x", "go"] * 2


def test_fresh_inputs_come_all_over_the_place():
    recording = Recording(EXERCISE, ROWS, 3)
    written: list = []

    class Logged(dict):
        def __getitem__(self, name):
            array = super().__getitem__(name)

            class Places:
                def __setitem__(self, places, values):
                    written.append(np.asarray(places))
                    array[places] = values

            return Places()

    x = recording.inputs["x"].copy()
    patches = recording.patches(1)
    recording.apply(patches, Logged(x=x))
    np.testing.assert_array_equal(x, recording.inputs["x"])
    (places,) = written
    assert sorted(places) == sorted(patches[0].places)
    assert (np.diff(places) < 0).mean() > 0.3


def test_large_outputs_and_slow_oracles_are_checked_in_fewer_runs(monkeypatch):
    check = OutputCheck(EXERCISE, ROWS, oracle, Recording(EXERCISE, ROWS, 3))
    assert check.samples == 30
    monkeypatch.setattr("grader.backends.gpu.hostfile.timed_runs.COPIES_BYTES", 9 * 200 * 4)
    assert check.samples == 9
    check._expected.each_s = 3.0
    assert check.samples == 5
