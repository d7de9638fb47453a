"""Ceilings beside a submission: the simplest kernel of the same bytes and mix, sized from the exercise's work. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.backends.gpu.wire import Trusted
from grader.expressions import evaluate, evaluate_integer

SINK_BYTES = 256


@dataclass(frozen=True)
class Sized:
    """A ceiling with every expression evaluated. ``bytes`` is the device memory that its arrays take, with the sink."""

    name: str
    what: str
    unit: str  # "B" | "FLOP"
    work: float
    file: str
    launches: tuple[Trusted, ...]
    bytes: int
    arrays: tuple[tuple[str, int, int, str], ...]  # name, offset, bytes, "device" | "host"


def sized(name: str, ceiling: Any, work_bytes: float, work_flops: float, sm_count: int) -> Sized:
    """The ceiling for a task that moves ``work_bytes`` and computes ``work_flops``.

    ``ceiling`` is an entry of `kernels_ref/ceilings`, whose docstring explains its expressions.
    """
    numbers = _numbers(ceiling, work_bytes, work_flops, sm_count)
    arrays, end = _places(ceiling, numbers)
    launches = (_launch(ceiling, numbers, arrays, end),) if ceiling.kernel else ()
    work = float(evaluate(ceiling.work, numbers))
    return Sized(name, ceiling.what, ceiling.unit, work, ceiling.file, launches, end + SINK_BYTES, arrays)


def _numbers(ceiling: Any, work_bytes: float, work_flops: float, sm_count: int) -> dict[str, int | float]:
    numbers: dict[str, int | float] = {"bytes": int(work_bytes), "flops": int(work_flops), "sm_count": sm_count}
    for name, expression in ceiling.numbers:
        numbers[name] = evaluate(expression, numbers)
    return numbers


def _places(ceiling: Any, numbers: Mapping[str, int | float]) -> tuple[tuple[tuple[str, int, int, str], ...], int]:
    at, places = 0, []
    for array in ceiling.arrays:
        size = evaluate_integer(array.bytes, numbers)
        places.append((array.name, at, size, array.memory))
        at += -(-size // 256) * 256
    return tuple(places), at


def _launch(
    ceiling: Any, numbers: Mapping[str, int | float], arrays: tuple[tuple[str, int, int, str], ...], sink: int
) -> Trusted:
    offsets = {name: offset for name, offset, _, _ in arrays} | {"sink": sink}
    args = tuple(_argument(name, offsets, numbers) for name in ceiling.args)
    grid = evaluate_integer(ceiling.grid, numbers)
    return Trusted("ceiling", ceiling.kernel, (grid, 1, 1), (ceiling.block, 1, 1), args)


def _argument(name: str, offsets: Mapping[str, int], numbers: Mapping[str, int | float]) -> tuple[str, int | float]:
    if name in offsets:
        return ("ceiling", offsets[name])
    value = numbers[name]
    return ("f32", value) if isinstance(value, float) else ("i64", value)
