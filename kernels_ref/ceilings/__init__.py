"""Ceilings: the simplest kernels of each kind, to be measured on the GPU at hand. Plain data; imports nothing.

A `Ceiling` is sized by the work of the exercise that it stands beside: its expressions may use ``bytes`` and
``flops`` (the exercise's `Work` at its timed size; ``bytes`` are those of shared memory where the target's unit is
that), ``sm_count``, ``cdiv``, ``min``, ``max``, and its own ``numbers`` by name, in order. Its own ``work`` over its
median time is the ceiling, in B/s, FLOP/s or OP/s (integers); ``peak`` is the unit of `Target` whose peak is above it,
where the ceiling's own unit does not say so.

``args`` are names of arrays (their addresses) and of numbers: an integer is 64 bits wide, a decimal fraction a float.
``sink`` is four bytes of device memory that nothing depends on. Array contents do not matter, but let them be written
once before. Without a ``kernel`` it is ``cudaMemcpyAsync`` from the first array to the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Operand:
    """An array of ``bytes`` bytes; ``host`` is pinned memory, which a kernel gets as mapped memory."""

    name: str
    bytes: str
    memory: Literal["device", "host"] = "device"


@dataclass(frozen=True)
class Ceiling:
    """One kernel in ``file``, launched in one dimension on ``grid`` blocks of ``block`` threads."""

    what: str
    unit: Literal["B", "FLOP", "OP"]
    work: str
    file: str = ""
    kernel: str = ""
    arrays: tuple[Operand, ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    args: tuple[str, ...] = ()
    grid: str = "1"
    block: int = 256
    peak: str = ""


def _stream(
    what: str,
    kernel: str,
    file: str,
    arrays: str,
    width: int,
    grid: str = "cdiv(n, 256)",
    block: int = 256,
    sink: bool = False,
) -> Ceiling:
    """A kernel that goes once over each of its arrays, all of n elements of ``width`` bytes."""
    names = tuple(arrays)
    return Ceiling(
        what=what,
        unit="B",
        work=f"{len(names) * width} * n",
        file=file,
        kernel=kernel,
        arrays=tuple(Operand(name, f"{width} * n") for name in names),
        numbers=(("n", f"max(bytes / {len(names) * width}, 1)"),),
        args=(*names, "n", "sink") if sink else (*names, "n"),
        grid=grid,
        block=block,
    )


CEILINGS: Mapping[str, Ceiling] = {
    "read_f32x1": _stream("read, one float a thread", "read_f32x1", "read.cu", "x", 4, sink=True),
    # One round of four loads for each thread: with nothing to do at a block's end, as many blocks as there can be are
    # the fastest, because they even out what is unequal between multiprocessors and memory channels.
    "read_f32x4": _stream(
        "read, float4, four loads a thread",
        "read_f32x4",
        "read.cu",
        "x",
        16,
        "cdiv(n, 4096)",
        1024,
        sink=True,
    ),
    "write_f32x4": _stream("write, four floats a thread", "write_f32x4", "write.cu", "y", 16),
    "copy_f32x1": _stream("copy, one float a thread", "copy_f32x1", "copy.cu", "xy", 4),
    "copy_f32x1_8": _stream(
        "copy, eight floats a thread, one at a time", "copy_f32x1_8", "copy.cu", "xy", 4, "cdiv(n, 2048)"
    ),
    "copy_f32x4": _stream("copy, four floats a thread", "copy_f32x4", "copy.cu", "xy", 16),
    "narrow_16_to_8": Ceiling(
        what="read 16 bytes and write 8 of them, four times a thread",
        unit="B",
        work="24 * n",
        file="narrow.cu",
        kernel="narrow_16_to_8",
        arrays=(Operand("x", "16 * n"), Operand("y", "8 * n")),
        numbers=(("n", "max(bytes / 24, 1)"),),
        args=("x", "y", "n"),
        grid="cdiv(n, 1024)",
    ),
    "narrow_32_to_8": Ceiling(
        what="read 32 bytes of two places and write 8 of them, twice a thread",
        unit="B",
        work="40 * n",
        file="narrow.cu",
        kernel="narrow_32_to_8",
        arrays=(Operand("x", "32 * n"), Operand("y", "8 * n")),
        numbers=(("n", "max(bytes / 40, 1)"),),
        args=("x", "y", "n"),
        grid="cdiv(n, 512)",
    ),
    "spread_16_to_144": Ceiling(
        what="read 16 bytes and write them to nine places, twice a thread",
        unit="B",
        work="160 * n",
        file="spread.cu",
        kernel="spread_16_to_144",
        arrays=(Operand("x", "16 * n"), Operand("y", "144 * n")),
        numbers=(("n", "max(bytes / 160, 1)"),),
        args=("x", "y", "n"),
        grid="cdiv(n, 512)",
    ),
    "add_f32x1": _stream("add, one float a thread", "add_f32x1", "add.cu", "abc", 4),
    "add_f32x4": _stream("add, four floats a thread", "add_f32x4", "add.cu", "abc", 16),
    "add_copy_f32x4": _stream(
        "two arrays read and two written, four floats a thread", "add_copy_f32x4", "add.cu", "abcd", 16
    ),
    "read_4_write_3_f32x4": _stream(
        "four arrays read and three written, four floats a thread", "read_4_write_3_f32x4", "add.cu", "abcdefg", 16
    ),
    "add_f16x8": _stream("add, eight halves a thread", "add_f16x8", "add.cu", "abc", 16),
    "host_read_f32x4": Ceiling(
        what="read mapped host memory, float4, grid-stride",
        unit="B",
        work="16 * n",
        file="read.cu",
        kernel="read_f32x4",
        arrays=(Operand("x", "16 * n", "host"),),
        numbers=(("n", "max(bytes / 16, 1)"),),
        args=("x", "n", "sink"),
        grid="8 * sm_count",
    ),
    "link_to_device": Ceiling(
        what="cudaMemcpyAsync from pinned host memory to the device",
        unit="B",
        work="bytes",
        arrays=(Operand("x", "bytes", "host"), Operand("y", "bytes")),
    ),
    "link_to_host": Ceiling(
        what="cudaMemcpyAsync from the device to pinned host memory",
        unit="B",
        work="bytes",
        arrays=(Operand("x", "bytes"), Operand("y", "bytes", "host")),
    ),
    "fma_f32": Ceiling(
        what="fp32 fused multiply-add from registers",
        unit="FLOP",
        work="rounds * grid * 256 * 256",
        file="fma.cu",
        kernel="fma_f32",
        numbers=(
            ("grid", "8 * sm_count"),
            ("rounds", "max(flops / (grid * 256 * 256), 1)"),
            ("factor", "0.5"),
            ("term", "1.0"),
        ),
        args=("factor", "term", "rounds", "sink"),
        grid="grid",
    ),
    "quotient_f32": Ceiling(
        what="a reciprocal with four fp32 multiply-adds, from registers",
        unit="FLOP",
        work="rounds * grid * 256 * 288",
        file="quotient.cu",
        kernel="quotient_f32",
        numbers=(
            ("grid", "8 * sm_count"),
            ("rounds", "max(flops / (grid * 256 * 288), 1)"),
            ("factor", "0.5"),
            ("term", "1.0"),
        ),
        args=("factor", "term", "rounds", "sink"),
        grid="grid",
    ),
    "dp4a_i8": Ceiling(
        what="dp4a, four int8 multiply-adds, from registers",
        unit="OP",
        work="rounds * grid * 256 * 1024",
        file="dp4a.cu",
        kernel="dp4a_i8",
        numbers=(("grid", "8 * sm_count"), ("rounds", "max(flops / (grid * 256 * 1024), 1)"), ("factors", "16843009")),
        args=("factors", "rounds", "sink"),
        grid="grid",
    ),
    "distance_f32": Ceiling(
        what="fp32 sums of distances from registers",
        unit="FLOP",
        work="rounds * grid * 256 * 256",
        file="distance.cu",
        kernel="distance_f32",
        numbers=(
            ("grid", "8 * sm_count"),
            ("rounds", "max(flops / (grid * 256 * 256), 1)"),
            ("other", "0.5"),
            ("step", "0.25"),
        ),
        args=("other", "step", "rounds", "sink"),
        grid="grid",
    ),
    "decode_u32": Ceiling(
        what="xorshift and CRC-32 steps from registers, whole warps of each",
        unit="OP",
        work="rounds * grid * 256 * 124",
        file="decode.cu",
        kernel="decode_u32",
        # Many short blocks: the two computations do not take equally long, and a block has warps of both.
        numbers=(("grid", "64 * sm_count"), ("rounds", "max(flops / (grid * 256 * 124), 1)")),
        args=("rounds", "sink"),
        grid="grid",
        peak="int32",
    ),
    "shared_f32": Ceiling(
        what="shared memory: four words stored, a barrier, four others loaded",
        unit="B",
        work="rounds * grid * 256 * 64",
        file="shared.cu",
        kernel="shared_f32",
        numbers=(("grid", "8 * sm_count"), ("rounds", "max(bytes / (grid * 256 * 64), 1)")),
        args=("rounds", "sink"),
        grid="grid",
        peak="shared",
    ),
    "mma_f16": Ceiling(
        what="mma.sync m16n8k16, fp16 with fp32 accumulation, from registers",
        unit="FLOP",
        work="rounds * grid * 8 * 32768",
        file="mma.cu",
        kernel="mma_f16",
        numbers=(("grid", "4 * sm_count"), ("rounds", "max(flops / (grid * 8 * 32768), 1)")),
        args=("rounds", "sink"),
        grid="grid",
    ),
    "mma_i8": Ceiling(
        what="mma.sync m16n8k32, int8 with int32 accumulation, from registers",
        unit="OP",
        work="rounds * grid * 8 * 65536",
        file="mma.cu",
        kernel="mma_i8",
        numbers=(("grid", "4 * sm_count"), ("rounds", "max(flops / (grid * 8 * 65536), 1)")),
        args=("rounds", "sink"),
        grid="grid",
    ),
}
"""Name, as in `Target.ceiling` -> the ceiling. ``mma_f16`` bounds WMMA and ``mma.sync``, as ``mma_i8`` does for bytes;
``wgmma`` can pass it.
"""
