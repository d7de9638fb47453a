"""Random programs: without findings a program has the result of its order of issue, and else it has findings."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.findings.sentences import sentence
from tests.standin.device.rig import Floats, Ran, Rig, integer

N = 40
BUFFERS = 3
STREAMS = 3
"""The default stream, one that blocks, one that does not."""

buffers, streams, events = st.integers(0, BUFFERS - 1), st.integers(0, STREAMS - 1), st.integers(0, 1)
STEPS = st.one_of(
    st.tuples(st.just("fill"), streams, buffers, buffers),
    st.tuples(st.just("copy"), streams, buffers, buffers),
    st.tuples(st.just("half"), streams, buffers, buffers),
    st.tuples(st.just("add_one"), streams, buffers, buffers),
    st.tuples(st.just("record"), streams, events, buffers),
    st.tuples(st.just("wait"), streams, events, buffers),
    st.tuples(st.just("sync"), streams, buffers, buffers),
)
Step = tuple[str, int, int, int]


class Program:
    """The same steps on the device, and on arrays in the order of issue."""

    def __init__(self, steps: list[Step]) -> None:
        self.rig = Rig(N)
        self.memory = self.rig.device(BUFFERS)
        self.arrays: list[Floats] = [np.zeros(N, np.float32) for _ in range(BUFFERS)]
        self.handles = [0, *self.rig.streams(1, non_blocking=False), *self.rig.streams(1)]
        self.events = [self.rig.m.event_create(0, 0, False) for _ in range(2)]
        for address in self.memory:
            self.rig.m.fill(1, address, 0, self.rig.bytes, 0, False)
        self.rig.m.synchronize(2, "device", 0)
        with self.rig.run() as self.ran:
            for line, step in enumerate(steps, 10):
                self.take(line, *step)
            self.rig.m.synchronize(99, "device", 0)

    def take(self, line: int, what: str, stream: int, a: int, b: int) -> None:
        m, queue, size = self.rig.m, self.handles[stream], self.rig.bytes
        if what == "fill":
            m.fill(line, self.memory[a], 0, size, queue, False)
            self.arrays[a][:] = 0
        elif what == "copy":
            m.copy(line, self.memory[a], self.memory[b], size, queue, False)
            self.arrays[a][:] = self.arrays[b]
        elif what == "half":
            m.copy(line, self.memory[a], self.memory[b] + size // 2, size // 2, queue, False)
            self.arrays[a][: N // 2] = self.arrays[b][N // 2 :].copy()
        elif what == "add_one":
            self.rig.launch(line, "add_one", self.memory[a], integer(N), stream=queue)
            self.arrays[a] += 1
        elif what == "record":
            m.event_record(line, self.events[a], queue)
        elif what == "wait":
            m.stream_wait_event(line, queue, self.events[a])
        else:
            m.synchronize(line, "stream", queue)

    @property
    def is_right(self) -> bool:
        got = [self.rig.m.fetch(0, address, self.rig.bytes, 0) for address in self.memory]
        return all(np.array_equal(np.frombuffer(g, np.float32), a) for g, a in zip(got, self.arrays, strict=True))


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_without_findings_the_result_is_that_of_the_order_of_issue(steps: list[Step]) -> None:
    program = Program(steps)
    assert program.ran.kinds == [] or set(program.ran.kinds) == {"missing_wait"}
    assert program.is_right or program.ran.kinds


@settings(max_examples=50, deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_on_one_stream_there_is_nothing_to_find(steps: list[Step]) -> None:
    program = Program([(what, 2, a, b) for what, _, a, b in steps])
    assert program.ran.kinds == []
    assert program.is_right


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_a_program_has_the_same_result_and_the_same_findings_each_time(steps: list[Step]) -> None:
    first, second = Program(steps), Program(steps)
    assert told(first.ran) == told(second.ran)
    assert first.is_right is second.is_right


def told(ran: Ran) -> list[str]:
    return [sentence(found) for found in ran.report.findings]
