"""Calls cross two process boundaries unharmed, and what is no call does not arrive as one."""

from __future__ import annotations

import pytest

from grader.standin.protocol import CALLS, _checks, pack, relayed, unpack

NOTHING = {"name": None, "arguments": None}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("copy", [12, 4096, b"abc", 3, 0, False]),
        ("copy", [12, 4096, 8192, 3, 0, True]),
        ("launch", [3, "smooth", [1, 1, 1], [32, 1, 1], 0, [b"\0" * 8, b"\1"], ["array", "int8"], 0, False, 0]),
        ("stream_attribute", [1, 2, "access_policy_window", {"base": 1, "bytes": 2, "hit_ratio": 0.5}]),
        ("device_count", []),
    ],
)
def test_a_call_arrives_as_it_was_made(name, arguments):
    assert unpack(relayed(pack(name, arguments))) == {"name": name, "arguments": arguments}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("__class__", []),
        ("begin_run", [{}, True]),
        (["copy"], []),
        ("malloc", [1, 0, "16", False]),
        ("malloc", [1, 0, 1 << 70, False]),
        ("malloc", [1, 0, True, False]),
        ("malloc", [1, 0]),
        ("launch", [3, "smooth", [1, 1, 1], [32, 1, 1], 0, [7], ["int"], 0, False, 0]),
        ("launch", [3, "smooth", [[1]], [32, 1, 1], 0, [], [], 0, False, 0]),
        ("device_count", None),
    ],
)
def test_what_is_no_call_is_none(name, arguments):
    assert unpack(relayed({"is": "call", "name": name, "arguments": arguments})) == NOTHING


def test_nothing_but_the_call_and_its_bytes_is_relayed():
    message = {"is": "call", "do": "end_run", "call": 1, "name": "free", "arguments": [0, {"blob": "do"}], "blob": b"x"}
    told = relayed(message)
    assert told == {"do": "call", "call": {"name": "free", "arguments": [0, {"blob": "do"}]}, "blob:blob": b"x"}
    assert unpack(told) == NOTHING


def test_every_call_of_the_protocol_can_be_checked():
    assert all(_checks(name) is not None for name in CALLS)
