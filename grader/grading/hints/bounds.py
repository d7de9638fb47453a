"""What to do about an access outside of an array: which condition, which launch line, which index."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.findings.sentences.launches import disagreement
from grader.findings.sentences.words import Words, elements
from grader.grading.causes import disagrees
from grader.grading.hints.rules import Example, Seen, rule, stray
from grader.launch import Launch, LaunchPlan, Scratch
from grader.simt.occupancy import MULTIPROCESSORS, SIMULATED

LARGEST_SHARED_BYTES = MULTIPROCESSORS[SIMULATED].shared_bytes_per_block

_PASS = Launch(kernel="k", args=("x",), grid=(2, 1, 1), block=(64, 1, 1), line=1, leaves=1)
_BLOCKS = Launch(kernel="k", args=("x",), grid=(8, 1, 1), block=(64, 1, 1), line=1)
_SECOND = (1, 0, 0)


def _launches(found: Finding, seen: Seen) -> list[Launch]:
    if found.line is None:
        return []
    return [one for one in seen.plan.launches if one.kernel == found.kernel and found.array in one.args]


def _scratch(found: Finding, seen: Seen) -> int | None:
    """The elements of the array, if it is a scratch array."""
    return next((scratch.count for scratch in seen.plan.scratch if scratch.name == found.array), None)


def _of_a_block(found: Finding) -> bool:
    """Whether the index is the number of the block, which is not the first one."""
    number, *rest = found.block or (0, 0, 0)
    return found.array is not None and not any(rest) and number > 0 and found.index == number


@rule("out_of_bounds", example=Example(stray("beyond_end", 1, 1, block=_SECOND), plan=LaunchPlan((_PASS,))))
def uneven_pass(found: Finding, seen: Seen) -> str:
    stored = _scratch(found, seen) is not None or any(place.role != "read" for place in found.places)
    uneven = next((one for one in _launches(found, seen) if disagrees(one)), None)
    if uneven is None or not stored:
        return ""
    said = disagreement(uneven.line, math.prod(uneven.grid), uneven.leaves or 0)
    return f"{said}: both must be the number of elements that the pass stores"


@rule(
    "out_of_bounds",
    example=Example(
        stray("beyond_end", 4, 4, block=(4, 0, 0)), plan=LaunchPlan((_BLOCKS,), (Scratch("x", "float32", 4),))
    ),
)
def scratch_for_fewer_blocks(found: Finding, seen: Seen) -> str:
    """Each block stores one element, and there are more blocks than elements."""
    launches, count = _launches(found, seen), _scratch(found, seen)
    blocks = max((math.prod(one.grid) for one in launches), default=0)
    if not launches or not _of_a_block(found) or count is None or blocks <= count:
        return ""
    has = f"scratch {found.array} has {elements(count)}"
    return f"{_starts(launches[0], blocks)}, but {has}: make the `// scratch` array larger, or the grid smaller"


@rule("out_of_bounds", example=Example(stray("beyond_end", 1, 1, block=_SECOND), plan=LaunchPlan((_BLOCKS,))))
def one_element_for_all_blocks(found: Finding, seen: Seen) -> str:
    launches = _launches(found, seen)
    if not launches or not _of_a_block(found) or found.cause != "beyond_end" or _count(found) != 1:
        return ""
    starts = _starts(launches[0], max(math.prod(one.grid) for one in launches))
    return f"{starts}, but {found.array} has 1 element: let the blocks store their results in scratch, or in turn"


def _starts(launch: Launch, blocks: int) -> str:
    return f"the launch in line {launch.line} starts {blocks} block{'s' * (blocks != 1)}"


def _count(found: Finding) -> int:
    return int(found.facts["array_bytes"] // found.facts["element_bytes"])


@rule(
    "out_of_bounds",
    example=Example(stray("beyond_launch_line", 16, 16, space="shared", facts={"block_threads": 64, "dynamic": True})),
)
def too_little_for_the_block(found: Finding, seen: Seen) -> str:
    """The launch line's shared memory has not an element for every thread."""
    wide, needed = found.facts.get("width", 0), _bytes_needed(found)
    if not 0 < needed <= LARGEST_SHARED_BYTES:
        return ""
    room = f"shared= is the bytes of one block, and this access needs {needed} or more"
    return f"{room}: N elements of {wide} bytes are shared=N*{wide}"


def _bytes_needed(found: Finding) -> int:
    """The bytes of dynamic shared memory with which the access would be inside; 0 where that is not at fault."""
    return found.facts["offset"] + found.facts["width"] if found.cause == "beyond_launch_line" else 0


