"""`cupy.RawModule` and `cupy.RawKernel`: the compiled submission, whose kernels the host file launches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index
from typing import Any

import numpy as np

from grader.standin.client.arrays import TYPES, ndarray
from grader.standin.client.connection import HOST, call, placed
from grader.standin.client.errors import Closed, CUDADriverError, CUDARuntimeError, Outside, advised
from grader.standin.client.memory import MemoryPointer, PinnedMemoryPointer
from grader.standin.client.runtime import attributes_of, cuda, native
from grader.standin.client.streams import pointer_of

ATTRIBUTES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs", "ptx_version",
    "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout",
)  # fmt: skip
"""A kernel's attributes as `RawKernel` calls them, in the order of the driver's numbers."""

NUMBERS: Mapping[str, int] = {
    "CUDA_ERROR_INVALID_VALUE": 1,
    **{f"CU_FUNC_ATTRIBUTE_{name.upper()}": number for number, name in enumerate(ATTRIBUTES)},
}
"""Numbers of `cupy.cuda.driver`, as far as the stand-in has a use for them."""

PLAIN_SHARED_BYTES = 48 << 10
"""Shared memory that a launch may have without ``max_dynamic_shared_size_bytes``, static and dynamic together."""

MAX_DYNAMIC_SHARED = ATTRIBUTES.index("max_dynamic_shared_size_bytes")
CARVEOUT = ATTRIBUTES.index("preferred_shared_memory_carveout")

FIRST_FUNCTION = 0x5EED0000
_FUNCTIONS: list[Function] = []


class Function(Closed):
    """A kernel as the driver knows it; ``ptr`` is its handle."""

    _full_name = "cupy.cuda.Function"

    def __init__(self, name: str) -> None:
        self._name = name
        try:
            self._known: Mapping[str, Any] = call("kernel_attributes", name)
        except CUDARuntimeError:
            raise CUDADriverError(500, f"named symbol not found: the module has no kernel {name}") from None
        self._most_shared_bytes = PLAIN_SHARED_BYTES - int(self._known["shared_bytes"])
        self._carveout = -1
        _FUNCTIONS.append(self)
        self.ptr = FIRST_FUNCTION + len(_FUNCTIONS) - 1

    def __call__(
        self, grid: Any, block: Any, args: Any, shared_mem: int = 0, stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:  # fmt: skip
        for what, shape in (("grid", grid), ("block", block)):
            if not isinstance(shape, tuple):
                raise TypeError(f"Argument {what!r} has incorrect type (expected tuple, got {type(shape).__name__})")
        shapes = [_extents(shape) for shape in (grid, block)]
        if int(shared_mem) > self._most_shared_bytes:
            raise CUDADriverError(
                1,
                f"invalid argument: {int(shared_mem)} bytes of shared memory, and {self._name} may have "
                f"{self._most_shared_bytes}; set max_dynamic_shared_size_bytes for more",
            )
        if enable_cooperative_groups:
            shapes[0] = self._resident(shapes[0], shapes[1], int(shared_mem))
        given, kinds = [argument_bytes(one) for one in args], [argument_kind(one) for one in args]
        how = native(pointer_of(stream)), bool(enable_cooperative_groups), cuda.getDevice()
        with _as_driver_error():
            placed("launch", self._name, *shapes, int(shared_mem), given, kinds, *how)

    def _resident(self, grid: list[int], block: list[int], shared_mem: int) -> list[int]:
        """The grid of a cooperative launch: CuPy reduces it to what can be resident, or refuses it before CUDA does."""
        each = occupancyMaxActiveBlocksPerMultiprocessor(self.ptr, math.prod(block), shared_mem)
        most = each * attributes_of(cuda.getDevice())["MultiProcessorCount"]
        if math.prod(grid) <= most:
            return grid
        if grid[1:] != [1, 1]:
            x, y, z = grid
            raise ValueError(f"a cooperative grid of {x} * {y} * {z} blocks exceeds the limit, which is {most} here")
        warnings.warn(f"the cooperative grid is reduced from {grid[0]} to {most} blocks, the limit here", stacklevel=4)
        return [most, 1, 1]


def _extents(shape: tuple[Any, ...]) -> list[int]:
    """Three extents of a grid or a block. As with CuPy the first must be whole; of y and z it cuts off what is not."""
    x, y, z = (max(1, n) for n in (*shape, 1, 1)[:3])
    try:
        return [index(x), int(y), int(z)]
    except TypeError as error:
        raise advised(error, "divide whole numbers with `//`: `((n + 255) // 256,)`") from None


@contextmanager
def _as_driver_error() -> Iterator[None]:
    """What fails inside is the driver's error, as for CuPy's launches."""
    try:
        yield
    except CUDARuntimeError as error:
        raise CUDADriverError.of(error) from None


def function_of(ptr: int) -> Function:
    """The kernel with that handle."""
    at = int(ptr) - FIRST_FUNCTION
    if not 0 <= at < len(_FUNCTIONS):
        raise CUDADriverError(400, f"invalid resource handle: {ptr} is no kernel")
    return _FUNCTIONS[at]


class RawKernel(Closed):
    """A kernel of the submission."""

    _full_name = "cupy.RawKernel"

    def __init__(self, code: str, name: str, *args: Any, **kwargs: Any) -> None:
        raise Outside("cupy.RawKernel(code) compiles, and")

    @classmethod
    def _made(cls, name: str, cooperative: bool) -> RawKernel:
        kernel = cls.__new__(cls)
        kernel.name, kernel.enable_cooperative_groups, kernel.kernel = name, cooperative, Function(name)
        kernel.__name__ = name
        return kernel

    name: str
    enable_cooperative_groups: bool
    kernel: Function
    __name__: str

    def __call__(self, grid: Any, block: Any, args: Any, **kwargs: Any) -> None:
        self.kernel(grid, block, args, enable_cooperative_groups=self.enable_cooperative_groups, **kwargs)

    @property
    def attributes(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ATTRIBUTES}

    def compile(self, log_stream: Any = None) -> None:
        """It is compiled already."""


def _attribute(number: int) -> property:
    def read(self: RawKernel) -> int:
        return funcGetAttribute(number, self.kernel.ptr)

    def write(self: RawKernel, value: int) -> None:
        funcSetAttribute(self.kernel.ptr, number, value)

    return property(read, write if number in (MAX_DYNAMIC_SHARED, CARVEOUT) else None)


for _number, _attribute_name in enumerate(ATTRIBUTES):
    setattr(RawKernel, _attribute_name, _attribute(_number))


class RawModule(Closed):
    """The compiled `.cu`, as `setup` gets it."""

    _full_name = "cupy.RawModule"

    def __init__(self, *, code: Any = None, path: Any = None, **kwargs: Any) -> None:
        raise Outside("cupy.RawModule(code=…) compiles, and")

    @classmethod
    def _made(cls, cooperative: bool) -> RawModule:
        module = cls.__new__(cls)
        module.enable_cooperative_groups = cooperative
        return module

    enable_cooperative_groups: bool

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name. As with CuPy, each has attributes of its own."""
        return RawKernel._made(name, self.enable_cooperative_groups)

    def compile(self, log_stream: Any = None) -> None:
        """It is compiled already."""


