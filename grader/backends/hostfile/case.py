"""What both backends do with a host file: the runs of one case, and what its module and its memory need.

In every case `setup` sees warm-up inputs, one run on other warm-up inputs follows that nobody looks at, and only then
come the case's inputs. So a result that was computed in `setup`, last time's result, and a graph that holds old
pointers are wrong. Nothing is told to the host file between two runs.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from grader.exercise import SECRET_SIZES
from grader.inputs import derive_seed, element_count, make_array, poison

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Buffer
    from grader.compile import Program
    from grader.exercise import Array, Exercise, Size

    Values = npt.NDArray[np.generic]
    Arrays = Mapping[str, Values]

_GRID_SYNC = re.compile(r"%envreg2\b")


class HostfileRuns(Protocol):
    """A host file in its process, as the parent sees it."""

    def set_up(self, data: Arrays) -> Mapping[str, Values]:
        """Share copies of ``data`` with the host file, call its `setup`, and return the parent's view of them."""

    def go(self) -> float:
        """Call `run` once; seconds by the parent's clock."""


@dataclass(frozen=True, eq=False)
class CaseRunResult:
    """What the graded run left: outputs by name, names of inputs that it overwrote, and seconds."""

    outputs: Arrays
    inputs_changed: tuple[str, ...]
    elapsed_s: float


def run_case(session: HostfileRuns, exercise: Exercise, buffers: Sequence[Buffer]) -> CaseRunResult:
    """One case: `setup` and a run on warm-up inputs, then the graded run. Raises what ``session`` raises."""
    data = {b.name: b.data for b in buffers if b.role == "in" and b.data is not None}
    outputs = {b.name: poison(b.dtype, b.count) for b in buffers if b.role == "out"}
    shared = session.set_up({b.name: _first(b, exercise, data, outputs) for b in buffers if b.role != "scratch"})
    write(shared, warm_up_inputs(exercise, data, 2), outputs)
    session.go()
    write(shared, data, outputs)
    elapsed_s = session.go()
    left = {name: shared[name].copy() for name in outputs}  # before anything else: what comes now comes too late
    changed = tuple(name for name in data if shared[name].tobytes() != data[name].tobytes())
    return CaseRunResult(left, changed, elapsed_s)


def _first(buffer: Buffer, exercise: Exercise, data: Arrays, outputs: Arrays) -> Values:
    """What `setup` sees of one array."""
    if buffer.name in outputs:
        return outputs[buffer.name]
    return warm_up_inputs(exercise, {buffer.name: data[buffer.name]}, 1)[buffer.name]


def write(shared: Arrays, *contents: Arrays) -> None:
    """Write new contents into the arrays that the host file shares."""
    for arrays in contents:
        for name, values in arrays.items():
            shared[name][:] = values


SEED_LABEL = "decoy"
"""A part of every seed of warm-up inputs: with another word they would be other inputs."""


def warm_up_inputs(exercise: Exercise, data: Arrays, turn: int) -> dict[str, Values]:
    """Other values of the same kind for each input: the same ones for the same inputs and turn, on any machine."""
    arrays = {array.name: array for array in exercise.inputs}
    return {name: _warm_up_input(arrays[name], values, turn) for name, values in data.items()}


def _warm_up_input(array: Array, values: Values, turn: int) -> Values:
    import numpy as np

    whole = values.dtype.kind != "f" or bool(np.all(values == np.rint(values)))
    seed = derive_seed(zlib.crc32(values.tobytes()), SEED_LABEL, array.name, turn)
    return make_array(array, values.size, seed, "exact" if whole else "real")


# ------------------------------------------------------------------------------------------------- module and memory


def is_cooperative(program: Program) -> bool:
    """Whether its module needs ``enable_cooperative_groups``: a kernel waits for the whole grid (`grid.sync()`)."""
    return _GRID_SYNC.search(program.ptx) is not None


def shared_bytes(exercise: Exercise, page: int, *, gap: int = 0) -> int:
    """Room for the arrays of every case and of the timed size, each array on pages of its own, with ``gap`` behind."""
    largest = {name: most for name, (_, most, _) in exercise.secret.items()}
    secret = [largest] * SECRET_SIZES if largest else []
    sizes = [size for size in (*exercise.small, *secret) for _ in range(2)]
    timed = [exercise.timed] if exercise.timed is not None else []
    cases = (*sizes, exercise.simulated, *timed)
    return sum(_case_bytes(exercise, size, page) + gap * len(exercise.arrays) for size in cases)


def _case_bytes(exercise: Exercise, size: Size, page: int) -> int:
    import numpy as np

    return sum(max(1, -(-element_count(a, size) * np.dtype(a.dtype).itemsize // page)) * page for a in exercise.arrays)


# ------------------------------------------------------------------------------------------------------ several GPUs

MOST_GPUS = 8


def on_gpus(exercise: Exercise, count: int) -> Exercise:
    """The exercise on a machine with ``count`` GPUs: its timed size has all of them, and no case has more.

    Exercises for one GPU, and those without a size named ``gpus``, stay as they are.
    """
    if exercise.gpus <= 1:
        return exercise
    here = min(count, MOST_GPUS)
    secret = {name: _within(here, *bounds) if name == "gpus" else bounds for name, bounds in exercise.secret.items()}
    return replace(
        exercise,
        small=tuple(size for size in exercise.small if size.get("gpus", 1) <= here),
        secret=secret,
        simulated=_with_gpus(exercise.simulated, min(here, exercise.simulated.get("gpus", here))),
        timed=exercise.timed and _with_gpus(exercise.timed, here),
    )


def _within(here: int, least: int, most: int, step: int) -> tuple[int, int, int]:
    return least, max(least, min(most, here)), step


def _with_gpus(size: Size, count: int) -> Size:
    return {**size, "gpus": count} if "gpus" in size else size


def too_few_gpus(exercise: Exercise, count: int) -> str:
    """Why an exercise cannot run on so many GPUs; "" where it can."""
    if count >= exercise.gpus:
        return ""
    return f"{exercise.name} needs {exercise.gpus} GPUs; this machine has {count or 'no GPU'}"
