"""Findings of the host file in words. A message says fact, place, evidence; a hint what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from grader.render.text import bytes_words, counted
from grader.standin.device.arguments import ArgumentMismatch
from grader.standin.device.conflicts import Conflict
from grader.standin.device.graphs import Capture, CapturedGraph
from grader.standin.device.managed import PageFault
from grader.standin.device.memory import Space
from grader.standin.device.operations import AwaitedEvent, Copy, Occurrences, StreamOperation
from grader.standin.device.spans import common, span
from grader.verdict import Diagnostic

MOST_FINDINGS = 20
ORDER = (
    "use_after_free", "missing_wait", "host_conflict", "cuda_error", "unfinished", "refused",
    "argument_type", "still_capturing", "not_captured", "no_kernel_in_graph", "unwritten_copy",
    "brought_elsewhere", "read_too_early", "page_faults", "staged",
)  # fmt: skip
"""Which kind is the cause of which: the first is told first."""


@dataclass(frozen=True)
class Words:
    """Pieces of messages. ``file`` is the host file's name."""

    file: str
    space: Space
    occurrences: Occurrences = field(default_factory=Occurrences)

    def at(self, op: StreamOperation) -> str:
        """``(streams_host.py:41)``, with a space before it; in a loop ``(streams_host.py:41, the 3rd time)``."""
        return f" ({self.file}:{op.job.where}{self.occurrences.words(op)})" if op.job.where else ""

    def doer(self, op: StreamOperation) -> str:
        """``kernel smooth on stream 2 (streams_host.py:41)``."""
        return f"{noun_of(op)} on {stream(op)}{self.at(op)}"


def stream(op: StreamOperation) -> str:
    """``stream 2``, ``the default stream``; with the device where that is not the first."""
    return stream_name(op.stream, op.job.device)


def stream_name(number: int, device: int) -> str:
    """The same for the stream that the host file made as that one; 0 is the default stream."""
    name = f"stream {number}" if number else "the default stream"
    return f"{name} of device {device}" if device else name


def noun_of(op: StreamOperation) -> str:
    if op.job.kind == "kernel":
        return f"kernel {op.job.name}" + (" of a graph" if op.in_graph else "")
    return {"fill": "the fill", "prefetch": "the prefetch"}.get(op.job.kind, "the copy")


SETUP_HINT = (
    "wait at the end of setup() for what it has queued: `cupy.cuda.Device().synchronize()`. That time does not count"
)


def unfinished(words: Words, late: list[StreamOperation]) -> Diagnostic:
    """run() returned too early; ``late`` are the operations on the host's memory that were still queued."""
    writers = [op for op in late if op.footprint is not None and len(words.space.of_host(op.footprint.changed))]
    first = (writers or late)[0]
    others = len(late) - 1
    more = f", nor for {counted(others, 'more operation')}" if others else ""
    name = f" of {first.job.name}" if first.job.kind in ("to_device", "to_host", "prefetch") and first.job.name else ""
    where = f"{noun_of(first)}{name} on {stream(first)}{words.at(first)}"
    uses = "writes" if writers else "reads"
    return Diagnostic(
        "unfinished",
        f"run() returned while {where} was still queued; it {uses} the host's memory, and nothing waited for it{more}",
        file=words.file, line=first.job.where or None, count=len(late),
        hint="wait at the end of run(), once: `stream.synchronize()` for each stream that still has work, or for an "
        "event behind all of it",
    )  # fmt: skip


def host_conflict(words: Words, op: StreamOperation, address: int) -> Diagnostic:
    """Memory of the host that a queued operation uses has changed meanwhile."""
    reads = op.footprint is not None and common(op.footprint.reads, span(address, 1)) is not None
    done, hint = _READ if reads else _FILLED
    return Diagnostic(
        "host_conflict",
        f"the host changed {words.space.name(address)} before {words.doer(op)} had {done} it: it was queued, and "
        "nothing waited for it",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None, hint=hint,
    )  # fmt: skip


_READ = (
    "read",
    "memory of the host is read when the operation is done, not when it is queued: wait for it before you write there "
    "again (an event behind it, `event.synchronize()`), or take another buffer",
)
_FILLED = (
    "written",
    "memory of the host is written when the operation is done, not when it is queued, so that either may come last: "
    "wait for it before you write there (an event behind it, `event.synchronize()`), or take another buffer",
)


def left_by_setup(words: Words, op: StreamOperation, address: int) -> Diagnostic:
    """Memory of the host that an operation of setup() uses has changed since."""
    return Diagnostic(
        "host_conflict",
        f"setup() returned while {words.doer(op)} was still queued; it uses {words.space.name(address)}, which got new "
        "values since then",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None, hint=SETUP_HINT,
    )  # fmt: skip


