"""The errors of the stand-in's CuPy: CUDA's errors under CuPy's names, and names that the stand-in does not have."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, Self

HAS = "the stand-in for machines without one has streams, events, memory, kernels and graphs"

STATUS: Mapping[str, int] = {
    "cudaSuccess": 0, "cudaErrorInvalidValue": 1, "cudaErrorMemoryAllocation": 2, "cudaErrorInitializationError": 3,
    "cudaErrorInvalidConfiguration": 9, "cudaErrorInvalidSymbol": 13, "cudaErrorInvalidHostPointer": 16,
    "cudaErrorInvalidDevicePointer": 17, "cudaErrorInvalidMemcpyDirection": 21, "cudaErrorInvalidDeviceFunction": 98,
    "cudaErrorNoDevice": 100, "cudaErrorInvalidDevice": 101, "cudaErrorUnsupportedLimit": 215,
    "cudaErrorPeerAccessUnsupported": 217, "cudaErrorInvalidResourceHandle": 400, "cudaErrorIllegalState": 401,
    "cudaErrorSymbolNotFound": 500, "cudaErrorNotReady": 600, "cudaErrorIllegalAddress": 700,
    "cudaErrorLaunchOutOfResources": 701, "cudaErrorLaunchTimeout": 702, "cudaErrorPeerAccessAlreadyEnabled": 704,
    "cudaErrorPeerAccessNotEnabled": 705, "cudaErrorContextIsDestroyed": 709, "cudaErrorAssert": 710,
    "cudaErrorHostMemoryAlreadyRegistered": 712, "cudaErrorHostMemoryNotRegistered": 713,
    "cudaErrorHardwareStackError": 714, "cudaErrorIllegalInstruction": 715, "cudaErrorMisalignedAddress": 716,
    "cudaErrorInvalidAddressSpace": 717, "cudaErrorInvalidPc": 718, "cudaErrorLaunchFailure": 719,
    "cudaErrorCooperativeLaunchTooLarge": 720, "cudaErrorNotPermitted": 800, "cudaErrorNotSupported": 801,
    "cudaErrorStreamCaptureUnsupported": 900, "cudaErrorStreamCaptureInvalidated": 901,
    "cudaErrorStreamCaptureMerge": 902, "cudaErrorStreamCaptureUnmatched": 903,
    "cudaErrorStreamCaptureUnjoined": 904, "cudaErrorStreamCaptureIsolation": 905,
    "cudaErrorStreamCaptureImplicit": 906, "cudaErrorCapturedEvent": 907, "cudaErrorTimeout": 909,
    "cudaErrorGraphExecUpdateFailure": 910, "cudaErrorInvalidClusterSize": 912, "cudaErrorUnknown": 999,
}  # fmt: skip
"""The numbers of CUDA's errors (cudaError_t)."""

_NAMES = {number: name for name, number in STATUS.items()}

_DRIVER_NAMES = {
    2: "CUDA_ERROR_OUT_OF_MEMORY", 3: "CUDA_ERROR_NOT_INITIALIZED", 400: "CUDA_ERROR_INVALID_HANDLE",
    500: "CUDA_ERROR_NOT_FOUND", 719: "CUDA_ERROR_LAUNCH_FAILED",
}  # fmt: skip
"""The driver's names of errors, where they are not the runtime's name in capitals."""

_DRIVER_NUMBERS = {9: 1, 98: 400}
"""The driver's numbers of errors, where they differ from the runtime's: an invalid grid or block, an invalid kernel."""


class CUDARuntimeError(RuntimeError):
    """Raised when a call of the CUDA runtime fails; ``status`` is CUDA's number."""

    def __init__(self, status: int, message: str = "") -> None:
        name = _NAMES.get(status, "cudaErrorUnknown")
        super().__init__(f"{name}: {message}" if message else name)
        self.status = status

    @classmethod
    def named(cls, name: str, message: str) -> Self:
        """The error with CUDA's name ``name``; cudaErrorUnknown for an unknown name."""
        return cls(STATUS.get(name, STATUS["cudaErrorUnknown"]), message)


class CUDADriverError(RuntimeError):
    """Raised when a call of the CUDA driver fails, such as a launch; ``status`` is CUDA's number."""

    def __init__(self, status: int, message: str = "") -> None:
        name = driver_name(status)
        super().__init__(f"{name}: {message}" if message else name)
        self.status = status

    @classmethod
    def of(cls, error: CUDARuntimeError) -> Self:
        """The driver's error for one of the runtime."""
        return cls(_DRIVER_NUMBERS.get(error.status, error.status), str(error).partition(": ")[2])


