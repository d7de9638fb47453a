"""Hints for findings on a host file: waits, streams, buffers."""

from __future__ import annotations

from typing import Any

from grader.findings.record import Finding
from grader.findings.sentences.hostfile import in_brackets, noun, stream, stream_of, time_of
from grader.grading.hints.rules import Seen, rule, table
from grader.verdict import Place

FILE = "k_host.py"


# ------------------------------------------------------------------------------------------------------------- examples


def _op(kind: str = "kernel", name: str = "k", *, in_graph: bool = False) -> dict[str, Any]:
    return {"kind": kind, "name": name, "in_graph": in_graph}


def _place(line: int, number: int, role: str = "accused", **more: Any) -> Place:
    return Place(role, line, FILE, stream=number, **more)


def _about(kind: str, cause: str, op: dict[str, Any], *others: Place, stream: int = 1, **facts: Any) -> Finding:
    """A finding on an operation that line 20 queues on a stream."""
    own, fields = _place(20, stream), {name: facts.pop(name) for name in ("kernel", "array") if name in facts}
    return Finding(kind, cause, FILE, 20, places=(own, *others), facts={"operation": op, **facts}, **fields)


def _at(kind: str, cause: str = "", **facts: Any) -> Finding:
    """A finding on line 14."""
    return Finding(kind, cause, FILE, 14, facts=facts)


def _race(cause: str = "read_before_written", first: dict[str, Any] | None = None, **facts: Any) -> Finding:
    """A race of the kernel of line 20 on stream 1 with an operation of line 16 on stream 2."""
    when = facts.pop("when", "")
    other = _place(16, facts.pop("on", 2), "other", when=when)
    first = first or _op("to_device", "x")
    return _about("missing_wait", cause, _op(), other, memory="the device copy of x", first=first, **facts)


# -------------------------------------------------------------------------------------------- operations without order


_COPY_BESIDE = {"operation": _op("to_device", "x"), "captured": 1, "line": 16, "stream": [2, 0]}


@rule("missing_wait", example=_race(beside=_COPY_BESIDE))
def meant_for_the_graph(found: Finding, seen: Seen) -> str:
    """One of the two operations is not in the graph for which it was meant."""
    beside = found.facts.get("beside")
    if beside is None:
        return ""
    op, line = beside["operation"], in_brackets(f"line {beside['line']}" if beside["line"] else "")
    verb = "was launched" if op["kind"] == "kernel" else "was queued"
    return (
        f"{noun(op)}{line} {verb} on {stream(*beside['stream'])} while stream {beside['captured']} was being captured, "
        f"so it is not in the graph: {_captured_instead(op)}"
    )


def _captured_instead(op: dict[str, Any]) -> str:
    """How to capture an operation that was queued on another stream than the captured one."""
    if op["kind"] in ("kernel", "fill"):
        return "put it inside `with stream:`, with the stream that is being captured"
    return "copy on the stream that is being captured, by a call that does not wait: memcpyAsync(…, stream.ptr)"


_SETUP = (
    "wait at the end of setup() for what it has queued: `cupy.cuda.Device().synchronize()`. That time does not count"
)


@rule("missing_wait", example=_race(when="setup"))
def wait_in_setup(found: Finding, seen: Seen) -> str:
    return _SETUP if found.places[1].when == "setup" else ""


_TOO_EARLY = {"line": 19, "recorded": 15, "stream": [2, 0], "too_early": True}


@rule("missing_wait", example=_race(wait=_TOO_EARLY))
def event_recorded_too_early(found: Finding, seen: Seen) -> str:
    """There is a wait, but for an event that was recorded before the operation was queued."""
    wait = found.facts.get("wait")
    if wait is None or not wait["too_early"]:
        return ""
    early = f"before {_first(found)} was queued: wait for an event that was recorded after it"
    return f"{_there_is_a_wait(found, wait)} {early}{_or_else(found)}"


@rule("missing_wait", example=_race(wait=_TOO_EARLY | {"stream": [3, 0], "too_early": False}))
def event_of_another_stream(found: Finding, seen: Seen) -> str:
    """There is a wait, but for an event of another stream."""
    wait = found.facts.get("wait")
    if wait is None or wait["too_early"]:
        return ""
    other = f"not on {stream_of(found.places[1])} after {_first(found)}: wait for one that is recorded there"
    return f"{_there_is_a_wait(found, wait)}, {other}{_or_else(found)}"


def _there_is_a_wait(found: Finding, wait: dict[str, Any]) -> str:
    there = f"{stream_of(found.places[0])} does wait for an event{_line(wait['line'])}"
    return f"{there}, but that was recorded on {stream(*wait['stream'])}{_line(wait['recorded'])}"