def use_after_free(words: Words, op: StreamOperation, address: int) -> Diagnostic:
    """An operation uses memory that is gone."""
    freed = words.space.freed(address)
    line = freed.freed_at if freed is not None else None
    dropped = freed is not None and freed.was_dropped
    at = f" since line {line}" * dropped + f" on line {line}" * (not dropped) if line else ""
    gone = f"which nobody holds any more{at}" if dropped else f"which was freed{at}"
    return Diagnostic(
        "use_after_free", f"{words.doer(op)} uses {words.space.name(address)}, {gone}",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None,
        hint=(_KEEP_BESIDE if op.in_graph else _KEEP) if dropped else _WAIT_BEFORE_FREE,
    )  # fmt: skip


_WAIT_BEFORE_FREE = (
    "freeing need not wait for queued work, so wait for what uses the memory first. A graph keeps the addresses with "
    "which it was captured"
)
_KEEP = "keep the array as long as something uses its address: CuPy gives memory that nobody holds to the next array"
_KEEP_BESIDE = (
    "a graph keeps the addresses with which it was captured, but not the arrays: keep those beside the graph. CuPy "
    "gives memory that nobody holds to the next array"
)


def unpinned(words: Words, op: StreamOperation, address: int) -> Diagnostic:
    """A copy was queued for pinned memory, which was unpinned before it was done."""
    region = words.space.unpinned(address)
    at = f" on line {region.freed_at}" if region is not None and region.freed_at else ""
    return Diagnostic(
        "use_after_free",
        f"{words.doer(op)} uses {words.space.name(address)}, which was unpinned{at} before the copy was done",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None,
        hint="hostUnregister need not wait for queued copies: wait for them first, or leave the array pinned",
    )  # fmt: skip


def out_of_reach(words: Words, op: StreamOperation, address: int, why: str, hint: str) -> Diagnostic:
    """A kernel used memory that exists, and that it may not use."""
    return Diagnostic(
        "cuda_error",
        f"cudaErrorIllegalAddress: {words.doer(op)} uses {words.space.name(address)}, {why}",
        file=words.file, line=op.job.where or None, kernel=op.job.name,
        array=words.space.copied_name(address) or None, hint=hint,
    )  # fmt: skip


def refused(words: Words, where: int, function: str, message: str) -> Diagnostic:
    """A call of cuda.bindings came back with an error, which nobody need have looked at."""
    return Diagnostic(
        "refused", f"{function} was refused: {message}; cuda.bindings returns errors and raises nothing",
        severity="warning", file=words.file, line=where or None,
    )  # fmt: skip


def l2_window(words: Words, message: str, where: int) -> Diagnostic:
    """An access-policy window keeps less than it was to."""
    return Diagnostic("l2_window", message, severity="warning", file=words.file, line=where or None)


def argument_type(words: Words, where: int, kernel: str, number: int, name: str, found: ArgumentMismatch) -> Diagnostic:
    """A launch passes bytes that the parameter reads as something else."""
    line = f" ({words.file}:{where})" if where else ""
    seen = f", so that the kernel sees {found.seen}" if found.seen else ""
    hint = (
        f"a launch copies bytes and converts nothing: pass {found.wrap}({name or '…'})"
        if found.wrap
        else "pass the arguments in the order of the kernel's parameters"
    )
    return Diagnostic(
        "argument_type",
        f"argument {number} of {kernel}{line} is {found.given}, and the parameter{f' {name}' if name else ''} is "
        f"{found.wanted}{seen}",
        severity="warning", file=words.file, line=where or None, kernel=kernel, hint=hint,
    )  # fmt: skip


