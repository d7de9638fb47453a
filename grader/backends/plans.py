"""Launch plans and kernels' parameters as JSON and back: how a backend tells its child what to run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from grader.compile import Entry, Parameter
from grader.launch import Constant, Dim3, Launch, LaunchPlan, Scratch, TensorMap, Zero

Json = dict[str, Any]


def plan_to_json(plan: LaunchPlan) -> Json:
    """A plan as plain dicts; each step says what it is."""
    steps = [asdict(step) | {"is": type(step).__name__} for step in plan.steps]
    return {
        "steps": steps,
        "scratch": [asdict(s) for s in plan.scratch],
        "constants": [asdict(c) for c in plan.constants],
        "tensor_maps": [asdict(m) for m in plan.tensor_maps],
    }


def plan_from_json(data: Mapping[str, Any]) -> LaunchPlan:
    return LaunchPlan(
        steps=tuple(_step(step) for step in data["steps"]),
        scratch=tuple(Scratch(**s) for s in data["scratch"]),
        constants=tuple(Constant(**c) for c in data["constants"]),
        tensor_maps=tuple(_tensor_map(m) for m in data["tensor_maps"]),
    )


def _tensor_map(data: Mapping[str, Any]) -> TensorMap:
    lists = {key: tuple(data[key]) for key in ("shape", "strides", "box")}
    return TensorMap(**(dict(data) | lists))


def _step(data: Mapping[str, Any]) -> Launch | Zero:
    fields = {key: value for key, value in data.items() if key != "is"}
    if data["is"] == "Zero":
        return Zero(**fields)
    triples = {key: dim3(fields[key]) for key in ("grid", "block", "cluster")}
    return Launch(**(fields | triples | {"args": tuple(fields["args"])}))


def entries_to_json(entries: Sequence[Entry]) -> list[Json]:
    return [asdict(entry) for entry in entries]


def entries_from_json(data: Sequence[Mapping[str, Any]]) -> tuple[Entry, ...]:
    return tuple(
        Entry(e["name"], tuple(Parameter(**p) for p in e["parameters"]), e["static_shared_bytes"]) for e in data
    )


def dim3(values: Sequence[int]) -> Dim3:
    """Three numbers that JSON made a list of."""
    x, y, z = values
    return (x, y, z)
