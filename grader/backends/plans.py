"""The arguments of a launch as NumPy scalars, in a backend's child. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grader.c_types import PTX_DTYPES
from grader.errors import SubmissionError
from grader.launch import Dim3

if TYPE_CHECKING:
    import numpy as np

    from grader.compile import Parameter


def dim3(values: Sequence[int]) -> Dim3:
    """The three numbers of a JSON list."""
    x, y, z = values
    return (x, y, z)


# --------------------------------------------------------------------------------------------------------- arguments


def scalar(value: int | float, parameter: Parameter) -> np.generic:
    """``value`` as a NumPy scalar of the parameter's size and kind. A ``b8`` array of two bytes is a ``__half``.

    PTX does not keep the sign of a C parameter: -1 for a ``u32`` is the bits of an ``int``.
    Raises SubmissionError (``invalid``) for a structure, or a number that does not fit.
    """
    import numpy as np

    name = "float16" if parameter.type == "b8" and parameter.bytes == 2 else PTX_DTYPES.get(parameter.type)
    if name is None or np.dtype(name).itemsize != parameter.bytes:
        raise SubmissionError("invalid", f"a parameter of {parameter.bytes} bytes cannot be given by a launch line")
    kind, bits = np.dtype(name), 8 * parameter.bytes
    if kind.kind == "f":
        rounded: np.generic = np.array([value], dtype=kind)[0]
        return rounded
    if not float(value).is_integer() or not -(1 << (bits - 1)) <= int(value) < 1 << bits:
        raise SubmissionError("invalid", f"{value} does not fit an integer parameter of {bits} bits")
    word: np.generic = np.array([int(value) % (1 << bits)], dtype=f"uint{bits}").view(kind)[0]
    return word


def resolve(
    values: tuple[str | int | float, ...],
    parameters: tuple[Parameter, ...],
    addresses: Mapping[str, int],
    maps: Mapping[str, bytes] | None = None,
) -> list[np.generic]:
    """The arguments of a launch: addresses or tensor maps' bytes for names, scalars of the parameters' types for
    numbers. Raises SubmissionError (``invalid``) if number or types do not fit.
    """
    import numpy as np

    if len(values) != len(parameters):
        raise SubmissionError("invalid", f"the launch gives {len(values)} arguments to {len(parameters)} parameters")

    def resolved(value: str | int | float, parameter: Parameter) -> np.generic:
        if not isinstance(value, str):
            return scalar(value, parameter)
        return np.void(maps[value]) if maps and value in maps else np.uint64(addresses[value])

    return list(map(resolved, values, parameters))
