"""The runs of one case of a host file, for both backends: warm-up inputs first; and what several GPUs change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.backends.base import Buffer
from grader.backends.hostfile.case import is_cooperative, on_gpus, run_case, shared_bytes, too_few_gpus, warm_up_inputs
from grader.backends.mappings import PAGE
from grader.compile import compile_source
from grader.exercise import Array, Exercise, Values
from grader.gpus.detect import Gpu
from grader.inputs import is_poison
from grader.launch import DeviceLimits

GPU = Gpu(0, "NVIDIA H200", (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())

EXERCISE = Exercise(
    name="twice",
    order=901,
    idea="twice",
    arrays=(
        Array("x", "float32", "n", values=Values(low=2.0, high=3.0)),
        Array("keys", "uint32", "n", values=Values(exact_low=0, exact_high=9)),
        Array("out", "float32", "n", role="out"),
    ),
    oracle="none:here",
    small=({"n": 5},),
    simulated={"n": 5},
    host=True,
)
X = np.linspace(2, 3, 50, dtype=np.float32)[:-1]
KEYS = np.arange(49, dtype=np.uint32) % 10
BUFFERS = (
    Buffer("x", "float32", 49, "in", X),
    Buffer("keys", "uint32", 49, "in", KEYS),
    Buffer("out", "float32", 49, "out"),
    Buffer("spare", "float32", 3, "scratch"),
)


class HostFile:
    """A host file's process: ``run`` is called with the arrays that it shares."""

    def __init__(self, run, set_up=lambda arrays: None):
        self.run, self.prepare, self.seen = run, set_up, []

    def set_up(self, data):
        self.arrays = {name: values.copy() for name, values in data.items()}
        self.look()
        self.prepare(self.arrays)
        return self.arrays

    def look(self):
        self.seen.append({name: values.copy() for name, values in self.arrays.items()})

    def go(self):
        self.look()
        self.run(self.arrays)
        return 0.25


def twice(arrays):
    arrays["out"][:] = 2 * arrays["x"]


def test_setup_and_the_first_run_see_decoys_and_only_the_second_run_the_case():
    host = HostFile(twice)
    ended = run_case(host, EXERCISE, BUFFERS)
    first, second, third = (seen["x"] for seen in host.seen)
    assert third.tolist() == X.tolist()
    assert all(not np.isin(decoy, X).all() for decoy in (first, second))
    assert first.tolist() != second.tolist()
    assert ended.outputs["out"].tolist() == (2 * X).tolist()
    assert (ended.inputs_changed, ended.elapsed_s) == ((), 0.25)


def test_outputs_are_poisoned_before_every_run():
    host = HostFile(twice)
    run_case(host, EXERCISE, BUFFERS)
    assert all(is_poison(seen["out"]).all() for seen in host.seen)


def test_decoys_are_of_the_same_kind_and_the_same_every_time():
    made = warm_up_inputs(EXERCISE, {"x": X, "keys": KEYS}, 1)
    assert made["x"].dtype == np.float32
    assert ((made["x"] >= 2) & (made["x"] < 3)).all()
    assert made["keys"].dtype == np.uint32
    assert made["keys"].max() <= 9
    again = warm_up_inputs(EXERCISE, {"x": X, "keys": KEYS}, 1)
    assert all(np.array_equal(made[name], again[name]) for name in made)


def test_decoys_of_exact_cases_are_whole_numbers():
    made = warm_up_inputs(EXERCISE, {"x": np.array([2.0, 8.0, -8.0] * 9, dtype=np.float32)}, 1)["x"]
    assert (made == np.rint(made)).all()


def keeping(first_time, later):
    """A host file's `run` that does one thing first and another one later, with what the first left."""
    kept: list = []

    def run(arrays):
        if kept:
            later(arrays, kept[0])
        else:
            first_time(arrays)
            kept.append(arrays["out"].copy())

    return run


