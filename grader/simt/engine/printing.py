"""`printf`: generated code copies each lane's format pointer and packed arguments; Python formats them afterwards.

Formats are those of C, with bounded widths.

A record: format address u64 | block u64 | thread u32 | argument bytes u32 | the bytes, padded to 8.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from grader.simt.engine import findings, ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import FATAL, WARP, WORKER
from grader.simt.engine.values import I1, I32, I64, PTR, VOID, vec

HEADER = 24
MAX_ARGUMENT_BYTES = 256
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d*)(?:\.(\*|\d*))?(hh|h|ll|l|z|j|t|L)?([diouxXcsfFeEgGaAp%])")
WIDEST = 256


@generated("print", VOID, PTR, PTR, I32, vec(I64), vec(I64), I32)
def print_function(module: ir.IRModule, f: Builder) -> None:
    """print(worker, warp, mask, format addresses, argument offsets in local memory, site)."""
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
                f.call(findings.report_function(module), worker, f.const(I32, findings.PRINT_LIMIT), site,
                       first_thread + lane, mask, f.const(I64, 0), f.const(I64, 0))  # fmt: skip
                WORKER.store(f, worker, "status", FATAL)


def render(printed: bytes, text_at: Callable[[int], str], limit: int) -> str:
    """The text of all records in order, cut after ``limit + 1`` characters. ``text_at(address)`` reads a C string."""
    out = []
    at = length = 0
    while at + HEADER <= len(printed) and length <= limit:
        address, _, _, size = struct.unpack_from("<QQII", printed, at)
        arguments = _Arguments(printed[at + HEADER : at + HEADER + size], text_at)
        out.append(_CONVERSION.sub(arguments.convert, text_at(address)))
        length += len(out[-1])
        at += HEADER + size
    return "".join(out)[: limit + 1]


class _Arguments:
    """One call's arguments, packed as a C struct: each value aligned to its size."""

    def __init__(self, raw: bytes, text_at: Callable[[int], str]) -> None:
        self.raw = raw + bytes(16)
        self.at = 0
        self.text_at = text_at

    def take(self, code: str) -> int | float:
        size = struct.calcsize(code)
        self.at = (self.at + size - 1) // size * size
        if self.at + size > len(self.raw):
            return 0
        (value,) = struct.unpack_from("<" + code, self.raw, self.at)
        self.at += size
        assert isinstance(value, int | float)
        return value

    def convert(self, match: re.Match[str]) -> str:
        """The text of one conversion. An unknown conversion does not match the pattern, and stays as it is."""
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        columns = min(WIDEST, abs(int(self.take("i")) if width == "*" else int(width or 0)))
        spec = f"%{flags}{columns or ''}"
        digits = -1 if precision is None else int(self.take("i") if precision == "*" else precision or 0)
        if digits >= 0:
            spec += f".{min(WIDEST, digits)}"
        if kind in "fFeEgG":
            return (spec + kind) % self.take("d")
        if kind in "aA":
            return float(self.take("d")).hex()
        if kind == "s":
            return (spec + "s") % self.text_at(int(self.take("Q")))
        if kind == "c":
            return (spec + "c") % chr(int(self.take("i")) & 0x7F)
        if kind == "p":
            return f"{int(self.take('Q')):#x}"
        code = "q" if length in ("l", "ll", "z", "j", "t") else "i"
        if kind in "di":
            return (spec + "d") % int(self.take(code))
        return (spec + kind.replace("u", "d")) % int(self.take(code.upper()))
