"""A launch line's arguments as the kernel's parameters want them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.compile import Parameter
from grader.errors import SubmissionError

if TYPE_CHECKING:
    import numpy as np

_SCALARS = {
    "u8": "uint8", "s8": "int8", "b8": "uint8", "u16": "uint16", "s16": "int16", "b16": "uint16",
    "u32": "uint32", "s32": "int32", "b32": "uint32", "u64": "uint64", "s64": "int64", "b64": "uint64",
    "f16": "float16", "f32": "float32", "f64": "float64",
}  # fmt: skip
"""PTX types to NumPy's. PTX does not keep the sign of a C parameter: -1 for a ``u32`` is the bits of an ``int``."""


def scalar(value: int | float, parameter: Parameter) -> np.generic:
    """``value`` as a NumPy scalar of the parameter's size and kind. A ``b8`` array of two bytes is a ``__half``.

    Raises SubmissionError (``invalid``) for a structure, or a number that does not fit.
    """
    import numpy as np

    name = "float16" if parameter.type == "b8" and parameter.bytes == 2 else _SCALARS.get(parameter.type)
    if name is None or np.dtype(name).itemsize != parameter.bytes:
        raise SubmissionError("invalid", f"a parameter of {parameter.bytes} bytes cannot be given by a launch line")
    kind = np.dtype(name)
    if kind.kind == "f":
        rounded: np.generic = np.array([value], dtype=kind)[0]
        return rounded
    return _integer(value, kind)


def _integer(value: int | float, kind: np.dtype[np.generic]) -> np.generic:
    import numpy as np

    bits = 8 * kind.itemsize
    if not float(value).is_integer() or not -(1 << (bits - 1)) <= int(value) < 1 << bits:
        raise SubmissionError("invalid", f"{value} does not fit an integer parameter of {bits} bits")
    word = np.array([int(value) % (1 << bits)], dtype=f"uint{bits}")
    result: np.generic = word.view(kind)[0]
    return result


def resolve(
    values: tuple[str | int | float, ...],
    parameters: tuple[Parameter, ...],
    addresses: Mapping[str, int],
    maps: Mapping[str, bytes] | None = None,
) -> list[np.generic]:
    """All arguments of one launch: names become addresses or tensor maps' bytes, numbers the parameters' types."""
    if len(values) != len(parameters):
        raise SubmissionError("invalid", f"the launch gives {len(values)} arguments to {len(parameters)} parameters")
    pairs = zip(values, parameters, strict=True)
    return [_named(v, addresses, maps or {}) if isinstance(v, str) else scalar(v, p) for v, p in pairs]


def _named(name: str, addresses: Mapping[str, int], maps: Mapping[str, bytes]) -> np.generic:
    import numpy as np

    return np.void(maps[name]) if name in maps else np.uint64(addresses[name])
