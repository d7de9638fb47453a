"""Ceilings beside a submission: the simplest kernel of the same bytes and mix, sized from the exercise's work. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.backends.gpu.wire import Trusted
from grader.expressions import cdiv, evaluate, evaluate_integer

SINK_BYTES = 256
Places = tuple[tuple[str, int, int, str], ...]


@dataclass(frozen=True)
class Sized:
    """A ceiling with every expression evaluated. ``bytes`` and ``host_bytes`` are the memory that its arrays take."""

    name: str
    what: str
    unit: str  # "B" | "FLOP" | "OP"
    work: float
    file: str
    launches: tuple[Trusted, ...]  # none: it is a copy from the first array to the second
    bytes: int
    host_bytes: int
    arrays: tuple[tuple[str, int, int, str], ...]  # name, offset in its memory, bytes, "device" | "host"


def sized(name: str, ceiling: Any, work_bytes: float, work_flops: float, sm_count: int) -> Sized:
    """The ceiling for a task that moves ``work_bytes`` and computes ``work_flops``.

    ``ceiling`` is an entry of `kernels_ref/ceilings`, whose docstring explains its expressions.
    """
    numbers = _numbers(ceiling, work_bytes, work_flops, sm_count)
    arrays = _places(ceiling, numbers)
    ends = {memory: _end(arrays, memory) for memory in ("device", "host")}
    launches = (_launch(ceiling, numbers, arrays, ends["device"]),) if ceiling.kernel else ()
    work = float(evaluate(ceiling.work, numbers))
    sizes = (ends["device"] + SINK_BYTES, ends["host"])
    return Sized(name, ceiling.what, ceiling.unit, work, ceiling.file, launches, *sizes, arrays)


def _numbers(ceiling: Any, work_bytes: float, work_flops: float, sm_count: int) -> dict[str, int | float]:
    numbers: dict[str, int | float] = {"bytes": int(work_bytes), "flops": int(work_flops), "sm_count": sm_count}
    for name, expression in ceiling.numbers:
        numbers[name] = evaluate(expression, numbers)
    return numbers


def _places(ceiling: Any, numbers: Mapping[str, int | float]) -> Places:
    ends = {"device": 0, "host": 0}
    places = []
    for array in ceiling.arrays:
        size = evaluate_integer(array.bytes, numbers)
        places.append((array.name, ends[array.memory], size, array.memory))
        ends[array.memory] += 256 * cdiv(size, 256)
    return tuple(places)


def _end(arrays: Places, memory: str) -> int:
    return max((offset + 256 * cdiv(size, 256) for _, offset, size, where in arrays if where == memory), default=0)


def _launch(ceiling: Any, numbers: Mapping[str, int | float], arrays: Places, sink: int) -> Trusted:
    addresses = {name: ("host" if memory == "host" else "ceiling", offset) for name, offset, _, memory in arrays}
    addresses["sink"] = ("ceiling", sink)
    args = tuple(addresses[name] if name in addresses else _number(numbers[name]) for name in ceiling.args)
    grid = evaluate_integer(ceiling.grid, numbers)
    return Trusted("ceiling", ceiling.kernel, (grid, 1, 1), (ceiling.block, 1, 1), args)


def _number(value: int | float) -> tuple[str, int | float]:
    return ("f32", value) if isinstance(value, float) else ("i64", value)