# ----------------------------------------------------------------------------------------------- cupy.cuda.driver


def occupancyMaxActiveBlocksPerMultiprocessor(func: int, blockSize: int, dynamicSMemSize: int) -> int:
    """How many blocks of a kernel an SM can hold at once."""
    with _as_driver_error():
        found = call("resident_blocks", function_of(func)._name, int(blockSize), int(dynamicSMemSize))
    return int(found)


def occupancyMaxPotentialBlockSize(func: int, dynamicSMemSize: int, blockSizeLimit: int) -> tuple[int, int]:
    """The least grid that fills the device, and the block size with which most threads are resident."""
    function = function_of(func)
    most = min(int(function._known["max_threads"]), int(blockSizeLimit) or 1024)
    sizes: Sequence[int] = range(32, most + 1, 32) or (most,)
    resident = {size: occupancyMaxActiveBlocksPerMultiprocessor(func, size, dynamicSMemSize) for size in sizes}
    best = max(resident, key=lambda size: (resident[size] * size, size))
    sms = attributes_of(cuda.getDevice()).get("MultiProcessorCount", 1)
    return resident[best] * sms, best


_KNOWN = {0: "max_threads", 1: "shared_bytes", 3: "local_bytes", 4: "registers"}
"""What the device calls an attribute, by the driver's number."""

