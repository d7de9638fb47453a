"""Hints for accesses outside arrays that lie with the launch, the width of an access, or a type."""

from __future__ import annotations

import math
import re

from grader.findings.record import Finding
from grader.findings.sentences.outputs import disagreement
from grader.findings.sentences.words import Words, elements
from grader.grading.causes import disagrees
from grader.grading.hints.arrays import (
    array_length,
    array_name,
    indexed,
    launches_with,
    scratch_length,
)
from grader.grading.hints.indices import (
    NARROW,
    made_of,
    narrow,
    of_the_access,
    plain,
    words,
)
from grader.grading.hints.rules import Seen, finding, kernel, rule, stray
from grader.grading.source_view import END, SourceView
from grader.launch import Launch, LaunchPlan, Scratch
from grader.launch.source import Misread, SourceParameter
from grader.simt.occupancy import MULTIPROCESSORS, SIMULATED
from grader.text import listed

LARGEST_SHARED_BYTES = MULTIPROCESSORS[SIMULATED].shared_bytes_per_block

_READS = (Misread("k", SourceParameter("const double* a", "a", "double"), "a", "float32"),)


@rule(example=finding("wrong", "overwritten", array="a"), seen=Seen(misread=_READS))
def type_of_the_array(found: Finding, seen: Seen) -> str:
    """A parameter of another type than its array, which is the likely cause of wrong outputs and stray accesses.

    This rule and the next one come before all others.
    """
    arrays = [one.array for one in seen.misread]
    if not arrays or (found.kind not in ("wrong", "parameter_type") and found.array not in arrays):
        return ""
    return f"declare {listed(dict.fromkeys(f'`{one.should_be}`' for one in seen.misread))}, as the arrays are"


@rule(example=stray("beyond_end", 64, 63, facts={"launched_at": "k_host.py:9"}), seen=Seen(given_kernel=True))
def arguments_of_the_launch(found: Finding, seen: Seen) -> str:
    """An error in a given kernel: its launch is at fault. The row "launched" of the report has the arguments."""
    place = found.facts.get("launched_at")
    if not seen.given_kernel or not place or found.kind == "null" or found.severity != "error":
        return ""
    return (
        f"this kernel is the given one, and right: look at what the launch passes to it ({place}). Is each argument "
        "in its place, does it count what the kernel counts, and is the memory behind it large enough?"
    )


@rule("out_of_bounds", "race", "wrong", example=stray("beyond_end", 64, 64, line=5),
      seen=kernel("if (t < 64);", "src[t] = 1;"))  # fmt: skip
def condition_of_nothing(found: Finding, seen: Seen) -> str:
    """An access below an ``if`` that ends with its semicolon; of a wrong output, any in the source."""
    function = seen.source.function(found.line) if found.line else None
    first, last = (function.line, found.line or 0) if function else (1, END)
    empty = seen.source.empty_if(first, last) if function or found.kind == "wrong" else None
    if empty is None:
        return ""
    return (
        f"the `;` after `if ({empty.texts[0]})` in line {empty.line} ends the `if`, so it guards nothing: take it out"
    )


def _launch(blocks: int, leaves: int | None = None, *scratch: Scratch) -> Seen:
    own = Launch(kernel="k", args=("x",), grid=(blocks, 1, 1), block=(64, 1, 1), line=1, leaves=leaves)
    return Seen(plan=LaunchPlan((own,), scratch))


_SECOND = (1, 0, 0)


def _blocks_of_one_element(found: Finding, seen: Seen) -> int:
    """The blocks of the largest launch, if the index is the block's number and not 0; else 0."""
    number, *rest = found.block or (0, 0, 0)
    is_its_number = not any(rest) and number > 0 and found.index == number
    return max((math.prod(one.grid) for one in launches_with(found, seen)), default=0) if is_its_number else 0


@rule(
    "out_of_bounds", "uninitialised_read", example=stray("beyond_end", 1, 1, block=_SECOND), seen=_launch(2, leaves=1)
)
def uneven_pass(found: Finding, seen: Seen) -> str:
    """Too many blocks store beyond the end, too few leave elements that the next pass reads."""
    scratch = scratch_length(found, seen) is not None
    stored = scratch or (found.kind == "out_of_bounds" and any(place.role != "read" for place in found.places))
    uneven = next((one for one in launches_with(found, seen) if disagrees(one)), None)
    if uneven is None or not stored:
        return ""
    said = disagreement(uneven.line, math.prod(uneven.grid), uneven.leaves or 0)
    return f"{said}: both must be the number of elements that the pass stores"


