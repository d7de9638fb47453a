"""The GPU backend: kernels run through CuPy in a child process that may hang or crash without harm.

    backend = GpuBackend(0)
    backend.start()                              # early, because CUDA needs half a second to start
    with backend.open(program, limits) as session:
        execution = session.run(case)
        samples = session.time(timed_run, …)

`grader.backends.gpu.child` is the other side. Each session has a child of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.backends.base import Backend, Limits, StartsEarly
from grader.backends.gpu.session import GpuSession
from grader.backends.starting import gpu_child

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.gpus.detect import Gpu
    from grader.launch import DeviceLimits
    from grader.process.child import Child


class GpuBackend(StartsEarly, Backend):
    """GPU number ``device``. Constructing it starts no process. Raises Unsupported if there is no such GPU."""

    name = "gpu"

    def __init__(self, device: int | Gpu = 0, *, sandbox: bool = True) -> None:
        from grader.gpus.detect import Gpu, detect

        self.gpu = device if isinstance(device, Gpu) else detect(device)
        self._sandbox = sandbox
        self._started: Child | None = None

    @property
    def device_limits(self) -> DeviceLimits:
        return self.gpu.limits

    def start(self) -> None:
        """Start the next session's child now, without waiting for it: its context takes half a second.

        Call it from a thread that lives as long as the child: Linux ends a child with the thread that started it.
        """
        if self._started is None:
            self._started = gpu_child(self.gpu.index, sandbox=self._sandbox)

    def open(self, program: Program | None, limits: Limits) -> GpuSession:
        """Assemble the program for this GPU and load it in a child of its own; None for the grader's own measurements.

        Raises Unsupported if ptxas is missing or too old, SubmissionError if the program is too large for the GPU.
        """
        from grader.backends.gpu.reference import support_cubin
        from grader.compile import assembly

        self.start()
        child, self._started = self._started, None
        assert child is not None
        session = GpuSession(child, limits)
        try:
            session.prepare(support_cubin(self.gpu))
            if program is None:
                session.wait_ready()
            else:
                arch = self.gpu.arch_for(program.target)
                made = assembly(program, arch)
                session.load(program, made.cubin, made.resources, arch, self.gpu.sm_count)
        except BaseException:
            session.close()
            raise
        return session
