"""A host file's cases on both backends: the runs of a case, the memory they need, and the errors of the process.

In every case `setup` gets warm-up inputs; one run on other warm-up inputs follows, which is not graded, and only then
the run on the case's inputs. So a result that is computed in `setup`, the result of an earlier run, and a graph with
old pointers are wrong. The host file is not told which run is graded.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from grader.backends.base import Execution
from grader.backends.hostfile.allowance import FEWER_THREADS, LESS_MEMORY, LOOK_S, MOST_THREADS
from grader.backends.hostfile.child_files import where
from grader.backends.mappings import pages
from grader.errors import SubmissionError
from grader.exercise import SECRET_SIZES
from grader.findings.kinds import word_of_kind
from grader.inputs import derive_seed, element_bytes, element_count, make_array, poison
from grader.process.memory_group import MemoryGroup, delegated, memory_group
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Buffer
    from grader.backends.hostfile.child_files import ChildFiles
    from grader.compile import Program
    from grader.exercise import Exercise, Size
    from grader.process.child import Child

    Values = npt.NDArray[np.generic]
    Arrays = Mapping[str, Values]


_GRID_SYNC = re.compile(r"%envreg2\b")


class HostfileRuns(Protocol):
    """A host file in its process, as the parent sees it."""

    def set_up(self, data: Arrays) -> Mapping[str, Values]:
        """Share copies of ``data`` with the host file, call its `setup`, and return the parent's view of them."""

    def go(self) -> float:
        """Call `run` once; seconds by the parent's clock."""


def run_case(session: HostfileRuns, exercise: Exercise, buffers: Sequence[Buffer]) -> Execution:
    """One case: `setup` and a run on warm-up inputs, then the graded run. Raises what ``session`` raises."""
    data = {b.name: b.data for b in buffers if b.role == "in" and b.data is not None}
    outputs = {b.name: poison(b.dtype, b.count) for b in buffers if b.role == "out"}
    first = {**warm_up_inputs(exercise, data, 1), **outputs}
    shared = session.set_up({b.name: first[b.name] for b in buffers if b.role != "scratch"})
    write(shared, warm_up_inputs(exercise, data, 2), outputs)
    session.go()
    write(shared, data, outputs)
    elapsed_s = session.go()
    left = {name: shared[name].copy() for name in outputs}  # at once: later writes are too late
    changed = tuple(name for name in data if shared[name].tobytes() != data[name].tobytes())
    return Execution(left, inputs_changed=changed, elapsed_s=elapsed_s)


def write(shared: Arrays, *contents: Arrays) -> None:
    """Write new contents into the arrays that the host file shares."""
    for arrays in contents:
        for name, values in arrays.items():
            shared[name][:] = values


SEED_LABEL = "decoy"
"""Part of the seeds of warm-up inputs. Changing it would change the inputs."""


def warm_up_inputs(exercise: Exercise, data: Arrays, turn: int) -> dict[str, Values]:
    """Other values of the same kind for each input; they depend only on the inputs and on ``turn``."""
    import numpy as np

    arrays = {array.name: array for array in exercise.inputs}
    others = {}
    for name, values in data.items():
        whole = values.dtype.kind != "f" or bool(np.all(values == np.rint(values)))
        seed = derive_seed(zlib.crc32(values.tobytes()), SEED_LABEL, name, turn)
        others[name] = make_array(arrays[name], values.size, seed, "exact" if whole else "real")
    return others


# ------------------------------------------------------------------------------------------------- module and memory


def is_cooperative(program: Program) -> bool:
    """Whether its module needs ``enable_cooperative_groups``: a kernel uses `grid.sync()`."""
    return _GRID_SYNC.search(program.ptx) is not None


def shared_bytes(exercise: Exercise, *, gap: int = 0) -> int:
    """Bytes for the arrays of all cases and of the timed size, in whole pages, with a ``gap`` after each array."""
    largest = {name: most for name, (_, most, _) in exercise.secret.items()}
    secret = [largest] * SECRET_SIZES if largest else []
    sizes = [size for size in (*exercise.small, *secret) for _ in range(2)]
    timed = [exercise.timed] if exercise.timed is not None else []
    cases = (*sizes, exercise.simulated, *timed)
    return sum(
        pages(element_count(array, size) * element_bytes(array)) + gap for size in cases for array in exercise.arrays
    )


# ------------------------------------------------------------------------------------------------------ several GPUs

MOST_GPUS = 8


def on_gpus(exercise: Exercise, count: int) -> Exercise:
    """The exercise on a machine with ``count`` GPUs: its timed size uses all of them, and no case needs more.

    Only sizes named ``gpus`` change, and only for exercises that need several GPUs.
    """
    if exercise.gpus <= 1:
        return exercise
    here = min(count, MOST_GPUS)
    secret = dict(exercise.secret)
    if "gpus" in secret:
        least, most, step = secret["gpus"]
        secret["gpus"] = (least, max(least, min(most, here)), step)
    return replace(
        exercise,
        small=tuple(size for size in exercise.small if size.get("gpus", 1) <= here),
        secret=secret,
        simulated=_with_gpus(exercise.simulated, min(here, exercise.simulated.get("gpus", here))),
        timed=exercise.timed and _with_gpus(exercise.timed, here),
    )


def _with_gpus(size: Size, count: int) -> Size:
    return {**size, "gpus": count} if "gpus" in size else size


def too_few_gpus(exercise: Exercise, count: int) -> str:
    """Why an exercise cannot run on ``count`` GPUs; "" if it can."""
    if count >= exercise.gpus:
        return ""
    return f"{exercise.name} needs {exercise.gpus} GPUs; this machine has {count or 'no GPU'}"