@rule("out_of_bounds", example=stray("beyond_end", 4, 4, block=(4, 0, 0)),
      seen=_launch(8, None, Scratch("x", "float32", 4)))  # fmt: skip
def scratch_for_fewer_blocks(found: Finding, seen: Seen) -> str:
    """Each block stores one element, and there are more blocks than elements."""
    blocks, count = _blocks_of_one_element(found, seen), scratch_length(found, seen)
    if count is None or blocks <= count:
        return ""
    has = f"scratch {found.array} has {elements(count)}"
    return f"{_starts(found, seen, blocks)}, but {has}: make the `// scratch` array larger, or the grid smaller"


@rule("out_of_bounds", example=stray("beyond_end", 1, 1, block=_SECOND), seen=_launch(8), cause="beyond_end")
def one_element_for_all_blocks(found: Finding, seen: Seen) -> str:
    blocks = _blocks_of_one_element(found, seen)
    if not blocks or array_length(found) != 1:
        return ""
    starts = _starts(found, seen, blocks)
    return f"{starts}, but {found.array} has 1 element: let the blocks store their results in scratch, or in turn"


def _starts(found: Finding, seen: Seen, blocks: int) -> str:
    return f"the launch in line {launches_with(found, seen)[0].line} starts {blocks} block{'s' * (blocks != 1)}"


_IN_BYTES = SourceView("__global__ void k(float* src) {\n\nfloat* high = part + 8 * sizeof(float);\nhigh[t] = 1;\n}")


@rule("out_of_bounds", example=stray("beyond_end", 64, 64, space="shared", array="part"), seen=Seen(_IN_BYTES))
def bytes_added_to_a_pointer(found: Finding, seen: Seen) -> str:
    """A pointer into the array begins a number of bytes further, and counts elements."""
    names = {*found.names, found.array}
    for local in seen.source.parts(1, END, "local"):
        wide = local.texts[0].endswith("*") and not re.search(r"\b(?:char|void|u?int8_t|byte)\b", local.texts[0])
        begins = re.fullmatch(r"(\w+) *\+.*\bsizeof\b.*", local.texts[1])
        if wide and begins and begins[1] in names and not re.search(r"/ *sizeof", local.texts[1]):
            at = f"`{local.name}` begins at `{local.texts[1]}`, line {local.line}"
            return f"{at}: a pointer counts elements, not bytes, so leave out the sizeof"
    return ""


@rule("out_of_bounds", cause="beyond_launch_line",
      example=stray("beyond_launch_line", 16, 16, space="shared", facts={"dynamic": True}))  # fmt: skip
def too_little_for_the_block(found: Finding, seen: Seen) -> str:
    """The launch line's shared memory has not an element for every thread. Not for an index that is far too large."""
    wide = found.facts["width"]
    needed = found.facts["offset"] + wide
    if needed > LARGEST_SHARED_BYTES:
        return ""
    room = f"shared= is the bytes of one block, and this access needs {needed} or more"
    return f"{room}: N elements of {wide} bytes are shared=N*{wide}"


@rule("out_of_bounds", example=stray("too_wide", 1020, 1022, facts={"width": 16}), cause="too_wide")
def wide_access(found: Finding, seen: Seen) -> str:
    """One access to several elements, of which at least one is outside the array."""
    wide, size = found.facts["width"], found.facts["element_bytes"]
    are, first = f"{wide} bytes are {wide // size} elements", found.facts["offset"] // size
    if found.facts.get("misaligned"):
        begins = f"an access of {wide} bytes must begin at a multiple of {wide} bytes"
        return f"{begins}, and this one begins between two of these: look at the offset before the cast"
    if first >= array_length(found):
        return f"{are}, and none of these is there: {_wide_bound(found, seen)}"
    return f"{are}: access whole groups of {wide // size} like this, and one by one the elements that are left"


_CAST_POINTER = re.compile(r"(?:reinterpret_cast<|\()\s*(?:const\s+)?(\w+)\s*\*\s*[>)]")


