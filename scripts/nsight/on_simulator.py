"""The access patterns of patterns.cu on the simulator: the same requests, as PTX, with the same addresses.

    simulated(patterns) -> one `Counted` for each

A pattern is a record of patterns.json: space, operation, width, 32 element indices and the mask of active lanes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from grader.simt.counters import Counters
from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import Module, parse
from grader.simt.simulate import Call, Memory, Options, simulate

Pattern = Mapping[str, Any]

REACH_BYTES = 48 << 10
"""More than any pattern reaches: global memory of the kernels, and shared memory of a block."""

IDLE = -1
"""Offset of a lane that makes no request."""

_REQUEST = {
    2: ("u16", "%h"),
    4: ("u32", "%r"),
    8: ("v2.u32", "{%r, %r}"),
    16: ("v4.u32", "{%r, %r, %r, %r}"),
}
_OBSERVED = frozenset({"coalescing", "banks"})
_TABLE_LINE, _REQUEST_LINE = 1, 2

# Each lane takes its offset from row `number` of the table. That load is a global request too, so the two have a source
# line each, and only the second one's counters are read.
_KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.file 1 "pattern.cu"
.extern .shared .align 128 .b8 tile[];
.visible .entry pattern(.param .u64 pattern_table, .param .u64 pattern_memory, .param .u32 pattern_number)
{{
    .reg .pred %p;
    .reg .b16 %h;
    .reg .b32 %t, %n, %r;
    .reg .b64 %a, %b, %o, %m;
    .loc 1 1 0
    ld.param.u64 %a, [pattern_table];
    ld.param.u64 %m, [pattern_memory];
    ld.param.u32 %n, [pattern_number];
    mov.u32 %t, %tid.x;
    mad.lo.s32 %t, %n, 32, %t;
    mul.wide.s32 %b, %t, 8;
    add.s64 %a, %a, %b;
    ld.global.s64 %o, [%a];
    setp.lt.s64 %p, %o, 0;
    @%p bra $done;
    mov.u32 %r, 0;
    mov.u16 %h, 0;
    {base}
    add.s64 %o, %o, %m;
    .loc 1 2 0
    {request}
$done:
    ret;
}}
"""


@dataclass(frozen=True)
class Counted:
    """One request of a warp. ``evidence`` is sectors for global memory, excess wavefronts for shared memory."""

    evidence: int
    wavefronts: int = 0


def simulated(patterns: Sequence[Pattern]) -> list[Counted]:
    """Count one request of each pattern; those of one kind are launches of one kernel."""
    found: dict[int, Counted] = {}
    for kind in dict.fromkeys(map(_kind, patterns)):
        chosen = [i for i, p in enumerate(patterns) if _kind(p) == kind]
        found |= dict(zip(chosen, _launches(kind, [patterns[i] for i in chosen]), strict=True))
    return [found[i] for i in range(len(patterns))]


def _kind(pattern: Pattern) -> tuple[str, str, int]:
    return pattern["space"], pattern["operation"], pattern["width"]


def kernel(space: str, operation: str, width: int) -> str:
    """PTX of a kernel whose only request at source line 2 is of that kind."""
    suffix, value = _REQUEST[width]
    base = "mov.u64 %m, tile;" if space == "shared" else ""
    request = f"ld.{space}.{suffix} {value}, [%o];" if operation == "load" else f"st.{space}.{suffix} [%o], {value};"
    return _KERNEL.format(base=base, request=request)


@cache
def _compiled(kind: tuple[str, str, int]) -> tuple[Module, CodeCache]:
    text = kernel(*kind)
    return parse(text), CodeCache(text)


def _launches(kind: tuple[str, str, int], patterns: Sequence[Pattern]) -> list[Counted]:
    table = np.array([_offsets(p) for p in patterns], np.int64)
    memories = [
        Memory("table", np.frombuffer(table.tobytes(), np.uint8), True),
        Memory("memory", np.zeros(REACH_BYTES, np.uint8), True),
    ]
    calls = [_call(number) for number in range(len(patterns))]
    module, code = _compiled(kind)
    outcome = simulate(module, memories, calls, cache=code, options=Options(observed=_OBSERVED))
    assert outcome.complete, outcome.events
    return [_counted(kind, counters) for counters in outcome.counters]


def _offsets(pattern: Pattern) -> list[int]:
    """Byte offset of each lane."""
    return [i * pattern["width"] if pattern["active"] >> lane & 1 else IDLE for lane, i in enumerate(pattern["index"])]


def _call(number: int) -> Call:
    return Call("pattern", (1, 1, 1), (32, 1, 1), REACH_BYTES, ("table", "memory", struct.pack("<i", number)))


def _counted(kind: tuple[str, str, int], counters: Counters) -> Counted:
    space, operation, _ = kind
    line = counters.lines[_REQUEST_LINE]
    assert line[f"{space}_{operation}_requests"] == 1
    if space == "global":
        return Counted(int(line[f"global_{operation}_sectors"]))
    return Counted(int(line["excess_wavefronts"]), int(line[f"shared_{operation}_wavefronts"]))
