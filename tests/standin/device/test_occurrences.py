"""Which time a line of the host file did something."""

from __future__ import annotations

from grader.text import ordinal
from tests.standin.device.rig import Rig, integer


def test_in_a_loop_the_finding_says_which_time_a_line_did_it_and_so_does_the_timeline() -> None:
    rig = Rig()
    rig.pin("x")
    first, second = rig.streams(2)
    buffers = rig.device(4)
    y = rig.device()[0]
    rig.fresh()
    with rig.run() as ran:
        for i, x in enumerate(buffers):
            rig.m.copy(31, x, rig.at("x"), rig.bytes, first, False)
            if i != 2:
                rig.behind(33, first, second)
            rig.launch(37, "twice", x, y, integer(rig.n), stream=second)
        rig.m.synchronize(40, "device", 0)
    found = ran.report.findings[0]
    assert found.kind == "missing_wait"
    assert [(place.line, place.occurrence) for place in found.places] == [(37, 3), (31, 3)]
    assert [bar.turn for bar in ran.bars if bar.line == 31] == [1, 2, 3, 4]
    assert [bar.turn for bar in ran.bars if bar.line == 37] == [1, 2, 3, 4]


def test_what_a_line_did_in_an_earlier_run_counts_for_that_run_alone() -> None:
    rig = Rig()
    first, second = rig.streams(2)
    (x,) = rig.device()
    for _ in range(2):
        with rig.run() as ran:
            for line, stream in ((31, first), (37, second)):
                rig.m.fill(line, x, 0, rig.bytes, stream, False)
            rig.m.synchronize(40, "device", 0)
        assert [bar.turn for bar in ran.bars] == [1, 1]
        assert ran.kinds == ["missing_wait"]
        assert [place.occurrence for place in ran.first.places] == [None, None]


def test_ordinals_are_english() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th",
    ]  # fmt: skip
