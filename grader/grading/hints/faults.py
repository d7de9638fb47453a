"""Hints for faults that end a kernel, and for threads that wait for ever."""

from __future__ import annotations

import math
import re

from grader.findings.record import Finding
from grader.findings.sentences.faults import UNKNOWN
from grader.grading.hints.indices import made_of, words
from grader.grading.hints.rules import Seen, access, finding, rule, table
from grader.grading.source_view import END, SourceView
from grader.launch import Launch, LaunchPlan
from grader.text import counted, listed


@rule("null", example=finding("null", facts={"launched_at": "k_host.py:9"}))
def pointer_of_the_host_file(found: Finding, seen: Seen) -> str:
    place = found.facts.get("launched_at")
    if not place:
        return ""
    return (
        f"check which pointer the launch at {place} passes here. The devicePointer of pointerGetAttributes "
        "is 0 for host memory that is not registered"
    )


@rule("misaligned", example=finding("misaligned", array="x", index=0, facts={"offset": 0, "width": 16, "begins": 4}))
def slice_of_an_array(found: Finding, seen: Seen) -> str:
    """The array itself begins at an address that is not aligned to the access."""
    begins, wide = found.facts.get("begins", 0), found.facts["width"]
    name = found.names[0] if found.names else found.array
    if not begins:
        return ""
    itself = f"`{name}` itself begins {counted(begins, 'byte')} after a multiple of {wide}, as a slice may"
    where = f"only where its address allows them, `(size_t){name} % {wide} == 0`"
    return f"{itself}: make accesses of {wide} bytes {where}, and others element by element"


@rule("misaligned", example=finding("misaligned", array="x", index=1, facts={"offset": 4, "width": 16}))
def offset_before_the_cast(found: Finding, seen: Seen) -> str:
    wide = found.facts["width"]
    return f"the address must be a multiple of {wide} bytes: look at the offset before the cast to a wider type"


_TWO = (access("barrier", 0, 4), access("barrier", 5, 6))
_SUM = Seen(
    SourceView(
        "\n".join(
            ["__device__ float sum(float x) {", "__syncthreads();", "return x;", "}", "__global__ void k(float* src) {",
             "if (t < 9)", "src[0] = sum(1);", "}"]
        )
    )
)  # fmt: skip


@rule(
    "barrier_divergence",
    example=finding("barrier_divergence", "two_barriers", access("barrier", 0, 2), access("barrier", 5, 2)),
    seen=_SUM,
)
def same_call_for_all(found: Finding, seen: Seen) -> str:
    """The barrier is in a function, unconditionally; so a call of it is under a condition."""
    lines = [place.line for place in found.places if place.role == "barrier" and place.line]
    functions = [seen.source.function(line) for line in lines]
    names = dict.fromkeys(one.name for one in functions if one is not None and one.kind == "function" and one.name)
    branches = (
        branch
        for one, line in zip(functions, lines, strict=True) if one is not None
        for branch in seen.source.parts(line, line, "then", "else", "loop") if branch.line >= one.line
    )  # fmt: skip
    calls = sorted({line for name in names for line in seen.source.calls(name)})
    if None in functions or len(names) < len({one and one.line for one in functions}) or not calls:
        return ""
    if any(branch.kind != "loop" for branch in branches):
        return ""
    called = f"{listed(names)} wait{'s' * (len(names) == 1)} at a barrier, and line{'s' * (len(calls) > 1)} "
    called += f"{listed(map(str, calls))} call{'s' * (len(calls) == 1)} {'it' if len(names) == 1 else 'them'}"
    return f"{called}: every thread must make each call, outside of any if, and of a loop that some leave early"


_SHUFFLES = SourceView(
    "__device__ float add(float v) {\n\n\nv += __shfl_down_sync(0xffffffff, v, 16);\nreturn v;\n}\n"
    "__global__ void k(float* src) {\nfloat v = src[0];\nif (threadIdx.x < 8) v = add(v);\n}"
)


