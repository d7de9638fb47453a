"""Oracles for kernels that treat each element by itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def add(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``c = a + b``, element by element. Shapes: ``a``, ``b`` and ``c`` are (n,)."""
    return {"c": np.add(inputs["a"], inputs["b"], dtype=np.float64)}


def add_relu(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``c = max(a + b, 0)``, element by element. Shapes: ``a``, ``b`` and ``c`` are (n,)."""
    return {"c": np.maximum(np.add(inputs["a"], inputs["b"], dtype=np.float64), 0.0)}


def saxpy(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = alpha·x + y``, element by element, with the scalar ``alpha``; every array is (n,)."""
    x, y = (inputs[name].astype(np.float64) for name in ("x", "y"))
    return {"out": numbers["alpha"] * x + y}


def saxpy_reversed(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[i] = alpha·x[n-1-i] + y[i]``: like `saxpy`, with ``x`` read from its end."""
    x, y = (inputs[name].astype(np.float64) for name in ("x", "y"))
    return {"out": numbers["alpha"] * x[::-1] + y}


def saxpy_clamped(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = max(alpha·x + y, 0)``, element by element: like `saxpy`, without negative results."""
    return {"out": np.maximum(saxpy(inputs, numbers)["out"], 0.0)}


def swiglu(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = gate / (1 + exp(-gate)) · up``, element by element; every array is (n,)."""
    gate, up = (inputs[name].astype(np.float64) for name in ("gate", "up"))
    return {"out": gate / (1.0 + np.exp(-gate)) * up}


def calibrate(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = gain·x + offset``, element by element, with two scalars. Shapes: ``x`` and ``out`` are (n,)."""
    return {"out": numbers["gain"] * inputs["x"].astype(np.float64) + numbers["offset"]}


def remove_drift(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[r*cols + c] = x[r*cols + c] - slope·c``: the same ramp off every row; both arrays are (rows·cols,)."""
    cols = int(numbers["cols"])
    x = inputs["x"].astype(np.float64).reshape(-1, cols)
    return {"out": (x - numbers["slope"] * np.arange(cols)).ravel()}


def coordinates(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Where every element is, in decimal, for ``hello_index``: there are no inputs.

    ``line[i] = i`` is (n,); ``plane[y*width + x] = 1000·y + x``; ``box[(z*height + y)*width + x]`` has 10^6·z more.
    """
    width, height, depth = (np.arange(int(numbers[name]), dtype=np.float64) for name in ("width", "height", "depth"))
    plane = (1000 * height[:, None] + width).ravel()
    box = (1_000_000 * depth[:, None] + plane).ravel()
    return {"line": np.arange(int(numbers["n"]), dtype=np.float64), "plane": plane, "box": box}


def strided_broadcast(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = a + b`` of shape n0 x n1 x n2 x n3, where each operand has a stride, in elements, for each axis."""
    places = np.indices([int(numbers[f"n{axis}"]) for axis in range(4)])

    def strided(name: str) -> npt.NDArray[np.float64]:
        index = sum(int(numbers[f"{name}{axis}"]) * places[axis] for axis in range(4))
        return np.asarray(inputs[name].astype(np.float64)[index])

    return {"out": (strided("a") + strided("b")).ravel()}
