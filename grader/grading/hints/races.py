"""Hints for all other races: between blocks, on one line, without a fence; and what two accesses lack in any case."""

from __future__ import annotations

import re

from grader.findings.record import Finding
from grader.grading.hints.barriers import in_one_warp
from grader.grading.hints.overlaps import is_of_the_grid
from grader.grading.hints.rules import Seen, access, finding, kernel, race, rule, table
from grader.grading.source_view import END

_WRITE_READ = (access("write", 49, 4), access("read", 5, 6))
_OTHER_BLOCK = (access("write", 5, 4, block=1), access("read", 5, 6))


@rule("missing_fence", "order_dependent", seen=kernel("src[0] = 1;", "__threadfence_block();"),
      example=race("", *_OTHER_BLOCK, kind="missing_fence", space="global"))  # fmt: skip
def fence_of_the_block(found: Finding, seen: Seen) -> str:
    lines = seen.source.calls("__threadfence_block")
    if not lines:
        return ""
    own = f"the __threadfence_block() in line {lines[0]} orders for the threads of its own block"
    return f"{own}: what another block is to see takes a __threadfence()"


@rule("missing_fence", example=race("", access("write", 0, 4, block=1), access("write", 0, 4), kind="missing_fence",
      space="global"))  # fmt: skip
def one_block_should_store(found: Finding, seen: Seen) -> str:
    """Two plain stores: first it has to be clear which block should store, and only then a fence can help."""
    if {place.role for place in found.places} != {"write"} or is_of_the_grid(found):
        return ""
    return (
        "let one block store there, the one that has the whole result, or give each block elements of its own: is the "
        "index, or where the block begins, right? Only where one block waits for the other's signal, put a "
        "__threadfence() before that signal"
    )


@rule("race", "missing_fence", example=race("between_blocks", access("atomic", 0, 5), access("write", 0, 4, block=1),
      space="global", names=("x",)), seen=kernel("x[t] = 0;", "atomicAdd(&x[t], 1);"))  # fmt: skip
def number_before_the_atomics(found: Finding, seen: Seen) -> str:
    """A block stores a number to what other blocks change by atomics further down."""
    lines = {place.role: place.line for place in found.places}
    store, atomic = lines.get("write"), lines.get("atomic")
    if found.space != "global" or not store or not atomic or store >= atomic:
        return ""
    names = (*found.names, found.array)
    stored = [one.texts[-1] for one in seen.source.parts(store, store, "stored") if one.name in names]
    if not stored or not all(re.fullmatch(r"-?[\d.]+[fu]?", text) for text in stored):
        return ""
    late = f"a block that begins late stores {stored[0]} in line {store} over what others have added by then"
    zero = f": a `// zero {found.array}` line" if float(stored[0].rstrip("fu")) == 0 else ": a launch of its own"
    return f"{late}{zero} does that before all of them"


@rule("race", cause="between_blocks within_block",
      example=race("between_blocks", *_OTHER_BLOCK, space="global", names=("src", "dst")))  # fmt: skip
def one_array_for_two_parameters(found: Finding, seen: Seen) -> str:
    if len(found.names) != 2:
        return ""
    first, second = found.names
    return f"the kernel's {first} and {second} are the same memory here: pass two arrays that take turns"


def _has(role: str, found: Finding) -> bool:
    return any(place.role == role for place in found.places)


def _is_for_the_grid(found: Finding) -> bool:
    """Whether a missing grid barrier in a cooperative launch is the likely cause."""
    within = found.space != "shared" and not found.facts.get("grid_sync") and not _has("copy", found)
    return bool(found.facts.get("cooperative")) and (found.cause == "between_blocks" or within)


_BETWEEN = race("between_blocks", *_OTHER_BLOCK, space="global")
_GRID_SYNC, _COOPERATIVE = {"grid_sync": "grid.sync()"}, {"cooperative": True}
_IN_ANOTHER_ORDER = {"kind": "race", "accesses": (("write", 4), ("read", 6))}
_SAME_LINE = (access("write", 49, 4), access("read", 5, 4))

_OF_BLOCK = (access("atomic", 0, 4, block=1), access("atomic", 0, 4))


@rule("race", example=race("one_line", *_SAME_LINE), seen=kernel("part[x[t]] += 1;"), cause="one_line one_index")
def element_that_the_data_choose(found: Finding, seen: Seen) -> str:
    """A statement changes one element, and which one depends on a value that was loaded."""
    line = found.line or 0
    names = {*found.names, found.array}
    changed = [one for one in seen.source.parts(line, line, "stored") if one.texts[0] != "="]
    elements = [one for one in seen.source.elements(line) if one.name in names and "[" in "".join(one.texts)]
    if not elements or len({one.texts for one in elements}) > 1 or not changed:
        return ""
    element = f"{elements[0].name}[{']['.join(elements[0].texts)}]"
    return (
        f"`{element}` is the same element for all threads that have the same value there, and no barrier keeps them "
        f"apart: change it with an atomic, `atomicAdd(&{element}, …)`"
    )


@rule("race", example=race("within_block", access("write", 9, 4), access("read", 5, 5)), cause="within_block",
      seen=kernel("part[t] = 1;", "x = part[t + 4];", "__syncwarp();"))  # fmt: skip