# ------------------------------------------------------------------------------------------------ errors of the process
#
# The host file can write to its process's channel. So a verdict word is accepted only if it is a failure, and a place
# only if it is in the host file.


FAULTS = ("invalid", "unsupported", "out_of_bounds", "timeout", "limit", "crash")
"""Verdict words for an exception of a host file, or an error of CUDA; any other word becomes ``crash``."""

LONGEST = 4000  # characters of a message
LARGEST_LINE = 10**7
MOST = 16  # findings


def error_of(answer: Mapping[str, Any], file: str) -> SubmissionError:
    """The error in an answer with ``fault``, with its findings in the host file ``file``."""
    listed = answer.get("diagnostics")
    given = [entry for entry in listed[:MOST] if isinstance(entry, dict)] if isinstance(listed, list) else []
    found = tuple(_finding(entry, file) for entry in given)
    word = answer.get("fault")
    message = str(answer.get("message", ""))[:LONGEST]
    return SubmissionError(word if word in FAULTS else "crash", message, diagnostics=found)


def printed_of(answer: Mapping[str, Any], limit_bytes: int) -> tuple[str, bool]:
    """The printed text in an answer, cut at the limit, and whether there was more."""
    return str(answer.get("printed", ""))[:limit_bytes], answer.get("too_much") is True


def printed_too_much(who: str, file: str, limit_bytes: int) -> Diagnostic:
    """The finding that ``who`` printed more than the limit."""
    message = f"{who} printed more than {limit_bytes >> 10} kB"
    return Diagnostic("limit", message, file=file, hint="print less: setup() and run() are called for each case")


def _finding(entry: Mapping[str, Any], file: str) -> Diagnostic:
    kind, message, hint = (str(entry.get(name, ""))[:LONGEST] for name in ("kind", "message", "hint"))
    line = entry.get("line")
    own = entry.get("file") == file
    return Diagnostic(
        kind if word_of_kind(kind) in FAULTS else "crash",
        message,
        file=file if own else None,
        line=line if own and type(line) is int and 0 < line < LARGEST_LINE else None,
        hint=hint,
    )


class HostfileProcess:
    """A host file's process in its parent: its limits, and the errors of a process that hangs, dies or exceeds them."""

    def __init__(self, child: Child, files: ChildFiles, memory_bytes: int) -> None:
        self._child, self._files = child, files
        self._memory_bytes = memory_bytes
        self._next_check = 0.0
        self._group: MemoryGroup | None = None
        self.name = ""  # of the host file, once it is sent

    def confine(self) -> None:
        """Let the kernel limit its memory from now on, where the system delegates control groups."""
        self._group = memory_group(self._child.pid, self._memory_bytes, delegated())

    def over_limit(self, *, now: bool = False) -> SubmissionError | None:
        """The error of a process with too many threads or too much memory; None if it is within its limits.

        Without ``now`` they are checked at most every `LOOK_S`.
        """
        if not now and time.monotonic() < self._next_check:
            return None
        threads, memory_bytes = self._child.holds()
        self._next_check = time.monotonic() + LOOK_S
        if threads > MOST_THREADS:
            return self._error(
                "limit", f"the process of {self.name} has more than {MOST_THREADS} threads", FEWER_THREADS
            )
        return self._too_large() if memory_bytes > self._memory_bytes else None

    def _too_large(self) -> SubmissionError:
        most = f"{self._memory_bytes / 1e9:.2g} GB of memory"
        return self._error("limit", f"the process of {self.name} uses more than {most}", LESS_MEMORY)

    def hung(self, message: str, hint: str) -> SubmissionError:
        """The error of a process that exceeded a time limit, which ``message`` names."""
        return self._error("timeout", message, hint)

    def died(self, otherwise: str = "") -> SubmissionError:
        """The error of a process that ended; ``otherwise`` is the next step for signals that have none of their own."""
        self._child.wait(2.0)
        if self._group is not None and self._group.exceeded():
            return self._too_large()
        signal = self._child.signal_name
        how = f"exit status {self._child.returncode}" if signal is None else _MEANS.get(signal, signal)
        hint = _MUST_RETURN if signal is None else _NEXT.get(signal, otherwise or _MUST_RETURN)
        return self._error("crash", f"the process of {self.name} ended while it was running: {how}", hint)

    def close(self) -> None:
        """Remove its control group, after its end."""
        if self._group is not None:
            self._group.close()

    def _error(self, word: str, message: str, hint: str) -> SubmissionError:
        """With the line of the host file that was being executed, if it is known."""
        line = where(self._child, self._files, self.name)
        message += f" ({self.name}:{line})" if line else ""
        hint = hint.format(at=f" at line {line}" if line else "")
        found = Diagnostic(word, message, file=self.name, line=line, hint=hint)
        return SubmissionError(word, message, diagnostics=(found,), hint=hint)


_MEANS: Mapping[str, str] = {
    "SIGSEGV": "SIGSEGV, a wrong address",
    "SIGBUS": "SIGBUS, a wrong address",
    "SIGABRT": "SIGABRT, a library gave up",
}
_MUST_RETURN = "setup() and run() must return: remove the statement that ends the process{at}"
_ADDRESS = (
    "check the arguments{at}: one of the addresses is not in host memory, or the size is larger than the memory there"
)
_NEXT: Mapping[str, str] = {
    "SIGSEGV": _ADDRESS,
    "SIGBUS": _ADDRESS,
    "SIGABRT": "look at the output before, and at the arguments{at}: the usual cause is a write past the end of an "
    "allocation",
    "SIGKILL": "let it use less memory: the system ends a process like this when there is no more",
}
"""The next step, by the signal."""
