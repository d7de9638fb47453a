"""Every detector of the stand-in on a run that it is about: the cause that it finds, its sentence and its advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from textwrap import fill

import pytest
from inline_snapshot import snapshot

from grader.findings.kinds import KINDS
from grader.findings.record import Finding
from grader.grading.hints import in_words
from grader.grading.hints.rules import Seen
from grader.verdict import Diagnostic
from tests.standin.device.rig import Rig, integer, pointer

Example = Callable[[Rig], None]
"""The calls of a host file, setup() and run() together."""


def _pinned(rig: Rig, streams: int = 2) -> tuple[int, int, list[int]]:
    """Device memory for x and y, the exercise's arrays pinned, and streams."""
    rig.pin("x", "out")
    x, y = rig.device(2)
    return x, y, rig.streams(streams)


def _copy_in(rig: Rig, x: int, stream: int, line: int = 10) -> None:
    rig.m.copy(line, x, rig.at("x"), rig.bytes, stream, False)


def _end(rig: Rig) -> None:
    rig.m.synchronize(30, "device", 0)


def read_before_written(rig: Rig) -> None:
    x, y, (first, second) = _pinned(rig)
    _copy_in(rig, x, first)
    rig.launch(11, "twice", x, y, integer(rig.n), stream=second)
    _end(rig)


def overwritten_before_read(rig: Rig) -> None:
    x, y, (first, second) = _pinned(rig)
    rig.launch(11, "twice", x, y, integer(rig.n), stream=first)
    _copy_in(rig, x, second)
    _end(rig)


def both_write(rig: Rig) -> None:
    x, _, (first, second) = _pinned(rig)
    rig.m.fill(10, x, 0, rig.bytes, first, False)
    rig.m.fill(11, x, 1, rig.bytes, second, False)
    _end(rig)


def unfinished(rig: Rig) -> None:
    _, y, (stream, _) = _pinned(rig)
    rig.m.fill(10, y, 0, rig.bytes, stream, False)
    rig.m.copy(11, rig.at("out"), y, rig.bytes, stream, False)


def never_read(rig: Rig) -> None:
    x, _, (stream, _) = _pinned(rig)
    _copy_in(rig, x, stream)


def changed_before_read(rig: Rig) -> None:
    x, _, (stream, _) = _pinned(rig)
    _copy_in(rig, x, stream)
    rig.view("x")[:] = 7
    _end(rig)


def changed_before_written(rig: Rig) -> None:
    _, y, (stream, _) = _pinned(rig)
    rig.m.fill(10, y, 0, rig.bytes, stream, False)
    rig.m.copy(11, rig.at("out"), y, rig.bytes, stream, False)
    rig.view("out")[:] = 7
    _end(rig)


def freed(rig: Rig) -> None:
    x, _, (stream, _) = _pinned(rig)
    _copy_in(rig, x, stream)
    rig.m.free(11, x)
    _end(rig)


def unpinned(rig: Rig) -> None:
    x, _, (stream, _) = _pinned(rig)
    _copy_in(rig, x, stream)
    rig.m.host_unregister(11, rig.at("x"))
    _end(rig)


def ordinary_memory(rig: Rig) -> None:
    (y,) = rig.device()
    rig.launch(10, "twice", rig.at("x"), y, integer(rig.n))


def address(rig: Rig) -> None:
    x, y, _ = _pinned(rig)
    rig.m.launch(10, "add_one", [1], [32], 0, [pointer(x), pointer(y)], ["array", "array"], 0, False, 0)
    _end(rig)


def misread(rig: Rig) -> None:
    (x,) = rig.device()
    rig.m.fill(9, x, 0, rig.bytes, 0, False)
    rig.m.launch(10, "add_one", [1], [32], 0, [pointer(x), b"\0\0\0\0\0\0\xf0\x3f"], ["array", "float"], 0, False, 0)
    _end(rig)


def refused(rig: Rig) -> None:
    rig.m.refused(10, "cudaDeviceSetLimit", "cudaErrorInvalidValue: no")


def not_captured(rig: Rig) -> None:
    x, y, (stream, _) = _pinned(rig)
    rig.m.fill(9, x, 0, rig.bytes, 0, True)
    rig.m.capture_begin(10, stream, 2)
    rig.launch(11, "twice", x, y, integer(rig.n))
    rig.m.graph_launch(13, rig.m.capture_end(12, stream), stream)
    _end(rig)