def driver_name(status: int) -> str:
    """``CUDA_ERROR_INVALID_VALUE`` for 1."""
    words = _NAMES.get(status, "cudaErrorUnknown").removeprefix("cudaError")
    spelled = "".join(f"_{letter}" if letter.isupper() and at else letter for at, letter in enumerate(words))
    return _DRIVER_NAMES.get(status, f"CUDA_ERROR_{spelled.upper()}")


class OutOfMemoryError(MemoryError):
    """Raised when an array does not fit into the device's memory."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes).")


class Outside(AttributeError):
    """Raised for names of CuPy that the stand-in does not have; ``what`` is the full name."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a GPU: {HAS}{place()}")


class OutsideImport(ImportError):
    """Raised for a module of CuPy or CUDA that the stand-in does not have."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a GPU: {HAS}{place()}")


HOSTFILE = SimpleNamespace(name="")
"""``name`` is the file name under which the host file was compiled."""


def here() -> int:
    """The current line of the host file: that of its innermost frame; 0 if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == HOSTFILE.name:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def place() -> str:
    """``(NAME_host.py:14)``: the host file and its current line; "" outside the host file."""
    line = here()
    return f" ({HOSTFILE.name}:{line})" if line else ""


def no_attribute(owner: str, name: str, holder: str, own: Collection[str]) -> AttributeError:
    """The error for a name that ``owner`` does not have here: `Outside`, or AttributeError for a misspelling.

    ``holder`` is Python's description of it: ``module 'cupy.cuda'``, ``'Stream' object``. ``own`` are its names.
    """
    if name.startswith("__"):
        return AttributeError(name)
    if is_known(owner, name):
        return Outside(f"{owner}.{name}")
    return AttributeError(f"{holder} has no attribute {name!r}{advice(owner, name, own)}{place()}")


def advised(error: Exception, advice: str) -> Exception:
    """An error with CuPy's message, and ``advice`` as a note, which becomes the hint of the finding."""
    if advice:
        error.add_note(advice)
    return error


class Closed:
    """A mixin that raises `no_attribute` for attributes that it does not have; ``_full_name`` is CuPy's class."""

    _full_name = "cupy"

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self._full_name, name, f"{type(self).__name__!r} object", dir(self))


BINDINGS = "cuda.bindings"


def _parse_names(text: str) -> Mapping[str, frozenset[str]]:
    parts = re.split(r"^\[(.+)\]$", text, flags=re.MULTILINE)[1:]
    names_of = {owner: frozenset(names.split()) for owner, names in zip(parts[::2], parts[1::2], strict=True)}
    prefix = f"{BINDINGS}."
    submodules = {module.removeprefix(prefix) for module in names_of["modules"] if module.startswith(prefix)}
    return {**names_of, BINDINGS: frozenset(submodules)}


NAMES = _parse_names((Path(__file__).parent / "names.txt").read_text(encoding="utf-8"))
"""Public names by the full name of their module or class; ``modules`` has the full names of all modules."""

FEW = 6
"""If no name is similar, the advice lists all names of a class that has at most so many."""


def is_known(owner: str, name: str) -> bool:
    """Whether the real module or class has the name; True if that is not known."""
    return name.startswith("_") or owner not in NAMES or name in NAMES[owner] or is_module(f"{owner}.{name}")


def is_module(name: str) -> bool:
    """Whether there is a module of that full name; always True for ``cuda.X``: these differ between releases."""
    return name in NAMES["modules"] or "._" in name or (name.startswith("cuda.") and name.count(".") == 1)


def advice(owner: str, name: str, own: Collection[str]) -> str:
    """``: did you mean synchronize?``; ``own`` are the names that the stand-in has. "" if no name is similar."""
    public = [own_name for own_name in own if not own_name.startswith("_")]
    for names, cutoff in ((public, 0.75), (NAMES.get(owner, ()), 0.7), (public, 0.6)):
        matches = difflib.get_close_matches(name, names, 1, cutoff)
        if matches:
            return f": did you mean {matches[0]}?"
    if 1 < len(public) <= FEW:
        *most, last = sorted(public)
        return f": it has {', '.join(most)} and {last}"
    return ""
