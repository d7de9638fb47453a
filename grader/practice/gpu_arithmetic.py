"""Functions about GPUs for the answers of numeric questions: `interview.toml` may use them besides arithmetic.

Each has an example, which a test executes and the authors' page shows. They take and return plain numbers; an
architecture is its compute capability without the point: 80 for an A100, 90 for an H100 or H200.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.expressions import Number
from grader.frozen import dataclass
from grader.simt.occupancy import WARP, Occupancy
from grader.simt.occupancy import occupancy as occupancy_of

SECTOR_BYTES = 32
WORD_BYTES = 4  # of each of as many banks as a warp has lanes
WIDTHS = (1, 2, 4, 8, 16)  # bytes of one lane's access


@dataclass(frozen=True)
class GpuFunction:
    """A function with the way it is called, and an example with its value."""

    call: Callable[..., Number]
    signature: str
    example: str
    value: Number

    @property
    def meaning(self) -> str:
        return " ".join((self.call.__doc__ or "").split())


REGISTERED: list[GpuFunction] = []


def function(signature: str, example: str, value: Number) -> Callable[[Callable[..., Number]], Callable[..., Number]]:
    """Let expressions call the decorated function; its docstring is what authors read."""

    def register(call: Callable[..., Number]) -> Callable[..., Number]:
        REGISTERED.append(GpuFunction(call, signature, example, value))
        return call

    return register


def functions() -> Mapping[str, Callable[..., Number]]:
    """The functions by name, as `grader.expressions.evaluate` takes them."""
    return {one.signature.partition("(")[0]: one.call for one in REGISTERED}


# ----------------------------------------------------------------------------------------------------------- occupancy


@function("resident_blocks(threads, registers, shared_bytes, arch)", "resident_blocks(128, 37)", 12)
def resident_blocks(threads: Number, registers: Number, shared_bytes: Number = 0, arch: Number = 80) -> Number:
    """Blocks that fit on one SM; without the last two, of an A100 and without shared memory."""
    return _resident(threads, registers, shared_bytes, arch).blocks


@function("resident_warps(threads, registers, shared_bytes, arch)", "resident_warps(256, 64, 49152)", 24)
def resident_warps(threads: Number, registers: Number, shared_bytes: Number = 0, arch: Number = 80) -> Number:
    """Warps of these blocks."""
    return _resident(threads, registers, shared_bytes, arch).warps


@function("occupancy(threads, registers, shared_bytes, arch)", "occupancy(1024, 40, 0, 90)", 0.5)
def occupancy(threads: Number, registers: Number, shared_bytes: Number = 0, arch: Number = 80) -> Number:
    """Resident warps divided by the most that an SM holds."""
    return _resident(threads, registers, shared_bytes, arch).fraction


def _resident(threads: Number, registers: Number, shared_bytes: Number, arch: Number) -> Occupancy:
    return occupancy_of(
        f"sm_{_whole(arch)}",
        threads=_whole(threads), registers=_whole(registers), shared_bytes=_whole(shared_bytes),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- requests of a full warp


@function("sectors(stride, bytes, offset)", "sectors(2, 4)", 8)
def sectors(stride: Number, size: Number = 4, offset: Number = 0) -> Number:
    """Sectors of 32 bytes that one request to global memory touches: lane i accesses element offset + i * stride, each
    of so many bytes, of an array that begins at a sector.
    """
    first = (_element(offset + lane * stride, size) for lane in range(WARP))
    return len({byte // SECTOR_BYTES for start in first for byte in (start, start + _width(size) - 1)})


@function("wavefronts(stride, bytes)", "wavefronts(33, 4)", 1)
def wavefronts(stride: Number, size: Number = 4) -> Number:
    """Wavefronts of one load from shared memory: lane i accesses element i * stride. Without conflicts it is 1 for up
    to 4 bytes, 2 for 8 and 4 for 16.
    """
    return sum(_ways_of_groups(stride, size))


@function("bank_ways(stride, bytes)", "bank_ways(32, 4)", 32)
def bank_ways(stride: Number, size: Number = 4) -> Number:
    """Ways of its bank conflict: the most different words that lanes served together want of one bank. 1 is none."""
    return max(_ways_of_groups(stride, size))


def _ways_of_groups(stride: Number, size: Number) -> list[int]:
    """Of each group of neighbouring lanes that is served together, the distinct units of its busiest bank."""
    width = max(WORD_BYTES, _width(size))
    lanes = banks = WARP * WORD_BYTES // width
    if stride == 0:
        lanes = min(WARP, 2 * lanes)  # neighbours that load the same are one
    units = [_element(lane * stride, size) // width for lane in range(WARP)]
    groups = (set(units[first : first + lanes]) for first in range(0, WARP, lanes))
    return [max(sum(unit % banks == bank for unit in group) for bank in range(banks)) for group in groups]


def _element(index: Number, size: Number) -> int:
    return _whole(index) * _width(size)


def _width(size: Number) -> int:
    if size not in WIDTHS:
        raise ValueError(f"a lane accesses 1, 2, 4, 8 or 16 bytes, not {size}")
    return int(size)


def _whole(value: Number) -> int:
    if value != int(value):
        raise ValueError(f"{value:g} is not an integer")
    return int(value)


# ------------------------------------------------------------------------------------------------------------ roofline


@function("intensity(flops, bytes)", "intensity(1, 8)", 0.125)
def intensity(flops: Number, size: Number) -> Number:
    """Arithmetic intensity: operations for each byte that is moved."""
    return flops / size


@function("ridge_point(tflops, tb_per_s)", "ridge_point(60, 4)", 15.0)
def ridge_point(tflops: Number, tb_per_s: Number) -> Number:
    """The intensity from which on arithmetic is the limit, no longer memory."""
    return tflops / tb_per_s


@function("roofline(intensity, tflops, tb_per_s)", "roofline(0.25, 19.5, 2)", 0.5)
def roofline(flops_per_byte: Number, tflops: Number, tb_per_s: Number) -> Number:
    """The most TFLOP/s that a kernel of this intensity can reach."""
    return min(tflops, flops_per_byte * tb_per_s)
