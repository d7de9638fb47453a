"""`printf`: generated code copies each lane's format pointer and packed arguments; Python formats them afterwards.

A record: format address u64 | block u64 | thread u32 | argument bytes u32 | the bytes, padded to 8.
"""

from __future__ import annotations

from grader.simt.engine import findings, ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.layout import FATAL, WARP, WORKER
from grader.simt.engine.values import I1, I32, I64, PTR, VOID, vec

HEADER = 24
MAX_ARGUMENT_BYTES = 256


def print_function(module: ir.Module, report: ir.Function) -> ir.Function:
    """print(worker, warp, mask, format addresses, argument offsets in local memory, site)."""
    existing = module.globals.get("print")
    if existing is not None:
        return existing
    f = Builder(module, "print", VOID, [PTR, PTR, I32, vec(I64), vec(I64), I32])
    worker, warp, mask, texts, offsets, site = f.args
    table = f.array(I64, 64)
    f.store(texts, table, align=64)
    f.store(offsets, f.at(table, 256), align=64)
    stride = WORKER.load(f, worker, "local_bytes")
    first_thread = WARP.load(f, warp, "index") * 32
    with f.each_lane(mask) as lane:
        at = lane.zext(I64)
        text, offset = f.load(I64, f.at(table, at * 8)), f.load(I64, f.at(table, at * 8 + 256))
        room = stride - offset
        inside = offset.ult(stride).select(room, 0)
        size = inside.ult(MAX_ARGUMENT_BYTES).select(inside, f.const(I64, MAX_ARGUMENT_BYTES)) & -8
        used = WORKER.load(f, worker, "printed_bytes")
        fits = (used + size + HEADER).ule(WORKER.load(f, worker, "printed_limit"))
        with f.if_else(fits) as (yes, no):
            with yes:
                thread = first_thread + lane
                row = f.at(WORKER.load(f, worker, "printed"), used)
                f.store(text, row)
                f.store(WORKER.load(f, worker, "serial") - WORKER.load(f, worker, "serial_base"), row, 8)
                f.store(thread, row, 16)
                f.store(size.trunc(I32), row, 20)
                source = f.at(WORKER.load(f, worker, "local"), thread.zext(I64) * stride + offset)
                f.intrinsic("llvm.memcpy.p0.p0.i64", VOID, f.at(row, HEADER), source, size, f.const(I1, 0))
                WORKER.store(f, worker, "printed_bytes", used + size + HEADER)
            with no:
                f.call(report, worker, f.const(I32, findings.PRINT_LIMIT), site, first_thread + lane, mask,
                       f.const(I64, 0), f.const(I64, 0))  # fmt: skip
                WORKER.store(f, worker, "status", FATAL)
    f.ret()
    f.fn.attributes.add("noinline")
    return f.finish()