def _wide_bound(found: Finding, seen: Seen) -> str:
    """What to compare, where one condition looks at a part of the index; or in what the index counts."""
    index, known = indexed(found, seen)
    about = [at for at in known.values() if words(at.less) & words(index)]
    if len(about) != 1 or about[0].less == plain(index):
        for one in seen.source.elements(found.line or 0):
            cast = _CAST_POINTER.search(one.name)
            if cast and words(one.name) & {*found.names, found.array}:
                each = found.facts["width"] // found.facts["element_bytes"]
                return (
                    f"the index `{one.texts[0]}` counts in `{cast[1]}`, {each} elements each. Does each of its terms?"
                )
        return "check where the first one lies before the access"
    [at] = about
    holds = f"`{at.less} {'<=' if at.or_equal else '<'} {at.more}` is true, but the access is at `{index}`"
    return f"{holds}: is that the element you mean? If so, compare that"


_MANY = Seen(
    SourceView(
        "\n".join(["", "__global__ void k(float* src) {", "short i = threadIdx.x + blockIdx.x;", "src[i] = 1;", "}"])
    ),
    LaunchPlan((Launch(kernel="k", args=("x",), grid=(1024, 1, 1), block=(64, 1, 1), line=1),)),
)


_CAST_TO = re.compile(r"\(\s*((?:unsigned |signed )?(?:short|char))(?: int)?\s*\)")


@rule("out_of_bounds", example=stray("before_start", -32768, 65536), seen=kernel("src[(short)(r * 256 + t)] = 1;"))
def index_cast_to_a_short_type(found: Finding, seen: Seen) -> str:
    for access in of_the_access(found, seen.source):
        cast = _CAST_TO.search(" + ".join(access.texts))
        largest = NARROW[cast[1].removeprefix("signed ")] if cast else 0
        if cast is not None and (array_length(found) or 0) > largest + 1:
            return (
                f"the index is cast to `{cast[1]}`, which ends at {largest}, and {array_name(found)} has "
                f"{elements(array_length(found) or 0)}: leave out the cast"
            )
    return ""


_ALONG = re.compile(r"\b(?:thread|block)Idx\s*\.\s*([xyz])")


@rule("out_of_bounds", example=stray("before_start", -32768, 65536), seen=_MANY)
def variable_too_short_for_the_grid(found: Finding, seen: Seen) -> str:
    """A variable of type ``short`` for the numbers of more threads than it can count."""
    for access in of_the_access(found, seen.source):
        short = narrow(" + ".join(access.texts), seen.source, access.line)
        local = seen.source.local(short[0], access.line) if short else None
        axes = ["xyz".index(axis) for axis in dict.fromkeys(_ALONG.findall(local.texts[1]))] if local else []
        counts = [[one.grid[axis] * one.block[axis] for axis in axes or range(3)] for one in launches_with(found, seen)]
        threads = max(map(math.prod, counts), default=0)
        if short is not None and threads > short[2]:
            name, type_name, largest = short
            ends = f"`{name}` is a `{type_name}`, which ends at {largest}"
            return f"{ends}, and there are {threads} threads: make it an `int`"
    return ""


@rule(
    "out_of_bounds",
    example=stray("beyond_end", 69, 64, space="shared", array="part", block=_SECOND, facts={"block_threads": 64}),
    cause="beyond_end",
)
def index_in_the_whole_grid(found: Finding, seen: Seen) -> str:
    """Shared memory is indexed with blockIdx.x * blockDim.x + threadIdx.x."""
    (thread, *rest), (block, *others) = found.thread or (0, 0, 0), found.block or (0, 0, 0)
    threads = found.facts.get("block_threads", 0)
    of_the_grid = not any((*rest, *others)) and block > 0 < threads and found.index == block * threads + thread
    if found.space != "shared" or not of_the_grid:
        return ""
    own = f"each block has a {Words(found).name} of its own"
    return f"{own}: index it with threadIdx.x, not with the index in the whole grid"


@rule("out_of_bounds", example=stray("beyond_end", 70, 64, space="shared", array="part", block=_SECOND),
      seen=kernel("int i = blockIdx.x * 64 + threadIdx.x; part[i + 1] = 1;"))  # fmt: skip
def index_made_of_the_block(found: Finding, seen: Seen) -> str:
    """An index into shared memory that grows with the number of the block."""
    if found.space != "shared" or not any(found.block or ()):
        return ""
    texts = [text for access in of_the_access(found, seen.source) for text in access.texts]
    grows = [text for text in texts if "blockIdx" in made_of(text, seen.source, found.line or 0) and "%" not in text]
    own = f"each block has a {Words(found).name} of its own"
    return f"{own}, and the index `{grows[0]}` grows with blockIdx: count with threadIdx alone" if grows else ""


# ----------------------------------------------------------------------------------------- conditions around the access
