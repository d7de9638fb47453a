"""Frozen records from JSON: what fits the annotations is read, everything else is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from grader.frozen import dataclass
from grader.reading import NotThatRecord, from_json


@dataclass(frozen=True)
class Part:
    name: str
    weight: float = 1.0


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    pair: tuple[int, str]
    kind: Literal["a", "b"] = "a"
    value: Part | int | None = None
    when: datetime | None = None
    texts: Mapping[str, str] | None = None
    flag: bool = False
    further: Any = None


def test_a_record_comes_back_from_its_json() -> None:
    whole = Whole((Part("x"), Part("y", 2)), (3, "z"), "b", Part("v"), None, {"t": "u"}, True, [1, {"k": 2}])
    assert from_json(Whole, json.loads(json.dumps(asdict(whole)))) == whole
    assert from_json(tuple[Part, ...], [{"name": "x"}]) == (Part("x"),)
    assert from_json(Whole, {"parts": [], "pair": [1, "a"], "when": "2026-03-01T12:00:00+00:00", "value": 7}) == Whole(
        (), (1, "a"), value=7, when=datetime(2026, 3, 1, 12, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": [{"name": 1}]}, "parts[0].name must be a text"),
        ({"parts": [{}]}, "parts[0].name is missing"),
        ({"parts": {}}, "parts must be a list"),
        ({"parts": [{"name": "x", "wheels": 4}]}, "parts[0].wheels is not known"),
        ({"parts": [{"name": "x", "weight": True}]}, "parts[0].weight must be a number"),
        ({"pair": [1]}, "pair must have 2 items"),
        ({"pair": [1.5, "a"]}, "pair[0] must be a whole number"),
        ({"kind": "c"}, "kind must be one of 'a', 'b'"),
        ({"kind": []}, "kind must be one of 'a', 'b'"),
        ({"value": "x"}, "value must be a whole number"),
        ({"when": "2026-03-01T12:00:00"}, "when must be a time with its zone"),
        ({"texts": {"t": 1}}, "texts['t'] must be a text"),
        ({"flag": 1}, "flag must be true or false"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(change: Mapping[str, Any], message: str) -> None:
    with pytest.raises(NotThatRecord) as error:
        from_json(Whole, {"parts": [], "pair": [1, "a"], **change})
    assert str(error.value).startswith(message)


def test_a_document_must_be_an_object() -> None:
    with pytest.raises(NotThatRecord, match="the document must be an object"):
        from_json(Whole, [])
