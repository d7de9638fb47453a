"""A host exercise and sessions of it without a GPU, for several test files."""

from __future__ import annotations

import numpy as np

from grader.backends.base import Buffer, CaseRun, Limits
from grader.backends.gpu.hostfile import backend as hostfile_backend
from grader.backends.gpu.hostfile import session as host_session
from grader.backends.gpu.hostfile.backend import HostfileBackend
from grader.compile import Entry, Program
from grader.exercise import Array, Exercise, Target, Tolerance, Work
from grader.gpus.detect import Gpu
from grader.launch import DeviceLimits, LaunchPlan
from grader.process.child import spawn

GPU = Gpu(0, "NVIDIA H200", (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())
PROGRAM = Program("sums.cu", "", "", "sm_80", (Entry("sums", ()),), "key")
LIMITS = Limits(launch_s=5.0, total_s=30.0)
EXERCISE = Exercise(
    name="sums",
    order=901,
    idea="sum rows",
    arrays=(Array("x", "float32", "64*rows"), Array("out", "float32", "rows", role="out")),
    oracle="none:here",
    small=({"rows": 3},),
    simulated={"rows": 1},
    timed={"rows": 200},
    work=Work(bytes="256*rows"),
    target=Target(unit="transfer", fraction=0.5, of="ceiling", ceiling="link_to_device"),
    tolerance=Tolerance(relative=1e-5, absolute=1e-5),
    host=True,
)
TWICE = """// launch twice(x, out, rows): grid=cdiv(rows, 256) block=256
extern "C" __global__ void twice(const float* x, float* out, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows)
        out[i] = 2 * x[i];
}
"""
"""A trusted kernel of a course."""


class FakeBackend:
    gpu = GPU


def without_a_gpu(monkeypatch):
    """Let every session have the child that needs none."""

    monkeypatch.setattr("grader.compile.assemble", lambda program, arch: b"cubin")
    monkeypatch.setattr(hostfile_backend, "spawn", lambda module, **keywords: spawn("fake_host_child", **keywords))
    monkeypatch.setattr(host_session, "WARM_UP_S", 0.0)


def backend(source, exercise=EXERCISE, sandbox=True, **keywords):
    return HostfileBackend(FakeBackend(), exercise, source.encode(), "sums_host.py", sandbox=sandbox, **keywords)


def open_session(monkeypatch, source, limits=LIMITS, exercise=EXERCISE):
    without_a_gpu(monkeypatch)
    return backend(source, exercise).open(PROGRAM, limits)


def oracle(inputs, numbers):
    return {"out": inputs["x"].astype(np.float64).reshape(int(numbers["rows"]), -1).sum(axis=1)}


def case(rows=3):
    x = np.random.default_rng(rows).random(64 * rows, dtype=np.float32)
    return CaseRun(LaunchPlan(()), (Buffer("x", "float32", 64 * rows, "in", x), Buffer("out", "float32", rows, "out")))
