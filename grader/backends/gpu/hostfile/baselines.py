"""The baselines of timed host files, measured in the same child, before any of the host file's code is loaded.

    link_to_device, link_to_host    one pinned copy of the work's bytes
    link_both_ways                  pinned copies of all inputs in and of all outputs out, concurrently on two streams
    link_between_devices            every GPU sends the work's bytes to the next one, concurrently
    computing                       a trusted kernel of kernels_ref/host on data on the device
    plain_loop                      copies in, a Python loop of launches of such a kernel, copies out, one wait

A target of the unit ``transfer`` names its link; ``overlap`` takes ``link_both_ways`` and ``computing``; ``launches``
takes ``plain_loop``. The trusted kernel is ``kernels_ref/host/NAME.cu`` with launch lines over the exercise's arrays
and sizes, where NAME is what the target names as its ceiling, else the exercise's name. Parent side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any

from grader.backends.gpu.reference import target_of, trusted_file
from grader.errors import GraderFault, SubmissionError
from grader.frozen import dataclass
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
    """One baseline for the exercise's work; ``request`` is the child's request."""

    name: str
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BaselineSetup:
    """The GPU, the number of GPUs, and the course that is searched first for trusted kernels."""

    gpu: Gpu
    gpus: int = 1
    course: Course | None = None


def baselines(exercise: Exercise, where: BaselineSetup) -> tuple[Baseline, ...]:
    """The baselines of the exercise's timed runs; () if it has none.

    Raises GraderFault if the course lacks the target's kernel.
    """
    import numpy as np

    target, size = exercise.target, exercise.timed
    if size is None or target is None or target.unit not in ("transfer", "overlap", "launches"):
        return ()
    link = target.ceiling if target.unit == "transfer" else ""
    if target.unit == "transfer" and link not in LINKS:
        raise GraderFault(f"{exercise.name} names the ceiling {link!r}; links are {', '.join(LINKS)}")
    total = {"in": 0, "out": 0}
    for array in exercise.arrays:
        total[array.role] += element_count(array, size) * np.dtype(array.dtype).itemsize
    both_ways = Baseline("link_both_ways", {"into": total["in"], "out_of": total["out"]})
    if link == both_ways.name:
        return (both_ways,)
    work = int(roofline.work_of(exercise, size))
    if work < 1:
        raise GraderFault(f"{exercise.name} is timed in {target.unit}, but its work counts none")
    if target.unit == "overlap":
        return (both_ways, Baseline(COMPUTING, _kernels(exercise, size, where) | {"rounds": 0}))
    if target.unit == "launches":
        return (Baseline(PLAIN_LOOP, _kernels(exercise, size, where) | {"rounds": work}),)
    requests = {"link_to_device": {"into": work}, "link_to_host": {"out_of": work}}
    return (Baseline(link, requests.get(link, {"each": work, "devices": where.gpus})),)


# ------------------------------------------------------------------------------------------------- the trusted kernel


def _kernels(exercise: Exercise, size: Size, where: BaselineSetup) -> dict[str, Any]:
    """The child's request for the trusted kernel at ``size``: cubin, launches and arrays."""
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
                "range": [values.low, values.high, values.exact_low, values.exact_high],
            }
            for array in exercise.arrays
            for values in [array.timed_values]
        ],
    }