def barrier_of_block_or_warp(found: Finding, seen: Seen) -> str:
    """Two lanes of one warp, in a program that orders lanes elsewhere."""
    by_warps = any(one.name == "__syncwarp" for one in seen.source.barriers(1, END))
    if found.space != "shared" or not by_warps or not in_one_warp(found) or _has("copy", found):
        return ""
    return (
        "put a __syncthreads() between the two accesses, or a __syncwarp() if only the lanes of one warp share these "
        "elements; if they stand in a loop, one between its rounds, too"
    )


table(
    "races",
    ("atomic_of_the_block", "race", "scope_of_the_block", race("scope_of_the_block", *_OF_BLOCK, space="global"),
     "leave out the `_block` in the function's name (in PTX it is `.cta`): without it an atomic is one step for all "
     "blocks"),
    ("grid_sync_between_blocks", "race", "between_blocks",
     race("between_blocks", *_OTHER_BLOCK, space="global", facts=_GRID_SYNC),
     "put a grid.sync() between the two accesses: it orders all blocks, __syncthreads() only its own",
     lambda found: found.facts.get("grid_sync")),
    ("all_blocks_wait", "race", "between_blocks within_block",
     race("between_blocks", *_OTHER_BLOCK, space="global", facts=_COOPERATIVE),
     "put a cooperative_groups::this_grid().sync() between the two accesses: it orders all blocks, __syncthreads() "
     "only its own", _is_for_the_grid),
    ("read_and_write_of_blocks", "race", "between_blocks", _BETWEEN,
     "blocks run in any order. If both are to use this element: write to another array than the one that is read, or "
     "use a second launch; where all blocks change it, an atomic. If not, one of the two indices is wrong",
     lambda found: _has("read", found)),
    ("writes_of_blocks", "race", "between_blocks",
     race("between_blocks", access("write", 0, 4, block=1), access("write", 0, 6), space="global"),
     "blocks run in any order: let only one of them store to the element; where each has a part of the result, use an "
     "atomic, or a second launch"),
    ("one_line_in_shared", "race", "one_line several_readers", race("one_line", *_SAME_LINE),
     "one line does both: in a loop, end its body with __syncthreads(); else let one thread do it, or atomicAdd",
     lambda found: found.space == "shared"),
    ("one_line", "race", "one_line several_readers", race("one_line", *_SAME_LINE, space="global"),
     "one line does both: if the element is meant for all of them, use atomicAdd; if threads read what others write, "
     "write to another array than the one that is read"),
    ("grid_sync_or_barrier", "race", "", race("within_block", *_WRITE_READ, space="global", facts=_GRID_SYNC),
     "put a grid.sync() between the two accesses, or a __syncthreads() if other blocks never touch them",
     lambda found: found.facts.get("grid_sync")),
    ("barrier_of_the_block", "race", "", race("within_block", *_WRITE_READ),
     "put a __syncthreads() between the two accesses; if they stand in a loop, one between its rounds, too",
     lambda found: found.space == "shared" or _has("copy", found)),
    # Shared memory belongs to one block; a race in global memory is likely to be with other blocks as well.
    ("within_one_launch", "race", "", race("within_block", *_WRITE_READ, space="global"),
     "if no other block touches these elements, put a __syncthreads() between the two accesses; else write to another "
     "array than the one that is read, or use a second launch"),
    ("barrier_of_ones_own", "missing_fence", "",
     race("", *_OTHER_BLOCK, kind="missing_fence", space="global", facts=_COOPERATIVE),
     "let all blocks wait with cooperative_groups::this_grid().sync(). A barrier of your own needs a __threadfence() "
     "before its atomic and after its wait, and a counter that begins anew in each launch",
     lambda found: found.facts.get("cooperative")),
    ("fence_before_the_signal", "missing_fence", "", race("", *_OTHER_BLOCK, kind="missing_fence", space="global"),
     "if an atomic tells the other block that the value is there, put a __threadfence() before that atomic"),
    ("volatile_orders_nothing", "order_dependent", "volatile",
     finding("order_dependent", "volatile", facts=_IN_ANOTHER_ORDER),
     "`volatile` lets no thread wait for another. Between threads of a block put a __syncthreads(), within one warp a "
     "__syncwarp(). To hand values to another block, put a __threadfence() before the atomic or the flag that tells "
     "about them"),
    ("no_order_of_atomics", "order_dependent", "atomic",
     finding("order_dependent", "atomic", facts=_IN_ANOTHER_ORDER),
     "an atomic is one step, but nothing holds two of them together, and no block knows that it is the last: change "
     "the element with one atomic, and let the block that draws the last ticket do what is left"),
    ("the_same_work_twice", "same_value_write", "",
     race("", access("write", 0, 4, block=1), access("write", 0, 4), kind="same_value_write", space="global"),
     "both compute the same index. If each element is to be one thread's work, look at where a thread's index begins, "
     "and how far it steps", lambda found: found.space == "global"),
    ("one_writer_is_enough", "same_value_write", "",
     race("", access("write", 49, 4), access("write", 5, 4), kind="same_value_write"),
     "harmless here, but one writer is enough"),
)  # fmt: skip