def unwritten_copy(rig: Rig) -> None:
    _, y, _ = _pinned(rig)
    rig.m.copy(10, rig.at("out"), y, rig.bytes, 0, False)
    _end(rig)


def brought_elsewhere(rig: Rig) -> None:
    _, y, _ = _pinned(rig)
    rig.m.fill(9, y, 0, rig.bytes, 0, False)
    rig.m.fetch(10, y, rig.bytes, 0)


def read_too_early(rig: Rig) -> None:
    x, y, z = (rig.m.malloc(line, 0, rig.bytes, True) for line in (5, 6, 7))
    rig.floats(x, rig.n)[:] = 1
    rig.launch(10, "twice", x, y, integer(rig.n))
    rig.floats(z, rig.n)[:] = 2
    rig.launch(12, "add_one", z, integer(rig.n))
    _end(rig)


def page_faults(rig: Rig, cause: str) -> None:
    x, y = (rig.m.malloc(5, 0, 8 * (64 << 10), True) for _ in range(2))
    rig.floats(x, 1 << 17)[:] = 1
    if cause:
        size = 64 << 10 if cause == "in_part" else 8 * (64 << 10)
        rig.m.prefetch(11, x, size, -1 if cause == "sent_back" else 0, 0)
    if cause == "host_wrote":
        rig.floats(x, rig.n)[:] = 2
    rig.m.launch(12, "twice", [512], [256], 0, [pointer(x), pointer(y), integer(1 << 17)], ["array"] * 2 + ["int32"], 0,
                 False, 0)  # fmt: skip
    _end(rig)


def staged(rig: Rig) -> None:
    mine = rig.m.host_alloc(9, rig.bytes, 0)
    (x,) = rig.device()
    rig.floats(mine, rig.n)[:] = rig.view("x")
    rig.m.copy(11, x, mine, rig.bytes, 0, False)
    _end(rig)


def pipeline(rig: Rig, cause: str) -> None:
    """x in ten pieces."""
    x, y, streams = _pinned(rig)
    streams = {"one_stream": streams[:1], "default_stream": [*rig.streams(1, non_blocking=False), 0]}.get(
        cause, streams
    )
    for piece in range(3 if cause == "few_pieces" else 10):
        stream, at = streams[piece % len(streams)], 400 * piece
        rig.m.copy(11, x + at, rig.at("x") + at, 400, stream, False)
        kernel = [pointer(x + at), pointer(y + at), integer(100)]
        rig.m.launch(12, "twice", [1], [128], 0, kernel, ["array", "array", "int32"], stream, False, 0)
        rig.m.copy(13, rig.at("out") + at, y + at, 400, stream, False)
        if cause == "host_waits":
            rig.m.synchronize(14, "stream", stream)
    _end(rig)


EXAMPLES: Mapping[str, Example] = {
    "missing_wait.read_before_written": read_before_written,
    "missing_wait.overwritten_before_read": overwritten_before_read, "missing_wait.both_write": both_write,
    "unfinished.writes": unfinished, "unfinished.reads": never_read,
    "host_conflict.changed_before_read": changed_before_read,
    "host_conflict.changed_before_written": changed_before_written, "use_after_free.freed": freed,
    "use_after_free.unpinned": unpinned, "cuda_error.ordinary_memory": ordinary_memory,
    "argument_type.address": address, "argument_type.misread": misread, "refused.": refused,
    "not_captured.": not_captured, "no_kernel_in_graph.": not_captured, "unwritten_copy.": unwritten_copy,
    "brought_elsewhere.": brought_elsewhere, "read_too_early.": read_too_early,
    **{f"page_faults.{why}": partial(page_faults, cause=why) for why in ("", "host_wrote", "sent_back", "in_part")},
    "staged.": staged,
    **{
        f"no_overlap.{why}": partial(pipeline, cause=why)
        for why in ("one_stream", "default_stream", "host_waits", "few_pieces")
    },
}  # fmt: skip
"""By kind and cause. Windows of the L2 cache have theirs in test_persisting, captures in test_capture_rules."""


