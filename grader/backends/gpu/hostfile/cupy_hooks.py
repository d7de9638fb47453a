"""Between a host file and CuPy while it is traced: what is queued tells the `Tracer`. Child side.

What goes past these (`cupy.add`, `MemoryPointer.copy_from_host_async`) is not drawn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.backends.gpu.hostfile.timeline import Tracer


@contextlib.contextmanager
def between(tracer: Tracer, cupy: Any) -> Iterator[None]:
    """While this lasts, what a host file imports from CuPy tells the tracer of copies, fills, graphs and streams."""
    cuda = cupy.cuda
    places = [
        (cuda.runtime, name, partial(wrap, tracer, getattr(cuda.runtime, name)))
        for name, wrap in _RUNTIME.items()
        if hasattr(cuda.runtime, name)
    ]
    places += [
        (cupy.ndarray, "set", _method(tracer, cupy.ndarray.set, "to_device")),
        (cupy.ndarray, "get", _method(tracer, cupy.ndarray.get, "to_host")),
        (cuda.Stream, "end_capture", _end_capture(tracer, cuda.Stream.end_capture)),
        (cuda.Stream, "__init__", _made(tracer, cuda.Stream.__init__)),
    ]
    with contextlib.ExitStack() as undo:
        for owner, name, wrapped in places:
            undo.callback(_put_back, owner, name, vars(owner).get(name))
            setattr(owner, name, wrapped)
        yield


def _put_back(owner: Any, name: str, original: Any) -> None:
    """Undo; ``original`` is None where a class had inherited it."""
    if original is None:
        delattr(owner, name)
    else:
        setattr(owner, name, original)


def _memcpy_async(tracer: Tracer, call: Any, dst: int, src: int, size: int, kind: int, stream: int) -> Any:
    return _copied(tracer, (dst, src), size, kind, int(stream), lambda: call(dst, src, size, kind, stream))


def _memcpy(tracer: Tracer, call: Any, dst: int, src: int, size: int, kind: int) -> Any:
    return _copied(tracer, (dst, src), size, kind, 0, lambda: call(dst, src, size, kind))


def _copied(tracer: Tracer, ends: tuple[int, int], size: int, kind: int, stream: int, call: Callable[[], Any]) -> Any:
    to, source = ends
    told = tracer.copy_kind(kind, to, source) if tracer.on else ""
    return tracer.around(told, tracer.array_at(to, source), stream, int(size), call) if told else call()


def _memset_async(tracer: Tracer, call: Any, ptr: int, value: int, size: int, stream: int) -> Any:
    return tracer.around("fill", None, int(stream), int(size), lambda: call(ptr, value, size, stream))


def _memset(tracer: Tracer, call: Any, ptr: int, value: int, size: int) -> Any:
    return tracer.around("fill", None, 0, int(size), lambda: call(ptr, value, size))


def _peer_async(
    tracer: Tracer,
    call: Any,
    dst: int,
    dstDevice: int,
    src: int,
    srcDevice: int,
    size: int,
    stream: int,
) -> Any:
    ends = (dst, dstDevice, src, srcDevice, size)
    return tracer.around("peer", None, int(stream), int(size), lambda: call(*ends, stream))


def _peer(
    tracer: Tracer,
    call: Any,
    dst: int,
    dstDevice: int,
    src: int,
    srcDevice: int,
    size: int,
) -> Any:
    return tracer.around("peer", None, 0, int(size), lambda: call(dst, dstDevice, src, srcDevice, size))


def _prefetch(tracer: Tracer, call: Any, devPtr: int, count: int, dstDevice: int, stream: int) -> Any:
    return tracer.around("prefetch", None, int(stream), int(count), lambda: call(devPtr, count, dstDevice, stream))


def _graph_launch(tracer: Tracer, call: Any, graphExec: int, stream: int) -> Any:
    return tracer.around("kernel", "graph", int(stream), 0, lambda: call(graphExec, stream))


_RUNTIME: Mapping[str, Callable[..., Any]] = {
    "memcpyAsync": _memcpy_async,
    "memcpy": _memcpy,
    "memsetAsync": _memset_async,
    "memset": _memset,
    "memcpyPeerAsync": _peer_async,
    "memcpyPeer": _peer,
    "memPrefetchAsync": _prefetch,
    "graphLaunch": _graph_launch,
}
"""By the name in `cupy.cuda.runtime`; the parameters have CuPy's names, because a host file may give them by name."""


def _method(tracer: Tracer, original: Any, kind: str) -> Any:
    """``ndarray.set(arr, stream)`` or ``ndarray.get(stream, order, out, blocking)``, traced."""

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        if not tracer.on:
            return original(self, *args, **keywords)
        stream = keywords.get("stream", next((a for a in args if hasattr(a, "ptr") and hasattr(a, "record")), None))
        host: Any = keywords.get("out") if kind == "to_host" else next(iter(args), keywords.get("arr"))
        name = tracer.array_at(host.ctypes.data) if hasattr(host, "ctypes") else None
        pointer = tracer.current_stream() if stream is None else int(stream.ptr)
        return tracer.around(kind, name, pointer, int(self.nbytes), lambda: original(self, *args, **keywords))

    return method


def _end_capture(tracer: Tracer, original: Any) -> Any:
    def end_capture(self: Any) -> Any:
        return TracedGraph(original(self), tracer)

    return end_capture


def _made(tracer: Tracer, original: Any) -> Any:
    def made(self: Any, *args: Any, **keywords: Any) -> None:
        original(self, *args, **keywords)
        tracer.made(int(self.ptr))

    return made


class TracedModule:
    """A `cupy.RawModule` whose kernels tell the tracer of their launches; everything else is the module's."""

    def __init__(self, module: Any, tracer: Tracer) -> None:
        self._module, self._tracer = module, tracer

    def get_function(self, name: str) -> TracedKernel:
        return TracedKernel(self._module.get_function(name), str(name), self._tracer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class TracedKernel:
    """A `cupy.RawKernel` that tells the tracer of its launches; attributes are read and set on the kernel itself."""

    __slots__ = ("_kernel", "_name", "_tracer")

    def __init__(self, kernel: Any, name: str, tracer: Tracer) -> None:
        for slot, value in (("_kernel", kernel), ("_name", name), ("_tracer", tracer)):
            object.__setattr__(self, slot, value)

    def __call__(self, grid: Any, block: Any, args: Any, **keywords: Any) -> Any:
        tracer, kernel = self._tracer, self._kernel
        if not tracer.on:
            return kernel(grid, block, args, **keywords)
        stream = keywords.get("stream")
        pointer = tracer.current_stream() if stream is None else int(stream.ptr)
        return tracer.around("kernel", self._name, pointer, 0, lambda: kernel(grid, block, args, **keywords))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._kernel, name, value)


class TracedGraph:
    """A `cupy.cuda.Graph` whose launches are one bar each."""

    def __init__(self, graph: Any, tracer: Tracer) -> None:
        self._graph, self._tracer = graph, tracer

    def launch(self, stream: Any = None) -> Any:
        pointer = self._tracer.current_stream() if stream is None else int(stream.ptr)
        return self._tracer.around("kernel", "graph", pointer, 0, lambda: self._graph.launch(stream))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)
