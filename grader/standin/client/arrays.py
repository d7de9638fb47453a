"""`cupy.ndarray` as plain device memory with a type and a shape: allocated, copied and sliced, without arithmetic.

Operations that would need a kernel of CuPy (arithmetic, conversion, strided copies) raise `Outside`.
"""

from __future__ import annotations

import sys
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.standin.client import memory, streams
from grader.standin.client.errors import Closed, Outside, advised
from grader.standin.client.streams import Device

Host = npt.NDArray[Any]

TYPES = "?bhilqBHILQefdFD"

NO_SCALAR = "non-scalar numpy.ndarray cannot be used for fill"
"""CuPy's message, for the assignment of a host array, too."""


class ndarray(Closed):  # CuPy's name
    """A C-contiguous array in device memory."""

    _full_name = "cupy.ndarray"

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"):
        self.shape = _shape(shape)
        self.dtype = np.dtype(dtype)
        if self.dtype.char not in TYPES:
            raise ValueError(f"Unsupported dtype {self.dtype}")
        if strides is not None:
            raise Outside("cupy.ndarray with strides")
        _only_by_rows(order, "cupy.ndarray", self.ndim)
        self.data = memory.alloc(self.nbytes) if memptr is None else memptr

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(int(np.prod(self.shape[at + 1 :], dtype=np.int64)) * self.itemsize for at in range(self.ndim))

    @property
    def device(self) -> Device:
        return Device(self.data.device_id)

    def __eq__(self, other: object) -> bool:  # in the class, which so has no hash, as CuPy's
        raise Outside("cupy.ndarray.__eq__")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<cupy.ndarray of shape {self.shape}, {self.dtype}, on device {self.data.device_id}>"

    # -- copies ------------------------------------------------------------------------------------------------------
    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Host:
        """A copy on the host, complete unless ``blocking`` is False."""
        _only_by_rows(order, "cupy.ndarray.get", self.ndim)
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif not isinstance(out, np.ndarray):
            raise TypeError(f"out must be a numpy.ndarray, not {type(out)}")
        elif out.dtype != self.dtype:
            raise TypeError(f"out has dtype {out.dtype}, the array {self.dtype}")
        elif out.shape != self.shape:
            raise ValueError(f"out has shape {out.shape}, the array {self.shape}")
        elif not out.flags.forc:
            raise RuntimeError("out must be contiguous")
        elif not out.flags.c_contiguous:
            raise Outside("cupy.ndarray.get into an array in column-major order (order 'F')")
        stream = streams.get_current_stream() if stream is None else stream
        with self.device:
            self.data.copy_to_host_async(out.ctypes.data, self.nbytes, stream)
        if blocking:
            stream.synchronize()
        filled: Host = out
        return filled

    def set(self, arr: Any, stream: Any = None) -> None:
        """Copy a host array to this one, on ``stream`` or the current stream."""
        if not isinstance(arr, np.ndarray):
            raise TypeError(f"set takes a numpy.ndarray, not {type(arr)}")
        if self.dtype != arr.dtype:
            raise TypeError(f"an array of {arr.dtype} cannot be set to one of {self.dtype}")
        if self.shape != arr.shape:
            raise ValueError(f"an array of shape {arr.shape} cannot be set to one of shape {self.shape}")
        arr = np.ascontiguousarray(arr)
        stream = streams.get_current_stream() if stream is None else stream
        with self.device:
            self.data.copy_from_host_async(arr.ctypes.data, self.nbytes, stream)

    def fill(self, value: Any) -> None:
        """Set all elements, on the current stream. Only values whose bytes are all equal can do without a kernel."""
        if np.ndim(value):
            raise ValueError(NO_SCALAR)
        content = np.array(value, self.dtype).tobytes()
        if len(set(content)) > 1:
            raise Outside(f"cupy.ndarray.fill with {value!r}, whose bytes differ: it")
        self.data.memset_async(content[0], self.nbytes)

    def copy(self, order: str = "C") -> ndarray:
        """A copy on the current device, on the current stream."""
        _only_by_rows(order, "cupy.ndarray.copy", self.ndim)
        duplicate = ndarray(self.shape, self.dtype)
        duplicate.data.copy_from_device_async(self.data, self.nbytes)
        return duplicate

    # -- views -------------------------------------------------------------------------------------------------------
    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> ndarray:
        _only_by_rows(order, "cupy.ndarray.reshape", self.ndim)
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        # NumPy resolves the new shape on an array of this shape that takes no memory.
        probe = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), self.shape, (0,) * self.ndim)
        return ndarray(probe.reshape(wanted).shape, self.dtype, self.data)

    def ravel(self, order: str = "C") -> ndarray:
        return self.reshape(self.size, order=order)

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:  # CuPy's name
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        if wanted.itemsize == self.itemsize or not self.shape:
            return ndarray(self.shape, wanted, self.data)
        last = self.shape[-1] * self.itemsize
        if last % wanted.itemsize:
            raise ValueError("the last axis must be a whole number of elements of the new type")
        return ndarray((*self.shape[:-1], last // wanted.itemsize), wanted, self.data)

    def __getitem__(self, key: Any) -> ndarray:
        """A view of a contiguous slice. Raises Outside for other slices."""
        probe: Host = np.ndarray(self.shape, np.dtype(np.uint8), np.zeros(max(1, self.size), np.uint8))
        part = probe[key]
        if not isinstance(part, np.ndarray):
            part = probe[(*key, ...) if isinstance(key, tuple) else (key, ...)]
        if not part.size:
            return ndarray(part.shape, self.dtype, self.data)
        # Indexing with a list or a mask gives a copy, or a view of a copy.
        if not np.may_share_memory(part, probe) or not part.flags.c_contiguous:
            raise Outside("cupy.ndarray with a slice that is not contiguous: it")
        offset = (part.ctypes.data - probe.ctypes.data) * self.itemsize
        return ndarray(part.shape, self.dtype, self.data + offset)

    def __setitem__(self, key: Any, value: Any) -> None:
        part = self[key]
        if isinstance(value, ndarray):
            if (value.shape, value.dtype) != (part.shape, part.dtype):
                raise Outside("cupy.ndarray assignment that converts or broadcasts: it")
            part.data.copy_from_device_async(value.data, part.nbytes)
        elif np.ndim(value):
            raise advised(
                ValueError(NO_SCALAR),
                "a copy from the host is a call: `dx.set(x)`, or for a part of it `dx[a:b].set(x[a:b])`",
            )
        else:
            part.fill(value)

    def __array__(self, *args: Any, **kwargs: Any) -> Host:
        raise TypeError("an array on the device does not convert to a NumPy array by itself: .get() copies it")

    def __iter__(self) -> Any:
        return (self[at] for at in range(len(self)))


def _shape(shape: Any) -> tuple[int, ...]:
    extents = tuple(map(index, shape)) if isinstance(shape, tuple | list) else (index(shape),)
    if any(n < 0 for n in extents):
        raise ValueError("Negative dimensions are not allowed")
    return extents


def _only_by_rows(order: Any, what: str, ndim: int) -> None:
    """Raises Outside for column-major order, unless there is only one axis, for which the orders are the same."""
    if ndim > 1 and order in ("F", "f"):
        raise Outside(f"{what} with order {order!r}")


def _order_of(like: Any, order: Any) -> str:
    """``order``, with ``A`` and ``K`` replaced by the order of ``like``."""
    by_columns = isinstance(like, np.ndarray) and like.flags.fnc
    return ("F" if by_columns else "C") if order in (None, "A", "K") else str(order)


_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
_OTHERS = ("ne", "lt", "le", "gt", "ge", "neg", "abs", "invert", "bool", "int", "float", "divmod", "index")


for _name in (*(f"__{p}{n}__" for n in _OPERATORS for p in ("", "r", "i")), *(f"__{n}__" for n in _OTHERS)):

    def _refuse(self: ndarray, *others: Any, name: str = _name) -> Any:
        raise Outside(f"cupy.ndarray.{name}")

    setattr(ndarray, _name, _refuse)


# ---------------------------------------------------------------------------------------------------------- creation


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """An uninitialised array."""
    return ndarray(shape, dtype, order=order)


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """An array of zeros."""
    zeroed = ndarray(shape, dtype, order=order)
    zeroed.data.memset_async(0, zeroed.nbytes)
    return zeroed


def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> ndarray:
    """An uninitialised array with the shape and dtype of another."""
    order = _order_of(prototype, order)
    return empty(prototype.shape if shape is None else shape, prototype.dtype if dtype is None else dtype, order)


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> ndarray:
    """An array of zeros with the shape and dtype of another."""
    return zeros(a.shape if shape is None else shape, a.dtype if dtype is None else dtype, _order_of(a, order))


def array(
    obj: Any, dtype: Any = None, copy: Any = True, order: str = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> ndarray:  # fmt: skip
    """A new array on the current device with a copy of ``obj``; a device array itself if ``copy`` is false."""
    if isinstance(obj, ndarray):
        if dtype is not None and np.dtype(dtype) != obj.dtype:
            raise Outside("cupy.array that converts: it")
        return obj.copy(_order_of(obj, order)) if copy else obj
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")  # CuPy's message
    content = np.array(obj, dtype=dtype, ndmin=ndmin, order="K")  # CuPy copies to its own buffer first, too
    copied = ndarray(content.shape, content.dtype, order=_order_of(content, order))
    copied.set(content)
    if blocking:
        streams.get_current_stream().synchronize()
    return copied


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False) -> ndarray:
    """``a`` itself if it is a device array, else a copy on the device."""
    return array(a, dtype, copy, order, blocking=blocking)


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Host:
    """A copy on the host."""
    if isinstance(a, ndarray):
        return a.get(stream=stream, order=order, out=out, blocking=blocking)
    if out is not None:
        out[...] = a
        filled: Host = out
        return filled
    return np.asarray(a)


def get_array_module(*args: Any) -> Any:
    """``cupy`` if one of the arguments is a device array, else ``numpy``."""
    return sys.modules["cupy"] if any(isinstance(argument, ndarray) for argument in args) else np
