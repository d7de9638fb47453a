"""Every kind of finding of the simulator in words: fact, place, evidence, and what to do. Pure.

"race on shared partial[49]: written by thread 49 at reduce_v3.cu:14, read by thread 17 at reduce_v3.cu:18, no barrier
between".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.backends.sim.messages import barriers, blocks, bounds, faults, races
from grader.backends.sim.messages.words import Said, Words

MESSAGES: Mapping[str, Callable[[Words], Said]] = {
    "out_of_bounds": bounds.out_of_bounds,
    "null": faults.null,
    "read_only": faults.read_only,
    "misaligned": faults.misaligned,
    "use_after_free": faults.use_after_free,
    "trap": faults.trap,
    "assert": faults.assertion,
    "print_limit": faults.print_limit,
    "instruction_budget": faults.budget,
    "race": races.race,
    "missing_fence": races.missing_fence,
    "missing_async_wait": races.missing_async_wait,
    "same_value_write": races.same_value,
    "uninitialised_read": races.uninitialised,
    "barrier_divergence": barriers.two_barriers,
    "left_barrier": barriers.left_barrier,
    "deadlock": barriers.deadlock,
    "object_deadlock": barriers.object_deadlock,
    "missing_lanes": barriers.missing_lanes,
    "warp_barrier_divergence": barriers.missing_lanes,
    "inactive_lane": barriers.inactive_lane,
    "bad_mask": barriers.bad_mask,
    "launch_limit": blocks.launch_limit,
    "block_deadlock": blocks.block_deadlock,
    "not_cooperative": blocks.not_cooperative,
}
"""What says a finding, by its kind; each returns the message and its hint."""