@rule("inactive_lane", example=finding("inactive_lane", facts={"detail": (16,)}), seen=Seen(_SHUFFLES))
def whole_warps_make_the_call(found: Finding, seen: Seen) -> str:
    """The shuffle is in a function, unconditionally, and a call of it is under a condition that parts a warp."""
    line = found.line or 0
    function = seen.source.function(line)
    if function is None or function.kind != "function" or not function.name:
        return ""
    around = seen.source.parts(line, line, "then", "else")
    if any(branch.line >= function.line for branch in around):
        return ""
    calls = [one for one in seen.source.parts(1, END, "call") if one.name == function.name]
    conditions = [(one.line, condition) for one in calls for condition in seen.source.conditions(one)]
    parted = [(at, condition) for at, condition in conditions if _parts_a_warp(condition, at, seen.source)]
    if len(parted) != 1:
        return ""
    [(at, condition)] = parted
    return (
        f"line {at} calls {function.name} only where `{condition}`{_meaning(condition, at, seen.source)}, so that a "
        "part of the warp executes its shuffles: let whole warps make the call, `threadIdx.x < 32` for example"
    )


def _meaning(condition: str, line: int, source: SourceView) -> str:
    """The first value of the only variable in a condition, if it depends on the thread: " (`lane` is `…`)"."""
    [name, *others] = sorted(name for name in words(condition) if source.local(name, line)) or [""]
    value = source.local(name, line)
    if value is None or others or source.is_changed(name) or "threadIdx" not in words(value.texts[1]):
        return ""
    return f" (`{name}` is `{value.texts[1]}`)"


_LEFT = "__global__ void k(float* src) {\nif (threadIdx.x >= 9) return;\n\nv += __shfl_down_sync(0xffffffff, v, 16);\n}"


@rule("inactive_lane", example=finding("inactive_lane", facts={"detail": (16,)}), seen=Seen(SourceView(_LEFT)))
def threads_that_have_left(found: Finding, seen: Seen) -> str:
    """Some threads of the warp leave above the shuffle, or above the only call of its function."""
    line = found.line or 0
    function = seen.source.function(line)
    if function is not None and function.kind == "function" and function.name:
        calls = seen.source.calls(function.name)
        line = calls[0] if len(calls) == 1 else 0
    left = [one for one in seen.source.guards(line) if _leaves_lanes(one.texts[0], one.line, seen.source)]
    if not left:
        return ""
    gone = (
        f"threads leave in line {left[-1].line} where `{left[-1].texts[0]}`, and the shuffle needs all lanes of a warp"
    )
    return f"{gone}: let them come to it with a value that changes nothing, and leave after it"


def _leaves_lanes(condition: str, line: int, source: SourceView) -> bool:
    """Whether a condition may differ between the lanes of a warp."""
    locals_of = [name for name in words(condition) if source.local(name, line)]
    return _parts_a_warp(condition, line, source) or any(map(source.is_changed, locals_of))


_COMPUTED = "__global__ void k(float* src) {\n\n\nv = __shfl_sync(mask, v, source);\n}"


@rule("inactive_lane", example=finding("inactive_lane", facts={"detail": (16,)}), seen=Seen(SourceView(_COMPUTED)))
def lane_that_is_meant(found: Finding, seen: Seen) -> str:
    """The lane that is read is computed, by a shuffle that all come to."""
    line = found.line or 0
    if seen.source.parts(line, line, "then", "else"):
        return ""
    calls = [one for one in seen.source.parts(line, line, "call") if one.name == "__shfl_sync" and len(one.texts) > 2]
    computed = {one.texts[2] for one in calls if words(one.texts[2])}
    if len(computed) != 1:
        return ""
    [lane] = computed
    is_it = f"`{lane}` is {found.facts['detail'][0]} here: is that the lane that was meant?"
    return f"{is_it} One whose value is read must execute the shuffle, too"


_OF_WARPS = re.compile(r"/ *(?:32|warpSize)\b|>> *5\b")


def _parts_a_warp(condition: str, line: int, source: SourceView) -> bool:
    """Whether a condition depends on the thread by more than the number of its warp."""
    locals_of = {name: source.local(name, line) for name in words(condition)}
    known = {name: one.texts[1] for name, one in locals_of.items() if one is not None}
    others = [text for text in known.values() if not _OF_WARPS.search(text)]
    direct = "threadIdx" in words(condition) and not _OF_WARPS.search(condition)
    return direct or any("threadIdx" in made_of(text, source, line) for text in others)


