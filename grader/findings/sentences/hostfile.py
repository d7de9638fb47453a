"""Sentences of findings on a host file: operations, missing order, memory. Pure.

"kernel smooth on stream 2 (streams_host.py:41) reads the device copy of x before the copy on stream 1
(streams_host.py:38, the 3rd time) that fills it; no event between them".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from grader.findings.record import Finding
from grader.text import bytes_words, counted, listed, ordinal
from grader.verdict import Place

Operation = Mapping[str, Any]
"""``kind``, ``name`` and ``in_graph`` of an operation of a stream."""

LINES_NAMED = 3

# ------------------------------------------------------------------------------------------------------------- pieces


def noun(op: Operation) -> str:
    """``kernel smooth``, ``the copy``."""
    if op["kind"] == "kernel":
        return f"kernel {op['name']}" + (" of a graph" if op["in_graph"] else "")
    return {"fill": "the fill", "prefetch": "the prefetch"}.get(op["kind"], "the copy")


def stream(number: int, device: int = 0) -> str:
    """``stream 2``, ``the default stream``; with the device if that is not the first one."""
    name = f"stream {number}" if number else "the default stream"
    return f"{name} of device {device}" if device else name


def stream_of(place: Place) -> str:
    return stream(place.stream or 0, place.device)


def location(place: Place) -> str:
    """``streams_host.py:41``, in a loop ``streams_host.py:41, the 3rd time``; "" if the line is unknown."""
    return f"{place.file}:{place.line}{time_of(place)}" if place.line else ""


def time_of(place: Place) -> str:
    """``, the 3rd time``; "" if the line queued only one operation."""
    return f", the {ordinal(place.occurrence)} time" if place.occurrence else ""


def on_line(line: int | None) -> str:
    return f" on line {line}" if line else ""


def since_line(line: int) -> str:
    return f" since line {line}" if line else ""


def in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _doer(place: Place, op: Operation) -> str:
    """``kernel smooth on stream 2 (streams_host.py:41)``."""
    return f"{noun(op)} on {stream_of(place)}{in_brackets(location(place))}"


def is_of_operation(found: Finding) -> bool:
    """Whether an operation of a stream is at fault, not a thread of a kernel."""
    return "operation" in found.facts


def _accused(found: Finding) -> str:
    return _doer(found.places[0], found.facts["operation"])


# ------------------------------------------------------------------------------------------------------------ errors

PLAIN = {
    "refused": "{facts[function]} was refused: {facts[error]}; cuda.bindings returns errors and raises nothing",
    "still_capturing": "setup() returned while stream {facts[stream]} was still being captured: no graph came of it",
}

_WHEN = {"": "", "earlier_run": ", of an earlier run,", "setup": ", in setup(),"}


def missing_wait(found: Finding) -> str:
    accused, other = found.places
    second, memory = _accused(found), found.facts["memory"]
    first = _doer(other, found.facts["first"]) + _WHEN[other.when]
    kind = found.facts["first"]["kind"]
    clash = {
        "read_before_written": f"{second} reads {memory} before {first} that "
        f"{'writes' if kind == 'kernel' else 'fills'} it",
        "overwritten_before_read": f"{second} overwrites {memory} before {first} has read it",
        "both_write": f"{second} writes {memory}, which {first} writes too: either may come last",
    }[found.cause]
    if accused.device != other.device:
        return f"{clash}; streams of different devices wait for each other only by events"
    return f"{clash}; no event between them"


def unfinished(found: Finding) -> str:
    """`run()` returned before its work was done."""
    place, op = found.places[0], found.facts["operation"]
    others = found.facts["others"]
    more = f", nor for {counted(others, 'more operation')}" if others else ""
    name = f" of {op['name']}" if op["kind"] in ("to_device", "to_host", "prefetch") and op["name"] else ""
    where = f"{noun(op)}{name} on {stream_of(place)}{in_brackets(location(place))}"
    return (
        f"run() returned while {where} was still queued; it {found.cause} the host's memory, and nothing waited for "
        f"it{more}"
    )


def host_conflict(found: Finding) -> str:
    """The host changed memory that a queued operation uses."""
    memory, doer = found.facts["memory"], _accused(found)
    if found.cause == "left_by_setup":
        return f"setup() returned while {doer} was still queued; it uses {memory}, which got new values since then"
    done = "read" if found.cause == "changed_before_read" else "written"
    return f"the host changed {memory} before {doer} had {done} it: it was queued, and nothing waited for it"


def use_after_free(found: Finding) -> str:
    """An operation of a stream uses memory that was freed."""
    line = found.facts["gone_at"]
    gone = {
        "freed": f"which was freed{on_line(line)}",
        "dropped": f"which no variable refers to any more{since_line(line)}",
        "unpinned": f"which was unpinned{on_line(line)} before the copy was done",
    }[found.cause]
    return f"{_accused(found)} uses {found.facts['memory']}, {gone}"


def cuda_error(found: Finding) -> str:
    """A kernel used memory that its device cannot access."""
    why = (
        f"which kernels of device {found.places[0].device} may not reach"
        if found.cause == "other_device"
        else "which is ordinary host memory: a GPU cannot reach it"
    )
    return f"cudaErrorIllegalAddress: {_accused(found)} uses {found.facts['memory']}, {why}"


_C_TYPES = {
    "f32": "a float", "f64": "a double", "u64": "an integer or an address",
}  # fmt: skip


def argument_type(found: Finding) -> str:
    """A launch passes an argument of another type than the parameter."""
    facts = found.facts
    line = in_brackets(f"{found.file}:{found.line}" if found.line else "")
    given = f"a {'Python' if facts['is_python'] else 'NumPy'} {facts['given']}"
    given = "an address" if found.cause == "address" else given
    wanted = f"{_C_TYPES.get(facts['element'], 'an integer')} of {facts['element_bytes']}"
    seen = f", so that the kernel sees {facts['seen']} instead of {facts['value']}" if facts["seen"] else ""
    parameter = " ".join(["the parameter", *filter(None, [facts["name"]])])
    return (
        f"argument {facts['number']} of {found.kernel}{line} is {given} of {facts['given_bytes']} bytes, and "
        f"{parameter} is {wanted}{seen}"
    )


# -------------------------------------------------------------------------------------------------------------- notes


def read_too_early(found: Finding) -> str:
    return (
        f"the host wrote {found.facts['memory']} while {_accused(found)} was still queued, which writes "
        f"{found.facts['result']}: if it computed the first from the second, it read too early"
    )


def not_captured(found: Finding) -> str:
    queued = "launched" if found.facts["operation"]["kind"] == "kernel" else "queued"
    begun = found.facts["begun"]
    line = f" (begin_capture{on_line(begun)})" if begun else ""
    return (
        f"{_accused(found)} was {queued} while stream {found.facts['captured']} was being captured{line}: it ran at "
        "once, and is not in the graph"
    )


def no_kernel_in_graph(found: Finding) -> str:
    nodes, begun = found.facts["nodes"], found.facts["begun"]
    held = f"copies or fills ({nodes}), and no kernel" if nodes else "nothing"
    line = f" (captured from line {begun} on)" if begun else ""
    return f"the graph that is launched here{line} holds {held}"


def unwritten_copy(found: Finding) -> str:
    """A copy to the host of memory that was never written."""
    facts = found.facts
    line = f", allocated at line {facts['allocated_at']}" if facts["allocated_at"] else ""
    name = f"{facts['memory']}{line}," if facts["has_name"] or not line else facts["memory"]
    return f"{_accused(found)} copied {bytes_words(facts['bytes'])} of {name} that were never written"


def brought_elsewhere(found: Finding) -> str:
    line = in_brackets(f"line {found.line}" if found.line else "")
    amount = bytes_words(found.facts["bytes"])
    return f"run() copied {amount} to another array{line}, and nothing to {found.array}"


def staged(found: Finding) -> str:
    return (
        f"the host itself copied {bytes_words(found.facts['bytes'])} in run(): to pinned allocations, or to outputs. A "
        "CPU core copies more slowly than the link; pin the arrays themselves instead, once, in setup (hostRegister)"
    )


def page_faults(found: Finding) -> str:
    facts, why = found.facts, found.facts["why"]
    line = f", allocated at line {facts['allocated_at']}" if facts["allocated_at"] else ""
    size = f"{bytes_words(facts['bytes'])} of managed memory{line}"
    what = f"`{facts['parameter']}` ({size})" if facts["parameter"] else size
    prefetch = f"the prefetch{on_line(why['line'])}"
    covers = f"and {why['more']} more cover" if why["more"] else "covers"
    reason = {
        "": "",
        "host_wrote": f": the host wrote there after {prefetch}",
        "sent_back": f": {prefetch} sent them there",
        "in_part": f": {prefetch} {covers} {bytes_words(why['covered'])} of {bytes_words(facts['bytes'])}",
    }[found.cause]
    return f"the most came when {_accused(found)} touched {what}, whose pages were on the host{reason}"


# ---------------------------------------------------------------------------------------------- windows of the L2 cache


def l2_window(found: Finding) -> str:
    """An access-policy window keeps less in L2 than intended."""
    facts = found.facts
    if found.cause == "no_window":
        return f"{bytes_words(facts['set_aside'])} of L2 is set aside, and no stream has an access-policy window"
    window, name = "the access-policy window", stream(*facts["stream"])
    if found.cause == "taken_away":
        return f"{window} of {name} was taken away before this run's kernels were launched"
    if found.cause == "set_late":
        return f"{window} of {name} was set after the launches: it holds only for later ones"
    if found.cause == "other_stream":
        there = f": they are on {stream(*facts['busy'][0])}" if facts["busy"] else ""
        return f"{window} belongs to {name}, and no kernel is launched there{there}"
    keeps = "only a part of it" if facts["some"] else "nothing"
    return f"{window} of {name} keeps {keeps} in L2: {_KEEPS_LESS[found.cause](facts)}"


def _too_short(facts: Mapping[str, Any]) -> str:
    read = f"what kernel {facts['kernel']} reads of {facts['memory']}"
    return f"it covers {facts['part']:.0%} of {read} (num_bytes counts bytes)"


_KEEPS_LESS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "not_persisting": lambda f: f"its hitProp is {f['property']}, and only persisting hits stay",
    "nothing_set_aside": lambda f: (
        f"no part of L2 is set aside (cudaLimitPersistingL2CacheSize is 0{since_line(f['since'])})"
    ),
    "no_hit_ratio": lambda f: "its hitRatio is 0, as in a new cudaStreamAttrValue",
    "no_memory": lambda f: "its base_ptr is not in this GPU's memory",
    "too_long": lambda f: f"it extends past the end of {f['memory']}",
    "not_read": lambda f: f"it covers {f['memory']}, but no kernel that was launched with it reads that",
    "read_end_to_end": lambda f: f"it covers {f['memory']}, which kernels read from end to end",
    "too_short": _too_short,
    "hit_ratio": lambda f: f"its hitRatio is {f['hit_ratio']:.3g}, so that only this part of it stays",
    "little_set_aside": lambda f: (
        f"it has {bytes_words(f['bytes'])}, and only {bytes_words(f['set_aside'])} of L2 is set aside"
    ),
}

# ---------------------------------------------------------------------- why copies and kernels do not overlap


def no_overlap(found: Finding) -> str:
    return " ".join(f"{_IN_THE_WAY[one['cause']](one)}." for one in found.facts["causes"])


_NOUNS = {"kernel": ("kernel", "kernels"), "to_device": ("copy in", "copies in"), "to_host": ("copy out", "copies out")}


def _default_stream(facts: Mapping[str, Any]) -> str:
    counts = facts["counts"]
    what = " and ".join(f"{count} {_NOUNS[kind][count != 1]}" for kind, count in counts.items())
    verb = "is" if sum(counts.values()) == 1 else "are"
    where = in_brackets(_lines(facts["lines"]))
    return f"{what} {verb} on the default stream{where}: it waits for every ordinary stream, and they for it"


def _host_waits(facts: Mapping[str, Any]) -> str:
    count, lines = facts["count"], _lines(facts["lines"])
    there = f"There {'was' if count == 1 else 'were'} {count} wait{'s' * (count > 1)} of the host"
    return f"{there} before it queued more{f', at {lines}' if lines else ''}: the GPU is idle meanwhile"


def _stage_by_stage(facts: Mapping[str, Any]) -> str:
    first = facts["before"] == "to_device"
    what = "all their copies in before the first kernel" if first else "all their kernels before the first copy out"
    where = in_brackets(_lines(facts["lines"]))
    holds = "holds" if facts["count"] == 1 else "hold"
    return f"{counted(facts['count'], 'stream')} {holds} {what}{where}: a stream runs its operations in order"


def _few_pieces(facts: Mapping[str, Any]) -> str:
    kernels = facts["kernels"]
    return (
        f"{counted(kernels, 'kernel')} {'does' if kernels == 1 else 'do'} all of the work: nothing overlaps with the "
        "first copy in, nor with the last copy out, and these are long"
    )


_IN_THE_WAY: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "one_stream": lambda f: "Everything is on one stream, which runs its operations in order",
    "default_stream": _default_stream,
    "host_waits": _host_waits,
    "stage_by_stage": _stage_by_stage,
    "few_pieces": _few_pieces,
    "busy_host": lambda f: f"Queueing {f['operations']} operations took the host {100 * f['part']:.0f} % of the time",
}


def _lines(lines: Iterable[int]) -> str:
    """``lines 24 and 26``, of many only the first few; "" for none."""
    named: Sequence[int] = list(lines)
    shown = [*map(str, named[:LINES_NAMED]), *(["…"] if len(named) > LINES_NAMED else [])]
    return f"line{'s' * (len(named) > 1)} {listed(shown)}" if shown else ""


SENTENCES: Mapping[str, Callable[[Finding], str]] = {
    one.__name__: one
    for one in (
        missing_wait, unfinished, host_conflict, use_after_free, cuda_error, argument_type, read_too_early,
        not_captured, no_kernel_in_graph, unwritten_copy, brought_elsewhere, staged, page_faults,
        l2_window, no_overlap,
    )
}  # fmt: skip
"""The function for the sentence of each kind."""
