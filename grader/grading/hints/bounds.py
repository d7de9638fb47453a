"""What to do about an access outside of an array: which condition, launch line, index or type is at fault."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.findings.sentences.outputs import disagreement
from grader.findings.sentences.words import Words, elements
from grader.grading.causes import disagrees
from grader.grading.hints.rules import Seen, finding, kernel, rule, stray
from grader.launch import Launch, LaunchPlan, Scratch
from grader.launch.source import Misread, SourceParameter
from grader.simt.occupancy import MULTIPROCESSORS, SIMULATED
from grader.text import listed

LARGEST_SHARED_BYTES = MULTIPROCESSORS[SIMULATED].shared_bytes_per_block

_READS = (Misread("k", SourceParameter("const double* a", "a", "double"), "a", "float32"),)


@rule(example=finding("wrong", "overwritten", array="a"), seen=Seen(misread=_READS))
def type_of_the_array(found: Finding, seen: Seen) -> str:
    """A kernel's parameter of another type than its array: the likely cause of a wrong output, and of stray accesses.

    This rule and the next one are asked before all others.
    """
    arrays = [one.array for one in seen.misread]
    if not arrays or (found.kind not in ("wrong", "parameter_type") and found.array not in arrays):
        return ""
    return f"declare {listed(dict.fromkeys(f'`{one.should_be}`' for one in seen.misread))}, as the arrays are"


@rule(example=stray("beyond_end", 64, 63, facts={"launched_at": "k_host.py:9"}), seen=Seen(given_kernel=True))
def arguments_of_the_launch(found: Finding, seen: Seen) -> str:
    """Of what goes wrong in a kernel that is given; the row "launched" of the report has the arguments."""
    place = found.facts.get("launched_at")
    if not seen.given_kernel or not place or found.kind == "null" or found.severity != "error":
        return ""
    return (
        f"this kernel is the given one, and right: look at what the launch at {place} passes to it. Is each argument "
        "in its place, does it count what the kernel counts, and is the memory behind it large enough?"
    )


def _launch(blocks: int, leaves: int | None = None, *scratch: Scratch) -> Seen:
    own = Launch(kernel="k", args=("x",), grid=(blocks, 1, 1), block=(64, 1, 1), line=1, leaves=leaves)
    return Seen(plan=LaunchPlan((own,), scratch))


_SECOND = (1, 0, 0)


def _launches(found: Finding, seen: Seen) -> list[Launch]:
    if found.line is None:
        return []
    return [one for one in seen.plan.launches if one.kernel == found.kernel and found.array in one.args]


def _scratch(found: Finding, seen: Seen) -> int | None:
    """The elements of the array, if it is a scratch array."""
    return next((scratch.count for scratch in seen.plan.scratch if scratch.name == found.array), None)


def _blocks_of_one_element(found: Finding, seen: Seen) -> int:
    """The blocks of the largest launch, where the index is the number of a block, and not the first; else 0."""
    number, *rest = found.block or (0, 0, 0)
    is_its_number = not any(rest) and number > 0 and found.index == number
    return max((math.prod(one.grid) for one in _launches(found, seen)), default=0) if is_its_number else 0


def _count(found: Finding) -> int:
    return int(found.facts["array_bytes"] // found.facts["element_bytes"])


@rule("out_of_bounds", example=stray("beyond_end", 1, 1, block=_SECOND), seen=_launch(2, leaves=1))
def uneven_pass(found: Finding, seen: Seen) -> str:
    stored = _scratch(found, seen) is not None or any(place.role != "read" for place in found.places)
    uneven = next((one for one in _launches(found, seen) if disagrees(one)), None)
    if uneven is None or not stored:
        return ""
    said = disagreement(uneven.line, math.prod(uneven.grid), uneven.leaves or 0)
    return f"{said}: both must be the number of elements that the pass stores"


@rule("out_of_bounds", example=stray("beyond_end", 4, 4, block=(4, 0, 0)),
      seen=_launch(8, None, Scratch("x", "float32", 4)))  # fmt: skip
def scratch_for_fewer_blocks(found: Finding, seen: Seen) -> str:
    """Each block stores one element, and there are more blocks than elements."""
    blocks, count = _blocks_of_one_element(found, seen), _scratch(found, seen)
    if count is None or blocks <= count:
        return ""
    has = f"scratch {found.array} has {elements(count)}"
    return f"{_starts(found, seen, blocks)}, but {has}: make the `// scratch` array larger, or the grid smaller"


@rule("out_of_bounds", example=stray("beyond_end", 1, 1, block=_SECOND), seen=_launch(8), cause="beyond_end")
def one_element_for_all_blocks(found: Finding, seen: Seen) -> str:
    blocks = _blocks_of_one_element(found, seen)
    if not blocks or _count(found) != 1:
        return ""
    starts = _starts(found, seen, blocks)
    return f"{starts}, but {found.array} has 1 element: let the blocks store their results in scratch, or in turn"


def _starts(found: Finding, seen: Seen, blocks: int) -> str:
    return f"the launch in line {_launches(found, seen)[0].line} starts {blocks} block{'s' * (blocks != 1)}"


@rule("out_of_bounds", cause="beyond_launch_line",
      example=stray("beyond_launch_line", 16, 16, space="shared", facts={"dynamic": True}))  # fmt: skip
def too_little_for_the_block(found: Finding, seen: Seen) -> str:
    """The launch line's shared memory has not an element for every thread; a wild index gets the general advice."""
    wide = found.facts["width"]
    needed = found.facts["offset"] + wide
    if needed > LARGEST_SHARED_BYTES:
        return ""
    room = f"shared= is the bytes of one block, and this access needs {needed} or more"
    return f"{room}: N elements of {wide} bytes are shared=N*{wide}"


