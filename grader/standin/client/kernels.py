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
"""The names of a kernel's attributes in `RawKernel`, in the order of the driver's numbers."""

NUMBERS: Mapping[str, int] = {
    "CUDA_ERROR_INVALID_VALUE": 1,
    **{f"CU_FUNC_ATTRIBUTE_{name.upper()}": number for number, name in enumerate(ATTRIBUTES)},
}
"""The numbers of `cupy.cuda.driver` that the stand-in uses."""

PLAIN_SHARED_BYTES = 48 << 10
"""Bytes of static and dynamic shared memory that a launch may use without ``max_dynamic_shared_size_bytes``."""

MAX_DYNAMIC_SHARED = ATTRIBUTES.index("max_dynamic_shared_size_bytes")
CARVEOUT = ATTRIBUTES.index("preferred_shared_memory_carveout")

FIRST_FUNCTION = 0x5EED0000
_FUNCTIONS: list[Function] = []


class Function(Closed):
    """A kernel of the driver's API; ``ptr`` is its handle."""

    _full_name = "cupy.cuda.Function"

    def __init__(self, name: str) -> None:
        self._name = name
        try:
            self._attributes: Mapping[str, Any] = call("kernel_attributes", name)
        except CUDARuntimeError:
            raise CUDADriverError(500, f"named symbol not found: the module has no kernel {name}") from None
        self._most_shared_bytes = PLAIN_SHARED_BYTES - int(self._attributes["shared_bytes"])
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
                f"invalid argument: {int(shared_mem)} bytes of shared memory, but {self._name} can have at most "
                f"{self._most_shared_bytes}; set max_dynamic_shared_size_bytes for more",
            )
        if enable_cooperative_groups:
            shapes[0] = self._resident(shapes[0], shapes[1], int(shared_mem))
        contents, kinds = (
            [argument_bytes(argument) for argument in args],
            [argument_kind(argument) for argument in args],
        )
        settings = native(pointer_of(stream)), bool(enable_cooperative_groups), cuda.getDevice()
        with _as_driver_error():
            placed("launch", self._name, *shapes, int(shared_mem), contents, kinds, *settings)

    def _resident(self, grid: list[int], block: list[int], shared_mem: int) -> list[int]:
        """The grid of a cooperative launch: CuPy reduces it to the resident blocks, or raises ValueError."""
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
    """Three extents of a grid or a block. As in CuPy, x must be an integer, and y and z are truncated to integers."""
    x, y, z = (max(1, n) for n in (*shape, 1, 1)[:3])
    try:
        return [index(x), int(y), int(z)]
    except TypeError as error:
        raise advised(error, "divide integers with `//`: `((n + 255) // 256,)`") from None


@contextmanager
def _as_driver_error() -> Iterator[None]:
    """Turns errors of the runtime into errors of the driver, which CuPy's launches raise."""
    try:
        yield
    except CUDARuntimeError as error:
        raise CUDADriverError.of(error) from None


def function_of(ptr: int) -> Function:
    """The kernel of a handle. Raises CUDADriverError if there is none."""
    at = int(ptr) - FIRST_FUNCTION
    if not 0 <= at < len(_FUNCTIONS):
        raise CUDADriverError(400, f"invalid resource handle: {ptr} is not a kernel")
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
        """Does nothing: the kernel is compiled already."""


def _attribute(number: int) -> property:
    def read(self: RawKernel) -> int:
        return funcGetAttribute(number, self.kernel.ptr)

    def write(self: RawKernel, value: int) -> None:
        funcSetAttribute(self.kernel.ptr, number, value)

    return property(read, write if number in (MAX_DYNAMIC_SHARED, CARVEOUT) else None)


for _number, _attribute_name in enumerate(ATTRIBUTES):
    setattr(RawKernel, _attribute_name, _attribute(_number))


class RawModule(Closed):
    """The compiled `.cu` file, as `setup` receives it."""

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
        """A kernel by its name. As in CuPy, every call returns a kernel with its own attributes."""
        return RawKernel._made(name, self.enable_cooperative_groups)

    def compile(self, log_stream: Any = None) -> None:
        """Does nothing: the module is compiled already."""


# ----------------------------------------------------------------------------------------------- cupy.cuda.driver


def occupancyMaxActiveBlocksPerMultiprocessor(func: int, blockSize: int, dynamicSMemSize: int) -> int:
    """How many blocks of a kernel an SM can hold at once."""
    with _as_driver_error():
        blocks = call("resident_blocks", function_of(func)._name, int(blockSize), int(dynamicSMemSize))
    return int(blocks)