def _first(found: Finding) -> str:
    place = found.places[1]
    return f"{noun(found.facts['first'])}{_line(place.line, time_of(place))}"


def _line(number: int | None, time: str = "") -> str:
    return f" (line {number}{time})" if number else ""


@rule("missing_wait", example=_race("both_write", _op("fill", ""), on=0))
def record_an_event(found: Finding, seen: Seen) -> str:
    first, second = found.facts["first"], found.facts["operation"]
    event = f"an event on {stream_of(found.places[1])} after {noun(first)}{_line(found.places[1].line)}"
    other = stream_of(found.places[0])
    # Outside a graph, one can only wait for the whole graph, or let it wait: its inner streams existed at its capture.
    if first["in_graph"] and not second["in_graph"]:
        event = "an event after the launch of the graph, on the stream of that launch,"
    if second["in_graph"] and not first["in_graph"]:
        other = "the stream that launches the graph"
    return f"record {event} and let {other} wait for it first (`stream.wait_event(event)`){_or_else(found)}"


def _or_else(found: Finding) -> str:
    """Alternatives, and facts about streams and copies that people often do not know."""
    second, first = found.places
    hint = "; or put both on one stream" if first.device == second.device else ""
    if found.cause != "read_before_written":
        hint += "; or give each a buffer of its own"
    if first.device == second.device and 0 in (first.stream, second.stream):
        hint += (
            ". What is queued outside of `with stream:` goes to the default stream. A stream made with "
            "non_blocking=True does not wait for the default stream, nor that one for it"
        )
    if found.facts.get("pageable"):
        hint += ". When a copy from memory that is not pinned returns, it has read there; the bytes may arrive later"
    return hint


@rule("cuda_error", example=_about("cuda_error", "other_device", _op(), memory="the copy of x", owner=1),
      cause="other_device")  # fmt: skip
def let_its_kernels_in(found: Finding, seen: Seen) -> str:
    owner, device = found.facts["owner"], found.places[0].device
    return f"let its kernels in: deviceEnablePeerAccess({owner}) while device {device} is current"


_MISREAD: dict[str, Any] = {
    "number": 2, "name": "r", "given": "float", "given_bytes": 8, "element": "f32", "element_bytes": 4,
    "seen": "0", "value": "0.5", "is_python": True,
}  # fmt: skip


@rule("argument_type", example=Finding("argument_type", "misread", FILE, 14, "k", facts=_MISREAD), cause="misread")
def exact_type(found: Finding, seen: Seen) -> str:
    element, name = found.facts["element"], found.facts["name"]
    return f"a launch copies bytes and converts nothing: pass np.{_NUMPY.get(element, 'int64')}({name or '…'})"


