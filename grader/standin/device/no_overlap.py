"""What keeps the engines of a run from working side by side, as far as the order of its calls tells. Pure.

    why_no_overlap(run, words) -> Diagnostic | None

The sentences are facts of this run, with their lines, and the hint is about the first of them only: nobody is told to
do what is done already. The judge puts them beside an overlap that is too small.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.render.text import counted, listed
from grader.standin.device.findings import Words
from grader.standin.device.modelled_time import COUNTED
from grader.standin.device.operations import StreamOperation
from grader.verdict import Diagnostic

KIND = "no_overlap"
FEW_KERNELS = 8  # with fewer pieces, the first copy in and the last copy out weigh too much
BUSY_HOST = 0.8  # of the elapsed time: the host hardly keeps up with the GPU
LINES_NAMED = 3


@dataclass(frozen=True)
class IssuedRun:
    """One run: its operations as they were issued, the lines of the host's waits, and chains of ordinary streams."""

    operations: Sequence[StreamOperation]
    waits: Mapping[int, int]  # line -> how often
    blocking: Collection[int]
    host_part: float  # of the elapsed time, what the host's calls take

    def of(self, kind: str) -> list[StreamOperation]:
        return [op for op in self.operations if op.job.kind == kind]


@dataclass(frozen=True)
class OverlapCause:
    """``fact`` is a sentence without its full stop; ``line`` is the one to look at."""

    fact: str
    hint: str
    line: int | None = None


def why_no_overlap(run: IssuedRun, words: Words) -> Diagnostic | None:
    """Return a note with all that was found, the first one's hint and line; None where nothing stands out."""
    found = [obstacle for look in _LOOKS if (obstacle := look(run)) is not None]
    if not found:
        return None
    message = " ".join(f"{obstacle.fact}." for obstacle in found)
    return Diagnostic(KIND, message, severity="note", file=words.file, line=found[0].line, hint=found[0].hint)


def _default_stream(run: IssuedRun) -> OverlapCause | None:
    """Operations of the default stream, and ordinary streams beside it."""
    mine = [op for op in run.operations if op.job.kind in COUNTED]
    there = [op for op in mine if op.stream == 0]
    beside = [op for op in mine if op.stream and op.chain in run.blocking]
    if not there or not beside:
        return None
    counts = Counter(op.job.kind for op in there)
    what = " and ".join(f"{count} {_NOUNS[kind][count != 1]}" for kind, count in counts.items())
    verb = "is" if len(there) == 1 else "are"
    cure = (
        "launch the kernel inside `with stream:`, on the stream that is meant for it"
        if counts["kernel"]
        else "put these copies on the stream that is meant for them"
    )
    return OverlapCause(
        f"{what} {verb} on the default stream{_at(there)}: it waits for every ordinary stream, and they for it",
        f"{cure}; streams made with non_blocking=True do not wait for the default stream",
        there[0].job.where or None,
    )


_NOUNS = {"kernel": ("kernel", "kernels"), "to_device": ("copy in", "copies in"), "to_host": ("copy out", "copies out")}


def _waits(run: IssuedRun) -> OverlapCause | None:
    count = sum(run.waits.values())
    if not count:
        return None
    lines = [line for line, _ in Counter(run.waits).most_common() if line]
    verb = "was" if count == 1 else "were"
    return OverlapCause(
        f"There {verb} {count} wait{'s' * (count > 1)} of the host before it queued more{_lines_words(lines)}: the GPU "
        "runs dry meanwhile",
        "queue everything first, and wait once, at the end of run(); `get` waits, too, unless it is told "
        "blocking=False. What has to come first on another stream, let that stream wait for an event",
        lines[0] if lines else None,
    )


def _one_stream(run: IssuedRun) -> OverlapCause | None:
    there = [op for op in run.operations if op.job.kind in COUNTED]
    if len(there) < 2 or len({(op.job.device, op.stream) for op in there}) > 1 or any(op.in_graph for op in there):
        return None
    return OverlapCause("All of it is on one stream, which does one thing after another", "use a few streams")


def _order(run: IssuedRun) -> OverlapCause | None:
    """Streams that hold all copies in before the first kernel, or all kernels before the first copy out."""
    streams: dict[int, list[StreamOperation]] = defaultdict(list)
    for op in run.operations:
        streams[op.chain].append(op)
    for before, after, words in _ORDERS:
        behind = (_first_behind_all(queue, before, after) for queue in streams.values())
        late = [op for op in behind if op is not None]
        if late:
            verb = "holds" if len(late) == 1 else "hold"
            return OverlapCause(
                f"{counted(len(late), 'stream')} {verb} {words}{_at(late)}: a stream keeps its order",
                "go chunk by chunk: copy in, kernel and copy out of one chunk, then those of the next",
                late[0].job.where or None,
            )
    return None


_ORDERS = (
    ("to_device", "kernel", "all their copies in before the first kernel"),
    ("kernel", "to_host", "all their kernels before the first copy out"),
)


def _first_behind_all(queue: Sequence[StreamOperation], before: str, after: str) -> StreamOperation | None:
    """The first operation of kind ``after`` in a stream, where two or more of ``before`` all come earlier."""
    kinds = [op.job.kind for op in queue]
    if min(kinds.count(before), kinds.count(after)) < 2:
        return None
    first = kinds.index(after)
    return queue[first] if before not in kinds[first:] else None


def _few_pieces(run: IssuedRun) -> OverlapCause | None:
    kernels = run.of("kernel")
    if not 0 < len(kernels) < FEW_KERNELS or not run.of("to_device") or not run.of("to_host"):
        return None
    verb = "does" if len(kernels) == 1 else "do"
    return OverlapCause(
        f"{counted(len(kernels), 'kernel')} {verb} all of the work: nothing goes on beside the first copy in, nor "
        "beside the last copy out, and these are long",
        "cut the work into a few dozen chunks",
        kernels[0].job.where or None,
    )


def _busy_host(run: IssuedRun) -> OverlapCause | None:
    if run.host_part < BUSY_HOST:
        return None
    return OverlapCause(
        f"Queueing {len(run.operations)} operations took the host {100 * min(1.0, run.host_part):.0f} % of the time",
        "make fewer and larger chunks: each call costs the host some microseconds",
    )


_LOOKS: tuple[Callable[[IssuedRun], OverlapCause | None], ...] = (
    _one_stream, _default_stream, _waits, _order, _few_pieces, _busy_host,
)  # fmt: skip
"""What weighs most comes first."""


def _at(operations: Iterable[StreamOperation]) -> str:
    return _lines_words(dict.fromkeys(op.job.where for op in operations if op.job.where), brackets=True)


def _lines_words(lines: Iterable[int], *, brackets: bool = False) -> str:
    """``, at lines 24 and 26``, or `` (lines 24 and 26)``; of many the first few."""
    named = list(lines)
    shown = [*map(str, named[:LINES_NAMED]), *(["…"] if len(named) > LINES_NAMED else [])]
    if not shown:
        return ""
    words = f"line{'s' * (len(named) > 1)} {listed(shown)}"
    return f" ({words})" if brackets else f", at {words}"