@rule("barrier_divergence", example=finding("barrier_divergence", "two_barriers", *_TWO))
def same_barrier_for_all(found: Finding, seen: Seen) -> str:
    if found.cause == "left_grid":
        return ""
    of_grid = found.facts.get("grid_sync") and found.facts.get("instruction", "").startswith("barrier")
    barrier = "grid.sync()" if of_grid else "__syncthreads()"
    return f"every thread must reach the same {barrier}: move it out of the if, or of the loop that some leave early"


def _memory(resident: int, blocks: int, other: int) -> Finding:
    detail = (resident, blocks, other)
    return finding("deadlock", "memory", array="flags", index=0, facts={"detail": detail, "offset": 0})


@rule("deadlock", example=_memory(4, 8, 7), cause="memory")
def blocks_that_have_started(found: Finding, seen: Seen) -> str:
    resident, blocks, _ = found.facts["detail"]
    if blocks <= resident:
        return ""
    return (
        "a block starts only when there is room for it, and nothing promises in which order: wait only for blocks "
        "that have started before, which is sure with block numbers from an atomicAdd; or launch no more blocks than "
        "fit, each of which does more"
    )


_LANES = {"detail": (1 << 31,)}


@rule("missing_lanes", "deadlock",
      example=finding("missing_lanes", facts=_LANES | {"instruction": "wmma.mma.sync", "matrix": True}))  # fmt: skip
def whole_warps(found: Finding, seen: Seen) -> str:
    if not found.facts.get("matrix"):
        return ""
    return "let whole warps execute it: no return and no branch before it, blocks of a multiple of 32 threads"


_TOO_MANY = {"registers": 80, "threads": 1024, "in_all": 81920, "most": 65536}


_OF_40 = LaunchPlan((Launch(kernel="k", args=("x",), grid=(1, 1, 1), block=(40, 1, 1), line=1),))


@rule("inactive_lane", example=finding("inactive_lane", facts={"detail": (9,)}, thread=(35, 0, 0)),
      seen=Seen(plan=_OF_40))  # fmt: skip
def warp_that_is_not_whole(found: Finding, seen: Seen) -> str:
    """The block has no thread for the lane."""
    launches = [one for one in seen.plan.launches if one.kernel == found.kernel]
    threads = {math.prod(one.block) for one in launches}
    (lane, *_), (thread, *others) = found.facts["detail"], found.thread or (0, 0, 0)
    [count] = threads if len(threads) == 1 else [0]
    if not count or any(others) or thread // 32 * 32 + lane < count:
        return ""
    starts = f"the launch in line {launches[0].line} starts blocks of {count} thread{'s' * (count > 1)}"
    return f"{starts}, so this warp has no lane {lane}: let block= be a multiple of 32"


@rule("launch", example=finding("launch", "registers", facts=_TOO_MANY), cause="registers")
def bounds_of_the_launch(found: Finding, seen: Seen) -> str:
    bounds = f"__launch_bounds__({found.facts['threads']})"
    return f"take fewer threads a block, or tell the compiler to use fewer registers: {bounds} before the kernel's name"


@rule("unassembled", example=finding("unassembled", facts={"why": "ptxas is not installed", "remedy": "install it"}))
def how_to_assemble(found: Finding, seen: Seen) -> str:
    return str(found.facts["remedy"])