@pytest.mark.parametrize(
    "host",
    [
        HostFile(lambda arrays: None, set_up=twice),
        HostFile(keeping(twice, lambda arrays, result: None)),
        HostFile(keeping(twice, lambda arrays, result: arrays["out"].__setitem__(slice(None), result))),
    ],
    ids=["in setup", "in the first run", "of the first inputs"],
)
def test_a_result_from_before_is_not_the_cases(host):
    assert run_case(host, EXERCISE, BUFFERS).outputs["out"].tolist() != (2 * X).tolist()


def test_an_overwritten_input_is_named():
    def spoil(arrays):
        arrays["keys"][3] = 77

    assert run_case(HostFile(spoil), EXERCISE, BUFFERS).inputs_changed == ("keys",)


def test_outputs_are_taken_before_inputs_are_looked_at():
    class LookedAt(np.ndarray):
        def tobytes(self, *order):
            twice(host.arrays)  # what a thread or a stream finishes meanwhile
            return super().tobytes(*order)

    def prepare(arrays):
        arrays["x"] = arrays["x"].view(LookedAt)

    host = HostFile(lambda arrays: None, set_up=prepare)
    assert is_poison(run_case(host, EXERCISE, BUFFERS).outputs["out"]).all()
    assert not is_poison(host.arrays["out"]).all()


# ------------------------------------------------------------------------------------------------- module and memory

SYNC = """#include <cooperative_groups.h>
extern "C" __global__ void k(int* x) { x[0] = 1; %s }
"""


@pytest.mark.parametrize(
    ("wait", "cooperative"), [("cooperative_groups::this_grid().sync();", True), ("__syncthreads();", False)]
)
def test_a_kernel_that_waits_for_its_grid_is_launched_cooperatively(wait, cooperative):
    assert is_cooperative(compile_source((SYNC % wait).encode(), "k.cu")) is cooperative


def test_there_is_room_for_every_array_on_pages_of_its_own():
    # two cases (exact and real) and the simulated size, three arrays of a page each
    assert shared_bytes(EXERCISE) == 3 * 3 * PAGE
    assert shared_bytes(replace(EXERCISE, timed={"n": 1025})) == 3 * 3 * PAGE + 3 * 2 * PAGE


# ------------------------------------------------------------------------------------------------------ several GPUs

RING = replace(
    EXERCISE,
    gpus=2,
    small=({"n": 5, "gpus": 2}, {"n": 5, "gpus": 3}, {"n": 5, "gpus": 8}),
    secret={"n": (1, 9, 1), "gpus": (2, 8, 1)},
    simulated={"n": 5, "gpus": 4},
    timed={"n": 50, "gpus": 8},
)


def test_on_a_machine_no_case_has_more_gpus_than_there_are_and_the_timed_size_has_all():
    here = on_gpus(RING, 4)
    assert [size["gpus"] for size in here.small] == [2, 3]
    assert here.secret == {"n": (1, 9, 1), "gpus": (2, 4, 1)}
    assert (here.simulated["gpus"], here.timed["gpus"]) == (4, 4)
    assert on_gpus(RING, 2).timed == {"n": 50, "gpus": 2}
    assert on_gpus(RING, 16).timed == {"n": 50, "gpus": 8}
    assert on_gpus(EXERCISE, 4) is EXERCISE


def test_too_few_gpus_are_counted_in_words():
    assert too_few_gpus(RING, 1) == "twice needs 2 GPUs; this machine has 1"
    assert too_few_gpus(RING, 0) == "twice needs 2 GPUs; this machine has no GPU"
    assert too_few_gpus(RING, 2) == ""


@pytest.mark.parametrize(("count", "why"), [(1, "twice needs 2 GPUs; this machine has 1"), (2, "")])
def test_a_machine_with_too_few_gpus_grades_without_them(monkeypatch, count, why):
    from grader.grading.services import Hardware

    monkeypatch.setattr("grader.gpus.detect.count", lambda: count)
    hardware = Hardware("auto", GPU, "").for_exercise(RING)
    assert (hardware.gpu is None, hardware.why_no_gpu) == (count < 2, why)
    assert Hardware("auto", GPU, "").for_exercise(EXERCISE).gpu is GPU
