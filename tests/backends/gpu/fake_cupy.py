"""The part of CuPy that a traced host file meets, made of NumPy: everything happens at once, a clock counts bytes."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import numpy as np

state = SimpleNamespace(now_ms=0.0, handles=10, capturing=None, current=0, log=[], memory={})


def _handle():
    state.handles += 1
    return state.handles


def _passes(ms):
    state.now_ms += ms


class Event:
    def __init__(self):
        self.ptr = _handle()
        state.memory[self.ptr] = None


class Stream:
    def __init__(self, null=False, non_blocking=False):
        self.ptr = 0 if null else _handle()

    def __enter__(self):
        self._before, state.current = state.current, self.ptr
        return self

    def __exit__(self, *_):
        state.current = self._before

    def begin_capture(self):
        state.capturing = self.ptr

    def end_capture(self):
        state.capturing = None
        return Graph()

    def record(self):
        return Event()

    def synchronize(self):
        pass


class Graph:
    def launch(self, stream=None):
        _passes(2.0)
        state.log.append("graph")


class Device:
    def __init__(self, index=0):
        self.index = index

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class ndarray:  # CuPy's name
    def __init__(self, count, dtype="float32"):
        self.values = np.zeros(count, dtype)
        self.nbytes = self.values.nbytes

    def set(self, arr, stream=None):
        self.values[:] = arr
        _passes(1.0)

    def get(self, stream=None, order="C", out=None, blocking=True):
        _passes(1.0)
        if out is None:
            return self.values.copy()
        out[:] = self.values
        return out


class Kernel:
    """Doubles ``args[0]`` into ``args[1]``."""

    num_regs = 32
    max_dynamic_shared_size_bytes = 0

    def __call__(self, grid, block, args, *, stream=None, shared_mem=0):
        to, source = args[1], args[0]
        to.values[:] = 2 * source.values
        _passes(3.0)


class Module:
    def get_function(self, name):
        if name != "double":
            raise RuntimeError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        return Kernel()


def _memcpy_async(dst, src, size, kind, stream):
    ctypes.memmove(dst, src, size)
    _passes(size / 1e6)


def _record(event, stream):
    if stream == 99:
        raise RuntimeError("cudaErrorInvalidResourceHandle: it belongs to another device")
    state.memory[event] = state.now_ms


runtime = SimpleNamespace(
    getDevice=lambda: 0,
    deviceSynchronize=lambda: None,
    eventRecord=_record,
    eventSynchronize=lambda event: None,
    eventElapsedTime=lambda first, last: state.memory[last] - state.memory[first],
    streamIsCapturing=lambda stream: stream == state.capturing,
    pointerGetAttributes=lambda address: SimpleNamespace(type=0),
    memcpyAsync=_memcpy_async,
    memcpyHostToDevice=1,
    memcpyDeviceToHost=2,
)
cuda = SimpleNamespace(
    Event=Event,
    Stream=Stream,
    Graph=Graph,
    Device=Device,
    runtime=runtime,
    get_current_stream=lambda: SimpleNamespace(ptr=state.current),
)
cupy = sys.modules[__name__]
