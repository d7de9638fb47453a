"""The traced run of a host file: bars of what it queued, with its lines; and what of it the parent believes."""

from __future__ import annotations

import sys
from dataclasses import replace

import fake_cupy
import numpy as np
import pytest
from fake_cupy import cuda, runtime
from host_files import case, open_session

from grader.backends.gpu.hostfile import timeline
from grader.backends.gpu.hostfile.timeline import MOST_OPERATIONS, TracedModule, Tracer, between, timeline_of

FILE = "twice_host.py"
TWICE = """
import cupy
from cupy.cuda import runtime
held = {}
def setup(module, x, out):
    held.update(x=x, out=out, kernel=module.get_function("double"))
    held["streams"] = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    held["device"] = [cupy.ndarray(x.size), cupy.ndarray(x.size)]
def run():
    first, second = held["streams"]
    there, result = held["device"]
    there.set(held["x"], stream=first)
    with second:
        held["kernel"]((1,), (32,), (there, result))
    result.get(out=held["out"], stream=second, blocking=False)
"""


@pytest.fixture
def traced(monkeypatch):
    """A function that runs a host file's text under a tracer, on arrays of four floats; what it tells."""

    def run(source, runs=1):
        for name, module in (("cupy", fake_cupy), ("cupy.cuda", cuda), ("cupy.cuda.runtime", runtime)):
            monkeypatch.setitem(sys.modules, name, module)
        tracer = Tracer(cuda, FILE)
        x, out = np.arange(4, dtype=np.float32), np.zeros(4, dtype=np.float32)
        for array in (x, out):
            tracer.knows(array.ctypes.data, array.nbytes)
        with between(tracer, fake_cupy):
            scope: dict = {}
            exec(compile(source, FILE, "exec"), scope)
            scope["setup"](TracedModule(fake_cupy.Module(), tracer), x, out)
            for _ in range(runs):
                told = tracer.record(scope["run"], 1)
        return told, out

    return run


def test_copies_and_kernels_are_bars_on_their_streams_with_their_lines(traced):
    told, out = traced(TWICE)
    timeline = timeline_of(told, ("x", "out"), "a GPU")
    assert timeline is not None
    assert not timeline.modelled
    assert [(o.kind, o.name, o.stream, o.line) for o in timeline.operations] == [
        ("to_device", "x", 1, 12),
        ("kernel", "double", 2, 14),
        ("to_host", "out", 2, 15),
    ]
    lengths = [o.end_s - o.start_s for o in timeline.operations]
    assert lengths == pytest.approx([1e-3, 3e-3, 1e-3])
    assert out.tolist() == [0, 2, 4, 6]  # the traced run does what an untraced one does


def test_setup_is_not_drawn(traced):
    source = TWICE.replace('    held["streams"]', '    cupy.ndarray(4).set(x)\n    held["streams"]')
    told, _ = traced(source, runs=2)
    assert len(told["operations"]) == 3


def test_a_copy_of_the_runtime_is_a_bar_also_where_its_arguments_have_names(traced):
    source = """
import cupy
from cupy.cuda.runtime import memcpyAsync
held = []
def setup(module, x, out): held.extend((x, out))
def run():
    x, out = held
    memcpyAsync(dst=out.ctypes.data, src=x.ctypes.data, size=8, kind=2, stream=0)
"""
    told, out = traced(source)
    ((kind, name, stream, *_, size, line, device),) = told["operations"]
    assert (kind, name, stream, size, line, device) == ("to_host", 1, 0, 8, 8, 0)
    assert out.tolist() == [0, 1, 0, 0]


def test_a_graph_is_one_bar_and_its_capture_none(traced):
    source = """
import cupy
held = []
def setup(module, x, out):
    kernel, stream = module.get_function("double"), cupy.cuda.Stream()
    pair = cupy.ndarray(4), cupy.ndarray(4)
    def record():
        with stream:
            stream.begin_capture()
            kernel((1,), (32,), pair)
            return stream.end_capture()
    held.extend((record, stream))
def run():
    record, stream = held
    record().launch(stream)
"""
    told, _ = traced(source)
    assert [bar[:3] for bar in told["operations"]] == [["kernel", "graph", 1]]


def test_a_stream_that_no_event_fits_on_is_left_out(traced):
    source = """
import cupy
held = []
def setup(module, x, out): held.extend((x, out))
def run(): cupy.cuda.runtime.memcpyAsync(held[1].ctypes.data, held[0].ctypes.data, 4, 1, 99)
"""
    told, out = traced(source)
    assert told["operations"] == []
    assert out[0] == 0


def test_afterwards_cupy_is_as_it_was(traced):
    before = runtime.memcpyAsync, fake_cupy.ndarray.get, cuda.Stream.__init__
    traced(TWICE)
    assert before == (runtime.memcpyAsync, fake_cupy.ndarray.get, cuda.Stream.__init__)


def test_a_kernel_under_the_tracer_has_its_attributes(traced):
    source = """
def setup(module, x, out):
    kernel = module.get_function("double")
    assert kernel.num_regs == 32
    kernel.max_dynamic_shared_size_bytes = 1 << 16
    assert kernel.max_dynamic_shared_size_bytes == 1 << 16
def run(): pass
"""
    assert traced(source)[0]["operations"] == []


