"""The sentence of every finding: fact, place, evidence. Pure; what to do about it says `grader.grading.hints`.

"race on shared partial[49]: written by thread 49 at reduce_v3.cu:14, read by thread 17 at reduce_v3.cu:18, no barrier
between".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.findings.record import Finding
from grader.findings.sentences import accesses, counters, hostfile, launches, outputs, races, waits

SENTENCES: Mapping[str, Callable[[Finding], str]] = {
    "out_of_bounds": accesses.out_of_bounds,
    "null": accesses.null,
    "read_only": accesses.read_only,
    "misaligned": accesses.misaligned,
    "use_after_free": accesses.use_after_free,
    "trap": accesses.trap,
    "assert": accesses.assertion,
    "print_limit": accesses.print_limit,
    "instruction_budget": accesses.budget,
    "launch_limit": accesses.launch_limit,
    "not_cooperative": accesses.not_cooperative,
    "race": races.race,
    "missing_fence": races.missing_fence,
    "missing_async_wait": races.missing_async_wait,
    "same_value_write": races.same_value,
    "uninitialised_read": races.uninitialised,
    "barrier_divergence": waits.barrier_divergence,
    "deadlock": waits.deadlock,
    "missing_lanes": waits.missing_lanes,
    "inactive_lane": waits.inactive_lane,
    "bad_mask": waits.bad_mask,
    "wrong": outputs.wrong,
    "technique": counters.technique,
    "parameter_type": launches.parameter_type,
    "passes": launches.passes,
} | {kind: says for kind, says in hostfile.SENTENCES.items() if kind != "use_after_free"}
"""What says a finding, by its kind."""


def sentence(found: Finding) -> str:
    """What was found; memory that is gone is used by a kernel's thread, or by an operation of a stream."""
    if hostfile.is_of_operation(found):
        return hostfile.SENTENCES[found.kind](found)
    return SENTENCES[found.kind](found)