_FIXED = {2: 0, 5: 80, 6: 80, 7: 0}
"""What the device does not tell: constant memory, the versions of PTX and of the binary (8.0), the mode of the L1."""


def funcGetAttribute(attribute: int, f: int) -> int:
    """An attribute of a kernel, by the driver's number for it. As with CuPy, -1 for one that there is not."""
    function = function_of(f)
    if attribute in _KNOWN:
        return int(function._known.get(_KNOWN[attribute], 0))
    settable = {MAX_DYNAMIC_SHARED: function._most_shared_bytes, CARVEOUT: function._carveout}
    return {**_FIXED, **settable}.get(attribute, -1)


def funcSetAttribute(f: int, attribute: int, value: int) -> None:
    """Set the limit of dynamic shared memory, or the carve-out."""
    function = function_of(f)
    if attribute == CARVEOUT:
        function._carveout = int(value)
    elif attribute == MAX_DYNAMIC_SHARED:
        limit = attributes_of(cuda.getDevice())["MaxSharedMemoryPerBlockOptin"]
        most = limit - int(function._known["shared_bytes"])
        if not 0 <= int(value) <= most:
            raise CUDADriverError(1, f"invalid argument: {function._name} can have at most {most} bytes, not {value}")
        function._most_shared_bytes = int(value)
    else:
        raise CUDADriverError(1, f"invalid argument: attribute {attribute} of a kernel cannot be set")


def argument_bytes(one: Any) -> bytes:
    """The bytes of one argument of a launch, as CuPy hands it over: a Python int has 8, a float 8, None is null."""
    if one is None:
        return _pointer(0)
    if isinstance(one, ndarray | MemoryPointer):
        return _pointer(one.data.ptr if isinstance(one, ndarray) else one.ptr)
    if isinstance(one, np.ndarray) and not isinstance(one, PinnedMemoryPointer):
        if one.size == 1:  # which CuPy takes for a number
            return one.tobytes()
        # as CuPy says
        raise TypeError(f"You are trying to pass a numpy.ndarray of shape {one.shape} as a kernel parameter")
    if isinstance(one, np.generic) and (one.dtype.char in TYPES or one.dtype.kind == "V"):
        content = one.tobytes()
        return _pointer(int(one)) if one.dtype.kind == "u" and len(content) == 8 else content
    if type(one) is int and one >= 0:
        return _pointer(one)
    for kind, converted in _PYTHON_TYPES.items():
        if isinstance(one, kind):
            return bytes(np.array(one, converted).tobytes())
    raise advised(TypeError(f"Unsupported type {type(one)}"), _ADVICE.get(type(one), ""))


_ADVICE: Mapping[type, str] = {
    list: "copy the list to an array of the device and pass that",
    tuple: "arguments are one flat tuple",
    PinnedMemoryPointer: "a kernel that is to use pinned memory gets its address: pass `mem.ptr`",
}
"""What to do about arguments that CuPy does not take either."""


def argument_kind(one: Any) -> str:
    """What an argument is, in a word: ``array`` for an address, the name of a NumPy type, or of Python's own."""
    if one is None or isinstance(one, ndarray | MemoryPointer):
        return "array"
    return str(one.dtype.name) if isinstance(one, np.generic | np.ndarray) else type(one).__name__


_PYTHON_TYPES = {bool: "?", int: "q", float: "d", complex: "D"}


def _pointer(address: int) -> bytes:
    """An address, or any other number of 8 bytes: one inside of the shared file is told as the device knows it."""
    return HOST.to_device(address).to_bytes(8, "little")
