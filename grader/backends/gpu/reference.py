"""Trusted files: a course's checks of timed outputs, its ceilings, and CUDA files as cubins. Parent side.

CUDA files of the grader and the course are compiled like a submission, and cached by content. `kernels_ref/device` and
`kernels_ref/ceilings` are plain data with CUDA files beside them, and their docstrings document the format; a course
without them uses the built-in ones.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grader.errors import GraderFault, SubmissionError

if TYPE_CHECKING:
    from grader.catalog.courses import Course
    from grader.gpus.detect import Gpu


def device_data(course: Course) -> ModuleType:
    """`kernels_ref/device` of the course, else of the built-in one."""
    return _load(trusted_file(course, "device/__init__.py").parent)


def ceiling_data(course: Course) -> ModuleType:
    """`kernels_ref/ceilings` of the course, else of the built-in one."""
    return _load(trusted_file(course, "ceilings/__init__.py").parent)


def find(course: Course, folder: str, table: str, name: str) -> tuple[Any, Path] | None:
    """The entry ``name`` of a table (``CHECKS``, ``CEILINGS``) and the folder of its files; None if there is none.

    The course's own table comes before the built-in one.
    """
    for root in _roots(course):
        place = root / folder
        if (place / "__init__.py").is_file():
            entry = getattr(_load(place), table).get(name)
            if entry is not None:
                return entry, place
    return None


def baseline_source(course: Course, module: str) -> str:
    """The text of a module of `kernels_ref/baselines`, which runs in the GPU child."""
    if not module.isidentifier():
        raise GraderFault(f"{module!r} is no module of kernels_ref/baselines")
    return trusted_file(course, f"baselines/{module}.py").read_text()


def trusted_file(course: Course | None, *names: str, why: str = "") -> Path:
    """The first of these files of `kernels_ref`, in the course, if one is given, before the built-in course.

    Raises GraderFault if there is none; its message ends with ``why``.
    """
    places = (root / name for name in names for root in _roots(course))
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        wanted = " or ".join(f"kernels_ref/{name}" for name in dict.fromkeys(names))
        raise GraderFault(f"the course has no {wanted}{why}")
    return found


def _roots(course: Course | None) -> tuple[Path, ...]:
    from grader.catalog.courses import built_in_course

    own = () if course is None else (course.kernels_ref,)
    return tuple(dict.fromkeys((*own, built_in_course().kernels_ref)))


@cache
def _load(folder: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"_warpgrade_data_{abs(hash(folder)):x}_{folder.name}"
    spec = spec_from_file_location(name, folder / "__init__.py")
    if spec is None or spec.loader is None:
        raise GraderFault(f"{folder} cannot be loaded")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look a module up by its name
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------------------------------------------- CUDA files

_SUPPORT = Path(__file__).with_name("support.cu")


def support_cubin(gpu: Gpu) -> bytes:
    """The cubin of support.cu for this GPU: kernels for guard checks, the L2 flush, and the control copy."""
    return cubin(_SUPPORT.read_text(), _SUPPORT.name, gpu.arch, target_of(gpu))


def target_of(gpu: Gpu) -> str:
    """The PTX target for this GPU: its architecture, at most sm_80."""
    major, minor = min(gpu.compute_capability, (8, 0))
    return f"sm_{major}{minor}"


@cache
def cubin(source: str, name: str, arch: str, target: str) -> bytes:
    """The cubin of a trusted file. Raises GraderFault if it does not compile."""
    from grader.compile import assemble, compile_source

    try:
        return assemble(compile_source(source.encode(), name, target=target), arch)
    except SubmissionError as error:
        raise GraderFault(f"the trusted kernels of {name} do not compile: {error.message}") from error
