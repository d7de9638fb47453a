"""What one case runs, with every number known: the records that resolving the launch lines makes."""

from __future__ import annotations

from dataclasses import dataclass, field

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class DeviceLimits:
    """Launch limits of one device; the defaults are the simulated A100's.

    They are the CUDA programming guide's for compute capability 8.0.
    """

    name: str = "simulated A100"
    sm_count: int = 108
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_block: Dim3 = (1024, 1024, 64)
    max_grid: Dim3 = (2**31 - 1, 65535, 65535)
    max_shared_bytes: int = 163 * 1024  # per block, dynamic and static together


@dataclass(frozen=True)
class Launch:
    """One kernel launch. An argument is a number, or the name (str) of a buffer or a tensor map; ``line`` is the
    launch line's.
    """

    kernel: str
    args: tuple[str | int | float, ...]
    grid: Dim3
    block: Dim3
    shared_bytes: int = 0  # dynamic shared memory
    cooperative: bool = False
    cluster: Dim3 = (1, 1, 1)
    line: int = 0
    leaves: int | None = field(default=None, compare=False)  # of a pass: the elements that `by` says it leaves


@dataclass(frozen=True)
class Zero:
    """Fill a buffer with zero bytes, between launches, inside the timed region."""

    buffer: str
    line: int = 0


@dataclass(frozen=True)
class Constant:
    """Fill the `__constant__` array ``symbol`` from a buffer before the first launch, outside the timed region."""

    symbol: str
    buffer: str
    line: int = 0


@dataclass(frozen=True)
class Scratch:
    name: str
    dtype: str
    count: int


@dataclass(frozen=True)
class TensorMap:
    """A buffer as TMA sees it: an array of up to five dimensions, copied in boxes. Dimensions from the outermost to the
    innermost, as in C; ``strides`` are the bytes between neighbours of every dimension but the innermost.
    """

    name: str
    buffer: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0  # bytes; 0: none
    promotion: int = 128  # bytes that a miss brings into L2; 0: no more than were asked for
    line: int = 0


@dataclass(frozen=True)
class LaunchPlan:
    """What one case runs: ``steps`` in order on one stream, with every number known."""

    steps: tuple[Launch | Zero, ...]
    scratch: tuple[Scratch, ...] = ()
    constants: tuple[Constant, ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(step for step in self.steps if isinstance(step, Launch))