def occupancyMaxPotentialBlockSize(func: int, dynamicSMemSize: int, blockSizeLimit: int) -> tuple[int, int]:
    """The smallest grid that fills the device, and the block size with the most resident threads."""
    function = function_of(func)
    most = min(int(function._attributes["max_threads"]), int(blockSizeLimit) or 1024)
    sizes: Sequence[int] = range(32, most + 1, 32) or (most,)
    resident = {size: occupancyMaxActiveBlocksPerMultiprocessor(func, size, dynamicSMemSize) for size in sizes}
    best = max(resident, key=lambda size: (resident[size] * size, size))
    sms = attributes_of(cuda.getDevice()).get("MultiProcessorCount", 1)
    return resident[best] * sms, best


_DEVICE_NAMES = {0: "max_threads", 1: "shared_bytes", 3: "local_bytes", 4: "registers"}
"""The names of attributes in the protocol, by the driver's number."""

_FIXED = {2: 0, 5: 80, 6: 80, 7: 0}
"""Attributes that the protocol does not have: constant memory, versions of PTX and of the binary (8.0), the L1 mode."""


def funcGetAttribute(attribute: int, f: int) -> int:
    """An attribute of a kernel, by the driver's number. As in CuPy, -1 for an unknown attribute."""
    function = function_of(f)
    if attribute in _DEVICE_NAMES:
        return int(function._attributes.get(_DEVICE_NAMES[attribute], 0))
    settable = {MAX_DYNAMIC_SHARED: function._most_shared_bytes, CARVEOUT: function._carveout}
    return {**_FIXED, **settable}.get(attribute, -1)


def funcSetAttribute(f: int, attribute: int, value: int) -> None:
    """Set the limit of dynamic shared memory in bytes, or the carve-out. Raises CUDADriverError."""
    function = function_of(f)
    if attribute == CARVEOUT:
        function._carveout = int(value)
    elif attribute == MAX_DYNAMIC_SHARED:
        limit = attributes_of(cuda.getDevice())["MaxSharedMemoryPerBlockOptin"]
        most = limit - int(function._attributes["shared_bytes"])
        if not 0 <= int(value) <= most:
            raise CUDADriverError(1, f"invalid argument: {function._name} can have at most {most} bytes, not {value}")
        function._most_shared_bytes = int(value)
    else:
        raise CUDADriverError(1, f"invalid argument: attribute {attribute} of a kernel cannot be set")


def argument_bytes(argument: Any) -> bytes:
    """The bytes of one argument of a launch, as CuPy passes it: a Python int or float has 8, None is a null pointer.

    Raises TypeError for an argument that CuPy does not take either.
    """
    if argument is None:
        return _pointer(0)
    if isinstance(argument, ndarray | MemoryPointer):
        return _pointer(argument.data.ptr if isinstance(argument, ndarray) else argument.ptr)
    if isinstance(argument, np.ndarray) and not isinstance(argument, PinnedMemoryPointer):
        if argument.size == 1:  # CuPy passes it as a number
            return argument.tobytes()
        # CuPy's message
        raise TypeError(f"You are trying to pass a numpy.ndarray of shape {argument.shape} as a kernel parameter")
    if isinstance(argument, np.generic) and (argument.dtype.char in TYPES or argument.dtype.kind == "V"):
        content = argument.tobytes()
        return _pointer(int(argument)) if argument.dtype.kind == "u" and len(content) == 8 else content
    if type(argument) is int and argument >= 0:
        return _pointer(argument)
    for kind, converted in _PYTHON_TYPES.items():
        if isinstance(argument, kind):
            return bytes(np.array(argument, converted).tobytes())
    raise advised(TypeError(f"Unsupported type {type(argument)}"), _ADVICE.get(type(argument), ""))


_ADVICE: Mapping[type, str] = {
    list: "copy the list to an array on the device and pass that",
    tuple: "arguments are one flat tuple",
    PinnedMemoryPointer: "for a kernel that uses pinned memory, pass its address: `mem.ptr`",
}
"""Advice for arguments that CuPy does not take either."""


def argument_kind(argument: Any) -> str:
    """The kind of an argument: ``array`` for an address, or the name of a NumPy or Python type."""
    if argument is None or isinstance(argument, ndarray | MemoryPointer):
        return "array"
    return str(argument.dtype.name) if isinstance(argument, np.generic | np.ndarray) else type(argument).__name__


_PYTHON_TYPES = {bool: "?", int: "q", float: "d", complex: "D"}


def _pointer(address: int) -> bytes:
    """An address, or another number of 8 bytes; an address in the shared file becomes the device's address."""
    return HOST.to_device(address).to_bytes(8, "little")