table(
    "faults",
    ("pointer_of_the_launch_line", "null", "", finding("null"), "check which pointer the launch line passes here"),
    ("free_it_later", "use_after_free", "", finding("use_after_free", array="x", index=3, facts={"offset": 12}),
     "free memory only when every kernel that uses it has ended"),
    ("constant_memory", "read_only", "",
     finding("read_only", space="const", array="W", index=0, facts={"offset": 0}),
     "constant memory is written from the host only"),
    ("less_work_in_each_thread", "instruction_budget", "case", finding("instruction_budget", "case"),
     "does each thread, or each block, do the work of all? Else look for a loop that runs longer than it should"),
    ("condition_of_the_loop", "instruction_budget", "", finding("instruction_budget", "block"),
     "does the loop's condition ever become false? If so, the loop is only long: does every thread walk over the whole "
     "array?"),
    ("print_from_one_thread", "print_limit", "", finding("print_limit"),
     "print from one thread only: if (threadIdx.x == 0)"),
    ("cooperative_launch_line", "not_cooperative", "", finding("not_cooperative"),
     "write cooperative at the end of the launch line; in a host file, compile the module with "
     "enable_cooperative_groups=True"),
    ("fewer_blocks_with_more_work", "launch_limit", "cooperative",
     finding("launch_limit", "cooperative", facts={"text": "a cooperative launch"}),
     "let each block do more: grid=… with at most sm_count times the blocks that one multiprocessor holds"),
    ("smaller_launch", "launch_limit", "", finding("launch_limit", "simulator", facts={"text": "a grid of 1 blocks"}),
     "look at its grid and block: launch fewer blocks or threads, or let each use less memory"),
    ("less_shared_memory", "launch", "shared", finding("launch", "shared", facts={"bytes": 170000, "most": 166912}),
     "use less shared memory in each block: its __shared__ arrays and shared= count together"),
    ("less_local_memory", "launch", "local", finding("launch", "local", facts={"bytes": 700000, "most": 524288}),
     "an array that a thread declares is local memory, each thread's own: put a large one into a `// scratch` array"),
    ("barrier_that_counts_more", "deadlock", "barrier", finding("deadlock", "barrier", facts={"detail": (1, 32, 64)}),
     "every thread that the barrier counts must reach it"),
    ("object_that_nobody_initialised", "deadlock", "unset_object",
     finding("deadlock", "unset_object", array="bar", facts={"detail": (0, (1 << 20) - 1)}),
     "let one thread init() it, and put a __syncthreads() after that"),
    ("arrivals_of_each_phase", "deadlock", "object",
     finding("deadlock", "object", array="bar", facts={"detail": (3, 64)}),
     "the count that the object is initialised with must be the number of arrivals in each phase; a thread that leaves "
     "must arrive_and_drop() (in a pipeline: producer_commit(), consumer_release(), quit())"),
    ("same_grid_sync_for_all", "deadlock", "grid_sync",
     finding("deadlock", "grid_sync", facts={"detail": (8, 8, UNKNOWN)}),
     "every block must reach the same grid.sync(), also one that has nothing left to do: no return before it"),
    ("no_return_before_grid_sync", "barrier_divergence", "left_grid",
     finding("barrier_divergence", "left_grid", access("exit", 5, 4), access("barrier", 0, 4)),
     "a thread without work must reach grid.sync() as well: put an if around the work, and no return before it"),
    ("who_should_write_it", "deadlock", "memory", _memory(8, 8, UNKNOWN),
     "look for who should write it: it may wait itself, may have ended before, or may never come to the line"),
    ("mask_of_those_that_come", "missing_lanes deadlock", "",
     finding("missing_lanes", facts=_LANES | {"instruction": "shfl.sync.down.b32"}),
     "name only the lanes that execute it, or move it out of the branch"),
    ("all_lanes_shuffle", "inactive_lane", "", finding("inactive_lane", facts={"detail": (7,)}),
     "let all lanes of the warp execute the shuffle, and ignore what you do not need"),
    ("fine_while_unused", "unused_lane", "", finding("unused_lane", facts={"detail": (7,)}),
     "harmless here; where such a value is used, all lanes of the warp must execute the shuffle"),
    ("read_what_is_written", "unused_read", "", finding("unused_read", array="partial", index=5, facts={"offset": 20}),
     "harmless here; read only what has been written before"),
    ("variables_as_they_were", "second_launch", "", finding("second_launch"),
     "give each `__device__` variable its first value back before the kernel ends (the block that comes last can do "
     "that; atomicInc(&count, gridDim.x - 1) counts back to 0), or keep it in an array that a `// zero` line clears"),
    ("barrier_for_all_or_of_a_warp", "barrier_in_branch", "",
     finding("barrier_in_branch", facts={"condition": "t < 32"}),
     "put it outside the branch, for all threads; between the lanes of one warp use __syncwarp()"),
    ("mask_by_the_program", "active_mask", "",
     finding("active_mask", facts={"call": "__shfl_xor_sync"}),
     "name the lanes by a rule of your own: 0xffffffff where the whole warp comes, or what a __ballot_sync() before "
     "the branch returns"),
    ("own_lane_in_the_mask", "bad_mask", "", finding("bad_mask", facts={"instruction": "bar.warp.sync"}),
     "bit l of the mask stands for lane l, and each thread that executes the line needs its bit: where the whole warp "
     "does, the mask is 0xffffffff"),
)  # fmt: skip
