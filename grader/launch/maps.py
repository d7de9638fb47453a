"""Tensor maps: what the lines say becomes numbers, and TMA's rules are checked before a GPU is asked.

The rules are those of ``cuTensorMapEncodeTiled`` in CUDA's driver API.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.c_types import DTYPE_BYTES
from grader.launch.records import TensorMap, TensorMapLine
from grader.launch.source import Fragment, invalid

Evaluate = Callable[[Fragment], int]

SWIZZLES = (0, 32, 64, 128)
PROMOTIONS = (0, 64, 128, 256)
MAX_BOX = 256  # elements along one dimension
UNIT = 16  # bytes: TMA moves whole units, and every row begins on one
MAX_STRIDE = 1 << 40
MAX_EXTENT = 1 << 32


@dataclass(frozen=True)
class Viewed:
    """The array that a map looks at: its buffer, type and number of elements at this size."""

    buffer: str
    dtype: str
    count: int

    @property
    def element_bytes(self) -> int:
        return DTYPE_BYTES[self.dtype]


def tensor_map(line: TensorMapLine, viewed: Viewed, integer: Evaluate, where: str) -> TensorMap:
    """The map with its numbers. Raises SubmissionError (``invalid``) for one that TMA does not have; ``where`` is the
    case (" at n=1").
    """
    made = TensorMap(
        name=line.name.text,
        buffer=viewed.buffer,
        dtype=viewed.dtype,
        shape=_shape(line, integer, where),
        strides=(),
        box=tuple(integer(one) for one in line.box),
        swizzle=_choice("swizzle", line.swizzle, integer, SWIZZLES, 0),
        promotion=_choice("promotion", line.promotion, integer, PROMOTIONS, 128),
        line=line.at.line,
    )
    _check_box(line, made, viewed)
    in_elements = _strides(line, made.shape, integer)
    _check_strides(line, in_elements, viewed, where)
    _check_reach(line, made.shape, in_elements, viewed, where)
    strides = tuple(stride * viewed.element_bytes for stride in in_elements)
    return TensorMap(**{**vars(made), "strides": strides})


def _shape(line: TensorMapLine, integer: Evaluate, where: str) -> tuple[int, ...]:
    shape = tuple(integer(one) for one in line.shape)
    for text, extent in zip(line.shape, shape, strict=True):
        if not 1 <= extent <= MAX_EXTENT:
            raise invalid(f"an extent of shape= is {_number(text, extent)}{where}; it goes from 1 to 2^32", text)
    return shape


def _choice(key: str, text: Fragment | None, integer: Evaluate, choices: tuple[int, ...], default: int) -> int:
    if text is None:
        return default
    value = integer(text)
    if value not in choices:
        words = ", ".join(map(str, choices))
        raise invalid(f"{key}= is {_number(text, value)}; TMA has {words} bytes", text, hint="0 means none")
    return value


def _number(text: Fragment, value: int) -> str:
    """The value, and what was written where that is not the number itself."""
    return str(value) if text.text == str(value) else f"{value} ({text.text})"


def _check_box(line: TensorMapLine, made: TensorMap, viewed: Viewed) -> None:
    if len(made.box) != len(made.shape):
        what = f"box= has {_dimensions(len(made.box))}, and shape= has {len(made.shape)}"
        raise invalid(what, line.box[0], hint="one number for each dimension, in the same order")
    for text, extent in zip(line.box, made.box, strict=True):
        if not 1 <= extent <= MAX_BOX:
            what = f"a side of box= is {_number(text, extent)}; it goes from 1 to {MAX_BOX} elements"
            raise invalid(what, text, hint="copy a larger tile as several boxes")
    text, inner = line.box[-1], made.box[-1] * viewed.element_bytes
    said = f"a row of the box is {made.box[-1]} elements of {viewed.element_bytes} bytes, {inner} bytes"
    if inner % UNIT:
        raise invalid(f"{said}; TMA wants a multiple of {UNIT}", text)
    if made.swizzle and inner > made.swizzle:
        hint = f"swizzle={made.swizzle} goes with {made.swizzle // viewed.element_bytes} elements at most"
        raise invalid(f"{said}, more than the {made.swizzle} that its swizzle spans", text, hint=hint)


def _dimensions(count: int) -> str:
    return f"{count} dimension" + "s" * (count != 1)


def _strides(line: TensorMapLine, shape: tuple[int, ...], integer: Evaluate) -> tuple[int, ...]:
    """Elements between neighbours of each dimension but the innermost."""
    if line.strides:
        if len(line.strides) != len(shape) - 1:
            what = f"strides= has {len(line.strides)} for {_dimensions(len(shape))}"
            hint = "one for each dimension but the last, in elements: the last one's neighbours lie side by side"
            raise invalid(what, line.strides[0], hint=hint)
        return tuple(integer(one) for one in line.strides)
    strides: list[int] = []
    for extent in reversed(shape[1:]):
        strides.insert(0, extent * (strides[0] if strides else 1))
    return tuple(strides)


def _check_strides(line: TensorMapLine, strides: tuple[int, ...], viewed: Viewed, where: str) -> None:
    for i, stride in enumerate(strides):
        text = line.strides[i] if line.strides else line.shape[i + 1]
        size = stride * viewed.element_bytes
        if size % UNIT or not 0 < size < MAX_STRIDE:
            what = f"the rows along dimension {i + 1} lie {size} bytes apart{where}"
            hint = "an array whose rows do not begin on 16 bytes cannot be copied by TMA"
            raise invalid(f"{what}; TMA wants a multiple of {UNIT}, less than 2^40", text, hint=hint)


def _check_reach(
    line: TensorMapLine, shape: tuple[int, ...], strides: tuple[int, ...], viewed: Viewed, where: str
) -> None:
    """TMA reads nothing outside of the map's shape: a shape inside of the array keeps every copy inside."""
    last = sum((extent - 1) * stride for extent, stride in zip(shape, (*strides, 1), strict=True))
    if last >= viewed.count:
        what = f"the tensor map {line.name.text} reaches element {last} of {viewed.buffer}{where}"
        hint = "shape= and strides= count elements, from the outermost dimension to the innermost"
        raise invalid(f"{what}, which has {viewed.count}", line.shape[0], hint=hint)
