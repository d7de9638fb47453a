"""NVRTC processes that are kept from one source to the next: for sources of the course and of tests.

Starting the process costs more than most compilations, and in a process that stays, the headers that take NVRTC a
second are compiled once (its precompiled headers belong to the process that made them). The PTX is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from grader.compile import cache, nvrtc
from grader.compile.toolchain import Toolchain
from grader.process.channel import ChannelError
from grader.process.child import ChildPool, Closing, Used
from grader.process.sandbox import Sandbox

PROGRAMS = 100
WALL_S = 60.0  # a source that takes longer is compiled in a process of its own, whose limits say why
MEMORY_BYTES = 8 << 30
HEADER_BYTES = 1 << 30
_INCLUDES = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/|#include <[^>\n]*>[^\n]*\n)*", re.DOTALL)
_INCLUDE = re.compile(r"^#include <[^>\n]*>", re.MULTILINE)
_SLOW = re.compile(r"<(cooperative_groups|cuda/)")


class KeptCompilers(Closing):
    """Compiles what it is given in processes that stay. Thread-safe; on exit its children are gone."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="warpgrade-headers-")
        self._pools: dict[tuple[str, ...], ChildPool] = {}

    def answer(self, request: dict[str, Any], include: tuple[str, ...], toolchain: Toolchain) -> dict[str, Any] | None:
        """The child's answer; None where it gave none, and only a process of its own can say why."""
        pool = self._pool(include, toolchain)
        used = pool.take()
        try:
            answer = self._asked(used, request)
        except ChannelError:
            used.child.close()
            return None
        pool.give_back(used)
        return answer

    def _pool(self, include: tuple[str, ...], toolchain: Toolchain) -> ChildPool:
        limits = Sandbox(
            files=True, write=(self._folder.name,), processes=False, network=False, memory_bytes=MEMORY_BYTES,
            file_bytes=HEADER_BYTES,
        )  # fmt: skip
        start = partial(nvrtc.started, limits, include, toolchain, self._folder.name)
        key = (*include, toolchain.fingerprint())
        return self._pools.setdefault(key, ChildPool(start, programs=PROGRAMS))

    def _asked(self, used: Used, request: dict[str, Any]) -> dict[str, Any]:
        headers = slow_headers(request["source"].decode())
        if headers:
            request = request | {"options": [*request["options"], *self._precompiled(used, request, headers)]}
        return _asked(used, request)

    def _precompiled(self, used: Used, request: dict[str, Any], headers: str) -> list[str]:
        """The options that use ``headers`` as this child compiled them."""
        options = [*request["options"]]
        name = cache.digest(headers, *options)[:16]
        place = [f"--pch-dir={self._folder.name}", "--pch-messages=false"]
        file = f"{used.child.pid}-{name}.pch"
        if name not in used.holds:
            used.holds.add(name)
            made = {"source": headers.encode(), "options": [*options, f"--create-pch={file}", *place]}
            _asked(used, request | made)
        return [f"--use-pch={file}", *place] if Path(self._folder.name, file).is_file() else []

    def close(self) -> None:
        """End the children, and forget the headers."""
        for pool in self._pools.values():
            pool.close()
        self._folder.cleanup()


def _asked(used: Used, request: dict[str, Any]) -> dict[str, Any]:
    used.child.channel.send(request)
    answer, _ = used.child.channel.receive(WALL_S)
    return dict(answer)


def slow_headers(text: str) -> str:
    """The includes that ``text`` begins with, where compiling them takes a second; else nothing."""
    start = _INCLUDES.match(text)
    includes = _INCLUDE.findall(start[0]) if start else []
    last = max((index for index, line in enumerate(includes) if _SLOW.search(line)), default=-1)
    return "".join(f"{line}\n" for line in includes[: last + 1])


@contextmanager
def compilers_kept() -> Iterator[None]:
    """Meanwhile every compilation of this process goes to children that stay; within another such time, to its."""
    if nvrtc.KEPT is not None:
        yield
        return
    with KeptCompilers() as nvrtc.KEPT:
        try:
            yield
        finally:
            nvrtc.KEPT = None
