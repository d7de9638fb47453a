"""`grader.frozen.dataclass`: records like those of the standard library's decorator, which cost less to define."""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any

import pytest

from grader import frozen


def defined(dataclass: Any) -> type:
    """The same class by another decorator."""

    @dataclass(frozen=True)
    class Place:
        """A record with all that our records use."""

        line: int
        file: str = "k.cu"
        names: tuple[str, ...] = ()
        facts: dict[str, int] = field(default_factory=dict, compare=False)
        axes: dict[str, int] = field(default_factory=dict, hash=False)
        source: str = field(default="", repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "names", tuple(self.names))

    return Place


OURS, STANDARD = defined(frozen.dataclass), defined(dataclasses.dataclass)


@pytest.mark.parametrize(
    "say",
    [
        repr,
        asdict,
        lambda place: [(f.name, f.type, f.default) for f in fields(place)],
        lambda place: asdict(replace(place, line=9)),
        lambda place: (place == type(place)(1, "a.cu", ["x"]), place == type(place)(2, "a.cu", ["x"])),
        lambda place: place == type(place)(1, "a.cu", ["x"], {"other": 1}),
        lambda place: {place: 1}[type(place)(1, "a.cu", ("x",))],
        lambda place: place == type(place)(1, "a.cu", ["x"], axes={"row": 1}),
        lambda place: place == 1,
    ],
)
def test_a_record_is_what_the_standard_decorator_makes(say: Any) -> None:
    assert say(OURS(1, "a.cu", ["x"])) == say(STANDARD(1, "a.cu", ["x"]))


def test_records_of_two_classes_differ() -> None:
    assert OURS(1) != STANDARD(1)
    assert defined(frozen.dataclass)(1) != OURS(1)


@pytest.mark.parametrize("record", [OURS, STANDARD])
def test_a_record_cannot_be_changed(record: type) -> None:
    place = record(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'line'"):
        place.line = 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'file'"):
        place.file = "b.cu"
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        place.other = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'line'"):
        del place.line
    assert place == record(1)


@pytest.mark.parametrize("record", [OURS, STANDARD])
def test_a_missing_or_an_unknown_field_is_named(record: type) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'line'"):
        record()
    with pytest.raises(TypeError, match="unexpected keyword argument 'column'"):
        record(1, column=2)


def test_methods_of_the_class_stay() -> None:
    @frozen.dataclass(frozen=True)
    class Named:
        name: str

        def __repr__(self) -> str:
            return self.name

        def __hash__(self) -> int:
            return 7

    assert (repr(Named("x")), hash(Named("x"))) == ("x", 7)


def test_what_is_not_a_plain_frozen_record_is_made_by_the_standard_decorator() -> None:
    @frozen.dataclass
    class Changing:
        x: int = 0

    @frozen.dataclass(frozen=True, slots=True)
    class Slotted:
        x: int = 0

    changing = Changing()
    changing.x = 3
    assert changing == Changing(3)
    assert not hasattr(Slotted(), "__dict__")


def test_a_record_may_extend_another() -> None:
    @frozen.dataclass(frozen=True)
    class Point:
        x: int

    @frozen.dataclass(frozen=True)
    class Named(Point):
        name: str = "p"

    assert Named(1) == Named(1, "p") != Named(1, "q")
    assert repr(Named(1)).endswith("Named(x=1, name='p')")