def found(name: str) -> Finding:
    """What the detector finds in its example."""
    rig = Rig()
    rig.fresh()
    with rig.run() as ran:
        EXAMPLES[name](rig)
    return next(one for one in ran.report.findings if f"{one.kind}.{one.cause}" == name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_detector_finds_its_cause_and_has_advice(name: str) -> None:
    one = in_words(found(name), Seen())
    assert one.kind in KINDS
    assert bool(one.hint) == (name not in ("refused.", "staged.", "page_faults."))


def test_the_words_of_every_detector() -> None:
    assert "\n\n".join(_shown(name, in_words(found(name), Seen())) for name in EXAMPLES) == snapshot("""\
missing_wait.read_before_written: kernel twice on stream 2 (k_host.py:11) reads the device copy of x before
  the copy on stream 1 (k_host.py:10) that fills it; no event between them
→ hostfile.record_an_event: record an event on stream 1 after the copy (line 10) and let stream 2 wait for
  it first (`stream.wait_event(event)`); or put both on one stream

missing_wait.overwritten_before_read: the copy on stream 2 (k_host.py:10) overwrites the device copy of x
  before kernel twice on stream 1 (k_host.py:11) has read it; no event between them
→ hostfile.record_an_event: record an event on stream 1 after kernel twice (line 11) and let stream 2 wait
  for it first (`stream.wait_event(event)`); or put both on one stream; or give each a buffer of its own

missing_wait.both_write: the fill on stream 2 (k_host.py:11) writes memory allocated at line 3, which the
  fill on stream 1 (k_host.py:10) writes too: either may come last; no event between them
→ hostfile.record_an_event: record an event on stream 1 after the fill (line 10) and let stream 2 wait for
  it first (`stream.wait_event(event)`); or put both on one stream; or give each a buffer of its own

unfinished.writes: run() returned while the copy of out on stream 1 (k_host.py:11) was still queued; it
  writes the host's memory, and nothing waited for it
→ hostfile.wait_at_the_end_of_run: wait at the end of run(), once: `stream.synchronize()` for each stream
  that still has work, or for an event after all of it

unfinished.reads: run() returned while the copy of x on stream 1 (k_host.py:10) was still queued; it reads
  the host's memory, and nothing waited for it
→ hostfile.wait_at_the_end_of_run: wait at the end of run(), once: `stream.synchronize()` for each stream
  that still has work, or for an event after all of it

host_conflict.changed_before_read: the host changed x before the copy on stream 1 (k_host.py:10) had read
  it: it was queued, and nothing waited for it
→ hostfile.wait_before_the_host_writes: memory of the host is read when the operation is done, not when it
  is queued: wait for it before you write there (an event after it, `event.synchronize()`), or take another
  buffer

host_conflict.changed_before_written: the host changed out before the copy on stream 1 (k_host.py:11) had
  written it: it was queued, and nothing waited for it
→ hostfile.wait_for_what_writes_there: memory of the host is written when the operation is done, not when it
  is queued, so that either may come last: wait for it before you write there (an event after it,
  `event.synchronize()`), or take another buffer

use_after_free.freed: the copy on stream 1 (k_host.py:10) uses the device copy of x, which was freed on line
  11
→ hostfile.wait_before_freeing: freeing need not wait for queued work, so wait for what uses the memory
  first. A graph keeps the addresses with which it was captured

use_after_free.unpinned: the copy on stream 1 (k_host.py:10) uses x, which was unpinned on line 11 before
  the copy was done
→ hostfile.leave_it_pinned: hostUnregister need not wait for queued copies: wait for them first, or leave
  the array pinned

cuda_error.ordinary_memory: cudaErrorIllegalAddress: kernel twice on the default stream (k_host.py:10) uses
  x, which is ordinary host memory: a GPU cannot reach it
→ hostfile.pin_it: pin it first (hostRegister), and pass the devicePointer that pointerGetAttributes returns

argument_type.address: argument 2 of add_one (k_host.py:10) is an address of 8 bytes, and the parameter is
  an integer of 4
→ hostfile.order_of_the_parameters: pass the arguments in the order of the kernel's parameters

argument_type.misread: argument 2 of add_one (k_host.py:10) is a Python float of 8 bytes, and the parameter
  is an integer of 4, so that the kernel sees 0 instead of 1
→ hostfile.exact_type: a launch copies bytes and converts nothing: pass np.int32(…)

refused.: cudaDeviceSetLimit was refused: cudaErrorInvalidValue: no; cuda.bindings returns errors and raises
  nothing
→ no advice

not_captured.: kernel twice on the default stream (k_host.py:11) was launched while stream 1 was being
  captured (begin_capture on line 10): it ran at once, and is not in the graph
→ hostfile.capture_it: put it inside `with stream:`, with the stream that is being captured

no_kernel_in_graph.: the graph that is launched here (captured from line 10 on) holds nothing
→ hostfile.launch_inside_the_capture: a launch becomes part of the graph inside `with stream:`, between
  begin_capture() and end_capture()

unwritten_copy.: the copy on the default stream (k_host.py:10) copied 3.91 KiB of the device copy of out,
  allocated at line 3, that were never written
→ hostfile.a_kernel_writes_first: a kernel has to write that memory first: see that it is launched before
  the copy, and gets this array

brought_elsewhere.: run() copied 3.91 KiB to another array (line 10), and nothing to out
→ hostfile.into_the_given_array: write into the out that setup() got: `.get(out=out)`, or `out[:] = …`; a
  new array under the same name is another one

read_too_early.: the host wrote managed memory allocated at line 7 while kernel twice on the default stream
  (k_host.py:10) was still queued, which writes managed memory allocated at line 6: if it computed the first
  from the second, it read too early
→ hostfile.wait_for_the_kernel: wait for the kernel before the host reads what it writes:
  `stream.synchronize()`

page_faults.: the most came when kernel twice on the default stream (k_host.py:12) touched 512 KiB of
  managed memory, allocated at line 5, whose pages were on the host
→ no advice

page_faults.host_wrote: the most came when kernel twice on the default stream (k_host.py:12) touched 512 KiB
  of managed memory, allocated at line 5, whose pages were on the host: the host wrote there after the
  prefetch on line 11
→ hostfile.prefetch_after_the_host: move the prefetch after the host's writing: pages that the host writes
  to go back to it

page_faults.sent_back: the most came when kernel twice on the default stream (k_host.py:12) touched 512 KiB
  of managed memory, allocated at line 5, whose pages were on the host: the prefetch on line 11 sent them
  there
→ hostfile.prefetch_to_the_gpu: prefetch to the GPU: the number of the device, not cudaCpuDeviceId (-1)

page_faults.in_part: the most came when kernel twice on the default stream (k_host.py:12) touched 512 KiB of
  managed memory, allocated at line 5, whose pages were on the host: the prefetch on line 11 covers 64 KiB
  of 512 KiB
→ hostfile.prefetch_all_of_it: prefetch all that the kernel uses: the size counts bytes (`nbytes`)

staged.: the host itself copied 3.86 KiB in run(): to pinned allocations, or to outputs. A CPU core copies
  more slowly than the link; pin the arrays themselves instead, once, in setup (hostRegister)
→ no advice

no_overlap.one_stream: Everything is on one stream, which runs its operations in order. Queueing 30
  operations took the host 97 % of the time.
→ hostfile.side_by_side: use a few streams

no_overlap.default_stream: 5 copies in and 5 kernels and 5 copies out are on the default stream (lines 11,
  12 and 13): it waits for every ordinary stream, and they for it. Queueing 30 operations took the host 97 %
  of the time.
→ hostfile.side_by_side: launch the kernel inside `with stream:`, on the stream that is meant for it;
  streams made with non_blocking=True do not wait for the default stream

no_overlap.host_waits: There were 9 waits of the host before it queued more, at line 14: the GPU is idle
  meanwhile.
→ hostfile.side_by_side: queue everything first, and wait once, at the end of run(); `get` waits, too,
  unless it is told blocking=False. What has to come first on another stream, let that stream wait for an
  event

no_overlap.few_pieces: 3 kernels do all of the work: nothing overlaps with the first copy in, nor with the
  last copy out, and these are long. Queueing 9 operations took the host 93 % of the time.
→ hostfile.side_by_side: cut the work into a few dozen chunks\
""")


def _shown(name: str, one: Diagnostic) -> str:
    advice = f"→ {one.rule}: {one.hint}" if one.hint else "→ no advice"
    paragraphs = (f"{name}: {one.message}", advice)
    return "\n".join(fill(text, 108, subsequent_indent="  ", break_on_hyphens=False) for text in paragraphs)
