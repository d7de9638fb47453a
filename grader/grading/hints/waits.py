"""What to do about threads, warps and blocks that wait for others which never come."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.findings.sentences.waits import UNKNOWN
from grader.grading.hints.rules import Example, Seen, access, finding, rule

_TWO = (access("barrier", 0, 4), access("barrier", 5, 6))
_STARTED_ONLY = (
    "a block starts only when there is room for it, and nothing promises in which order: wait only for blocks that "
    "have started before, which is sure with block numbers from an atomicAdd; or launch no more blocks than fit, each "
    "of which does more"
)


def _memory(resident: int, blocks: int, other: int) -> Finding:
    detail = (resident, blocks, other)
    return finding("deadlock", "memory", array="flags", index=0, facts={"detail": detail, "offset": 0})


@rule("barrier_divergence", example=Example(finding("barrier_divergence", "two_barriers", *_TWO)))
def same_barrier_for_all(found: Finding, seen: Seen) -> str:
    of_grid = found.facts.get("grid_sync") and found.facts.get("instruction", "").startswith("barrier")
    barrier = "grid.sync()" if of_grid else "__syncthreads()"
    return f"every thread must reach the same {barrier}: move it out of the if, or of the loop that some leave early"


@rule("deadlock", example=Example(finding("deadlock", "barrier", facts={"detail": (1, 32, 64)})))
def barrier_that_counts_more(found: Finding, seen: Seen) -> str:
    return "every thread that the barrier counts must reach it" if found.cause == "barrier" else ""


@rule(
    "deadlock", example=Example(finding("deadlock", "unset_object", array="bar", facts={"detail": (0, (1 << 20) - 1)}))
)
def object_that_nobody_initialised(found: Finding, seen: Seen) -> str:
    if found.cause != "unset_object":
        return ""
    return "let one thread init() it, and put a __syncthreads() behind that"


@rule("deadlock", example=Example(finding("deadlock", "object", array="bar", facts={"detail": (3, 64)})))
def arrivals_of_each_phase(found: Finding, seen: Seen) -> str:
    if found.cause != "object":
        return ""
    return (
        "the count that the object is initialised with must be the number of arrivals in each phase; a thread that "
        "leaves must arrive_and_drop() (in a pipeline: producer_commit(), consumer_release(), quit())"
    )


@rule("deadlock", example=Example(finding("deadlock", "grid_sync", facts={"detail": (8, 8, UNKNOWN)})))
def same_grid_sync_for_all(found: Finding, seen: Seen) -> str:
    if found.cause != "grid_sync":
        return ""
    return "every block must reach the same grid.sync(), also one that has nothing left to do: no return before it"


@rule("deadlock", example=Example(_memory(4, 8, 7)))
def blocks_that_have_started(found: Finding, seen: Seen) -> str:
    if found.cause != "memory":
        return ""
    resident, blocks, _ = found.facts["detail"]
    return _STARTED_ONLY if blocks > resident else ""


@rule("deadlock", example=Example(_memory(8, 8, UNKNOWN)))
def who_should_write_it(found: Finding, seen: Seen) -> str:
    if found.cause != "memory":
        return ""
    return "look for who should write it: it may wait itself, may have ended before, or may never come to the line"


_MATRIX = finding("missing_lanes", facts={"detail": (1 << 31,), "instruction": "wmma.mma.sync", "matrix": True})
_MASK = finding("missing_lanes", facts={"detail": (1 << 31,), "instruction": "shfl.sync.down.b32"})


@rule("missing_lanes", "deadlock", example=Example(_MATRIX))
def whole_warps(found: Finding, seen: Seen) -> str:
    if not found.facts.get("matrix"):
        return ""
    return "let whole warps execute it: no return and no branch before it, blocks of a multiple of 32 threads"


@rule("missing_lanes", "deadlock", example=Example(_MASK))
def mask_of_those_that_come(found: Finding, seen: Seen) -> str:
    return "name only the lanes that execute it, or move it out of the branch"


@rule("inactive_lane", example=Example(finding("inactive_lane", facts={"detail": (7,)})))
def all_lanes_shuffle(found: Finding, seen: Seen) -> str:
    return "let all lanes of the warp execute the shuffle, and ignore what you do not need"


@rule("bad_mask", example=Example(finding("bad_mask", facts={"instruction": "bar.warp.sync"})))
def own_lane_in_the_mask(found: Finding, seen: Seen) -> str:
    return "add the lane to the mask"
