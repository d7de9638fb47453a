"""Notes on a kernel that works, but by something that CUDA C does not promise. Pure.

    __syncthreads() in a branch of some warps, while the others end        works: warps that have ended do not count
    __activemask() as the mask of a shuffle or a vote                      works: the lanes happen to be together

Silent unless the source shows it: an early `return` is no branch, and a group of whatever lanes there are, one of
which acts for all (`__ffs`, `__popc` of the mask), is what __activemask() is for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.grading.hints.indices import made_of
from grader.grading.source_view import END, SourceView
from grader.verdict import LaunchRecord

_OF_LANES = re.compile(r"__(?:shfl(?:_\w+)?|ballot|any|all|match_\w+|reduce_\w+)_sync")
_COUNTS_LANES = ("__popc", "__ffs", "__clz")
ACTIVE_MASK = "__activemask"


def notes(text: str, file: str, launches: Sequence[LaunchRecord]) -> Iterator[Finding]:
    """The notes on a source whose kernels ran with these counters. The text is parsed only if there may be one."""
    if ACTIVE_MASK in text:
        yield from _masks(SourceView(text), file)
    kernels = {launch.kernel for launch in launches if _some_warps_skip_a_barrier(launch)}
    if kernels and "__syncthreads" in text:
        yield from _barriers(SourceView(text), file, kernels)


def _masks(source: SourceView, file: str) -> Iterator[Finding]:
    """The first operation of lanes whose mask is __activemask()."""
    calls = source.parts(1, END, "call")
    if any(one.name in _COUNTS_LANES and _is_the_mask(one, source) for one in calls):
        return
    own = (one for one in calls if _OF_LANES.fullmatch(one.name) and _is_active(one, source, *one.texts[:1]))
    first = next(own, None)
    if first is not None:
        yield Finding("active_mask", file=file, line=first.line, facts={"call": first.name})


def _is_active(call: Part, source: SourceView, *arguments: str) -> bool:
    return any(ACTIVE_MASK in made_of(one, source, call.line) for one in arguments)


def _is_the_mask(call: Part, source: SourceView) -> bool:
    """Whether a call's argument is the mask itself, and not something that was made with it."""
    own = (source.local(one, call.line) for one in call.texts)
    values = {*call.texts, *(local.texts[1] for local in own if local is not None)}
    return f"{ACTIVE_MASK}()" in values


def _some_warps_skip_a_barrier(launch: LaunchRecord) -> bool:
    """Whether warps come to barriers in different numbers; it may also be that whole blocks do."""
    warps = math.prod(launch.grid) * math.ceil(math.prod(launch.block) / 32)
    return launch.counters.get("barriers", 0) % warps != 0


def _barriers(source: SourceView, file: str, kernels: set[str]) -> Iterator[Finding]:
    """The first barrier in a branch that depends on the thread, in one of these kernels."""
    for call in source.parts(1, END, "call"):
        function = source.function(call.line)
        if call.name != "__syncthreads" or function is None or function.name not in kernels:
            continue
        conditions = (one for one in source.conditions(call) if "threadIdx" in made_of(one, source, call.line))
        condition = next(conditions, "")
        if condition:
            yield Finding("barrier_in_branch", file=file, line=call.line, facts={"condition": condition})
            return
