"""All kinds of findings: a row each, in the order in which a report shows them. Pure.

A kind without a row is itself a verdict word (``compile_error``, ``invalid`` …). The table in docs/verdicts.md is
generated from these rows. The simulator's events are finer; `grader.backends.sim.results` maps them to these kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from grader.frozen import dataclass

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Kind:
    """One kind of finding.

    ``word`` is the verdict of an error; warnings and notes have none. ``beside`` are the verdicts with which a warning
    or a note is shown (None: all), and ``first_beside`` those for which it is so likely the cause that it comes before
    the error. ``roles`` are the words for the places of a finding on a host file: for the operation at fault, and for
    the others.
    """

    name: str
    meaning: str  # of the row in docs/verdicts.md
    word: str = ""
    severity: Severity = "error"
    next_step: str = ""  # if there is no hint; "": that of the verdict word
    beside: tuple[str, ...] | None = None
    first_beside: tuple[str, ...] = ()
    counted: bool = False  # a note on the counters of the simulated run: only that run's note is shown
    roles: tuple[str, str] = ("", "")
    of_host: bool = False  # about a host file; it is drawn in the timeline
    says_place: bool = True  # the sentence includes the line

    @property
    def unordered(self) -> bool:
        """Whether it is about two operations of a host file without an order."""
        return self.of_host and self.word == "race"


def _error(name: str, word: str, meaning: str) -> Kind:
    return Kind(name, meaning, word)


def _warning(name: str, meaning: str, first_beside: tuple[str, ...] = (), *, says_place: bool = True) -> Kind:
    return Kind(name, meaning, severity="warning", first_beside=first_beside, says_place=says_place)


def _note(name: str, meaning: str, *beside: str, counted: bool = False, says_place: bool = True) -> Kind:
    return Kind(name, meaning, severity="note", beside=beside, counted=counted, says_place=says_place)


def _host(name: str, word: str, meaning: str, *roles: str, next_step: str = "") -> Kind:
    accused, other = (*roles, "", "")[:2]
    return Kind(name, meaning, word, next_step=next_step, roles=(accused, other), of_host=True)


_ROWS = (
    _error("out_of_bounds", "out_of_bounds", "an access outside any array; a changed guard zone"),
    _error("null", "out_of_bounds", "an access through a null pointer"),
    _host("use_after_free", "crash", "freed memory is used", "uses it"),
    _host(
        "missing_wait", "race", "two streams use the same memory, and no event orders them",
        "comes too early", "has to come first",
        next_step="Record an event after the operation that has to come first, and let the other stream wait for "
        "it; or put both into one stream. ",
    ),
    _host(
        "host_conflict", "race", "the host changes memory that a queued operation still uses", "was still queued",
        next_step="Wait for the operation that still uses this memory before the host touches it. ",
    ),
    _host("cuda_error", "crash", "CUDA refuses a call, and the host file does not catch the error"),
    _host(
        "unfinished", "race", "`run()` returns before its work is done", "nobody waits for it",
        next_step="Let run() wait at its end for everything that it has queued: for the streams, for an event, or for "
        "the device. ",
    ),
    _error("read_only", "out_of_bounds", "a write to constant memory"),
    _error("misaligned", "crash", "an address that is not a multiple of the access's size"),
    _error("trap", "crash", "the kernel stops itself"),
    _error("not_cooperative", "crash", "`grid.sync()` in an ordinary launch"),
    _error("assert", "crash", "an assertion fails"),
    _error("bad_mask", "crash", "a thread is not in the mask of its own `.sync` operation"),
    _error("invalid_address_space", "crash", "an instruction for one memory gets an address of another"),
    _error("stack_overflow", "crash", "a thread's call stack overflows"),
    _error("invalid_pc", "crash", "a jump to an address without code"),
    _error("launch_failure", "crash", "the GPU stops the kernel and gives no reason"),
    _error("barrier_divergence", "timeout", "a barrier that only a part of the block reaches"),
    _error("deadlock", "timeout", "threads wait for others that never arrive"),
    _error("instruction_budget", "timeout", "more instructions than the simulator allows: mostly an endless loop"),
    _error("missing_async_wait", "race", "an asynchronous copy is read, or overwritten, before its wait"),
    _error("race", "race", "two threads access the same address without an order"),
    _error("missing_fence", "race", "blocks signal each other without a fence that orders their data"),
    _error("order_dependent", "race", "the answer depends on the order in which warps and blocks run"),
    _error("inactive_lane", "race", "a shuffle reads a lane that does not take part"),
    _error("missing_lanes", "race", "a `.sync` operation or a matrix instruction that only some of its lanes execute"),
    _error("print_limit", "limit", "`printf` writes too much"),
    _error("launch_limit", "limit", "a launch that is too large: for the simulator, or as a cooperative one for a GPU"),
    _error("launch", "invalid", "a launch that the GPU refuses"),
    _error("answer", "technique", "a comment that is graded, such as `// bug: LINE`, is missing or not right"),
    _host("outside", "unsupported", "a part of CuPy that the [stand-in](standin.md) does not have"),
    _warning("uninitialised_read", "uninitialised memory is read; `wrong` if an output depends on it"),
    _warning("unused_read", "uninitialised memory is read, and no output depends on it"),
    _warning("unused_lane", "a shuffle reads a lane that does not take part, and no output depends on it"),
    _warning("same_value_write", "two threads write the same value"),
    _warning(
        "refused", "a call of `cuda.bindings` returns an error that is not checked (host file)", says_place=False
    ),
    _warning(
        "argument_type", "a launch passes `float(r)`, 8 bytes, for a `float`, which has 4 (host file)",
        first_beside=("wrong", "out_of_bounds"),
    ),
    _warning(
        "second_launch", "a second launch is wrong although the first was right: variables keep their values",
        first_beside=("wrong", "out_of_bounds", "race", "crash", "timeout"), says_place=False,
    ),
    _note("still_capturing", "`setup` leaves a capture open (host file)", "wrong", "crash", says_place=False),
    _note("not_captured", "an operation is not in the graph for which it was meant (host file)", "wrong", "race"),
    _note("no_kernel_in_graph", "a graph launches no kernel (host file)", "wrong", "race", says_place=False),
    _note("unwritten_copy", "a copy to the host of memory that was never written (host file)", "wrong"),
    _note("brought_elsewhere", "a copy goes to another array than the output (host file)", "wrong", says_place=False),
    _note("read_too_early", "the host reads memory that a queued kernel writes (host file)", "wrong"),
    _note("page_faults", "why pages of managed memory moved (host file)", "technique", counted=True),
    _note("staged", "the host copies data itself (host file)", "pass", "slow", "technique", counted=True),
    _note("no_overlap", "why copies and kernels do not overlap: a part of the finding on `technique` (host file)"),
    _warning("l2_window", "an L2 window keeps less than intended (host file)", says_place=False),
    Kind(
        "unassembled", "the program could not be assembled here: limits that only ptxas knows were not checked",
        severity="note", says_place=False,
    ),
    _note(
        "bug_found", "`// bug: LINE` is right, and the kernel still fails",
        "wrong", "race", "out_of_bounds", "crash", "timeout",
    ),
    _note(
        "barrier_in_branch", "a barrier in a branch that some warps skip: it works, and CUDA C does not promise it",
        "pass", "slow", "technique",
    ),
    _note(
        "active_mask", "`__activemask()` as the mask of a shuffle or a vote: it works, and CUDA C does not promise it",
        "pass", "slow", "technique",
    ),
    Kind("parameter_type", "a kernel declares `double*` for an array of floats", severity="note"),
    Kind("passes", "a pass has another number of blocks than its `by` leaves elements", severity="note"),
)  # fmt: skip

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ROWS}
RANKS: Mapping[str, int] = {name: at for at, name in enumerate(KINDS)}
"""The order of findings in a report: causes, and findings that say more, come first."""

MISREAD_SHOWS = ("out_of_bounds", "crash", "race", "wrong")
"""Verdict words for which a parameter of a wrong type is searched, because it may be the cause."""


def kind_of(name: str) -> Kind:
    """The row of a kind; for a verdict word without a row, a new one."""
    return KINDS.get(name) or Kind(name, "", name, says_place=False)


def word_of_kind(name: str) -> str:
    """The verdict word of an error of that kind."""
    return KINDS[name].word if name in KINDS else name


def is_likely_cause(name: str) -> bool:
    """Whether a note of this kind is a likely cause of a wrong result, so that the next step begins with it."""
    return "wrong" in (kind_of(name).beside or ())
