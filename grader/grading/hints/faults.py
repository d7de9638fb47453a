"""What to do about what ends a kernel at once: a bad address, a limit of the simulator."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.grading.hints.rules import Example, Seen, finding, rule


@rule("null", example=Example(finding("null", facts={"launched_at": "k_host.py:9"})))
def pointer_of_the_host_file(found: Finding, seen: Seen) -> str:
    place = found.facts.get("launched_at")
    if not place:
        return ""
    return (
        f"check which pointer the launch at {place} passes here. The devicePointer of pointerGetAttributes "
        "is 0 for host memory that is not registered"
    )


@rule("null", example=Example(finding("null")))
def pointer_of_the_launch_line(found: Finding, seen: Seen) -> str:
    return "check which pointer the launch line passes here"


@rule("use_after_free", example=Example(finding("use_after_free", array="x", index=3, facts={"offset": 12})))
def free_it_later(found: Finding, seen: Seen) -> str:
    return "free memory only when every kernel that uses it has ended"


@rule("read_only", example=Example(finding("read_only", space="const", array="W", index=0, facts={"offset": 0})))
def constant_memory(found: Finding, seen: Seen) -> str:
    return "constant memory is written from the host only"


@rule("misaligned", example=Example(finding("misaligned", array="x", index=1, facts={"offset": 4, "width": 16})))
def offset_before_the_cast(found: Finding, seen: Seen) -> str:
    wide = found.facts["width"]
    return f"the address must be a multiple of {wide} bytes: look at the offset before the cast to a wider type"


@rule("instruction_budget", example=Example(finding("instruction_budget", "case")))
def less_work_in_each_thread(found: Finding, seen: Seen) -> str:
    if found.cause != "case":
        return ""
    return "do less work in each thread, or look for a loop that runs longer than it should"


@rule("instruction_budget", example=Example(finding("instruction_budget", "block")))
def condition_of_the_loop(found: Finding, seen: Seen) -> str:
    return (
        "does the loop's condition ever become false? If so, the loop is only long: does every thread walk over the "
        "whole array?"
    )


@rule("print_limit", example=Example(finding("print_limit")))
def print_from_one_thread(found: Finding, seen: Seen) -> str:
    return "print from one thread only: if (threadIdx.x == 0)"


@rule("not_cooperative", example=Example(finding("not_cooperative")))
def cooperative_launch_line(found: Finding, seen: Seen) -> str:
    return (
        "write cooperative at the end of the launch line; in a host file, compile the module with "
        "enable_cooperative_groups=True"
    )


@rule("launch_limit", example=Example(finding("launch_limit", "cooperative", facts={"text": "a cooperative launch"})))
def fewer_blocks_with_more_work(found: Finding, seen: Seen) -> str:
    if found.cause != "cooperative":
        return ""
    return "let each block do more: grid=… with at most sm_count times the blocks that one multiprocessor holds"


@rule("launch_limit", example=Example(finding("launch_limit", "simulator", facts={"text": "a grid of 1 blocks"})))
def smaller_launch(found: Finding, seen: Seen) -> str:
    return "look at its grid and block: launch fewer blocks or threads, or let each use less memory"
