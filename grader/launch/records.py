"""The records of launch lines: `LaunchScript` as written in the file, `LaunchPlan` resolved for one case."""

from __future__ import annotations

from dataclasses import field

from grader.frozen import dataclass
from grader.launch.source import Integers, LaunchFragment, SourceText
from grader.simt.occupancy import MULTIPROCESSORS, SIMULATED, SM_COUNT

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class DeviceLimits:
    """Launch limits of one device; the defaults are the simulated A100's.

    They are the CUDA programming guide's for compute capability 8.0.
    """

    name: str = "simulated A100"
    sm_count: int = SM_COUNT
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_block: Dim3 = (1024, 1024, 64)
    max_grid: Dim3 = (2**31 - 1, 65535, 65535)
    max_shared_bytes: int = MULTIPROCESSORS[SIMULATED].shared_bytes_per_block  # per block, dynamic and static together


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
    leaves: int | None = field(default=None, compare=False)  # of a pass: the elements that are left after it (`by`)


@dataclass(frozen=True)
class Zero:
    """Fill a buffer with zero bytes between launches, inside the timed region."""

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
    """A buffer as TMA accesses it: an array of up to five dimensions, copied in boxes. Dimensions are ordered from the
    outermost to the innermost, as in C; ``strides`` are the bytes of every dimension's stride except the innermost.
    """

    name: str
    buffer: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0  # bytes; 0: none
    promotion: int = 128  # bytes that a miss loads into L2; 0: only the requested ones
    line: int = 0


@dataclass(frozen=True)
class LaunchPlan:
    """The launches of one case: ``steps`` in order on one stream, with numbers only."""

    steps: tuple[Launch | Zero, ...]
    scratch: tuple[Scratch, ...] = ()
    constants: tuple[Constant, ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(step for step in self.steps if isinstance(step, Launch))


@dataclass(frozen=True)
class LaunchLine:
    """``launch KERNEL(ARGS): grid=… block=… shared=… cluster=… cooperative``; a dimension that is not given is 1."""

    kernel: LaunchFragment
    args: tuple[LaunchFragment, ...]
    grid: tuple[LaunchFragment, ...]
    block: tuple[LaunchFragment, ...]
    shared: LaunchFragment | None
    cluster: tuple[LaunchFragment, ...]
    cooperative: bool
    at: LaunchFragment  # the whole line


@dataclass(frozen=True)
class PassesLine:
    """``passes VARIABLE=START until UNTIL by BY: KERNEL(ARGS): …``."""

    variable: LaunchFragment
    start: LaunchFragment
    until: LaunchFragment
    by: LaunchFragment
    launch: LaunchLine
    at: LaunchFragment


@dataclass(frozen=True)
class ZeroLine:
    """``zero NAME``."""

    array: LaunchFragment
    at: LaunchFragment


@dataclass(frozen=True)
class ConstantLine:
    """``constant SYMBOL = NAME``."""

    symbol: LaunchFragment
    array: LaunchFragment
    at: LaunchFragment


@dataclass(frozen=True)
class ScratchLine:
    """``scratch NAMES: TYPE[COUNT]``, one for each name."""

    name: LaunchFragment
    type: LaunchFragment
    count: LaunchFragment
    at: LaunchFragment


@dataclass(frozen=True)
class TensorMapLine:
    """``tensor_map NAME = ARRAY: shape=(…) box=(…) swizzle=… strides=(…) promotion=…``."""

    name: LaunchFragment
    array: LaunchFragment
    shape: tuple[LaunchFragment, ...]
    box: tuple[LaunchFragment, ...]
    strides: tuple[LaunchFragment, ...]  # in elements; () for a contiguous array
    swizzle: LaunchFragment | None
    promotion: LaunchFragment | None
    at: LaunchFragment


Line = LaunchLine | PassesLine | ZeroLine | ConstantLine | ScratchLine | TensorMapLine


@dataclass(frozen=True)
class LaunchScript:
    """The launch lines of one file, in order, and the integer constants that they may use."""

    file: str
    lines: tuple[Line, ...]
    suspects: tuple[LaunchFragment, ...]  # possible misspellings, "zeor count": errors if the last word is an array
    integers: Integers
    text: SourceText

    @property
    def starts_a_kernel(self) -> bool:
        return any(isinstance(line, LaunchLine | PassesLine) for line in self.lines)
