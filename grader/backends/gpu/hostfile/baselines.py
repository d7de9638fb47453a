"""What a timed host file is measured against, itself measured in the same child before any of its code is read.

    link_to_device, link_to_host    one pinned copy of the work's bytes
    link_both_ways                  pinned copies of all inputs in and of all outputs out, at once on two streams
    link_between_devices            every GPU sends the work's bytes to the next one, all at once
    computing                       a trusted kernel of kernels_ref/host on data that lies on the device
    plain_loop                      copies in, a Python loop of launches of such a kernel, copies out, one wait

A target of the unit ``transfer`` names its link; ``overlap`` takes ``link_both_ways`` and ``computing``; ``launches``
takes ``plain_loop``. The trusted kernel is ``kernels_ref/host/NAME.cu`` with launch lines over the exercise's arrays
and sizes, where NAME is what the target names as its ceiling, else the exercise's name. Parent side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from grader.backends.gpu.reference import target_of, trusted_file
from grader.errors import GraderFault, SubmissionError
from grader.gpus.models import capability
from grader.inputs import element_count
from grader.timing import roofline

if TYPE_CHECKING:
    from grader.catalog.courses import Course
    from grader.exercise import Exercise, Size
    from grader.gpus.detect import Gpu


LINKS = ("link_to_device", "link_to_host", "link_both_ways", "link_between_devices")
COMPUTING, PLAIN_LOOP = "computing", "plain_loop"


@dataclass(frozen=True)
class Baseline:
    """One of them, sized for the exercise's work; ``request`` tells the child what to do."""

    name: str
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BaselineSetup:
    """The GPU that serves, how many there are, and the course whose trusted kernels count."""

    gpu: Gpu
    gpus: int = 1
    course: Course | None = None


def baselines(exercise: Exercise, where: BaselineSetup) -> tuple[Baseline, ...]:
    """What the exercise's timed runs are measured against; none where nothing of a host's is timed.

    Raises GraderFault where the course lacks what the target names.
    """
    target = exercise.target
    if exercise.timed is None or target is None or target.unit not in _OF_UNIT:
        return ()
    return _OF_UNIT[target.unit](exercise, exercise.timed, where)


def _link(exercise: Exercise, size: Size, where: BaselineSetup) -> tuple[Baseline, ...]:
    assert exercise.target is not None
    name = exercise.target.ceiling
    if name not in LINKS:
        raise GraderFault(f"{exercise.name} names the ceiling {name!r}; links are {', '.join(LINKS)}")
    if name == "link_both_ways":
        return (_both_ways(exercise, size),)
    work = int(_work(exercise, size))
    requests = {"link_to_device": {"into": work}, "link_to_host": {"out_of": work}}
    return (Baseline(name, requests.get(name, {"each": work, "devices": where.gpus})),)


def _both_ways(exercise: Exercise, size: Size) -> Baseline:
    import numpy as np

    total = {"in": 0, "out": 0}
    for array in exercise.arrays:
        total[array.role] += element_count(array, size) * np.dtype(array.dtype).itemsize
    return Baseline("link_both_ways", {"into": total["in"], "out_of": total["out"]})


def _overlap(exercise: Exercise, size: Size, where: BaselineSetup) -> tuple[Baseline, ...]:
    _work(exercise, size)  # raises where there is none
    return (_both_ways(exercise, size), Baseline(COMPUTING, _kernels(exercise, size, where) | {"rounds": 0}))


def _launches(exercise: Exercise, size: Size, where: BaselineSetup) -> tuple[Baseline, ...]:
    work = int(_work(exercise, size))
    return (Baseline(PLAIN_LOOP, _kernels(exercise, size, where) | {"rounds": work}),)


_OF_UNIT: Mapping[str, Callable[[Exercise, Size, BaselineSetup], tuple[Baseline, ...]]] = {
    "transfer": _link,
    "overlap": _overlap,
    "launches": _launches,
}


def _work(exercise: Exercise, size: Size) -> float:
    """The work of the timed size, in what the target's unit counts. Raises GraderFault where there is none."""
    assert exercise.target is not None
    work = roofline.work_of(exercise, size)
    if work < 1:
        raise GraderFault(f"{exercise.name} is timed in {exercise.target.unit}, but its work counts none")
    return work


# ------------------------------------------------------------------------------------------------- the trusted kernel


def _kernels(exercise: Exercise, size: Size, where: BaselineSetup) -> dict[str, Any]:
    """The trusted kernel at ``size``, assembled, and what it works on."""
    from grader.compile import assemble, compile_source
    from grader.launch import parse_launches, resolve_launches

    assert exercise.target is not None
    names = [name for name in (exercise.target.ceiling, exercise.name) if name and name != PLAIN_LOOP]
    why = f", against which {exercise.name} is timed"
    file = trusted_file(where.course, *(f"host/{name}.cu" for name in names), why=why)
    target = max(target_of(where.gpu), exercise.requires, key=capability)
    try:
        program = compile_source(file.read_bytes(), file.name, target=target)
        script = parse_launches(program.source, file=file.name)
        plan = resolve_launches(script, exercise, size, where.gpu.limits, program)
    except SubmissionError as error:
        raise GraderFault(f"the trusted kernel {file.name} cannot be used: {error.message}") from error
    return {
        "cubin": assemble(program, where.gpu.arch_for(program.target)),
        "entries": [asdict(entry) for entry in program.entries],
        "plan": asdict(plan),
        "arrays": [
            {
                "name": array.name,
                "dtype": array.dtype,
                "count": element_count(array, size),
                "role": array.role,
                "range": [array.values.low, array.values.high, array.values.exact_low, array.values.exact_high],
            }
            for array in exercise.arrays
        ],
    }
