"""`cupy.cuda.Device`: one of the simulated GPUs."""

from __future__ import annotations

from typing import Any, Self

from grader.standin.client import constants, runtime
from grader.standin.client.errors import Closed


class Device(Closed):
    """A GPU by its number; without one, the current GPU."""

    _full_name = "cupy.cuda.Device"

    def __init__(self, device: Any = None) -> None:
        self.id = runtime.getDevice() if device is None else int(device)
        self._before: list[int] = []

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Self:
        self._before.append(runtime.getDevice())
        if self.id != self._before[-1]:
            runtime.setDevice(self.id)
        return self

    def __exit__(self, *args: object) -> None:
        before = self._before.pop()
        if before != runtime.getDevice():
            runtime.setDevice(before)

    def use(self) -> Self:
        runtime.setDevice(self.id)
        return self

    def synchronize(self) -> None:
        with self:
            runtime.deviceSynchronize()

    @property
    def attributes(self) -> dict[str, int]:
        """The device's attributes by name: ``MultiProcessorCount``, ``WarpSize`` …"""
        known = constants.DEVICE_ATTRIBUTES
        return {name: value for name, value in runtime.attributes_of(self.id).items() if name in known}

    @property
    def compute_capability(self) -> str:
        """``"80"`` for 8.0."""
        found = runtime.attributes_of(self.id)
        return f"{found.get('ComputeCapabilityMajor', 8)}{found.get('ComputeCapabilityMinor', 0)}"

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of device memory."""
        with self:
            return runtime.memGetInfo()


def get_device_id() -> int:
    """The number of the current device."""
    return runtime.getDevice()