def test_a_run_that_queues_without_end_is_drawn_up_to_a_limit(traced):
    source = TWICE + "_run = run\ndef run():\n    for _ in range(700): _run()\n"
    told, _ = traced(source)
    assert len(told["operations"]) == MOST_OPERATIONS


# ------------------------------------------------------------------------------------------------- through the child


def test_a_session_draws_one_run_more(monkeypatch):
    with open_session(monkeypatch, SUMS) as session:
        assert session.run(case()).failure is None
        timeline = session.traced("a GPU")
    assert timeline is not None
    assert [(o.kind, o.name, o.line) for o in timeline.operations] == [("to_device", "x", 7)]


SUMS = """
import cupy
held = {}
def setup(module, x, out):
    held.update(x=x, out=out, there=cupy.ndarray(x.size))
def run():
    held["there"].set(held["x"])
    held["out"][:] = held["there"].values.reshape(len(held["out"]), -1).sum(axis=1)
"""


@pytest.mark.parametrize(
    "spoiler",
    [
        "    raise ValueError('not twice')\n",
        "    import os; os._exit(1)\n",
        "    while True: pass\n",
    ],
)
def test_where_the_traced_run_fails_nothing_is_drawn(monkeypatch, spoiler):
    source = SUMS + "_setup, calls = setup, []\ndef setup(module, *arrays):\n    _setup(module, *arrays)\n"
    source += "    if type(module).__name__ != 'TracedModule': return\n" + spoiler
    with open_session(monkeypatch, source) as session:
        assert session.run(case()).failure is None
        session.limits = replace(session.limits, launch_s=0.2)  # from now on: a run that counts has its time
        assert session.traced("a GPU") is None


# -------------------------------------------------------------------------------------------------- hostile timelines

BAR = ["kernel", "k", 1, 0.0, 1e-3, 0, 7, 0]


def told(*bars, elapsed_s=1.0):
    return {"elapsed_s": elapsed_s, "operations": list(bars)}


def changed(place, value):
    bar = list(BAR)
    bar[place] = value
    return bar


def test_an_honest_bar_is_believed():
    (operation,) = timeline_of(told(BAR), ("x",), "a GPU").operations
    assert (operation.kind, operation.name, operation.stream, operation.line) == ("kernel", "k", 1, 7)


@pytest.mark.parametrize(
    "bar",
    [
        "kernel", [], BAR[:-1], {}, None,
        changed(0, "robbery"), changed(0, []), changed(1, 5.0), changed(1, 1), changed(1, -1), changed(1, True),
        changed(2, -1), changed(2, 1.5), changed(2, 10**9), changed(3, float("nan")), changed(3, -1.0),
        changed(3, 2.0), changed(4, float("inf")), changed(4, 10**400), changed(4, "1"), changed(5, -1),
        changed(5, 1 << 60), changed(6, -3), changed(6, "7"), changed(7, None), changed(7, 1000),
    ],
)  # fmt: skip
def test_a_bar_that_cannot_be_is_no_timeline(bar):
    assert timeline_of(told(BAR, bar), ("x",), "a GPU") is None


@pytest.mark.parametrize(
    "words",
    [
        None, [], "timeline", {}, {"operations": [BAR]}, told(), told(BAR, elapsed_s=-1), told(BAR, elapsed_s=True),
        told(*[BAR] * (MOST_OPERATIONS + 1)), {"elapsed_s": 1.0, "operations": "many"},
    ],
)  # fmt: skip
def test_words_that_are_no_timeline_are_none(words):
    assert timeline_of(words, ("x",), "a GPU") is None


def test_a_name_is_cut_and_holds_nothing_that_cannot_be_printed():
    bar = changed(1, "\x1b[2J" + "k" * 5000)
    (operation,) = timeline_of(told(bar), (), "a GPU").operations
    assert operation.name.startswith("[2Jk")
    assert len(operation.name) <= 60


# ----------------------------------------------------------------------------------------------------------- real CuPy


def test_everything_that_is_traced_exists_in_cupy_and_is_put_back():
    cupy = pytest.importorskip("cupy")
    names = [(cupy.cuda.runtime, name) for name in timeline._RUNTIME]
    names += [(cupy.ndarray, "set"), (cupy.ndarray, "get"), (cupy.cuda.Stream, "end_capture")]
    names += [(cupy.cuda.Stream, "__init__")]
    before = [getattr(owner, name) for owner, name in names]
    with between(Tracer(cupy.cuda, FILE), cupy):
        assert all(getattr(owner, name) is not old for (owner, name), old in zip(names, before, strict=True))
    assert [getattr(owner, name) for owner, name in names] == before


def test_what_yardsticks_call_exists_in_cupy():
    cupy = pytest.importorskip("cupy")
    for name in (
        "hostAlloc", "hostAllocMapped", "freeHost", "malloc", "free", "memset", "memcpy", "memcpyAsync",
        "memcpyPeerAsync", "memcpyHostToDevice", "memcpyDeviceToHost", "deviceCanAccessPeer",
        "deviceEnablePeerAccess", "deviceDisablePeerAccess", "deviceSynchronize", "setDevice", "getDevice",
    ):  # fmt: skip
        assert hasattr(cupy.cuda.runtime, name), name
