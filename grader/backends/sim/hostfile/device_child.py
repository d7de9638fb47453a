"""The simulator's child as the GPU of a host file: it executes the calls that the parent relays, and reports runs."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from grader.backends.conditions import USUAL, Conditions
from grader.backends.sim import child
from grader.c_types import DTYPE_BYTES

if TYPE_CHECKING:
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import Module
    from grader.simt.simulate import Options
    from grader.standin.device import RunReport, StandinDevice


class DeviceServer:
    """Answers requests with a `StandinDevice` that has one program and one shared file."""

    def __init__(
        self, message: Mapping[str, Any], module: Module, cache: CodeCache, options: Options, file: str
    ) -> None:
        self._arrays: dict[str, tuple[int, int, str, str]] = {}
        self._file = file
        self._graded = False
        self._device = _device(message, module, cache, options)
        self._left = self._given = 0  # of the limit of instructions when a run began: of the session, of the run
        self._spent = 0  # by the last run in the usual order

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to any request after ``start_device``."""
        return {"bind": self._bind, "call": self._call, "begin_run": self._begin, "end_run": self._end}[message["do"]](
            message
        )

    def _bind(self, message: dict[str, Any]) -> dict[str, Any]:
        from grader.simt.engine.schedule import ORDERS

        self._arrays = {name: (row[0], row[1], row[2], row[3]) for name, row in message["arrays"].items()}
        conditions = Conditions(**message["conditions"])
        self._device.gpu.undefined, self._device.gpu.order = conditions.undefined, ORDERS[conditions.order]
        self._device.space.begin_case(conditions.poison_word, repeated=conditions != USUAL)
        self._device.begin_setup(self._arrays)
        return {"is": "done"}

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        from grader.standin.protocol import answer, unpack

        return {"is": "answer", **answer(self._device, unpack(message))}

    def _begin(self, message: dict[str, Any]) -> dict[str, Any]:
        self._graded = bool(message["graded"])
        gpu = self._device.gpu
        self._left = gpu.left
        if gpu.order.adversarial:
            gpu.left = min(gpu.left, child.limit_again(self._spent))
        self._given = gpu.left
        self._device.begin_run(self._arrays, graded=self._graded)
        return {"is": "done"}

    def _end(self, _: dict[str, Any]) -> dict[str, Any]:
        from grader.backends.sim.results import describe

        report, gpu = self._device.end_run(), self._device.gpu
        spent = self._given - gpu.left
        gpu.left = self._left - spent
        if not gpu.order.adversarial:
            self._spent = spent
        itemsize = {name: DTYPE_BYTES[row[2]] for name, row in self._arrays.items()}
        # Launches and timeline of a run on warm-up inputs are not reported.
        answer = describe(report.outcome, self._file, itemsize, with_launches=self._graded)
        answer |= {
            "is": "done",
            "host_counters": dict(report.host_counters),
            "findings": [*map(asdict, report.findings), *answer["findings"]],
            "failure": _failure(report) or answer["failure"],
            "unordered": report.outcome.unordered,
            "other_orders": child.other_orders(report.outcome, self._spent),
        }
        if self._graded:
            operations = [dict(vars(operation)) for operation in report.timeline.operations]
            answer["timeline"] = {**vars(report.timeline), "operations": operations}
        return answer


def _failure(report: RunReport) -> str | None:
    """The verdict word of the first error in the host file, which comes before errors in kernels; None if none."""
    from grader.findings.kinds import word_of_kind

    return next((word_of_kind(found.kind) for found in report.findings if found.severity == "error"), None)


def _device(message: Mapping[str, Any], module: Module, cache: CodeCache, options: Options) -> StandinDevice:
    import numpy as np

    from grader.standin.device import A100, StandinDevice

    shared = np.frombuffer(mmap.mmap(int(message["fd"]), int(message["size"])), np.uint8)
    begin, end = message["pool"]
    return StandinDevice(
        module, shared, cache=cache, pool=(int(begin), int(end)), hostfile=str(message["hostfile"]),
        options=options, devices=int(message["devices"]), model=replace(A100, scale=float(message["scale"])),
        parameters={name: tuple(known) for name, known in message["parameters"].items()},
        registers=dict(message["registers"]), max_threads=dict(message["max_threads"]),
    )  # fmt: skip


NEEDED = (
    "grader.backends.sim.results", "grader.findings.kinds", "grader.findings.sentences", "grader.standin.device",
    "grader.standin.protocol",
    "numpy.ma",  # np.unique looks for it when it is called
)  # fmt: skip


def main() -> None:
    """Run `grader.backends.sim.child`, with a device's modules imported before the sandbox closes all files."""
    for name in NEEDED:
        import_module(name)
    child.main(DeviceServer)
