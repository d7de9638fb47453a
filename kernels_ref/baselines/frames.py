"""Library calls that go through a recording frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def energy(arrays: Arrays, numbers: Numbers) -> Run:
    """Copy the recording to the device, square and sum there with CuPy, copy the result back."""
    import cupy

    frames = arrays["x"].reshape(int(numbers["frames"]), -1)
    on_device = cupy.empty(frames.shape, frames.dtype)

    def run() -> None:
        on_device.set(frames)
        cupy.square(on_device).sum(axis=1).get(out=arrays["out"])

    return run


def peak(arrays: Arrays, numbers: Numbers) -> Run:
    """Copy the recording to the device, take the largest absolute value there with CuPy, copy the result back."""
    import cupy

    frames = arrays["x"].reshape(int(numbers["frames"]), -1)
    on_device = cupy.empty(frames.shape, frames.dtype)

    def run() -> None:
        on_device.set(frames)
        cupy.abs(on_device).max(axis=1).get(out=arrays["out"])

    return run
