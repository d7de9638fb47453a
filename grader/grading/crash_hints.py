"""What to do about an exception of a host file whose cause is plain: a table, by the exception's own words. Pure.

The words are the submission's, and hostile: they choose a row, and never stand in what is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from grader.exercise import Exercise

Row = Callable[[Exercise, str, str], str]
"""The advice for an exercise, by its host file's name and text."""

EITHER_CALL = "setup() is called for each case, and run() twice in each, all in one process"


CUDA = "^(CUDARuntimeError: )?"  # on a GPU the exception's name comes first


def advice_for(message: str, exercise: Exercise, file: str, source: str) -> str:
    """Return the sentence for an exception of this message; "" where its cause is not plain."""
    found = next((row for pattern, row in ROWS.items() if re.search(pattern, message)), None)
    if found is None:
        return ""
    return found if isinstance(found, str) else found(exercise, file, source)


def _signature(exercise: Exercise, file: str, source: str) -> str:
    """How the host file's functions are called, and where it defines them."""
    arrays = (array.name for array in exercise.arrays)
    wanted = {"setup": f"def setup({', '.join(['module', *arrays])})", "run": "def run()"}
    told = [f"`{text}`{_where(name, source)}" for name, text in wanted.items()]
    return f"{file} must have {' and '.join(told)}: with these parameters, in this order. "


def _where(name: str, source: str) -> str:
    found = re.search(rf"^(?:async +)?def +{name}\b", source, re.MULTILINE)
    return f" (line {source.count(chr(10), 0, found.start()) + 1})" if found else ""


def _arguments(exercise: Exercise, file: str, source: str) -> str:
    return f"Pass what the kernel's parameters in {exercise.name}.cu say: as many, and in the same order. "


def _host_array(exercise: Exercise, file: str, source: str) -> str:
    """What a kernel gets in place of a NumPy array: that is what some of these steps are about."""
    return f"{exercise.numpy_argument} " if exercise.numpy_argument else _A_COPY


_A_COPY = (
    "A kernel gets arrays of the device: make one (`dx = cupy.empty(x.size, x.dtype)`), copy the data there "
    "(`dx.set(x)`) and pass dx. "
)

ROWS: Mapping[str, str | Row] = {
    r"so [HD]2[HD] transfers are disallowed": "`set` and `get` refuse while a stream is being captured. There, queue "
    "the copy with `cupy.cuda.runtime.memcpyAsync(target, source, bytes, kind, stream.ptr)`. ",
    rf"{CUDA}cudaErrorStreamCaptureUnjoined": "Bring the other stream back: record an event behind its last operation, "
    "and let the captured stream wait for it before end_capture. ",
    rf"{CUDA}cudaErrorStreamCapture": "A capture only records what is to be done: wait and allocate before "
    "begin_capture or behind end_capture, and pin the host's side of every copy in between, in setup(). ",
    rf"{CUDA}cudaErrorPeerAccessAlreadyEnabled": f"{EITHER_CALL}: what is enabled stays enabled. Catch this error "
    "(`except cupy.cuda.runtime.CUDARuntimeError`), and go on. ",
    rf"{CUDA}cudaErrorHostMemoryAlreadyRegistered": f"{EITHER_CALL}: register an array once, in setup(). ",
    r"^TypeError: (setup|run)\(\) (takes|missing|got)|defines no function (setup|run)\(\)": _signature,
    r"has \d+ parameters?, and \d+ arguments? (is|are) given": _arguments,
    r"^TypeError: You are trying to pass a numpy\.ndarray of shape": _host_array,
    r"^(PermissionError|OSError):": "A host file's process may write no files, and read only Python's own: keep what "
    "run() needs in a variable. ",
    r"^(bdb\.)?BdbQuit": "Take breakpoint() out: nobody can type there. What the host file prints is in the report. ",
    r"^EOFError": "Take input() out: nobody can type there. ",
    r"^(ModuleNotFoundError|ImportError):": "Is the name right? A host file has Python's own modules, NumPy and CuPy, "
    "and no others. ",
    r"^SystemExit": "Let setup() and run() return: take out what ends the process. ",
}  # fmt: skip
"""Patterns of messages, and what to do."""
