"""Library calls for weighted sums of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def weighted_line(arrays: Arrays, numbers: Numbers) -> Run:
    """``cupyx.scipy.ndimage.correlate1d`` with zeros outside, into ``out``."""
    from cupyx.scipy import ndimage

    return partial(ndimage.correlate1d, arrays["x"], arrays["weights"], output=arrays["out"], mode="constant")


def weighted_image(arrays: Arrays, numbers: Numbers) -> Run:
    """``cupyx.scipy.ndimage.correlate`` with zeros outside, into ``out``."""
    from cupyx.scipy import ndimage

    shape = int(numbers["rows"]), int(numbers["cols"])
    image, out = arrays["image"].reshape(shape), arrays["out"].reshape(shape)
    return partial(ndimage.correlate, image, arrays["mask"].reshape(7, 7), output=out, mode="constant")