_NUMPY = {
    "f32": "float32", "f64": "float64", "u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "int32",
    "s32": "int32",
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- notes


@rule("not_captured", example=_about("not_captured", "", _op(), captured=2, begun=14))
def capture_it(found: Finding, seen: Seen) -> str:
    return _captured_instead(found.facts["operation"])


@rule("brought_elsewhere",
      example=_about("brought_elsewhere", "", _op("to_host", ""), bytes=4096, array="out"))  # fmt: skip
def into_the_given_array(found: Finding, seen: Seen) -> str:
    out = found.array
    return (
        f"write into the {out} that setup() got: `.get(out={out})`, or `{out}[:] = …`; a new array under the same name "
        "is another one"
    )


_ORDER = {"cause": "stage_by_stage", "before": "to_device", "count": 2, "lines": [20, 22]}


@rule("no_overlap", example=_at("no_overlap", "stage_by_stage", causes=[_ORDER]))
def side_by_side(found: Finding, seen: Seen) -> str:
    """A hint for the first cause only: the others may be consequences."""
    if found.cause != "default_stream":
        return _SIDE_BY_SIDE[found.cause]
    cure = (
        "launch the kernel inside `with stream:`, on the stream that is meant for it"
        if "kernel" in found.facts["causes"][0]["counts"]
        else "put these copies on the stream that is meant for them"
    )
    return f"{cure}; streams made with non_blocking=True do not wait for the default stream"


_SIDE_BY_SIDE = {
    "one_stream": "use a few streams",
    "host_waits": "queue everything first, and wait once, at the end of run(); `get` waits, too, unless it is told "
    "blocking=False. What has to come first on another stream, let that stream wait for an event",
    "stage_by_stage": "go chunk by chunk: copy in, kernel and copy out of one chunk, then those of the next",
    "few_pieces": "cut the work into a few dozen chunks",
    "busy_host": "make fewer and larger chunks: each call costs the host some microseconds",
}

# ------------------------------------------------------------------------------------------ one hint for each cause

_GONE: dict[str, Any] = {"memory": "the device copy of x", "gone_at": 12}
_FRESH: dict[str, Any] = {"memory": "the device copy of out", "bytes": 4096, "allocated_at": 9, "has_name": True}
_PAGES: dict[str, Any] = {
    "parameter": "x", "bytes": 1 << 20, "allocated_at": 9, "why": {"line": 14, "more": 0, "covered": 1 << 18},
}  # fmt: skip
_WAIT = "wait for it before you write there (an event after it, `event.synchronize()`), or take another buffer"
_ADDRESS = _MISREAD | {"given": "array", "seen": "", "value": "", "is_python": False}


def _pages(cause: str) -> Finding:
    return _about("page_faults", cause, _op(), kernel="k", **_PAGES)


table(
    "hostfile",
    ("wait_at_the_end_of_run", "unfinished", "", _about("unfinished", "writes", _op("to_host", "out"), others=0),
     "wait at the end of run(), once: `stream.synchronize()` for each stream that still has work, or for an event "
     "after all of it"),
    ("wait_at_the_end_of_setup", "host_conflict", "left_by_setup",
     _about("host_conflict", "left_by_setup", _op(), memory="x"), _SETUP),
    ("wait_before_the_host_writes", "host_conflict", "changed_before_read",
     _about("host_conflict", "changed_before_read", _op("to_device", "x"), memory="x"),
     f"memory of the host is read when the operation is done, not when it is queued: {_WAIT}"),
    ("wait_for_what_writes_there", "host_conflict", "",
     _about("host_conflict", "changed_before_written", _op("to_host", "x"), memory="x"),
     "memory of the host is written when the operation is done, not when it is queued, so that either may come last: "
     f"{_WAIT}"),
    ("keep_arrays_of_the_graph", "use_after_free", "dropped",
     _about("use_after_free", "dropped", _op(in_graph=True), **_GONE),
     "a graph keeps the addresses with which it was captured, but not the arrays: keep those beside the graph. CuPy "
     "gives memory that nobody holds to the next array", lambda found: found.facts["operation"]["in_graph"]),
    ("keep_the_array", "use_after_free", "dropped", _about("use_after_free", "dropped", _op(), **_GONE),
     "keep the array as long as something uses its address: CuPy gives memory that nobody holds to the next array"),
    ("leave_it_pinned", "use_after_free", "unpinned",
     _about("use_after_free", "unpinned", _op("to_device", "x"), **_GONE),
     "hostUnregister need not wait for queued copies: wait for them first, or leave the array pinned"),
    ("wait_before_freeing", "use_after_free", "freed", _about("use_after_free", "freed", _op(), **_GONE),
     "freeing need not wait for queued work, so wait for what uses the memory first. A graph keeps the addresses with "
     "which it was captured"),
    ("pin_it", "cuda_error", "ordinary_memory", _about("cuda_error", "ordinary_memory", _op(), memory="x"),
     "pin it first (hostRegister), and pass the devicePointer that pointerGetAttributes returns"),
    ("order_of_the_parameters", "argument_type", "address",
     Finding("argument_type", "address", FILE, 14, "k", facts=_ADDRESS),
     "pass the arguments in the order of the kernel's parameters"),
    ("wait_for_the_kernel", "read_too_early", "", _about("read_too_early", "", _op(), memory="x", result="`y`"),
     "wait for the kernel before the host reads what it writes: `stream.synchronize()`"),
    ("end_the_capture", "still_capturing", "", _at("still_capturing", stream=1),
     "end the capture in setup(), and keep what `stream.end_capture()` returns: it is the graph"),
    ("launch_inside_the_capture", "no_kernel_in_graph", "", _at("no_kernel_in_graph", begun=10, nodes=2),
     "a launch becomes part of the graph inside `with stream:`, between begin_capture() and end_capture()"),
    ("a_kernel_writes_first", "unwritten_copy", "", _about("unwritten_copy", "", _op("to_host", "out"), **_FRESH),
     "a kernel has to write that memory first: see that it is launched before the copy, and gets this array"),
    ("prefetch_after_the_host", "page_faults", "host_wrote", _pages("host_wrote"),
     "move the prefetch after the host's writing: pages that the host writes to go back to it"),
    ("prefetch_to_the_gpu", "page_faults", "sent_back", _pages("sent_back"),
     "prefetch to the GPU: the number of the device, not cudaCpuDeviceId (-1)"),
    ("prefetch_all_of_it", "page_faults", "in_part", _pages("in_part"),
     "prefetch all that the kernel uses: the size counts bytes (`nbytes`)"),
)  # fmt: skip
