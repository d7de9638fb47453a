"""The grader's own CUDA files, compiled and assembled like a submission, and cached by content like one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import GraderFault, SubmissionError

if TYPE_CHECKING:
    from grader.gpus.detect import Gpu

_SUPPORT = Path(__file__).with_name("support.cu")


def support_cubin(gpu: Gpu) -> bytes:
    """support.cu for this GPU: guard checks, the L2 flush, the control kernel."""
    return cubin(_SUPPORT.read_text(), _SUPPORT.name, gpu.arch, target_of(gpu))


def target_of(gpu: Gpu) -> str:
    """The PTX target of one PTX for everything: this GPU's, 8.0 at most."""
    major, minor = min(gpu.compute_capability, (8, 0))
    return f"sm_{major}{minor}"


@cache
def cubin(source: str, name: str, arch: str, target: str) -> bytes:
    """Compile and assemble a trusted file. Raises GraderFault where it does not compile: it is the course's own."""
    from grader.compile import assemble, compile_source

    try:
        return assemble(compile_source(source.encode(), name, target=target), arch)
    except SubmissionError as error:
        raise GraderFault(f"the trusted kernels of {name} do not compile: {error.message}") from error