@rule("out_of_bounds", example=Example(stray("too_wide", 1020, 1022, facts={"width": 16})))
def wide_access(found: Finding, seen: Seen) -> str:
    """One access to several elements, of which at least one is not there."""
    if found.cause != "too_wide":
        return ""
    wide, size = found.facts["width"], found.facts["element_bytes"]
    are, first = f"{wide} bytes are {wide // size} elements", found.facts["offset"] // size
    if first >= _count(found):
        return f"{are}, and none of these is there: check where the first one lies before the access"
    return f"{are}: access whole groups of them like this, what is left one by one"


@rule(
    "out_of_bounds",
    example=Example(
        stray("beyond_end", 69, 64, space="shared", array="part", block=_SECOND, facts={"block_threads": 64})
    ),
)
def index_in_the_whole_grid(found: Finding, seen: Seen) -> str:
    """The index is blockIdx.x * blockDim.x + threadIdx.x, which shared memory does not go by."""
    name = Words(found).name
    if found.space != "shared" or found.cause != "beyond_end" or not _counts_the_grid(found):
        return ""
    return f"each block has a {name} of its own: index it with threadIdx.x, not with the index in the whole grid"


def _counts_the_grid(found: Finding) -> bool:
    """Whether the index is that of the thread in a whole 1-D grid."""
    (thread, *rest), (block, *others) = found.thread or (0, 0, 0), found.block or (0, 0, 0)
    flat, threads = not any((*rest, *others)), found.facts.get("block_threads", 0)
    return flat and block > 0 and threads > 0 and found.index == block * threads + thread


@rule(
    "out_of_bounds",
    example=Example(stray("beyond_end", 63, 63), "\n\n__global__ void k(float* src) {\nif (t < 64) src[t] = 1;\n}"),
)
def condition_lets_it_through(found: Finding, seen: Seen) -> str:
    """The condition at the access lets the index through: quote both."""
    line, index, name = found.line or 0, found.index, (found.names or (found.array or "",))[-1]
    accesses = seen.source.elements(line) if index is not None and index >= 0 and found.thread is not None else []
    named = [access for access in accesses if access.name == name]
    conditions = {seen.source.condition(access) for access in named or accesses}
    condition = conditions.pop() if len(conditions) == 1 else ""
    if not condition:
        return ""
    who, expression = Words(found).thread(found.thread), _one_index(named)
    if expression and "".join(expression.split()) not in "".join(condition.split()):
        matrix = "*" in expression and "+" in expression
        do = (
            "its row and its column must be inside, each by itself"
            if matrix
            else "compare that with the array's length"
        )
        other = f"looks at something else than the index `{expression}`, which is {index} for {who}"
        return f"the condition `{condition}` {other}: {do}"
    loop = seen.source.loop(line, line)
    too_long = f" Or does the loop in line {loop.line} go on for too long?" if loop else ""
    through = f"lets {who} through to index {index} of {name}"
    return f"the condition `{condition}` {through}: which threads should it let through?{too_long}"


def _one_index(accesses: Sequence[Part]) -> str:
    """The index of accesses that have the same, and only this one; of a member it counts other elements."""
    indices = {access.texts if access.kind == "element" else () for access in accesses}
    one = indices.pop() if len(indices) == 1 else ()
    return one[0] if len(one) == 1 else ""


@rule("out_of_bounds", example=Example(stray("beyond_launch_line", 1 << 20, 0, space="shared")))
def more_than_a_block_can_have(found: Finding, seen: Seen) -> str:
    needed = _bytes_needed(found)
    return f"no block can have {needed} bytes of shared memory: look at the index" if needed else ""


@rule("out_of_bounds", example=Example(stray("before_start", -1, 64)))
def before_the_array(found: Finding, seen: Seen) -> str:
    if found.cause != "before_start":
        return ""
    return f"index {found.index} lies before the array: let the thread that computes it skip the access"


@rule(
    "out_of_bounds",
    example=Example(stray("beyond_end", 64, 64, space="shared", array="part", facts={"dynamic": True})),
)
def beyond_what_the_launch_line_gives(found: Finding, seen: Seen) -> str:
    """Beyond shared memory of the launch line's size, although that has an element for every thread."""
    if found.cause != "beyond_end" or not found.facts.get("dynamic"):
        return ""
    count, who = _count(found), Words(found).thread(found.thread)
    wide = f"is the index too large, or a condition that lets {who} get there?"
    more = f"Only if a block does need more than {elements(count)}, make shared= larger"
    return f"shared={found.facts['array_bytes']} gives the block {elements(count)}, 0 to {count - 1}: {wide} {more}"


@rule("out_of_bounds", example=Example(stray("beyond_end", 64, 63)))
def length_of_the_array(found: Finding, seen: Seen) -> str:
    compare = "compare the index with the array's length before the access"
    if found.cause != "beyond_end":
        return compare
    count, name = _count(found), Words(found).name
    return f"{compare}: here {name} has {elements(count)}" + (f", 0 to {count - 1}" if count > 1 else ", number 0")