@rule("out_of_bounds", example=stray("too_wide", 1020, 1022, facts={"width": 16}), cause="too_wide")
def wide_access(found: Finding, seen: Seen) -> str:
    """One access to several elements, of which at least one is not there."""
    wide, size = found.facts["width"], found.facts["element_bytes"]
    are, first = f"{wide} bytes are {wide // size} elements", found.facts["offset"] // size
    if first >= _count(found):
        return f"{are}, and none of these is there: check where the first one lies before the access"
    return f"{are}: access whole groups of them like this, what is left one by one"


@rule(
    "out_of_bounds",
    example=stray("beyond_end", 69, 64, space="shared", array="part", block=_SECOND, facts={"block_threads": 64}),
    cause="beyond_end",
)
def index_in_the_whole_grid(found: Finding, seen: Seen) -> str:
    """The index is blockIdx.x * blockDim.x + threadIdx.x, which shared memory does not go by."""
    (thread, *rest), (block, *others) = found.thread or (0, 0, 0), found.block or (0, 0, 0)
    threads = found.facts.get("block_threads", 0)
    of_the_grid = not any((*rest, *others)) and block > 0 < threads and found.index == block * threads + thread
    if found.space != "shared" or not of_the_grid:
        return ""
    own = f"each block has a {Words(found).name} of its own"
    return f"{own}: index it with threadIdx.x, not with the index in the whole grid"


@rule("out_of_bounds", example=stray("beyond_end", 63, 63), seen=kernel("if (t < 64) src[t] = 1;"))
def condition_lets_it_through(found: Finding, seen: Seen) -> str:
    """The condition at the access lets the index through: quote both."""
    line, index, name = found.line or 0, found.index, found.names[-1] if found.names else found.array
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


@rule("out_of_bounds", example=stray("before_start", -1, 64), cause="before_start")
def before_the_array(found: Finding, seen: Seen) -> str:
    return f"index {found.index} lies before the array: let the thread that computes it skip the access"


@rule("out_of_bounds", cause="beyond_end",
      example=stray("beyond_end", 64, 64, space="shared", array="part", facts={"dynamic": True}))  # fmt: skip
def beyond_what_the_launch_line_gives(found: Finding, seen: Seen) -> str:
    """Beyond shared memory of the launch line's size, although that has an element for every thread."""
    if not found.facts.get("dynamic"):
        return ""
    count, who = _count(found), Words(found).thread(found.thread)
    wide = f"is the index too large, or a condition that lets {who} get there?"
    more = f"Only if a block does need more than {elements(count)}, make shared= larger"
    return f"shared={found.facts['array_bytes']} gives the block {elements(count)}, 0 to {count - 1}: {wide} {more}"


@rule("out_of_bounds", example=stray("beyond_end", 64, 63))
def length_of_the_array(found: Finding, seen: Seen) -> str:
    compare = "compare the index with the array's length before the access"
    if found.cause != "beyond_end":
        return compare
    count, name = _count(found), Words(found).name
    return f"{compare}: here {name} has {elements(count)}" + (f", 0 to {count - 1}" if count > 1 else ", number 0")
