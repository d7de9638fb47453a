"""A launch in words: its line, the memory behind each address, and numbers as the kernel reads them."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from grader.standin.device.gpu import launched, parameters_of
from grader.standin.device.operations import KernelLaunch
from tests.standin.device.rig import FILE, Rig, integer, pointer


def told(rig: Rig, elements: list[str], arguments: list[bytes], names: list[str]) -> str:
    """What is told of a launch of ``add_one`` with these arguments, as if its parameters were of these types."""
    rig.m.launch(9, "add_one", [1], [32], 0, arguments[:2], [], 0, False, 0)
    op = rig.m.streams.queued[-1]
    assert isinstance(op.job.work, KernelLaunch)
    op.task = replace(op.job, work=replace(op.job.work, arguments=tuple(arguments)))
    return launched(rig.m.space, op, parameters_of(elements, names), f"{FILE}:9")


@pytest.mark.parametrize(
    ("element", "content", "words"),
    [
        ("u32", integer(-3), "-3"), ("f32", struct.pack("<f", 0.25), "0.25"), ("f64", struct.pack("<d", 1e-9), "1e-09"),
        ("u64", pointer(0), "0"), ("u64", pointer(12345), "12345"), ("u64", pointer(0xDEAD00000000), "0xdead00000000"),
        ("b8", bytes(48), "48 B"),
    ],
)  # fmt: skip
def test_numbers_are_told_as_the_parameter_reads_them(element: str, content: bytes, words: str) -> None:
    rig = Rig()
    (x,) = rig.device()
    assert told(
        rig, ["u64", element], [pointer(x), content.ljust(8, b"\0")[: max(len(content), 4)]], ["p", "q"]
    ).endswith(f", q = {words}")


def test_memory_is_told_by_the_array_that_is_copied_there_and_what_is_left_of_it() -> None:
    rig = Rig(100)
    (x,) = rig.device()
    rig.m.copy(4, x, rig.at("x"), rig.bytes, 0, True)
    assert told(rig, ["u64", "u64"], [pointer(x + 80), pointer(rig.at("out"))], ["x", "out"]) == (
        f"{FILE}:9 with x = the device copy of x from element 20 on (80 elements), out = out (100 elements)"
    )


def test_of_very_many_arguments_the_first_are_told() -> None:
    rig = Rig()
    (x,) = rig.device()
    names = [f"n{i}" for i in range(40)]
    words = told(rig, ["u64", *["u32"] * 39], [pointer(x), *map(integer, range(39))], names)
    assert words.endswith("n10 = 9, n11 = 10, …")


def test_memory_that_is_freed_is_told_as_such() -> None:
    rig = Rig()
    (x,) = rig.device()
    rig.m.free(4, x)
    assert told(rig, ["u64", "u32"], [pointer(x), integer(1)], ["x", "n"]) == (
        f"{FILE}:9 with x = memory allocated at line 3, which is freed, n = 1"
    )