class Findings:
    """What was found, alike ones as one: of one kind, at the same lines."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Diagnostic] = {}
        self._consequences: set[tuple[object, ...]] = set()

    def add(self, finding: Diagnostic, *lines: int, consequence: bool = False) -> None:
        """``lines`` are further ones that it is about; a ``consequence`` is told after its likely causes."""
        key = (finding.kind, finding.line, *lines)
        if consequence and key not in self._found:
            self._consequences.add(key)
        known = self._found.get(key)
        self._found[key] = finding if known is None else replace(known, count=known.count + finding.count)

    def carry(self, earlier: Findings) -> None:
        """Findings of an earlier run that this one did not have again."""
        for key, finding in earlier._found.items():
            if key not in self._found and key in earlier._consequences:
                self._consequences.add(key)
            self._found.setdefault(key, finding)

    def all(self) -> tuple[Diagnostic, ...]:
        """The cause first; those of one kind in the order in which they came."""
        keys = sorted(self._found, key=lambda key: (key in self._consequences, ORDER.index(self._found[key].kind)))
        return tuple(self._found[key] for key in keys[:MOST_FINDINGS])


EARLIER, IN_SETUP = ", of an earlier run", ", in setup()"
"""When an operation was queued that is none of this run."""


def missing_wait(words: Words, conflict: Conflict, when: str = "", wait: AwaitedEvent | None = None) -> Diagnostic:
    """Two operations that nothing orders; ``when`` the first was queued, if not in this run (`EARLIER`, `IN_SETUP`).

    ``wait`` was to put them in order, and does not.
    """
    first, second = conflict.first, conflict.second
    what = words.space.name(conflict.address)
    before = words.doer(first) + (f"{when}," if when else "")
    message = _CLASHES[conflict.did, conflict.does](words.doer(second), before, what, noun_of(first))
    array = words.space.copied_name(conflict.address) or None
    return Diagnostic(
        "missing_wait", f"{message}; {_missing(first, second)}", file=words.file, line=second.job.where or None,
        kernel=second.job.name if second.job.kind == "kernel" else None, array=array,
        hint=_outside_hint(conflict) or (SETUP_HINT if when == IN_SETUP else _wait_hint(words, conflict, wait)),
    )  # fmt: skip


def _fills(second: str, first: str, what: str, noun: str) -> str:
    verb = "writes" if noun.startswith("kernel") else "fills"
    return f"{second} reads {what} before {first} that {verb} it"


def _reads(second: str, first: str, what: str, noun: str) -> str:
    return f"{second} overwrites {what} before {first} has read it"


def _both(second: str, first: str, what: str, noun: str) -> str:
    return f"{second} writes {what}, which {first} writes too: either may come last"


_CLASHES: dict[tuple[str, str], Callable[[str, str, str, str], str]] = {
    ("writes", "reads"): _fills, ("reads", "writes"): _reads, ("writes", "writes"): _both,
}  # fmt: skip


def _missing(first: StreamOperation, second: StreamOperation) -> str:
    if first.job.device != second.job.device:
        return "streams of different devices wait for each other only by events"
    return "no event between them"


def _outside_hint(conflict: Conflict) -> str:
    """Where one of the two is not in the graph to which it was meant to belong; "" else."""
    op = next((op for op in (conflict.first, conflict.second) if op.beside), None)
    if op is None:
        return ""
    line = f" (line {op.job.where})" if op.job.where else ""
    verb = "was launched" if op.job.kind == "kernel" else "was queued"
    return (
        f"{noun_of(op)}{line} {verb} on {stream(op)} while stream {op.beside} was being captured, so it is not in the "
        f"graph: {captured_instead(op)}"
    )


def captured_instead(op: StreamOperation) -> str:
    """What makes an operation part of the graph that was being captured while it went into another stream."""
    if op.job.kind in ("kernel", "fill"):
        return "put it inside `with stream:`, with the stream that is being captured"
    return "copy on the stream that is being captured, by a call that does not wait: memcpyAsync(…, stream.ptr)"


def _wait_hint(words: Words, conflict: Conflict, wait: AwaitedEvent | None) -> str:
    first, second = conflict.first, conflict.second
    line = f" (line {first.job.where})" if first.job.where else ""
    event, other = f"an event on {stream(first)} behind {noun_of(first)}{line}", stream(second)
    # From outside, only a whole graph can be waited for, or wait; the streams inside of it are those of its capture.
    if first.in_graph and not second.in_graph:
        event = "an event behind the launch of the graph, on the stream of that launch,"
    if second.in_graph and not first.in_graph:
        other = "the stream that launches the graph"
    hint = f"record {event} and let {other} wait for it first (`stream.wait_event(event)`)"
    if wait is not None:
        hint = _mistaken(words, first, second, wait)
    on_one_device = first.job.device == second.job.device
    if on_one_device:
        hint += "; or put both on one stream"
    if conflict.does == "writes":
        hint += "; or give each a buffer of its own"
    if on_one_device and 0 in (first.stream, second.stream):
        hint += ". A stream made with non_blocking=True does not wait for the default stream, nor that one for it"
    if first.job.kind == "to_device" and isinstance(first.job.work, Copy) and first.job.work.pageable:
        hint += ". When a copy from memory that is not pinned returns, it has read there; the bytes may arrive later"
    return hint


def _mistaken(words: Words, first: StreamOperation, second: StreamOperation, wait: AwaitedEvent) -> str:
    """There is a wait; what its event says, and which event it had to be."""
    there = f"{stream(second)} does wait for an event{_line(wait.where)}"
    recorded = f"but that was recorded on {stream_name(wait.stream, wait.device)}{_line(wait.recorded)}"
    noun = f"{noun_of(first)}{_line(first.job.where, words.occurrences.words(first))}"
    if wait.chain == first.chain:
        return f"{there}, {recorded} before {noun} was queued: wait for an event that was recorded behind it"
    return f"{there}, {recorded}, not on {stream(first)} behind {noun}: wait for one that is recorded there"


def _line(number: int, occurrence: str = "") -> str:
    return f" (line {number}{occurrence})" if number else ""


def read_too_early(words: Words, op: StreamOperation, written: int, result: str) -> Diagnostic:
    """Beside a wrong result: the host wrote managed memory while a kernel with results for it was still queued."""
    return Diagnostic(
        "read_too_early",
        f"the host wrote {words.space.name(written)} while {words.doer(op)} was still queued, which writes {result}: "
        "if it computed the one from the other, it read too early",
        severity="note", file=words.file, line=op.job.where or None, kernel=op.job.name,
        hint="wait for the kernel before the host reads what it writes: `stream.synchronize()`",
    )  # fmt: skip


def not_captured(words: Words, op: StreamOperation, begun: int) -> Diagnostic:
    """Beside a wrong result or a race: it was put into another stream than the one that was being captured."""
    queued = "launched" if op.job.kind == "kernel" else "queued"
    line = f" (begin_capture on line {begun})" if begun else ""
    return Diagnostic(
        "not_captured",
        f"{words.doer(op)} was {queued} while stream {op.beside} was being captured{line}: it was done then and there, "
        "and is not in the graph",
        severity="note", file=words.file, line=op.job.where or None, hint=captured_instead(op),
    )  # fmt: skip


def still_capturing(words: Words, capture: Capture) -> Diagnostic:
    """Beside what goes wrong in run(): there is no graph, and the stream only records."""
    return Diagnostic(
        "still_capturing",
        f"setup() returned while stream {capture.origin.number} was still being captured: no graph came of it",
        severity="note", file=words.file, line=capture.where or None,
        hint="end the capture in setup(), and keep what `stream.end_capture()` returns: it is the graph",
    )  # fmt: skip


def no_kernel_in(words: Words, graph: CapturedGraph, where: int) -> Diagnostic:
    """Beside a wrong result: a graph that launches no kernel."""
    held = f"copies or fills ({len(graph.nodes)}), and no kernel" if graph.nodes else "nothing"
    line = f" (captured from line {graph.where} on)" if graph.where else ""
    return Diagnostic(
        "no_kernel_in_graph", f"the graph that is launched here{line} holds {held}",
        severity="note", file=words.file, line=where or None,
        hint="a launch becomes part of the graph inside `with stream:`, between begin_capture() and end_capture()",
    )  # fmt: skip


def unwritten_copy(words: Words, op: StreamOperation, start: int, size: int) -> Diagnostic:
    """Beside a wrong result: a copy brought the host what was in fresh memory."""
    region, name = words.space.at(start), words.space.name(start)
    line = f", allocated at line {region.line}" if region is not None and region.line else ""
    name = name if "allocated at" in name else f"{name}{line},"
    return Diagnostic(
        "unwritten_copy",
        f"{words.doer(op)} brought {bytes_words(size)} of {name} that nothing had written",
        severity="note", file=words.file, line=op.job.where or None,
        hint="a kernel has to write that memory first: see that it is launched before the copy, and gets this array",
    )  # fmt: skip


def brought_elsewhere(words: Words, op: StreamOperation, output: str) -> Diagnostic:
    """Beside an output that was never written: a copy of just as many bytes went to other memory of the host."""
    line = f" (line {op.job.where})" if op.job.where else ""
    return Diagnostic(
        "brought_elsewhere",
        f"run() brought {bytes_words(op.size)} to another array{line}, and nothing to {output}",
        severity="note", file=words.file, line=op.job.where or None, array=output,
        hint=f"write into the {output} that setup() got: `.get(out={output})`, or `{output}[:] = …`; a new array under "
        "the same name is another one",
    )  # fmt: skip


def staged(words: Words, size: float) -> Diagnostic:
    """Beside what is right: the host moved a good part of the arrays by itself."""
    return Diagnostic(
        "staged",
        f"the host itself moved {bytes_words(size)} in run(): to pinned allocations, or to outputs. A processor core "
        "is slower at that than the link; the arrays themselves can be pinned, once, in setup (hostRegister)",
        severity="note", file=words.file,
    )  # fmt: skip


def page_faults(words: Words, op: StreamOperation, fault: PageFault, parameter: str) -> Diagnostic:
    """Beside a count of page faults: the kernel and the memory that had the most."""
    region = fault.region
    line = f", allocated at line {region.line}" if region.line else ""
    size = f"{bytes_words(region.size)} of managed memory{line}"
    what = f"`{parameter}` ({size})" if parameter else size
    why = f": {fault.why.text}" if fault.why.text else ""
    return Diagnostic(
        "page_faults",
        f"the most came when {words.doer(op)} touched {what}, whose pages were on the host{why}",
        severity="note", file=words.file, line=op.job.where or None, kernel=op.job.name, hint=fault.why.hint,
    )  # fmt: skip
