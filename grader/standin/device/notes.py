"""Notes in words: what is no mistake by itself, and says why a result is wrong or a counter is high. Pure."""

from __future__ import annotations

from grader.render.text import bytes_words
from grader.standin.device.graphs import Capture, Graph
from grader.standin.device.managed import Fault
from grader.standin.device.operations import Operation
from grader.standin.device.races import captured_instead
from grader.standin.device.words import Words
from grader.verdict import Diagnostic


def read_too_early(words: Words, op: Operation, written: int, result: str) -> Diagnostic:
    """Beside a wrong result: the host wrote managed memory while a kernel with results for it was still queued."""
    return Diagnostic(
        "read_too_early",
        f"the host wrote {words.space.name(written)} while {words.doer(op)} was still queued, which writes {result}: "
        "if it computed the one from the other, it read too early",
        severity="note", file=words.file, line=op.job.where or None, kernel=op.job.name,
        hint="wait for the kernel before the host reads what it writes: `stream.synchronize()`",
    )  # fmt: skip


def not_captured(words: Words, op: Operation, begun: int) -> Diagnostic:
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


def no_kernel_in(words: Words, graph: Graph, where: int) -> Diagnostic:
    """Beside a wrong result: a graph that launches no kernel."""
    held = f"copies or fills ({len(graph.nodes)}), and no kernel" if graph.nodes else "nothing"
    line = f" (captured from line {graph.where} on)" if graph.where else ""
    return Diagnostic(
        "no_kernel_in_graph", f"the graph that is launched here{line} holds {held}",
        severity="note", file=words.file, line=where or None,
        hint="a launch becomes part of the graph inside `with stream:`, between begin_capture() and end_capture()",
    )  # fmt: skip


def unwritten_copy(words: Words, op: Operation, start: int, size: int) -> Diagnostic:
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


def brought_elsewhere(words: Words, op: Operation, output: str) -> Diagnostic:
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


def page_faults(words: Words, op: Operation, fault: Fault, parameter: str) -> Diagnostic:
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
